"""A slow, simple parser of the same column spec, to compare adminkit-ingest with.

Written from adminkit/native/common/sacct.h, with regular expressions, fractions and datetime; never from the C. A row
is what `adminkit-ingest --dump` prints: ["job", …], ["step", …] or ["rejected", line, reason].
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise, product
from typing import Any
from zoneinfo import ZoneInfo

from adminkit.ingest.spec import KINDS
from tests.native.oracle_submitted import Known, submitted

MAX_RECORD, MAX_LINES = 1 << 20, 131072
SENTINELS = {b"", b"Unknown", b"None", b"None assigned", b"INVALID", b"N/A", b"?", b"(null)"}
NO_VAL, INFINITE, NO_VAL64, INFINITE64 = 2**32 - 2, 2**32 - 1, 2**64 - 2, 2**64 - 1
UNSET = {NO_VAL, INFINITE, NO_VAL64, INFINITE64}
INT_MAX = 2**63 - 1
MAX_MEMORY = 2**51

Value = int | float | bytes | None


class Bad(Exception):
    """The row cannot be read; says why."""


MALFORMED, TOO_LARGE = Bad("malformed"), Bad("too large")


@dataclass
class Format:
    delimiter: bytes = b"|"  # b"space": runs of blanks and tabs
    ends: bool = False
    comment: bytes = b""
    surplus_ignore: bool = False
    timezone: str | None = None
    first_line: int = 1
    seal: bytes = b""
    known: str = ""  # --known
    tres: str = ""  # --tres
    wants: dict[int, bytes] = field(default_factory=dict)  # column, from 1 -> its text
    within: dict[int, tuple[int, int]] = field(default_factory=dict)  # column, from 1 -> [from, until)
    no_steps: bool = False
    order: list[int] = field(default_factory=list)  # --order
    without: dict[int, bytes] = field(default_factory=dict)  # column, from 1 -> the state that is passed over


@dataclass
class Column:
    kind: str
    required: bool
    inherit: bool


@dataclass
class Result:
    rows: list[list[Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    raws: list[bytes] = field(default_factory=list)  # of the rejected rows, in order


def parse(data: bytes, spec: str, form: Format | None = None) -> Result:
    """All of `data` as rows and counts."""
    form = form or Format()
    columns = [Column(word.rstrip("!^"), "!" in word, "^" in word) for word in spec.split(",")]
    names = ("rows", "rejected", "steps_rows", "repaired", "utf8", "ambiguous", "contradictory", "skipped")
    result = Result(counts=dict.fromkeys(names, 0))
    rows = _Rows(columns, form)
    sizes = {"records": 0, "broken": 0, "blank": 0}
    for piece in _pieces(data, columns, form):
        sizes["broken" if piece.sort == "trailing" else piece.sort] += piece.size
        if piece.sort in ("blank", "trailing"):
            continue
        result.counts["rows"] += 1
        try:
            if piece.sort == "broken":
                rows.parent = None
                raise Bad(piece.reason)
            row = rows.take(piece)
        except Bad as bad:
            result.rows.append(["rejected", piece.line + form.first_line - 1, str(bad)])
            result.raws.append(piece.raw)
            result.counts["rejected"] += 1
            continue
        if row is None:
            result.counts["skipped"] += 1
            continue
        result.rows.append(row)
        result.counts["steps_rows"] += row[0] == "step"
        result.counts["contradictory"] += rows.contradictory
        result.counts["repaired"] += piece.repaired
        result.counts["utf8"] += rows.utf8
        result.counts["ambiguous"] += rows.ambiguous
    result.counts |= {f"bytes_{name}": size for name, size in sizes.items()}
    result.counts["bytes"] = len(data)
    result.counts["lines"] = len(data.split(b"\n")) - data.endswith(b"\n") if data else 0
    return result


# ---- records ----


@dataclass
class Line:
    number: int
    text: bytes  # without its end
    size: int  # with it
    end: bytes
    fields: list[bytes]
    ends: bool = False  # with a delimiter

    @property
    def count(self) -> int:
        return len(self.fields) - 1


@dataclass
class Piece:
    """A record, broken text with the lines that belong to it, or blank lines."""

    sort: str
    size: int
    line: int = 0
    raw: bytes = b""
    fields: list[bytes] = field(default_factory=list)
    reason: str = ""
    repaired: bool = False


def _lines(data: bytes, delimiter: bytes) -> Iterator[Line]:
    for number, whole in enumerate(re.findall(rb"[^\n]*\n|[^\n]+", data)):
        body = whole.removesuffix(b"\n")
        text = body[:-1] if body.endswith(b"\r") and len(body) <= MAX_RECORD else body
        fields = text.split(delimiter) if delimiter != b"space" else [t for t in re.split(rb"[ \t]+", text) if t]
        ends = len(fields) > 1 and fields[-1] == b""
        yield Line(number + 1, text, len(whole), whole[len(text) :], fields, ends)


def _pieces(data: bytes, columns: list[Column], form: Format) -> Iterator[Piece]:
    wanted = len(columns)
    want = wanted if form.ends else wanted - 1  # delimiters
    free = [i for i, column in enumerate(columns) if column.kind in FREE]
    repairs = len(free) == 1
    holds = not form.ends and want > 0 and form.delimiter != b"space" and columns[-1].kind in FREE
    starts_free = columns[0].kind in FREE
    pending: list[Line] = []
    held = False  # pending is a record that may go on
    behind = False  # the last was set aside

    def counted(delimiters: int) -> str:
        return f"columns: {delimiters + (not form.ends)}, expected: {wanted}"

    def broken(lines: list[Line], reason: str) -> Piece:
        raw = b"".join(line.text + line.end for line in lines)
        raw = raw[: len(raw) - len(lines[-1].end)]
        return Piece("broken", sum(line.size for line in lines), lines[0].number, raw, reason=reason)

    def total() -> int:
        return sum(line.count for line in pending)

    def record(lines: list[Line]) -> Piece:
        size = sum(line.size for line in lines)
        while not lines[-1].text:
            lines = lines[:-1]
        raw = b"".join(line.text + line.end for line in lines)
        raw = raw[: len(raw) - len(lines[-1].end)]
        fields = raw.split(form.delimiter)
        if form.ends:
            fields.pop()
        surplus = len(fields) - wanted
        repaired = surplus > 0 and not form.surplus_ignore
        if repaired:
            at = free[0]
            fields[at : at + surplus + 1] = [form.delimiter.join(fields[at : at + surplus + 1])]
        return Piece("records", size, lines[0].number, raw, fields[:wanted], repaired=repaired)

    def drop(reason: str | None = None) -> Piece:
        nonlocal pending, held, behind
        lines, pending, was_held, held, behind = pending, [], held, False, True
        piece = broken(lines, reason or counted(sum(line.count for line in lines)))
        if was_held:
            piece.raw = piece.raw.rstrip(b"\r\n")
        return piece

    def flush() -> Piece:
        nonlocal pending, held
        lines, pending, held = pending, [], False
        return record(lines)

    def is_comment(line: Line) -> bool:
        text = line.text.lstrip(b" \t") if form.delimiter == b"space" else line.text
        return bool(form.comment) and text.startswith(form.comment)

    for line in _lines(data, form.delimiter):
        blank = not line.fields if form.delimiter == b"space" else not line.text
        too_long = line.size - line.end.endswith(b"\n") > MAX_RECORD
        if too_long:
            if pending:
                yield flush() if held else drop()
            yield Piece("broken", line.size, line.number, line.text[:MAX_RECORD], reason="line longer than 1 MiB")
            behind = True
            continue
        while True:  # until the line is a record, pending or set aside
            fits = not pending or (
                len(pending) < MAX_LINES and sum(one.size for one in pending) + len(line.text) <= MAX_RECORD
            )
            if held:
                if line.count > 0 or (is_comment(line) and not blank) or (blank and not fits):
                    yield flush()
                    continue
                if not fits:
                    yield drop("record of more than 1 MiB or 131072 lines")
                    continue
                pending.append(line)
                break
            if not pending and (blank or is_comment(line)):
                yield Piece("blank", line.size)
                break
            if form.delimiter == b"space":
                if len(line.fields) == wanted or (len(line.fields) > wanted and form.surplus_ignore):
                    yield Piece("records", line.size, line.number, line.text, line.fields[:wanted])
                else:
                    reason = f"columns: {len(line.fields)}, expected: {wanted}"
                    yield Piece("broken", line.size, line.number, line.text, reason=reason)
                break
            if behind and line.count == 0 and want > 0 and not starts_free:
                yield Piece("trailing", line.size)
                break
            behind = False
            if line.count >= want:
                if pending:
                    yield drop()
                    continue
                exact = line.count == want and (line.ends or not form.ends)
                surplus = line.count > want and (form.surplus_ignore or (repairs and (line.ends or not form.ends)))
                if not exact and not surplus:
                    behind = True
                    yield broken(
                        [line], counted(line.count) if line.count > want else "no delimiter after the last column"
                    )
                elif holds and not (surplus and form.surplus_ignore):
                    pending, held = [line], True
                else:
                    yield record([line])
                break
            if not fits:
                yield drop("record of more than 1 MiB or 131072 lines")
                continue
            pending.append(line)
            while pending:  # lines that cannot begin a record are set aside; the rest may be one
                if not pending[0].text:
                    yield Piece("blank", pending.pop(0).size)
                elif (
                    (pending[0].count == 0 and not starts_free)
                    or total() > want
                    or (total() == want and form.ends and not pending[-1].ends)
                ):
                    end = 1
                    while pending[0].count and not starts_free and end < len(pending) and not pending[end].count:
                        end += 1
                    behind = pending[0].count > 0 and end == len(pending)
                    yield broken(pending[:end], counted(pending[0].count))
                    pending = pending[end:]
                elif total() == want and holds:
                    held = True
                    break
                elif total() == want:
                    yield flush()
                else:
                    break
            break
    if pending:
        yield flush() if held else drop()


# ---- rows ----


class _Rows:
    """Records into rows, one after the other: steps look back at their job."""

    def __init__(self, columns: list[Column], form: Format) -> None:
        self.columns, self.form = columns, form
        self.zone = ZoneInfo(form.timezone) if form.timezone else None
        entries = [entry.encode().partition(b"=") for entry in form.known.split(",") if entry]
        self.known: Known = {word: (value[:1].decode(), value[2:]) for word, _, value in reversed(entries)}
        numbered = [entry.encode().partition(b":") for entry in form.tres.split(",") if entry]
        self.tres = {int(number): name.removesuffix(b"=") or b"other" for number, _, name in numbered}
        self.jobid = next((i for i, column in enumerate(columns) if column.kind == "jobid"), None)
        self.inherits = any(column.inherit for column in columns)
        self.parent: tuple[str, dict[int, list[Any]]] | None = None
        self.utf8 = self.ambiguous = 0
        self.contradictory = False
        self.twice: dict[int, tuple[int, int]] = {}  # column -> both meanings

    def take(self, piece: Piece) -> list[Any] | None:
        parent, self.parent = self.parent, None
        self.utf8 = self.ambiguous = 0
        self.contradictory, self.twice = False, {}
        if b"\0" in piece.raw:
            raise Bad("NUL byte")
        first: list[Any] = self.column(self.jobid, piece.fields[self.jobid]) if self.jobid is not None else [None] * 7
        if first[5] is None:
            values = []
            for i in range(len(self.columns)):
                values.append(first if i == self.jobid else self.column(i, piece.fields[i]))
                self.as_asked(i, values[i])
                if values[i] and values[i][0] == self.form.without.get(i + 1, b"\0").decode():
                    return None
            self.settle(values)
            self.contradictory = self.contradicts(values)
            if self.inherits and first[0] is not None:
                self.parent = (first[0], {i: values[i] for i, c in enumerate(self.columns) if c.inherit})
            return ["job", *(value for outputs in values for value in outputs)]
        if self.form.no_steps:
            raise Bad("a step, although only jobs were asked for")
        if parent and parent[0] == first[0]:
            self.parent = parent
        if self.inherits and not self.parent:
            raise Bad("a step that does not follow its job's row")
        values = []
        for i, column in enumerate(self.columns):
            if column.inherit and self.parent:
                values.append(self.parent[1][i])
            else:
                values.append(first if i == self.jobid else self.column(i, piece.fields[i]))
        self.settle(values)
        return ["step", *(value for outputs in values for value in outputs)]

    def settle(self, values: list[list[Any]]) -> None:
        """Both meanings of each time are tried: the order counts first, then the run time, then the earlier hour."""
        if not self.form.order:
            return
        times = [number - 1 for number in self.form.order[:4] if number]
        asked = [column for column in times if column in self.twice]
        tried: dict[tuple[int, ...], tuple[int, int]] = {}
        for picks in product((0, 1), repeat=len(asked)):
            now = {column: self.twice[column][pick] for column, pick in zip(asked, picks, strict=True)}
            known = [now.get(column, values[column][0]) for column in times]
            known = [one for one in known if one is not None]
            start, end, raw, clock, still = (
                None if not number else now.get(number - 1, values[number - 1][0]) for number in self.form.order[2:]
            )
            ran = clock if raw is None else raw
            off = 0 if None in (start, end, ran) else abs(end - start - ran - (still or 0))
            tried[picks] = (sum(a > b for a, b in pairwise(known)), off)
        best = [picks for picks, wrong in tried.items() if wrong == min(tried.values())]
        for place, column in enumerate(asked):
            self.ambiguous -= len({picks[place] for picks in best}) == 1
            values[column] = [self.twice[column][min(best, key=lambda one: one[::-1])[place]]]

    def contradicts(self, values: list[list[Any]]) -> bool:
        if not self.form.order:
            return False
        submit, _, start, end, ran, clock, _ = (values[n - 1][0] if n else None for n in self.form.order)
        ran = clock if ran is None else ran
        begin = submit if start is None else start
        if end is None or begin is None:
            return False
        return (submit is not None and end + 60 < submit) or begin + (ran or 0) > end + 60

    def as_asked(self, index: int, values: list[Any]) -> None:
        where = f"column {index + 1} ({self.columns[index].kind}): "
        if index + 1 in self.form.wants and values[0] != self.form.wants[index + 1].decode():
            raise Bad(where + "not the value that was asked for")
        if index + 1 in self.form.within and values[0] is not None:
            since, until = self.form.within[index + 1]
            if not since <= values[0] < until:
                raise Bad(where + "outside the range that was asked for")

    def column(self, index: int, text: bytes) -> list[Any]:
        column = self.columns[index]
        where = f"column {index + 1} ({column.kind}): "
        try:
            if column.kind == "time":
                values: list[Value] = [self.time(text, index)]
            elif column.kind == "submitted":
                values = list(submitted(text, self.known))
            else:
                named = self.named(text) if column.kind in ("tres", "usage") else text
                values = CONVERT[column.kind](named)
        except Bad as bad:
            raise Bad(where + str(bad)) from None
        if column.required and values[0] is None:
            raise Bad(where + "required, but unknown")
        return [self.text(value) if isinstance(value, bytes) else value for value in values]

    def named(self, text: bytes) -> bytes:
        """A list of TRES with the names of its numbers of four digits and more."""

        def name(found: re.Match[bytes]) -> bytes:
            return found[1] + self.tres.get(int(found[2]), found[2])

        return re.sub(rb"(\A|,)(\d{4,20})(?==)", name, text)

    def text(self, raw: bytes) -> str:
        text = raw.decode("utf-8", "surrogateescape")
        self.utf8 += len(re.findall("[\udc80-\udcff]", text))
        return re.sub("[\udc80-\udcff]", "\ufffd", text)

    def time(self, text: bytes, column: int = -1) -> int | None:
        if self.form.seal:
            if text in SENTINELS:
                return None
            if not text.endswith(self.form.seal) or text == self.form.seal:
                raise Bad("not sealed")
            text = text.removesuffix(self.form.seal)
            if not re.match(rb"\d", text) or text[4:5] == b"-":
                raise MALFORMED
            epoch = count(text)
            if epoch is not None and epoch > 253402300799:
                raise TOO_LARGE
            return epoch or None
        if re.fullmatch(rb"\d+", text):
            epoch = count(text)
            if epoch is not None and epoch > 253402300799:
                raise TOO_LARGE
            return epoch or None
        if text in SENTINELS:
            return None
        found = re.fullmatch(rb"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)( ?(?:[Zz]|[+-]\d\d(?::?\d\d)?))?", text)
        if not found:
            raise MALFORMED
        try:
            local = datetime.strptime(found[1].decode().replace("T", " "), "%Y-%m-%d %H:%M:%S")
        except ValueError:
            raise MALFORMED from None
        if local.year < 1970:
            raise MALFORMED
        if found[2]:
            own = local - datetime(1970, 1, 1) - offset_of(found[2])
            if own > timedelta(seconds=253402300799):
                raise TOO_LARGE
            return max(own // timedelta(seconds=1), 0) or None
        if self.zone is None:
            raise Bad("local time, but no --timezone")
        epochs = set()
        for fold in (0, 1):
            offset = local.replace(tzinfo=self.zone, fold=fold).utcoffset()
            assert offset is not None
            moment = (local - offset).replace(tzinfo=UTC)
            if moment.astimezone(self.zone).replace(tzinfo=None) == local:
                epochs.add((moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1))
        if not epochs:
            raise Bad("no such local time in --timezone")
        self.ambiguous += len(epochs) == 2
        if len(epochs) == 2 and min(epochs) > 0 and len(self.twice) < 8:
            self.twice[column] = (min(epochs), max(epochs))
        return min(epochs) if min(epochs) > 0 else None


def offset_of(text: bytes) -> timedelta:
    """Z, +01, +0100 or +01:00."""
    sign, digits = text.strip()[:1], text.strip()[1:].replace(b":", b"")
    hours, minutes = int(digits[:2] or b"0"), int(digits[2:] or b"0")
    if hours > 23 or minutes > 59:
        raise MALFORMED
    return timedelta(hours=hours, minutes=minutes) * (-1 if sign == b"-" else 1)


# ---- kinds ----


def number(text: bytes) -> int:
    """Digits and nothing else."""
    if not re.fullmatch(rb"\d+", text):
        raise MALFORMED
    digits = text.lstrip(b"0") or b"0"
    if len(digits) > 20 or int(digits) > INFINITE64:
        raise TOO_LARGE
    return int(digits)


def count(text: bytes) -> int | None:
    value = number(text)
    if value in UNSET:
        return None
    if value > INT_MAX:
        raise TOO_LARGE
    return value


def sentinel(convert: Callable[[bytes], list[Value]], outputs: int = 1) -> Callable[[bytes], list[Value]]:
    """The words for "unknown" before anything else."""
    return lambda text: [None] * outputs if text in SENTINELS else convert(text)


def integer(text: bytes) -> list[Value]:
    if not text.startswith(b"-"):
        return [None if number(text) > INT_MAX else count(text)]
    value = number(text[1:])
    if value in UNSET or value > INT_MAX:
        raise TOO_LARGE
    return [None if value in (1, 2) else -value]


def epoch(text: bytes) -> list[Value]:
    value = count(text)
    if value is not None and value > 253402300799:
        raise TOO_LARGE
    return [value or None]


def serial(text: bytes) -> list[Value]:
    value = number(text)
    return [None if value in UNSET else value if value <= INT_MAX else value - 2**64]


def decimal(text: bytes) -> float:
    if not re.fullmatch(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?", text):
        raise MALFORMED
    value = float(text)
    if len(text) >= 512 or abs(value) == float("inf"):
        raise TOO_LARGE
    return value


def real(text: bytes) -> list[Value]:
    value = decimal(text)
    if re.fullmatch(rb"0*(4294967294|4294967295|18446744073709551614|18446744073709551615)", text):
        return [None]
    return [value]


def swf(text: bytes) -> list[Value]:
    value = decimal(text)
    if value == -1:
        return [None]
    if not re.fullmatch(rb"-?\d+", text):
        return [value]
    if number(text.removeprefix(b"-")) > INT_MAX:
        raise TOO_LARGE
    return [int(text)]


SIZE = re.compile(rb"(\d+|\d{1,3}(?:,\d{3})+)(?:\.(\d{1,9}))?([KMGTPE?])?")


def size(text: bytes, unit: int = 0) -> int | None:
    match = SIZE.fullmatch(text)
    if not match:
        raise MALFORMED
    if re.fullmatch(rb"\d+", text):
        try:
            if number(text) in UNSET:
                return None
        except Bad:
            pass
    whole, part, letter = match.groups()
    whole = whole.replace(b",", b"").lstrip(b"0") or b"0"
    shift = 10 * (b"KMGTPE?".index(letter) + 1) if letter else unit
    if len(whole) > 20 or int(whole) > INT_MAX >> shift:
        return None
    exact = Fraction((whole + b"." + (part or b"0")).decode()) * 2**shift
    return exact.numerator // exact.denominator


def reqmem(text: bytes) -> list[Value]:
    per = text[-1:] if text[-1:] in (b"c", b"n") else None
    value = size(text[:-1] if per else text)
    return [None, None] if value is None or value >= MAX_MEMORY else [value, per]


CLOCK = re.compile(rb"(?:(\d+)-)?(\d+)((?::[0-5]\d){0,2})(?:\.(\d{1,9}))?")


def clock(text: bytes) -> tuple[int | None, list[int], Fraction, bytes]:
    """Days, parts, fraction, and the fraction's digits."""
    match = CLOCK.fullmatch(text)
    if not match:
        raise MALFORMED
    days, lead, rest, part = match.groups()
    parts = [lead, *rest.split(b":")[1:]]
    if days is not None and (len(lead) > 2 or int(lead) > 23):
        raise MALFORMED
    if int((days or lead).lstrip(b"0")[:21] or b"0") > 10**12:
        raise TOO_LARGE
    return (
        None if days is None else int(days),
        [int(p) for p in parts],
        Fraction(int(part or b"0"), 10 ** len(part or b"")),
        part or b"",
    )


