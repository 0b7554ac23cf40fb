"""Findings in sentences, in the languages of letters: for the operators' weekly letter and the page of all reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.feedback import format
from adminkit.feedback.template_values import Found
from adminkit.feedback.templates import Templates
from adminkit.findings.finding import Finding
from adminkit.findings.registry import KINDS
from adminkit.messages import translated

#: The most characters of a command that is shown.
COMMAND: Final = 160


def found(one: Finding) -> Found:
    """The finding as templates have it, its names made harmless."""
    queue, user, other = (format.harmless(name) for name in (one.subject.queue, one.subject.user, one.subject.name))
    whole = format.harmless(one.command, COMMAND) == one.command  # a command that is cut may mean something else
    return Found(one.kind, one.verdict, queue, user, other, one.evidence, one.advice, one.command if whole else "")


def sentences(one: Finding, templates: Templates) -> tuple[str, str]:
    """What is so and what to do about it; of a kind that the templates have no sentence for, what its page says."""
    words = found(one)
    try:
        written = templates.render("found.txt.j2", {"language": templates.language, "found": words})
    except AdminkitError:
        kind = KINDS.get(one.kind)
        if kind is None or _all_of(one.evidence) >= _all_of(kind.evidence):
            raise
        # A number that the sentence needs is not known.
        written = "\n\n"
    said, _, advice = written.replace(format.NO_BREAK, " ").partition("\n\n")
    return (
        (said.strip(), advice.strip())
        if said.strip()
        else (_plain(one, words), translated(one.advice, templates.language))
    )


def _all_of(names: Iterable[str]) -> set[str]:
    """A number in CPU-seconds stands for the same in GPU-seconds."""
    return {name.removeprefix("cpu_") for name in names}


def _plain(one: Finding, words: Found) -> str:
    of = next((name for name in (words.user, words.queue, words.other) if name != "-"), one.subject.cluster or "")
    kind = KINDS.get(one.kind)
    return f"{of}: {kind.what if kind else one.kind} ({one.verdict})"
