"""A user's own command on a login node."""

from __future__ import annotations

import pwd
import sys
from pathlib import Path


def as_login(user: str) -> tuple[str, ...]:
    """The words that start a program as that user, without root's groups; it may read the interpreter even where that
    is root's.
    """
    who = pwd.getpwnam(user)
    words: tuple[str, ...] = ("setpriv", f"--reuid={who.pw_uid}", f"--regid={who.pw_gid}", "--clear-groups")
    if not all(above.stat().st_mode & 0o001 for above in Path(sys.executable).resolve().parents):
        words += ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    return words