def duration(text: bytes) -> tuple[int, bytes] | None:
    if re.fullmatch(rb"\d+", text):
        try:
            if number(text) in UNSET:
                return None
        except Bad:
            raise TOO_LARGE from None
    match = CLOCK.fullmatch(text)
    if match and match.group(1) is not None and match.group(3).count(b":") != 2:
        raise MALFORMED
    days, parts, _, part = clock(text)
    seconds = 0
    for one in parts:
        seconds = seconds * 60 + one
    return seconds + (days or 0) * 86400, part


def seconds(text: bytes) -> list[Value]:
    value = duration(text)
    return [None if value is None else value[0]]


def cputime(text: bytes) -> list[Value]:
    value = duration(text)
    return [None if value is None else float(value[0]) + int(value[1] or b"0") / 10 ** len(value[1])]


def limit(text: bytes) -> list[Value]:
    try:
        plain = number(text)
    except Bad:
        plain = -1
    if text in (b"UNLIMITED", b"INFINITE") or plain in (INFINITE, INFINITE64):
        return [None, b"unlimited"]
    if text == b"Partition_Limit" or plain in (NO_VAL, NO_VAL64):
        return [None, b"partition"]
    if text in SENTINELS:
        return [None, b"unknown"]
    if b"." in text:
        raise MALFORMED
    days, parts, _, _ = clock(text)
    if days is None and len(parts) < 3:
        parts = [0, *parts]  # M or M:S
    total = (days or 0) * 86400 + sum(p * unit for p, unit in zip(parts, (3600, 60, 1), strict=False))
    return [total, b"finite"] if total else [None, b"unknown"]


