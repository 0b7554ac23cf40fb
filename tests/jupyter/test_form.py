"""The form's HTML: what may be chosen, what is said of the rest, and that a text stays a text."""

from __future__ import annotations

import re
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from adminkit.fit.fair_share import Behind
from adminkit.fit.line import Place
from adminkit.fit.place import Said
from adminkit.fit.profiles import Profile
from adminkit.fit.request import Request
from adminkit.fit.sentences import sentence
from adminkit.fit.verdict import Start
from adminkit.jupyter import form
from adminkit.jupyter.desk import Offered
from adminkit.jupyter.end_reasons import last_server
from adminkit.jupyter.form import clock, html, rows, size, when
from adminkit.messages import translated
from adminkit.units import show_short

NOON = int(datetime(2026, 5, 4, 12, 30).timestamp())
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&"


class Tags(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.inside_script = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "script":
            self.inside_script += data


def offered(said: Said | None, **asked: Any) -> Offered:
    return Offered(Profile("a", {"en": "A", "ja": "エー"}, Request(**asked)), said)


def test_the_form_says_that_an_idle_server_ends() -> None:
    profile = Profile("a", {}, Request(), idle=5400)
    for language, said in (("en", "1 CPU; ends when idle for 1.5 h"), ("ja", "CPU 1、1.5 h 使われないと終了")):
        assert rows([Offered(profile, None)], language, hide=False)[0]["size"] == said


def test_a_place_in_the_queue() -> None:
    said = form.place(Place(3, 200, "gq"))
    assert said == "It is number 3 of 200 waiting in gq."
    assert translated(said, "ja") == "gq で待っている 200 件中 3 番目です。"


def test_fair_share() -> None:
    said = form.fair_share(Behind(0.12, 7, 3))
    assert said == "It has fair share 0.12: 7 jobs of 3 accounts are ahead of it only because of their fair share."
    assert translated(said, "ja").startswith("フェアシェア 0.12: ")
    assert translated(said, "ja").endswith("3 アカウントの 7 件のジョブが先になっています。")


@pytest.mark.parametrize(
    ("said", "text", "why"),
    [
        (Said("later", None, "busy", sentence({"busy": 2}, 2)), "使用中 2", "a sentence of ours"),
        (Said("never", None, "rule", "sbatch: use gq-short"), "sbatch: use gq-short", "a rule of the site's"),
    ],
)
def test_reasons_are_japanese_on_the_japanese_page(said: Said, text: str, why: str) -> None:
    assert translated(when(said), "ja").endswith(text), why
    assert translated(form.refusal(Start("never", text=said.text)), "ja").endswith(text), why


@pytest.mark.parametrize(
    ("said", "free", "text"),
    [
        (Said("now", NOON), True, "now"),
        (Said("later", None, "busy", "4 busy"), False, "not now: 4 busy"),
        (Said("never", None, "size", "no node"), False, "never: no node"),
        (None, True, "not known"),
    ],
)
def test_what_may_be_chosen(said: Said | None, free: bool, text: str) -> None:
    (row,) = rows([offered(said)], "en", hide=False)
    assert (row["free"], row["when"]) == (free, text)
    assert len(rows([offered(said)], "en", hide=True)) == free


def test_a_time_has_its_date_on_another_day() -> None:
    assert clock(NOON, datetime(2026, 5, 4, 1)) == "12:30"
    assert clock(NOON, datetime(2026, 5, 3, 23)) == "2026-05-04 12:30"
    assert when(Said("later", NOON, "busy", "4 busy")).startswith("from ")


def test_a_size_in_words() -> None:
    asked = Request(cpus=4, mem=3 << 29, gpus=2, gpu_type="a100", time_limit=5400)
    said = size(Profile("a", {}, asked))
    assert said == f"2 GPU (a100), 4 CPU, 1.5 GiB, {show_short(5400)}"
    assert translated(said, "ja").startswith("GPU 2 (a100), CPU 4, ")
    assert size(Profile("a", {}, Request())) == "1 CPU"


def test_a_text_is_no_html() -> None:
    row = {"key": HOSTILE, "title": HOSTILE, "size": HOSTILE, "when": HOSTILE, "free": True}
    page = html(
        [row], "en", base="/hub/", token=HOSTILE, chosen=HOSTILE, ended=(HOSTILE, [HOSTILE]), nearest=(HOSTILE, HOSTILE)
    )
    found = Tags()
    found.feed(page)
    assert "img" not in found.tags
    assert found.tags.count("script") == 1
    assert not [name for name in found.attributes if name.startswith("on") or name == "style"]
    assert found.inside_script.strip() == "", "the script is a file of its own"


IDLE_LINE = "[W 2026-11-26 10:00:00 ServerApp] adminkit: no kernel or terminal ran anything for 40 s: this server ends"


@pytest.mark.parametrize(
    ("state", "lines", "says", "shown"),
    [
        ("COMPLETED", ["a", IDLE_LINE, "b"], "ended after no kernel or terminal had run anything for 40 s", []),
        ("COMPLETED", ["bye"], "gone: it ended by itself.", ["bye"]),
        ("CANCELLED by 1000", [], "gone: its job was cancelled.", []),
        ("TIMEOUT", ["x"], "gone: it reached its time limit.", ["x"]),
        ("OUT_OF_MEMORY", ["Killed"], "gone: it used more memory than it had.", ["Killed"]),
        ("FAILED", [IDLE_LINE], "gone: it ended with an error.", [IDLE_LINE]),
        ("NODE_FAIL", [], "gone: its node failed.", []),
        ("DEADLINE", [], "gone: Slurm says DEADLINE.", []),
    ],
)
def test_how_the_last_server_ended_is_said_in_plain_words(
    state: str, lines: list[str], says: str, shown: list[str]
) -> None:
    sentence, below = last_server(state, lines)
    assert says in sentence
    assert below == shown
    assert state == "DEADLINE" or state not in sentence


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "en",
            ("What do you want to start?", "Start &lt;b&gt; instead", "Nothing can start now.", "This page will keep"),
        ),
        (
            "ja",
            (
                "何を開始しますか",
                "代わりに &lt;b&gt; を開始する",
                "今開始できるものはありません",
                "問い合わせを続けます",
            ),
        ),
    ],
)
def test_the_form_speaks_the_language_of_the_page(language: str, texts: tuple[str, ...]) -> None:
    page = html([], language, base="/hub/", token="t", nearest=("a", "<b>"))
    assert [text for text in texts if text not in page] == []


def test_the_script_makes_no_html() -> None:
    script = (Path(form.__file__).parent / "static/form.js").read_text()
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|eval|\.html\(", script)


def test_a_limit_is_proposed_where_the_hub_has_a_trace_and_the_profile_a_time() -> None:
    learnt = Offered(Profile("a", {}, Request(time_limit=7200)), None, 1800)
    own, without = offered(None, time_limit=7200), offered(None)
    assert [one.get("limit") for one in rows([learnt, own, without], "en", hide=False, limits=True)] == [
        "00:30:00",
        "02:00:00",
        None,
    ]
    assert "limit" not in rows([learnt], "en", hide=False)[0]


def test_the_limit_that_was_typed_is_kept_and_is_no_html() -> None:
    offers = rows([offered(None, time_limit=7200)], "en", hide=False, limits=True)
    for typed in ("45", HOSTILE):
        page = html(offers, "en", base="/hub/", token="t", chosen="a", typed=typed)
        tags = Tags()
        tags.feed(page)
        assert "img" not in tags.tags
        assert ('value="45"' in page) is (typed == "45")
    assert 'value="02:00:00"' in html(offers, "en", base="/hub/", token="t")
