"""Findings in sentences: every kind and verdict that the page of all reports shows, in every language."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adminkit.feedback.found import found, sentences
from adminkit.feedback.templates import Templates
from adminkit.findings.finding import Finding, Kind, Subject, Verdict
from adminkit.findings.registry import KINDS
from adminkit.messages import LANGUAGES
from adminkit.reports.page_found import SMALL
from tests.support.japanese import spaces
from tests.support.reports import HOSTILE

SHOWN = [kind for name, kind in KINDS.items() if name not in SMALL]
SUBJECT = Subject(cluster="aaic", queue="gq", user="ada", name="resnet")


def made(kind: Kind, verdict: str, subject: Subject = SUBJECT) -> Finding:
    return kind.finding(verdict, subject, dict.fromkeys(kind.evidence, 0.25), command="adminkit my")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", SHOWN, ids=lambda kind: kind.name)
def test_every_kind_has_a_sentence_of_its_own_and_every_verdict_its_advice(kind: Kind, language: str) -> None:
    templates = Templates(language)
    for verdict, meaning in kind.verdicts.items():
        said, advice = sentences(made(kind, verdict), templates)
        assert said and kind.what not in said and "{" not in said
        assert any(name in said for name in ("gq", "ada", "resnet")) or kind.name == "outbox"
        assert bool(advice) == bool(meaning.advice)
        assert language == "en" or not meaning.advice or not advice.isascii(), "in the page's language"
        assert language == "en" or spaces(said) + spaces(advice) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_kind_that_has_no_sentence_yet_and_a_number_that_is_unknown_have_that_of_their_page(language: str) -> None:
    new = Kind("new", "a kind that came later", {"again": Verdict("warn", "x")}, {})
    said, advice = sentences(new.finding("again", SUBJECT, {}), Templates(language))
    assert "ada" in said and "new" in said and advice == "x"
    kind = KINDS["over_asked"]
    bare = replace(made(kind, "unused"), evidence={})
    assert sentences(bare, Templates(language))[0] == f"ada: {kind.what} (unused)"


def test_names_are_harmless_and_a_command_that_is_too_long_to_show_is_left_out() -> None:
    subject = replace(SUBJECT, queue=HOSTILE, user=HOSTILE)
    for kind in SHOWN:
        said, _ = sentences(made(kind, next(iter(kind.verdicts)), subject), Templates("en"))
        assert not {"\x1b", "\n", "\u202e"} & set(said)
    assert found(made(KINDS["habit"], "habit")).command == "adminkit my"
    assert found(replace(made(KINDS["habit"], "habit"), command="x" * 200)).command == ""