def exit_code(text: bytes) -> list[Value]:
    code, colon, signal = text.partition(b":")
    first = count(code)
    if first is None:
        return [None, None]
    second = count(signal) if colon else None
    return [None, None] if colon and second is None else [first, second]


STEP = rb"[A-Za-z0-9_+-]{1,64}"
JOBID = re.compile(rb"((\d+)(?:_(\d+)|_(\[[0-9,%:.-]+(?:\]|(?=$)))|\+(\d+))?)(?:\.(" + STEP + rb"))?", re.DOTALL)


def jobid(text: bytes) -> list[Value]:
    match = JOBID.fullmatch(text)
    if not match:
        raise MALFORMED
    name, job, task, tasks, offset, step = match.groups()
    numbers = [None if n is None else number(n) for n in (job, task, offset)]
    for n in numbers:
        if n in UNSET:
            raise MALFORMED
        if n is not None and n > INT_MAX:
            raise TOO_LARGE
    array = task is not None or tasks is not None
    het = offset is not None
    count = None if tasks is None else listed(tasks)
    return [name, numbers[0] if array else None, numbers[1], numbers[0] if het else None, numbers[2], step, count]


def listed(tasks: bytes) -> int | None:
    """How many tasks are in [5-9:2,11%3]; None where the list was cut before its % or its bracket."""
    inner, limit, _ = tasks.removeprefix(b"[").removesuffix(b"]").partition(b"%")
    if not limit and not tasks.endswith(b"]"):
        return None
    parts = [re.fullmatch(rb"(\d{1,10})(?:-(\d{1,10})(?::(\d{1,10}))?)?", part) for part in inner.split(b",")]
    many = 0
    for part in parts:
        if part is None:
            return None
        first, last, step = (n and count(n) for n in part.groups())
        if first is None or (part[2] and last is None) or (part[3] and not step):
            return None
        some = len(range(first, (first if last is None else last) + 1, step or 1))
        if not some:
            return None
        many += some
    return many


