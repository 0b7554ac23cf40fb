"""What a file of accounting text looks like: sacct or SWF, which delimiter, which columns, what to skip.

Pure: only the first bytes decide, so that a pipe works like a file.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from adminkit.errors import UsageError, unknown_word
from adminkit.ingest.sources.sacct_fields import KEY_FIELDS, columns_for, field_name, field_names
from adminkit.ingest.sources.swf import Header, read_header
from adminkit.ingest.spec import Column

#: How much of a source is read before its layout is decided.
PEEK_BYTES: Final = 1 << 16

#: Tried in this order where the header does not show the delimiter.
DELIMITERS: Final = ("\x1f", "☃", ";|;", "^|^", "|#", "∆", "|", "\t", ";", ",")

#: SWF 2.2, in its order; extra columns are ignored.
SWF_FIELDS: Final = tuple(
    """job submit wait run procs cpu mem req_procs req_time req_mem status user group app queue partition before
    think""".split()
)

_ISO_TIME: Final = re.compile(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
#: A time that says which clock wrote it.
_ZONED: Final = re.compile(r"([Zz]|[+-]\d\d(:?\d\d)?)$")


@dataclass(frozen=True, slots=True)
class Layout:
    """How to read one source. `skip` bytes and `skip_lines` lines at its head hold no rows."""

    columns: list[Column]
    delimiter: str
    ends: bool = False  # a delimiter closes each record, as sacct -p writes it
    skip: int = 0
    skip_lines: int = 0
    swf: Header | None = None  # of an SWF trace; None for sacct text
    civil_times: bool = False  # times are written as dates, so a time zone is needed
    has_cluster: bool = False
    unknown: tuple[str, ...] = ()  # header words that are not fields of sacct

    @property
    def is_swf(self) -> bool:
        return self.swf is not None

    @property
    def lacks_eligible(self) -> bool:
        """Whether jobs wait from their submission, as no column says when they were eligible."""
        words = {column.name for column in self.columns}
        return "Start" in words and "Eligible" not in words


def detect(head: bytes, names: Sequence[str] | None = None, delimiter: str | None = None) -> Layout:
    """The layout of a source that begins with `head`, perhaps after a byte order mark.

    `names` are the columns of text without a header; `delimiter` None means: find it. Raises UsageError, naming the
    first line, for what is neither sacct text nor SWF.
    """
    if head.startswith(codecs.BOM_UTF8):
        layout = detect(head.removeprefix(codecs.BOM_UTF8), names, delimiter)
        return replace(layout, skip=layout.skip + len(codecs.BOM_UTF8))
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UsageError(
            "the text is UTF-16, and sacct's is UTF-8", "iconv -f UTF-16 -t UTF-8 FILE | adminkit import -"
        )
    text = head.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    if not text.strip():
        raise UsageError("the input is empty", "give it sacct text (`sacct -a -X -D -P …`) or an SWF trace")
    if names is not None:
        return _finish(_without_header(lines, names, delimiter), lines)
    if _looks_like_swf(lines):
        return _swf(text)
    header = next(line for line in lines if line.strip()).rstrip("\r")
    before = lines.index(next(line for line in lines if line.strip()))
    found = _split_header(header, delimiter)
    if found is None:
        raise _not_accounting(header, delimiter)
    used, words, ends = found
    skip = len("\n".join(lines[: before + 1]).encode("utf-8", "surrogateescape")) + 1
    unknown = tuple(word for word in words if field_name(word) is None)
    layout = Layout(columns_for(words), used, ends, skip, before + 1, unknown=unknown)
    missing = [name for name in KEY_FIELDS if name not in {column.name for column in layout.columns}]
    if missing:
        raise lacks_key(missing)
    return _finish(layout, lines[before + 1 :])


def lacks_key(missing: Sequence[str], where: str = "the header") -> UsageError:
    """`where` does not name these of KEY_FIELDS. Trap: of 4712_3 nobody knows the JobIDRaw but sacct."""
    hint = f"ask sacct for --format={','.join(KEY_FIELDS)},… as well"
    if "Submit" not in missing:
        hint += (
            "; a log that cannot be asked for again is a job table, whose rows are numbered: --map with"
            " job_id_raw = { row = 1 } (docs/import-maps.md)"
        )
    return UsageError(f"{where} lacks {', '.join(missing)}, so its rows have no key", hint)


def named_columns(words: Sequence[str]) -> list[str]:
    """`--columns` as sacct spells them; UsageError for an unknown word, with the nearest field."""
    names = []
    for word in words:
        name = field_name(word)
        if name is None and word.strip().lower() not in ("skip", "-", ""):
            raise unknown_word("column", word, field_names())
        names.append(name or "-")
    missing = [name for name in KEY_FIELDS if name not in names]
    if missing:
        raise lacks_key(missing, "--columns")
    return names


def _finish(layout: Layout, data: Sequence[str]) -> Layout:
    """Look at the first row for what the header does not say."""
    places = {column.name: number for number, column in enumerate(layout.columns) if column.kind != "skip"}
    row = next((line for line in data if line.count(layout.delimiter) >= len(layout.columns) - 1), "")
    cells = row.split(layout.delimiter)
    times = [cells[places[name]] for name in ("Submit", "Start", "End") if name in places and len(cells) > places[name]]
    civil = any(_ISO_TIME.match(cell) and not _ZONED.search(cell) for cell in times)
    return replace(layout, civil_times=civil, has_cluster="Cluster" in places)


def _without_header(lines: Sequence[str], names: Sequence[str], delimiter: str | None) -> Layout:
    first = next(line for line in lines if line.strip()).rstrip("\r")
    columns = columns_for(names)
    for candidate in (delimiter,) if delimiter else DELIMITERS:
        count = sum(line.count(candidate) in (len(names) - 1, len(names)) for line in lines if line.strip())
        if count and first.count(candidate) >= len(names) - 1:
            ends = first.rstrip("\r").endswith(candidate) and first.count(candidate) == len(names)
            return Layout(columns, candidate, ends)
    raise UsageError(
        f"no delimiter splits the first line into {len(names)} columns: {_shown(first)}",
        "check --columns against the line, or name the delimiter with --delimiter",
    )


def _split_header(header: str, delimiter: str | None) -> tuple[str, list[str], bool] | None:
    """(delimiter, words, whether it also ends the line), from a line that names sacct fields."""
    candidates = [delimiter] if delimiter else [*DELIMITERS, *_guessed(header)]
    best: tuple[tuple[int, int], str, list[str]] | None = None
    for candidate in candidates:
        words = header.split(candidate)
        known = sum(field_name(word) is not None for word in words)
        fit = (known, -len(words))
        if known >= 2 and known * 2 > len(words) and (best is None or fit > best[0]):
            best = (fit, candidate, words)
    if best is None:
        return None
    _, used, words = best
    ends = words[-1] == ""
    return used, words[:-1] if ends else words, ends


def _guessed(header: str) -> list[str]:
    """What stands between the first field's name and the next one, for delimiters that DELIMITERS lacks."""
    for length in range(min(len(header), 30), 1, -1):
        if field_name(header[:length]) and header[:length] == header[:length].strip():
            rest = header[length : length + 8]
            tries = [rest[:size] for size in range(1, len(rest) + 1)]
            return [text for text in tries if text.strip() and not any(c.isalnum() for c in text)]
    return []


