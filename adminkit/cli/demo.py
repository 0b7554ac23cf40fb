"""adminkit demo."""

from __future__ import annotations


def demo() -> None:
    """Make the look-alike of the AAIC trace and show its report."""