def rawid(text: bytes) -> list[Value]:
    match = re.fullmatch(rb"(\d+)(?:\." + STEP + rb")?", text)
    if not match:
        raise MALFORMED
    return [count(match.group(1))]


def state(text: bytes) -> list[Value]:
    match = re.fullmatch(rb"([A-Za-z_]+)(?: by (\d+))?", text)
    if not match:
        raise MALFORMED
    return [match.group(1), None if match.group(2) is None else count(match.group(2))]


#: Of a text: sort (gpu, shard, mps) -> type (b"" for none) -> count.
Words = dict[str, dict[bytes, int]]
UNITS = {b"": 0, b"K": 10, b"M": 20, b"G": 30, b"T": 40, b"P": 50}
PROFILE = re.compile(
    rb"(?:^|[._-])(?:mig[._-]?)?(?:[1-9]c[._-]?)?[1-9]g[._-]?[0-9]+gb(?:[+._-](?:me|all|gfx))*\Z", re.IGNORECASE
)


def gpu_count(text: bytes) -> int | None:
    match = re.fullmatch(rb"([0-9]+)([KMGTP]?)", text, re.IGNORECASE)
    if not match:
        return None
    number = int(match[1]) << UNITS[match[2].upper()]
    return None if number > INT_MAX or number in (2**32 - 1, 2**32 - 2) else number


