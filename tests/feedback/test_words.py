"""Values in people's words, and names made harmless."""

from __future__ import annotations

import unicodedata
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from adminkit.feedback import format
from adminkit.feedback.chart import bars
from tests.support.builders import HOUR, MONDAY


@pytest.mark.parametrize(
    ("seconds", "en", "ja"),
    [
        (0, "0 s", "0秒"),
        (45, "45 s", "45秒"),
        (59.6, "1 min", "1分"),
        (89, "1 min", "1分"),
        (3569, "59 min", "59分"),
        (3570, "1 h", "1時間"),
        (3 * HOUR + 600, "3 h 10 min", "3時間10分"),
        (72 * HOUR, "72 h", "72時間"),
        (100 * HOUR - 30, "4 d 4 h", "4日4時間"),
        (240 * HOUR, "10 d", "10日"),
    ],
)
def test_durations(seconds: float, en: str, ja: str) -> None:
    assert format.duration(seconds, "en").replace(format.NO_BREAK, " ") == en
    assert format.duration(seconds, "ja") == ja


@pytest.mark.parametrize(
    ("gpu", "cpu", "en", "ja"),
    [
        (3600, 0, "1 GPU-hour", "1GPU時間"),
        (0, 1800, "0.5 CPU-hours", "0.5CPU時間"),
        (4e6, 7200, "1,111 GPU-hours and 2 CPU-hours", "1,111GPU時間と2CPU時間"),
        (3600, 60, "1 GPU-hour", "1GPU時間"),
        (0, 0, "0 GPU-hours", "0GPU時間"),
    ],
)
def test_hours_that_were_reserved(gpu: float, cpu: float, en: str, ja: str) -> None:
    assert format.hours(gpu, cpu, "en").replace(format.NO_BREAK, " ") == en
    assert format.hours(gpu, cpu, "ja") == ja


@pytest.mark.parametrize(
    ("value", "said"), [(0, "0 %"), (0.001, "<1 %"), (0.054, "5 %"), (0.999, ">99 %"), (1, "100 %"), (1.2, "120 %")]
)
def test_shares_are_never_none_or_all_of_what_is_only_nearly_so(value: float, said: str) -> None:
    assert format.share(value).replace(format.NO_BREAK, " ") == said


@pytest.mark.parametrize(
    ("joules", "said"),
    [(3600, "1 Wh"), (900, "0.2 Wh"), (3_596_000, "999 Wh"), (4_320_000, "1.2 kWh"), (9e9, "2,500 kWh")],
)
def test_energy(joules: float, said: str) -> None:
    assert format.energy(joules).replace(format.NO_BREAK, " ") == said


def test_moments() -> None:
    assert format.moment(MONDAY + 10 * HOUR, "en", UTC) == "5 Jan 10:00"
    assert format.moment(MONDAY + 10 * HOUR, "ja", UTC) == "1月5日 10:00"
    assert (format.day(MONDAY, "en", UTC), format.day(MONDAY, "ja", UTC)) == ("5 Jan", "1月5日")


@pytest.mark.parametrize(
    ("name", "shown", "why"),
    [
        (None, "-", "none"),
        ("", "-", "empty"),
        ("  a \t b\n c ", "a b c", "blanks"),
        ("a\r\nBcc: x", "a\\r Bcc: x", "a header"),
        ("a\u202eb", "a\\u202eb", "an override"),
        ("\udc80", "\\udc80", "half a character"),
        ("\x1b[31m", "\\x1b[31m", "a terminal's colour"),
        ("x" * 49, "x" * 47 + "…", "one too long"),
        ("x" * 48, "x" * 48, "just fits"),
        ("大規模学習", "大規模学習", "letters of any language"),
    ],
)
def test_names_are_made_harmless(name: str | None, shown: str, why: str) -> None:
    assert format.harmless(name) == shown, why


@given(st.text(max_size=300))
def test_any_name_is_one_short_line_that_every_program_can_show(name: str) -> None:
    shown = format.harmless(name)
    assert 1 <= len(shown) <= format.NAME
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in shown)
    assert format.harmless(shown) == shown
    shown.encode()


@pytest.mark.parametrize(
    ("text", "columns", "shown", "why"),
    [
        ("abc", 5, "abc  ", "filled up"),
        ("abcdef", 5, "abcd…", "cut"),
        ("大規模", 6, "大規模", "an East Asian character takes two columns"),
        ("大規模", 5, "大規…", "and is cut whole"),
        ("大規模", 4, "大 …", "or leaves a blank"),
        ("e\u0301a", 3, "e\u0301a ", "an accent takes none"),
        ("👩\u200d💻", 3, "👩\u200d💻 ", "several characters may be one picture"),
    ],
)
def test_a_label_takes_the_columns_that_a_terminal_gives_it(text: str, columns: int, shown: str, why: str) -> None:
    assert format.pad(text, columns) == shown, why


@given(st.text(st.sampled_from("ab (),.。、（」日本語\n"), max_size=200), st.integers(12, 80))
def test_filled_text_fits_and_loses_nothing(text: str, columns: int) -> None:
    lines = format.fill(text, columns, "  ").split("\n")
    longest = max(map(cell_len, text.split()), default=0)
    # a closing bracket may hang over the edge, as may a word that is longer than the line
    assert all(cell_len(line) <= max(columns + 12, longest + 2) for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "lines", "why"),
    [
        ("ask for 3\u00a0h 10\u00a0min now", ["ask for", "3\u00a0h 10\u00a0min", "now"], "a number keeps its unit"),
        ("制限時間は長い。短い", ["制限時間は長い。", "短い"], "a full stop does not begin a line"),
        ("制限時間は長い(長い)", ["制限時間は長い", "(長い)"], "a bracket does not end one"),
        ("", [""], "nothing"),
    ],
)
def test_lines_break_where_people_would(text: str, lines: list[str], why: str) -> None:
    assert format.fill(text, 14 if "制" in text else 10).split("\n") == lines, why


def test_bars_share_a_scale_and_show_what_little_there_is() -> None:
    found = bars([("a", 1, 1000), ("b", 500, 500), ("c", 300, None), ("d", 0, 0), ("e", 2000, 1000)])
    assert [(one.full, one.empty) for one in found] == [(1, 49), (25, 0), (15, 0), (0, 0), (100, 0)]
    assert [one.text for one in found] == ["#" + 15 * ".", 8 * "#", 5 * "#", "", 32 * "#"]
    assert bars([]) == []