def _looks_like_swf(lines: Sequence[str]) -> bool:
    for line in lines:
        words = line.split()
        if not words or line.lstrip().startswith(";"):
            continue
        return len(words) >= 18 and all(re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", word) for word in words[:18])
    return any(line.startswith("; Version") for line in lines)


def _swf(text: str) -> Layout:
    columns = [
        Column(name, "rawid" if name == "job" else "swf", required=name in ("job", "submit")) for name in SWF_FIELDS
    ]
    return Layout(columns, "space", swf=read_header(text))


def _not_accounting(line: str, delimiter: str | None) -> UsageError:
    shown = _shown(line)
    if re.match(r"^\s*(JobID|Job ID|User|Account)\s{2,}", line) or re.match(r"^[- ]+$", line):
        return UsageError(
            f"a table cut to column widths cannot be read: {shown}", "use sacct -P (or -p), which cuts nothing"
        )
    if line.startswith(("sacct:", "slurm")):
        return UsageError(
            f"the input has sacct's error message instead of rows: {shown}",
            "fix that error first, then import the output of sacct",
        )
    if line.lstrip().startswith(("{", "[")):
        return UsageError(
            f"the input is JSON, and text is expected: {shown}",
            "sacct -P writes text: sacct -a -X -D -P --format=JobID,JobIDRaw,…",
        )
    if delimiter:
        return UsageError(
            f"the first line is not a sacct header with delimiter {delimiter!r}: {shown}",
            "leave --delimiter out to have it found",
        )
    return UsageError(
        f"the input is neither sacct text with a header nor SWF: {shown}",
        "for text without a header, name its columns: --columns JobID,JobIDRaw,Submit,…",
    )


def _shown(line: str) -> str:
    """A line for a message: short, and without characters that could act on a terminal."""
    clean = "".join(c if c.isprintable() else "·" for c in line)
    return repr(clean if len(clean) <= 100 else clean[:99] + "…")
