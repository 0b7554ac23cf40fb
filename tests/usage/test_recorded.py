"""Recorded readings, as a site's file has them."""

from __future__ import annotations

import pytest

from adminkit.errors import AdminkitError
from adminkit.usage.recorded import Reading, Recorded

HEAD = "job,gpu,time,use\n"


def read(text: str, step: int = 60) -> Reading:
    reading = Reading(step, 0.01)
    reading.read(text.splitlines(keepends=True))
    return reading


def rows(uses: str, gpu: str = "0", job: str = "7", at: int = 1000) -> str:
    """One reading a minute: X is used, . is not, and a blank is missing."""
    shares = {"X": "0.5", ".": "0"}
    return "".join(f"{job},{gpu},{at + 60 * n},{shares[use]}\n" for n, use in enumerate(uses) if use != " ")


@pytest.mark.parametrize(
    ("text", "used", "why"),
    [
        (rows("....."), [[]], "never used"),
        (rows("..X.."), [[(1060, 1120)]], "a reading stands for the step before it"),
        (rows("X...."), [[(1000, 1000)]], "and no further back than the first"),
        (rows("..XX."), [[(1060, 1180)]], "two readings"),
        (rows("X..X."), [[(1000, 1000), (1120, 1180)]], "apart"),
        (rows(".  .."), [[(1000, 1180)]], "what is not known is not idle"),
        (rows(". ..."), [[]], "one reading that is missing is within two steps"),
        (rows(".....") + rows("XX...", gpu="1"), [[], [(1000, 1060)]], "each GPU"),
        (rows(".....") + rows("..", gpu="1"), [[], [(1060, 1240)]], "a GPU that stopped being measured"),
        (rows(".....") + rows("..", gpu="1", at=1180), [[], [(1000, 1180)]], "or was not measured at first"),
    ],
)
def test_readings_are_times_of_use(text: str, used: list[list[tuple[int, int]]], why: str) -> None:
    (one,) = read(HEAD + text).jobs
    assert (one.job, one.used) == ("7", used), why


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("\ufeffjob,gpu,time,use\n", "a spreadsheet's mark before the header"),
        ('\ufeff"job","gpu","time","use"\r\n', "with quotes"),
        ("Job, GPU ,Time,Use\n", "in other letters"),
    ],
)
def test_a_header_is_read_as_spreadsheets_write_it(head: str, why: str) -> None:
    (one,) = read(head + rows("..X..")).jobs
    assert one.used == [[(1060, 1120)]], why


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("7,0,1000,0\n", "job, gpu, time, and use or percent"),
        ("job,gpu,time\n7,0,1000\n", "use or percent"),
        ("job,time,percent\n", "gpu"),
    ],
)
def test_a_header_that_lacks_columns_names_them(text: str, lacks: str) -> None:
    with pytest.raises(AdminkitError) as raised:
        read(text)
    assert str(raised.value) == f"the header lacks: {lacks}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        (HEAD, "there is no reading below the header"),
        (HEAD + "7,0,now,0\n7,0,then,0\n", "none of the 2 rows could be read, such as line 2: not a number"),
    ],
)
def test_a_file_without_a_reading_is_refused(text: str, words: str) -> None:
    with pytest.raises(AdminkitError) as raised:
        read(text)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("7,0,now,0", "not a number"),
        ("7,0,1060,nan", "not a share"),
        ("7,0,1060,1.5", "more than all"),
        ("7,0,1060,-1", "less than none"),
        ("7,0,1e300,0", "no time"),
        ("7,0", "cut"),
        (",0,1060,0", "no job"),
        ("7,,1060,0", "no GPU"),
        ("7,0,1000,0", "twice"),
        ("7,0,900,0", "out of order"),
        (f"{'9' * 200},0,1060,0", "a name that long"),
    ],
)
def test_what_cannot_be_read_is_counted_with_its_line(row: str, why: str) -> None:
    reading = read(f"{HEAD}7,0,1000,0\n{row}\n7,0,1120,0\n")
    assert reading.rejected == 1 and reading.first_rejected.startswith("line 3: "), why
    assert list(reading.jobs) == [Recorded("7", 1000, 1120, [[]])]


def test_columns_may_be_in_any_order_and_in_percent() -> None:
    (one,) = read("host, percent ,time,gpu,job\nn1,50,1060,0,7\nn1,0.5,1120,0,7\n").jobs
    assert one == Recorded("7", 1060, 1120, [[(1060, 1060)]])


@pytest.mark.parametrize("text", ["", "job,gpu,time\n", "a,b\n", HEAD + "x" * 5000 + "\n", HEAD + '"' + "x" * 140_000])
def test_a_file_that_is_another_is_refused(text: str) -> None:
    with pytest.raises(AdminkitError):
        read(text)
