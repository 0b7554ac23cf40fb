"""What a table's cell becomes, in base units, and what is no value."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from adminkit.errors import UsageError
from adminkit.ingest.sources import cells
from adminkit.ingest.sources.cells import Bad, Convert, Text, Time, Value

HOURS = cells.amount(cells.SECONDS["hours"])
MINUTES = cells.limit(cells.amount(cells.SECONDS["minutes"]))


@pytest.mark.parametrize(
    ("convert", "text", "value", "why"),
    [
        (cells.whole(), "4", 4, "a count"),
        (cells.whole(), "4.0", 4, "as pandas writes it where a cell of the column is empty"),
        (cells.whole(), " 1e3 ", 1000, "blanks, an exponent"),
        (cells.whole(1000), "1.5", 1500, "thousands"),
        (cells.whole(negative=True), "-9", -9, "an exit code may be negative"),
        (cells.whole(), str(2**60), 2**60, "the largest, exactly"),
        (HOURS, "4.1", 14760, "no second is lost to binary fractions"),
        (HOURS, "0", 0, "nothing"),
        (cells.amount(1e-3), "1999", 1, "what is left of the last second is dropped"),
        (cells.amount(1), "66.0", 66, "Philly's durations"),
        (cells.amount(cells.BYTES["MB"]), "2", 2_000_000, "decimal megabytes"),
        (cells.amount(cells.BYTES["GiB"]), "1.5", 3 * 2**29, "binary gigabytes"),
        (cells.amount(cells.JOULES["Wh"]), "2", 7200, "watt-hours"),
        (cells.real(60), "0.25", 15.0, "CPU time keeps its fraction"),
        (cells.clock, "1-02:03:04", 93_784, "a clock with days"),
        (cells.clock, "01:30", 90, "minutes and seconds"),
        (cells.clock, "00:01:30.250", 90, "a fraction of a second"),
        (cells.clock, "90", 90, "seconds"),
        (MINUTES, "1440", 86_400, "a day"),
        (MINUTES, "0", None, "no limit is known"),
        (MINUTES, "INFINITE", "unlimited", "Slurm's word"),
        (MINUTES, "4294967295", "unlimited", "Slurm's number for it"),
        (MINUTES, "4294967294.0", "partition", "NO_VAL, as pandas writes it"),
        (MINUTES, "Partition_Limit", "partition", "the queue's own"),
        (cells.state({"Pass": "COMPLETED"}), "Pass", "COMPLETED", "the map's word"),
        (cells.state({"Pass": "COMPLETED"}), "PASS", "COMPLETED", "whatever its case"),
        (cells.state({}), "node_fail", "NODE_FAIL", "Slurm's own"),
        (cells.state({"COMPLETED": "FAILED"}), "COMPLETED", "FAILED", "the map comes first"),
        (cells.one_of(("explicit", "default")), "default", "default", "one of a few"),
        (Text("user"), "17", "user17", "a number becomes a name"),
        (Text(), "a,b\n\"c'; DROP TABLE job", "a,b\n\"c'; DROP TABLE job", "text is text"),
    ],
)
def test_a_cell_becomes(convert: Convert, text: str, value: Value, why: str) -> None:
    assert convert(text) == value, why


@pytest.mark.parametrize(
    ("convert", "text", "reason"),
    [
        (cells.whole(), "4.5", "'4.5' is not a whole number"),
        (cells.whole(), "-1", "'-1' is below 0"),
        (cells.whole(), "1_000", "'1_000' is not a number"),
        (cells.whole(), "١٢", "'١٢' is not a number"),
        (cells.whole(), "nan", "'nan' is not a number"),
        (cells.whole(), "inf", "'inf' is not a number"),
        (cells.whole(), "0x10", "'0x10' is not a number"),
        (cells.whole(), "9" * 5000, "9…' is not a number"),
        (cells.whole(), "1e99", "'1e99' is too large"),
        (cells.whole(), str(2**60 + 1), "is too large"),
        (HOURS, "-0.0001", "'-0.0001' is below 0"),
        (HOURS, "1 hour", "'1 hour' is not a number"),
        (HOURS, "\x1b[31m7", "'·[31m7' is not a number"),
        (cells.clock, "1:2:3:4", "'1:2:3:4' is not a duration such as 1-02:30:00"),
        (cells.state({}), "Passed", "'Passed' is not a state of Slurm, and the map's [states] does not translate it"),
        (cells.one_of(("explicit", "default")), "mine", "'mine' is not one of explicit, default"),
        (Text(), "a\0b", "a NUL byte"),
    ],
)
def test_what_is_no_value_is_said(convert: Convert, text: str, reason: str) -> None:
    with pytest.raises(Bad) as error:
        convert(text)
    assert reason in str(error.value)


def test_who_cancelled_stands_apart() -> None:
    assert cells.cancelled_by(str(cells.state({})("CANCELLED by 1000"))) == ("CANCELLED", 1000)
    assert cells.cancelled_by("CANCELLED") == ("CANCELLED", None)


def test_bytes_that_are_no_utf8_are_replaced_and_counted() -> None:
    text = Text()
    assert text(b"a\xffb\xfe".decode("utf-8", "surrogateescape")) == "a\ufffdb\ufffd"
    assert text("学習") == "学習"
    assert text.replaced == 2


@pytest.mark.parametrize(
    ("form", "zone", "text", "epoch", "why"),
    [
        ("iso", "UTC", "2017-10-09 07:01:55", 1507532515, "Philly's"),
        ("iso", "UTC", "2017-10-09T07:01:55.999", 1507532515, "a fraction is dropped"),
        ("iso", "UTC", "2017-10-09", 1507507200, "a day begins at midnight"),
        ("iso", "Asia/Tokyo", "2017-10-09 16:01:55", 1507532515, "another zone"),
        ("iso", "Asia/Tokyo", "2017-10-09 07:01:55+00:00", 1507532515, "a time that names its own"),
        ("iso", None, "2017-10-09T07:01:55Z", 1507532515, "needs no zone"),
        ("iso", "Europe/Berlin", "2023-07-01 02:30:00", 1688171400, "summer"),
        ("iso", "Europe/Berlin", "2023-10-29 03:30:00", 1698546600, "the day of the change, after it"),
        ("iso", "Europe/Berlin", "2023-10-29 02:30:00", 1698539400, "an hour that occurs twice: the first"),
        ("epoch", None, "1507532515", 1507532515, "seconds"),
        ("epoch", None, "1507532515.75", 1507532515, "with a fraction"),
        ("epoch_ms", None, "1507532515999", 1507532515, "milliseconds"),
        ("epoch_ns", None, "1507532515999999999", 1507532515, "nanoseconds"),
        ("epoch", None, "0", None, "Slurm's unknown"),
        ("%d/%m/%Y %H:%M", "UTC", "09/10/2017 07:01", 1507532460, "a pattern"),
        ("%Y-%m-%d %H:%M:%S %z", None, "2017-10-09 09:01:55 +0200", 1507532515, "a pattern with a zone"),
    ],
)
def test_a_time_becomes(form: str, zone: str | None, text: str, epoch: int | None, why: str) -> None:
    assert Time(form, ZoneInfo(zone) if zone else None)(text) == epoch, why


@pytest.mark.parametrize(
    ("form", "text", "reason"),
    [
        ("iso", "soon", "'soon' is not a time (iso)"),
        ("iso", "2017-02-30 00:00:00", "is not a time (iso)"),
        ("iso", "1969-12-31 00:00:00", "is before 1970 or after 9999"),
        ("iso", "0001-01-01", "is not a time (iso)"),
        ("iso", "9999-12-31 23:59:59", "is not a time (iso)"),
        ("epoch", "-5", "is before 1970 or after 9999"),
        ("epoch", "1507532515000", "is before 1970 or after 9999"),
        ("%d/%m/%Y", "2017-10-09", "'2017-10-09' is not a time (%d/%m/%Y)"),
        ("iso", "2023-03-26 02:30:00", "there is no 2023-03-26 02:30:00 in Europe/Berlin: the clock was put forward"),
    ],
)
def test_what_is_no_time_is_said(form: str, text: str, reason: str) -> None:
    with pytest.raises(Bad) as error:
        Time(form, ZoneInfo("Europe/Berlin"))(text)
    assert reason in str(error.value)


def test_hours_that_occur_twice_are_counted() -> None:
    time = Time("iso", ZoneInfo("Europe/Berlin"))
    for text in ("2023-10-29 02:00:00", "2023-10-29 02:59:59", "2023-10-29 03:00:00", "2023-10-28 02:30:00"):
        time(text)
    assert time.ambiguous == 2


def test_a_date_without_a_zone_is_asked_about() -> None:
    with pytest.raises(UsageError, match="the times are dates without a time zone"):
        Time("iso", None)("2017-10-09 07:01:55")
