"""The Japanese of the page: every sentence, note and word in pictures that the reviewed reports have is translated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from string import Formatter

import pytest

from adminkit.render.figure import panels
from adminkit.render.format import header
from adminkit.render.html_parts import figures, report_facts
from adminkit.render.panel_numbers import numbers
from adminkit.render.report import Bar, Bars, Meta, Pictures, Report
from adminkit.reports.answer import ROLLED_UP
from adminkit.reports.page_notes import COUNTED, FACTS, NOTES, OUR_BARS, PICTURED, RULES
from adminkit.reports.page_said import SAID, TERMS, said_in, titled, translated
from adminkit.reports.page_words import WORDS
from tests.support.japanese import between_letters
from tests.support.reports import HOSTILE, REVIEWED

#: Words that only an English sentence has; names of columns, states and settings are none.
ENGLISH = re.compile(r"\b(?:the|of|a|an|is|are|was|were|and|with|not|no|by|to|from|jobs?|runs?|users?|share|hours)\b")
#: What the traces name, and what is the same in both languages.
NAMES = re.compile(
    r"gq(?:-short)?|debug|cpu|ada|bob|eve|torchrun|mpi|train|md|eval|endless|UTC|CPU|GPU|min|h|s|kWh|Wh|[^A-Za-z]*"
)
say = said_in("ja")


def japanese(text: str) -> bool:
    return any("\u3040" <= letter <= "\u9fff" for letter in text) and not ENGLISH.search(text)


CASES = [(name, empty) for name in REVIEWED for empty in (0, 1)]


@pytest.fixture(params=CASES, ids=lambda one: "-".join(map(str, one)))
def report(request: pytest.FixtureRequest, tmp_path: Path) -> Report:
    name, empty = request.param
    return REVIEWED[name][empty](tmp_path)


def test_every_line_of_a_header_is_japanese_but_for_names(report: Report) -> None:
    assert say
    lines = [(name, text) for name, text in header(report.meta, None) if name not in ("database", "clusters", "as of")]
    said = [(text, say(name, text) or "") for name, text in lines if text != "-"]
    assert [text for text, other in said if not japanese(other)] == []
    assert [other for _, other in said if between_letters(other)] == []


def test_every_word_of_a_picture_is_japanese_but_for_names(report: Report) -> None:
    if report.pictures is None:
        return
    shown = titled(report.pictures, "ja")
    drawn = [unescape(text) for svg in panels(shown, PICTURED) for text in re.findall(r"<text [^>]*>([^<]*)<", svg)]
    assert [text for text in (*_words(shown), *drawn) if not (japanese(text) or _name(text))] == []


def _words(pictures: Pictures) -> Iterator[str]:
    yield from (pictures.title, pictures.caption)
    for panel in pictures.panels:
        found = numbers(panel, PICTURED)
        yield from (panel.title, getattr(panel, "subtitle", ""), found.caption, *found.columns)
        yield from (text for name, cells in found.rows for text in (name, *"\n".join(cells).split("\n")))


def _name(text: str) -> bool:
    return "script" in text or all(NAMES.fullmatch(word) for word in re.split(r"[ ,:+()]+", text))


@pytest.mark.parametrize(
    ("english", "other"),
    [
        ("cpu_hours leave out 1,200 jobs of unknown CPUs", "cpu_hours は、CPUs の数が不明な 1,200 ジョブを含みません"),
        ("the trace knows nothing from 2026-01-01T00:00:00 on: the window ends there",
         "2026-01-01T00:00:00 以降の記録はないため、期間はそこで終わります"),
        ("3 het jobs of unknown GPUs are in no class", "GPU 数が不明な het ジョブ 3 件は、どのクラスにも入りません"),
        ("the capacity is 1,024 CPUs all the time, as the trace's header states; no node is known",
         "容量は記録のヘッダーにあるとおり常に 1,024 CPU です。ノードの記録はありません"),
        ("how the last run ended: max (was requeued as often as it asked for) 2, more 1",
         "最後の実行の終わり方: max (再投入は希望の回数まで) 2, more 1"),
        ("93.0 % of the jobs are multi-node jobs", "ジョブの 93.0 % は複数ノードのジョブです"),
        ("93.0 % of the jobs are multi-gpu jobs", "ジョブの 93.0 % は複数GPU のジョブです"),
        ("of 3 jobs no energy is known; nothing is made up for them", "3 ジョブの電力量は不明です。推定はしていません"),
        ("3 het jobs of 4 users are counted as whole jobs",
         "利用者 4 人の het ジョブ 3 件は、1つのジョブとして数えます"),
        ("2 GPUs: 15 min for up to 1 h, 2 h for over 336 h", "2 GPU: 1 h までは 15 min、336 h 超は 2 h"),
    ],
)  # fmt: skip
def test_what_stands_in_a_sentence_stands_in_its_translation(english: str, other: str) -> None:
    assert translated(english, "ja") == other


#: What each placeholder of page_said.py may have.
VALUES = {
    "n": ["3"], "r": ["1-2"], "c": [f"3 {noun}s" for noun in COUNTED], "m": ["2026-01-02"], "w": ["gpu"],
    "u": ["Memory of GPUs"], "e": ["9.3 MWh"], "l": ["2 drained, 3 down"], "s": ["ended"], "p": ["12 %"],
    "d": ["5 min"], "t": [*TERMS, "resnet"],
}  # fmt: skip


@pytest.mark.parametrize("english", [*SAID, *NOTES, *FACTS])
def test_no_space_stands_between_two_japanese_letters_whatever_a_placeholder_has(english: str) -> None:
    places = [name for _, name, _, _ in Formatter().parse(english) if name]
    for number in range(max((len(VALUES[name[0]]) for name in places), default=1)):
        values = {name: VALUES[name[0]][number % len(VALUES[name[0]])] for name in places}
        said = translated(english.format(**values), "ja")
        assert said and between_letters(said) == [], values


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("left out", "cluster 0; limit unknown 1,017", "クラスタ 0; 制限時間が不明 1,017"),
        ("left out", "none", "なし"),
        ("left out", "a rule that nobody translated 3", None),
        ("filters", "queue gq; elapsed > 60 s", "キュー gq; 実行時間 > 60 秒"),
        ("filters", "queue a; b", None),  # whose name has the sign between filters: shown as it came
        ("database", "/srv/t.db", None),
        ("note", "somebody's sentence", None),
    ],
)
def test_what_a_header_says_is_translated_whole_or_not_at_all(name: str, text: str, said: str | None) -> None:
    assert say and say(name, text) == said
    assert said_in("en") is None


def test_the_note_of_a_report_from_rollups_is_japanese() -> None:
    assert translated(ROLLED_UP, "ja") is not None


def test_what_is_not_translated_is_marked_as_english() -> None:
    meta = Meta.plain("T", ["nobody translated this", "nothing ran in the window"])
    shown = report_facts(meta, None, WORDS["ja"], "en", say)
    assert '<dd lang="en">nobody translated this</dd>' in shown
    assert "<dd>この期間に実行されたものはありません</dd>" in shown


def test_names_of_users_in_pictures_stay_as_they_are() -> None:
    bars = [Bar(name, 1, 0.3) for name in ("failed", "more", HOSTILE, "12 others")]
    users, ends = (titled(Pictures("T", "", [Bars(title, "", bars)]), "ja").panels[0]
        for title in ("Jobs by user", "How the last run ended"))  # fmt: skip
    assert isinstance(users, Bars) and isinstance(ends, Bars)
    assert [bar.name for bar in users.bars] == ["failed", "more", HOSTILE, "ほか 12 件"]
    assert [bar.name for bar in ends.bars] == ["失敗", "それ以上", HOSTILE, "ほか 12 件"]
    assert "<script>" not in figures(Pictures("T", "", [ends]), "表", every=True, words=PICTURED)


def test_each_translation_has_what_its_sentence_has() -> None:
    for english, other in (*SAID.items(), *NOTES.items(), *FACTS.items()):
        had, has = ({name for _, name, _, _ in Formatter().parse(text) if name} for text in (english, other))
        assert has <= had and not [name for name in had - has if name[0] != "t"], english
    assert all(japanese(text) for text in (*NOTES.values(), *RULES.values(), *COUNTED.values()))
    assert {*SAID} >= OUR_BARS
