"""Where a Report goes: stdout or a file, in one of the formats, with its pictures."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError, UsageError, cause, unknown_word
from adminkit.files import folder_to_write, replace_file, written_at
from adminkit.owner import as_caller, as_owner
from adminkit.render import text
from adminkit.render.report import Report
from adminkit.render.say import is_quiet, say

PICTURES: Final = (".png", ".svg")


@dataclass(frozen=True, slots=True)
class Way:
    """How to write a report. `tz` is for civil times, None for the host's own."""

    format: str = "table"
    output: Path | None = None
    plot: bool = False
    picture: Path | None = None
    tz: tzinfo | None = None

    def __post_init__(self) -> None:
        if self.plot and self.format != "table":
            raise UsageError(f"--plot draws in the terminal, but the format is {self.format}", "leave out --format")
        if self.picture and self.picture.suffix.lower() not in PICTURES:
            if not self.picture.suffix:
                raise UsageError(
                    f"{self.picture} has no suffix, which decides the kind of picture", "let it end in .png or .svg"
                )
            raise unknown_word("kind of picture", self.picture.suffix, PICTURES)
        if self.pictures:
            self._need_plots()

    @property
    def pictures(self) -> bool:
        """Whether anything is drawn."""
        return self.plot or self.picture is not None or self.format == "html"

    def _need_plots(self) -> None:
        """AdminkitError where matplotlib is missing: before a long scan, not after."""
        if self.picture is not None or self.format == "html":
            from adminkit.render.figure import need_matplotlib

            need_matplotlib()


def emit(report: Report, way: Way) -> None:
    """Write `report`: stdout is data, the header of a CSV goes to stderr. Files appear whole or not at all."""
    with as_caller():
        _emit(report, way)


def _emit(report: Report, way: Way) -> None:
    if way.picture:
        from adminkit.render.figure import picture

        write_aside(way.picture, picture(report, way.picture.suffix.lower().removeprefix(".")))
        say(f"wrote {way.picture}")
    written = _written(report, way)
    if way.format == "csv":
        say(text.header_lines(report.meta, way.tz).removesuffix("\n"))
    if way.output:
        write_aside(way.output, written.encode())
        say(f"wrote {way.output}")
    else:
        # Trap: where the terminal is not UTF-8, a job's name must not end the report.
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(written.encode(encoding, "backslashreplace").decode(encoding))


def _written(report: Report, way: Way) -> str:
    if way.format == "json":
        return text.as_json(report)
    if way.format == "csv":
        return text.as_csv(report)
    if way.format == "markdown":
        return text.markdown(report, way.tz, headed=not is_quiet())
    if way.format == "html":
        from adminkit.render.html import page

        return page(report, way.tz)
    terminal = way.output is None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal or os.environ.get("COLUMNS") else None
    ascii_only = way.output is None and not (sys.stdout.encoding or "").lower().startswith("utf")
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    written = text.table(report, way.tz, width, colour=colour, ascii_only=ascii_only, headed=not is_quiet())
    if way.plot and report.pictures:
        from adminkit.render.terminal import plot

        written += "\n" + plot(report.pictures, width or 80, colour=colour, ascii_only=ascii_only)
    return written


def write_aside(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write beside `path`, then rename: a reader sees the old file or the whole new one. A new one gets `mode`.

    Not for devices and pipes such as /dev/stdout, which are written to directly.
    """
    with as_caller():
        caller = os.geteuid()
        with as_owner(path):
            _write_aside(path, data, mode, caller)


def _write_aside(path: Path, data: bytes, new: int | None, caller: int) -> None:
    try:
        target, facts = written_at(path, caller)
        if facts is not None and not stat.S_ISREG(facts.st_mode):
            target.write_bytes(data)
            return
        mode = new if facts is None else stat.S_IMODE(facts.st_mode) & 0o777
        with folder_to_write(target.parent) as folder:
            replace_file(folder, target.name, data, mode=mode)
    except OSError as error:
        reason = cause(error)
        raise AdminkitError(f"couldn't write {path}: {reason}", "choose another path") from error