def gpu_add(words: Words, sort: str, name: bytes, number: int) -> None:
    types = words[sort]
    types[name] = types.get(name, 0) + number
    if types[name] > INT_MAX or sum(n for key, n in types.items() if key) > INT_MAX:
        raise TOO_LARGE
    if sum(1 for types in words.values() for key, n in types.items() if key and n) > 16:
        raise TOO_LARGE


def gpu_values(words: Words | None) -> tuple[Value, Value, Value]:
    """gpus, gpu_type, gpu_parts; None: a word could not be read."""
    if words is None:
        return None, None, b"?"
    types = {name: n for name, n in words["gpu"].items() if n}
    slices = {name: n for name, n in types.items() if name and PROFILE.search(name)}
    whole = sum(types.values()) - sum(slices.values())
    if whole > INT_MAX:
        raise TOO_LARGE
    parts = {b"slice:" + name: n for name, n in slices.items()}
    if not types:
        for sort in ("shard", "mps"):
            parts |= {sort.encode() + (b":" + name if name else b""): n for name, n in words[sort].items() if n}
    listed = b",".join(b"%s=%d" % one for one in sorted(parts.items()))
    return whole, b"+".join(sorted(filter(None, types))) or None, listed or None


def pairs(text: bytes) -> list[tuple[bytes, bytes]]:
    items = [item.partition(b"=") for item in text.split(b",")]
    return [(key, value if equals else b"\0") for key, equals, value in items]


