"""The number of the release. Its home is `__version__`; the other places are written from it."""

from __future__ import annotations

import re
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

HOME: Final = "adminkit/__init__.py"
_EXTENSION: Final = "adminkit/jupyter/data/share/jupyter/labextensions/adminkit-idle/package.json"
_MAINTAINERS: Final = "adminkit maintainers <maintainers@adminkit.invalid>"
#: File -> the number in it, which is the first match.
PLACES: Final = {
    HOME: re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE),
    "adminkit.spec": re.compile(r"^Version:\s+(\S+)", re.MULTILINE),
    "debian/changelog": re.compile(r"^adminkit \(([^)]+)\)"),
    _EXTENSION: re.compile(r'"version": "([^"]+)"'),
}
_SPEC_ENTRY: Final = re.compile(r"(?<=^%changelog\n)\* .* - ([\d.]+)-\d+$", re.MULTILINE)


def found(root: Path) -> dict[str, str]:
    """Every place and the number in it; "" where there is none."""
    numbers = {}
    for name, pattern in {**PLACES, "adminkit.spec's %changelog": _SPEC_ENTRY}.items():
        match = pattern.search((root / name.partition("'")[0]).read_text())
        numbers[name] = match[1] if match else ""
    return numbers


def write(root: Path, number: str, now: datetime) -> None:
    """Write the number everywhere, with an entry in the changelog of either kind of package."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", number):
        raise SystemExit(f"error: {number!r} is not a number like 1.2.3")
    if set(found(root).values()) == {number}:
        raise SystemExit(f"error: the number is {number} already")
    for name, pattern in PLACES.items():
        path = root / name
        text = path.read_text()
        if name == "debian/changelog":
            head = f"adminkit ({number}) unstable; urgency=medium\n\n  * CHANGELOG.md has what is new.\n\n"
            path.write_text(f"{head} -- {_MAINTAINERS}  {format_datetime(now)}\n\n{text}")
            continue
        match = pattern.search(text)
        assert match, f"{name} has no number"
        text = text[: match.start(1)] + number + text[match.end(1) :]
        if name == "adminkit.spec":
            entry = f"* {now:%a %b %d %Y} {_MAINTAINERS} - {number}-1\n- See CHANGELOG.md\n"
            text = text.replace("%changelog\n", f"%changelog\n{entry}\n")
        path.write_text(text)


def epoch(root: Path) -> int:
    """The moment of the newest entry of debian/changelog (epoch seconds), which is that of everything built."""
    dates = re.findall(r"^ -- .*>  (.+)$", (root / "debian/changelog").read_text(), re.MULTILINE)
    return int(parsedate_to_datetime(dates[0]).timestamp())
