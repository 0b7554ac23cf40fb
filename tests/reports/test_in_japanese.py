"""The Japanese of the page: every sentence, note and word in pictures that the reviewed reports have is translated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from adminkit.messages import message, translated
from adminkit.render.figure import panels
from adminkit.render.format import header, some
from adminkit.render.html_parts import figures, report_facts
from adminkit.render.panel_numbers import numbers
from adminkit.render.report import Bar, Bars, Meta, Pictures, Report, in_language
from adminkit.reports import nouns
from adminkit.reports.page_words import words_in
from adminkit.reports.wait import sized
from tests.support.japanese import between_letters
from tests.support.reports import HOSTILE, REVIEWED

#: Words that only an English sentence has; names of columns, states and settings are none.
ENGLISH = re.compile(r"\b(?:the|of|a|an|is|are|was|were|and|with|not|no|by|to|from|jobs?|runs?|users?|share|hours)\b")
#: What the traces name, and what is the same in both languages.
NAMES = re.compile(
    r"gq(?:-short)?|debug|cpu|ada|bob|eve|torchrun|mpi|train|md|eval|endless|UTC|CPU|GPU|min|h|s|kWh|Wh|[^A-Za-z]*"
)


def japanese(text: str) -> bool:
    return any("\u3040" <= letter <= "\u9fff" for letter in text) and not ENGLISH.search(text)


CASES = [(name, empty) for name in REVIEWED for empty in (0, 1)]


@pytest.fixture(params=CASES, ids=lambda one: "-".join(map(str, one)))
def report(request: pytest.FixtureRequest, tmp_path: Path) -> Report:
    name, empty = request.param
    return REVIEWED[name][empty](tmp_path)


def test_every_line_of_a_header_is_japanese_but_for_names(report: Report) -> None:
    lines = [(name, text) for name, text in header(report.meta, None) if name not in ("database", "clusters", "as of")]
    said = [(text, translated(text, "ja")) for _, text in lines if text != "-"]
    assert [text for text, other in said if not japanese(other)] == []
    assert [other for _, other in said if between_letters(other)] == []


def test_every_word_of_a_picture_is_japanese_but_for_names(report: Report) -> None:
    if report.pictures is None:
        return
    shown = in_language(report.pictures, "ja")
    drawn = [unescape(text) for svg in panels(shown, "ja") for text in re.findall(r"<text [^>]*>([^<]*)<", svg)]
    assert [text for text in (*_words(shown), *drawn) if not (japanese(text) or _name(text))] == []


def _words(pictures: Pictures) -> Iterator[str]:
    yield from (pictures.title, pictures.caption)
    for panel in pictures.panels:
        found = numbers(panel, "ja")
        yield from (panel.title, getattr(panel, "subtitle", ""), found.caption, *found.columns)
        yield from (text for name, cells in found.rows for text in (name, *"\n".join(cells).split("\n")))


def _name(text: str) -> bool:
    return "script" in text or all(NAMES.fullmatch(word) for word in re.split(r"[ ,:+()]+", text))


def test_what_is_not_ours_is_marked_as_english() -> None:
    meta = Meta.plain("T", ["somebody's words", nouns.NOTHING_RAN])
    shown = report_facts(meta, None, words_in("ja"), "ja")
    assert '<dd lang="en">somebody&#x27;s words</dd>' in shown
    assert "<dd>この期間に実行されたものはありません</dd>" in shown


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({"excluded": {"cluster": 0, "limit_unknown": 1017}}, "クラスタ 0; 制限時間が不明 1,017"),
        ({"excluded": {}}, "なし"),
        ({"excluded": {"a_rule_of_tomorrow": 3}}, "a rule of tomorrow 3"),
        (
            {"filters": {"queue": "a; {0}", "elapsed": message("> {seconds} s", seconds=60)}},
            "キュー a; {0}; 実行時間 > 60 秒",
        ),
        ({"filters": {"first letter": message("from {time}", time="2026-01-01")}}, "最初のメール 2026-01-01 から"),
    ],
)
def test_filters_and_rules_are_japanese_and_names_stay(meta: dict[str, Any], said: str) -> None:
    given = {"filters": {}, "excluded": {}, **meta}
    found = [translated(text, "ja") for _, text in header(Meta("T", "", (None, None), [], jobs=1, **given), None)]
    assert said in found


@pytest.mark.parametrize(
    ("english", "other"),
    [
        (nouns.hours_left_out("cpu", 1200), "cpu_hours は、CPUs の数が不明な 1,200 ジョブを含みません"),
        (sized("gpus", 2), "2 GPU"),
        (message("{share} of the jobs are {kind} jobs", share="93.0 %", kind=nouns.CLASSES["multi-node"]),
         "ジョブの 93.0 % は複数ノードのジョブです"),
        (message("{share} of the jobs are {kind} jobs", share="93.0 %", kind=nouns.CLASSES["multi-gpu"]),
         "ジョブの 93.0 % は複数GPU のジョブです"),
        (some(["a", "b"], 1), "a、ほか 1"),
    ],
)  # fmt: skip
def test_what_stands_in_a_sentence_stands_in_its_translation(english: str, other: str) -> None:
    assert translated(english, "ja") == other


def test_names_of_users_in_pictures_stay_as_they_are() -> None:
    bars = [Bar(name, 1, 0.3) for name in ("failed", "more", HOSTILE, nouns.others(12))]
    pictures = Pictures("T", "", [Bars("Jobs", "", bars)])
    (users,) = in_language(pictures, "ja").panels
    assert isinstance(users, Bars)
    assert [bar.name for bar in users.bars] == ["failed", "more", HOSTILE, "ほか 12 件"]
    assert "<script>" not in figures(pictures, "表", every=True, language="ja")