#: The ids of slurmdb.h that slurmdbd's tables have in place of names.
TRES_IDS = {b"1": b"cpu", b"2": b"mem", b"3": b"energy", b"4": b"node", b"5": b"billing", b"6": b"fs/disk"}


def tres(text: bytes) -> list[Value]:
    found: dict[bytes, Value] = {}
    words: Words = {"gpu": {}, "shard": {}, "mps": {}}
    readable = True
    items = text.split(b",")
    for place, item in enumerate(items):
        if item.startswith((b"mem=", b"2=")):
            while len(items) > place + 1 and re.fullmatch(rb"\d{3}(?:[KMGTPE?.].*)?", items[place + 1], re.DOTALL):
                item += b"," + items.pop(place + 1)
        key, equals, value = item.partition(b"=")
        gpus = re.match(rb"gres/(gpu|shard|mps)(?=[=:])", item, re.DOTALL)
        if gpus:
            typed = item[gpus.end() : gpus.end() + 1] == b":"
            name, has_count, amount = item[gpus.end() + 1 :].partition(b"=") if typed else (b"", b"=", value)
            n = gpu_count(amount) if has_count and (name or not typed) else None
            if n is None:
                readable = False
            elif typed:
                gpu_add(words, gpus[1].decode(), name, n)
            else:
                words[gpus[1].decode()][b""] = n
            continue
        if not key or not equals:
            raise MALFORMED
        key = TRES_IDS.get(key, key)
        if key in (b"cpu", b"node", b"energy", b"billing"):
            if (n := (some if key == b"energy" else count)(value)) is not None:
                found[key] = n
        elif key == b"mem":
            n = size(value, 20)
            if n is not None and n < MAX_MEMORY:
                found[key] = n
        elif re.fullmatch(rb"[0-9]{4,}", key):
            readable = False
    for types in words.values():
        if b"" in types:
            types[b""] -= sum(n for name, n in types.items() if name)
            readable = readable and types[b""] >= 0
    whole, kinds, parts = gpu_values(words if readable else None)
    return [
        *(found.get(key) for key in (b"cpu", b"mem", b"node")),
        whole,
        kinds,
        found.get(b"energy"),
        found.get(b"billing"),
        parts,
    ]


