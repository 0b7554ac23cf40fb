"""Text and base units."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.errors import UsageError
from adminkit.units import parse_duration, parse_edge, parse_when, show_bytes, show_duration, show_short, show_time

NOON = int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp())
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("2026-01-31", NOON - 43_200, "a date is its midnight"),
        ("2026-01-31T12:00", NOON, "a minute"),
        ("2026-01-31 12:00:05", NOON + 5, "a space will do, seconds too"),
        ("30d", NOON - 30 * 86_400, "so many days ago"),
        ("12h", NOON - 43_200, "so many hours ago"),
        ("2W", NOON - 14 * 86_400, "units in any case"),
        ("15m", NOON - 900, "m is a minute"),
        ("1500000000", 1_500_000_000, "epoch seconds"),
        ("@60", 60, "any epoch behind an @"),
        (" now ", NOON, "blanks do not matter"),
        ("today", NOON - 43_200, "days begin at midnight"),
        ("yesterday", NOON - 43_200 - 86_400, "the day before"),
        ("tomorrow", NOON + 43_200, "the day after"),
    ],
)
def test_a_moment_is_read(text: str, expected: int, why: str) -> None:
    assert parse_when(text, NOON, UTC) == expected, why


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("30d", NOON - 30 * 86_400, "days ago: the full hour before"),
        ("2W", NOON - 14 * 86_400, "weeks too"),
        ("0d", NOON, "the hour that has begun"),
        ("12h", NOON - 43_200 + 754, "so many hours are meant as they stand"),
        ("90m", NOON - 5400 + 754, "so are minutes"),
        ("2026-01-31T11:59:59", NOON - 1, "and a time of day"),
        ("now", NOON + 754, "and now"),
    ],
)
def test_the_edge_of_a_window_so_many_days_ago_is_a_full_hour(text: str, expected: int, why: str) -> None:
    assert parse_edge(text, NOON + 754, UTC) == expected, why


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("2026-02-30", "not a date: 2026-02-30", "epoch seconds"),
        ("2026", "not a date: 2026", "2026-01-31"),
        ("yesterdy", "no such date: yesterdy", "did you mean yesterday?"),
        ("3fortnights", "unknown unit of time: fortnights in 3fortnights", "h, d and w"),
        ("", "not a date: ", "2026-01-31"),
        ("2026-01-31T25:00", "not a date: 2026-01-31T25:00", "today"),
        ("９９９９９９９９９", "not a date: ９９９９９９９９９", "epoch seconds"),
    ],
)
def test_what_is_no_moment_is_refused_with_a_way_out(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_when(text, NOON, UTC)
    assert caught.value.message == message
    assert hint in caught.value.hint


def test_civil_times_are_those_of_the_zone() -> None:
    assert parse_when("2026-07-01", NOON, BERLIN) == parse_when("2026-06-30T22:00", NOON, UTC)
    assert parse_when("2025-10-26T02:30", NOON, BERLIN) == parse_when("2025-10-26T00:30", NOON, UTC)  # the first one


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("90", 90, "a bare number is seconds, whatever sbatch thinks"),
        ("0", 0, "nothing is a length too"),
        ("15m", 900, "minutes"),
        ("1h30m", 5400, "units add up"),
        ("2d", 172_800, "days"),
        ("1-00:00:00", 86_400, "Slurm's clock"),
        ("02:00:00", 7200, "hours, minutes, seconds"),
        ("30:00", 1800, "minutes and seconds, as in Slurm"),
        ("1-12", 129_600, "days and hours, as in Slurm"),
        ("1-12:30", 131_400, "days, hours and minutes, as in Slurm"),
    ],
)
def test_a_duration_is_read(text: str, expected: int, why: str) -> None:
    assert parse_duration(text) == expected, why


@pytest.mark.parametrize("text", ["", "h", "1x", "-5", "1:2:3:4", "1.5h", "1h30", "one hour", "²"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_duration(text)
    assert caught.value.hint


@given(st.integers(0, 10**11))
def test_a_duration_survives_being_shown(seconds: int) -> None:
    assert parse_duration(show_duration(seconds)) == seconds


@given(st.integers(-(10**9), 10**10), st.integers(-12, 14))
def test_a_moment_survives_being_shown(epoch: int, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    assert parse_when(show_time(epoch, zone), 0, zone) == epoch


@given(st.integers())
def test_every_number_can_be_shown_as_a_time(epoch: int) -> None:
    assert show_time(epoch, UTC)


@pytest.mark.parametrize(
    ("seconds", "clock"), [(0, "00:00:00"), (90, "00:01:30"), (259_200, "3-00:00:00"), (-90, "-00:01:30")]
)
def test_durations_look_like_slurms(seconds: int, clock: str) -> None:
    assert show_duration(seconds) == clock


@pytest.mark.parametrize(
    ("seconds", "text"), [(45, "45 s"), (900, "15 min"), (5400, "1.5 h"), (1_209_600, "336 h"), (3600, "1 h")]
)
def test_short_durations_have_one_unit(seconds: int, text: str) -> None:
    assert show_short(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**30, "1 GiB"), (2**20 - 1, "1 MiB"), (-2048, "-2 KiB")],
)
def test_sizes_have_the_largest_unit_that_fits(size: int, text: str) -> None:
    assert show_bytes(size) == text


@given(st.integers(0, 2**80))
def test_a_shown_size_is_right_to_a_tenth_of_its_unit(size: int) -> None:
    number, unit = show_bytes(size).split(" ")
    scale = 1024 ** ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB").index(unit)
    assert abs(float(number) * scale - size) <= 0.0501 * scale + size * 1e-12
