"""Every sentence has a translation with the same values, and is what it was made of."""

from __future__ import annotations

import ast
import copy
import json
import re
import sqlite3
from pathlib import Path

import pytest
from babel.messages.catalog import Message as Entry

from adminkit import messages
from adminkit.messages import LANGUAGES, Message, counted, joined, message, preferred, translated
from tools.messages import LOCALE, as_text, read, sources, strings, written

CATALOGUES = sorted(LOCALE.glob("*.po"))


def test_the_languages_are_english_and_those_that_have_a_catalogue() -> None:
    assert LANGUAGES == ("en", "ja")
    assert [path.stem for path in CATALOGUES] == ["ja"]


# --- the catalogues


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.name)
def test_a_catalogue_has_every_sentence_of_the_source_and_no_other(path: Path) -> None:
    assert path.read_text("utf-8") == as_text(written(path)), "python -m tools.messages writes it"


def test_a_sentence_that_has_no_plural_any_more_has_no_translation_either(tmp_path: Path) -> None:
    path = tmp_path / "ja.po"
    head = "".join(LOCALE.joinpath("ja.po").read_text("utf-8").partition("\n\n")[:2])
    path.write_text(f'{head}msgid "nodes have room"\nmsgid_plural "x"\nmsgstr[0] "y"\n', "utf-8")
    assert 'msgid "nodes have room"\nmsgstr ""\n' in as_text(written(path))


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.name)
def test_every_sentence_has_a_translation_with_the_same_values(path: Path) -> None:
    entries = [one for one in read(path) if one.id]
    assert len(entries) > 100
    assert [one.id for one in entries if one.fuzzy or not all(strings(one))] == []
    assert [one.id for one in entries if not same_values(one)] == []


def same_values(entry: Entry) -> bool:
    """A translation may show a value plainly, and in no other way than the source."""
    ids = entry.id if isinstance(entry.id, tuple) else (entry.id,)
    wanted = values(ids[-1])
    return all(
        found.keys() == wanted.keys() and all(form in ("", wanted[name]) for name, form in found.items())
        for found in map(values, (*ids[1:], *strings(entry)))
    )


def values(text: str) -> dict[str, str]:
    """The placeholders of str.format with their formats, or of Jinja."""
    found = {one[1]: one[2] for one in re.finditer(r"\{(\w*)((?::[^{}]*)?)\}", text)}
    return found | dict.fromkeys(re.findall(r"%\((\w+)\)s", text), "%")


def test_a_sentence_in_the_source_is_a_literal() -> None:
    """What is not is in no catalogue."""
    wrong = []
    for path in (one for one in sources() if one.suffix == ".py" and one.name != "messages.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                texts = node.args[: {"message": 1, "template": 1, "counted": 2, "in_context": 2}.get(node.func.id, 0)]
                wrong += [f"{path}:{one.lineno}" for one in texts if not isinstance(one, ast.Constant)]
    assert wrong == []


def test_a_sentence_of_a_template_is_a_literal() -> None:
    texts = {path: path.read_text("utf-8") for path in sources() if path.suffix != ".py"}
    assert any(path.name == "words.j2" for path in texts), "those of letters"
    assert [path for path, text in texts.items() if re.search(r"gettext\((?!\")", text)] == []


# --- what a message is


def test_a_message_is_its_english_text() -> None:
    said = message("{nodes} nodes have room", nodes=3)
    assert said == "3 nodes have room"
    assert json.dumps([said]) == '["3 nodes have room"]'
    assert sqlite3.connect(":memory:").execute("SELECT ?", (said,)).fetchone() == ("3 nodes have room",)
    assert translated(said, "en") == said
    assert type(translated(said, "en")) is str


@pytest.mark.parametrize(
    ("text", "japanese", "why"),
    [
        (message("{nodes} nodes have room", nodes=3), "3 ノードに空きがあります", "a value"),
        ("3 nodes have room", "3 nodes have room", "others' words"),
        (message("a sentence that no catalogue has"), "a sentence that no catalogue has", "no translation"),
        (counted("{number} node", "{number} nodes", 1), "1 ノード", "one"),
        (counted("{number} node", "{number} nodes", 2), "2 ノード", "several"),
        (joined("; ", (message("nodes have room"), "gq")), "ノードに空きがあります; gq", "a row"),
        (joined("; ", ()), "", "an empty row is not gettext's header"),
        (
            message("Slurm says {code}: {meaning}", code="None", meaning=message("its node failed")),
            "Slurm の理由は None です: ノードが故障しました",
            "a value that is a message",
        ),
        (
            message("minutes of {what}", what=message("running jobs")),
            "実行中のジョブ数 × 分",
            "no space is lost beside a sign",
        ),
        (
            message("{of} is not starting jobs now", of="{0.__class__}"),
            "{0.__class__} は今ジョブを開始しません",
            "a name is no template",
        ),
        (
            message("{of} is not starting jobs now", of="%(of)s"),
            "%(of)s は今ジョブを開始しません",
            "a name is no template",
        ),
    ],
)
def test_a_message_in_japanese(text: str, japanese: str, why: str) -> None:
    assert translated(text, "ja") == japanese, why


def test_a_language_without_a_catalogue_is_english() -> None:
    assert translated(message("nodes have room"), "xx") == "nodes have room"


def test_a_source_tree_without_a_build_speaks_english(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.resources.files", lambda _: tmp_path)
    messages.catalogue.cache_clear()
    try:
        assert translated(message("nodes have room"), "ja") == "nodes have room"
    finally:
        messages.catalogue.cache_clear()


def test_a_copy_of_a_message_is_one() -> None:
    """dataclasses.asdict makes copies."""
    said = copy.deepcopy(counted("{number} node", "{number} nodes", 2))
    assert isinstance(said, Message)
    assert translated(said, "ja") == "2 ノード"


@pytest.mark.parametrize(
    ("header", "language"),
    [("ja", "ja"), ("ja-JP,en;q=0.5", "ja"), (" JA", "ja"), ("en-GB", "en"), ("fr,ja", "en"), ("", "en")],
)
def test_a_page_is_in_the_language_that_the_browser_puts_first(header: str, language: str) -> None:
    assert preferred(header) == language