#: Slurm's numbers for its plugins.
GRES_NAMES = {b"7696487": b"gpu", b"1918986455": b"shard", b"7565421": b"mps"}


def gres(text: bytes) -> list[Value]:
    words: Words = {"gpu": {}, "shard": {}, "mps": {}}
    units, readable = set[bytes](), True
    bare = re.sub(rb"\([^)]*\)", b"", text)
    if b"(" in bare:
        raise MALFORMED
    for item in bare.split(b","):
        unit = re.match(rb"PER_(NODE|JOB|TASK|SOCKET):", item)
        rest = re.sub(rb"\Agres[:/]", b"", item[unit.end() :] if unit else item)
        name, *parts = re.split(rb"[:=]", rest)
        name = GRES_NAMES.get(name, name)
        if not name:
            raise MALFORMED
        if name not in (b"gpu", b"shard", b"mps"):
            continue
        units.add(unit[1].lower() if unit else b"node")
        n = gpu_count(parts[-1]) if parts else 1
        kind = parts[0] if len(parts) >= 2 or (parts and n is None) else b""
        if len(parts) > 2 or (len(parts) == 1 and n is None and not kind) or (len(parts) == 2 and n is None):
            readable = False
        if len(parts) <= 1 and n is None and kind:
            n = 1
        if n is not None:
            gpu_add(words, name.decode(), kind, n)
    readable = readable and len(units) < 2
    return [*gpu_values(words if readable else None), units.pop() if len(units) == 1 else b"node"]


def some(text: bytes) -> int | None:
    digits = text.lstrip(b"0")
    return None if re.fullmatch(rb"\d{19,}", digits) and int(digits[:40]) > INT_MAX else count(text)


def usage(text: bytes) -> list[Value]:
    found: dict[bytes, Value] = {}
    readers: dict[bytes, Callable[[bytes], Value]] = {
        b"cpu": lambda value: cputime(value)[0],
        b"mem": lambda value: size(value),
        b"fs/disk": lambda value: size(value),
        b"energy": some,
        b"gres/gpuutil": some,
        b"gres/gpumem": lambda value: size(value),
    }
    for key, value in pairs(text):
        if not key or value == b"\0":
            raise MALFORMED
        name = TRES_IDS.get(key, key)
        read = thousandths if key == b"1" else readers.get(name)
        if read is not None and (n := read(value)) is not None:
            found[name] = n
    return [found.get(key) for key in readers]


def thousandths(text: bytes) -> float | None:
    n = some(text)
    return None if n is None else float(n // 1000)


#: Kinds that may hold delimiters and newlines.
FREE = ("free", "admin_comment", "submitted")

#: The grammar of docs/comment-words.md.
NOTE = re.compile(
    rb"ak1:lim=(?:(\d+|inf),src=e|none,src=d)"
    rb"(?:,cls=[A-Za-z0-9_.+-]+)?(?:,own=[A-Za-z0-9_.+-]+)?"
    rb"(?:,min=[A-Za-z0-9_.+-]+)?(?:,keep=[A-Za-z0-9_.+-]+)?"
    rb"(?:,soft=[A-Za-z0-9_.+-]+)?(?:,el=[A-Za-z0-9_.+-]+)?(?:,ext=[A-Za-z0-9_.+-]+)?"
    rb"(?:,rules=[A-Za-z0-9_.+-]+)?(?= |\Z)",
    re.DOTALL,
)


#: The checkpoint plugin's note: a whole word between blanks.
CKPT = re.compile(rb"(?: |\A)ck1:at=(\d+),heard=(\d+),rq=(\d+)(?:,end=([a-z]+))?(?= |\Z)", re.DOTALL)


def admin_comment(text: bytes) -> list[Value]:
    return [text or None, *recorded(text), *checkpoint(text), *extension(text)]


def recorded(text: bytes) -> list[Value]:
    found = NOTE.match(text)
    if found is None:
        return [None, None]
    number = found.group(1)
    if number is None:
        return [None, b"default"]
    return [None if number == b"inf" else capped(number), b"explicit"]


def checkpoint(text: bytes) -> list[Value]:
    found = CKPT.search(text)
    if found is None:
        return [None] * 4
    at, heard, requeues, end = found.groups()
    return [capped(at), capped(heard, 2**32 - 1), capped(requeues, 2**32 - 1), end]


def extension(text: bytes) -> list[Value]:
    for word in text.split(b" "):
        found = re.fullmatch(rb"xt1:asked=([0-9]+),lim=([0-9]+),n=([0-9]+)", word)
        if found is not None:
            asked, limit, times = (number.lstrip(b"0")[:20] or b"0" for number in found.groups())
            return [capped(asked), capped(limit), capped(times, 2**32 - 1)]
    return [None] * 3


def capped(digits: bytes, most: int = 2**63 - 1) -> int:
    return min(int(digits), most)


CONVERT: dict[str, Callable[[bytes], list[Value]]] = {
    "skip": lambda text: [],
    "text": lambda text: [None if text in (b"", b"(null)") else text],
    "free": lambda text: [text or None],
    "admin_comment": admin_comment,
    "int": sentinel(integer),
    "serial": sentinel(serial),
    "real": sentinel(real),
    "swf": sentinel(swf),
    "seconds": sentinel(seconds),
    "epoch": sentinel(epoch),
    "cputime": sentinel(cputime),
    "limit": limit,
    "jobid": sentinel(jobid, 7),
    "rawid": sentinel(rawid),
    "state": sentinel(state, 2),
    "exit": sentinel(exit_code, 2),
    "mem": sentinel(lambda text: [size(text)]),
    "reqmem": sentinel(reqmem, 2),
    "tres": sentinel(tres, 8),
    "gres": sentinel(gres, 4),
    "usage": sentinel(usage, 6),
    "nodelist": sentinel(lambda text: [text]),
}
assert set(CONVERT) | {"time", "submitted"} == set(KINDS)
