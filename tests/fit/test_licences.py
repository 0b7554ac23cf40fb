"""Whether as many licences are free as a request asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adminkit.fit.licences import by_licences
from adminkit.slurm.licences import Licences, parse, parse_asked
from tests.fit.rooms import job, make, node

TEXT = """LicenseName=tool Total=3 Used=1 Free=2 Reserved=0 Remote=no
LicenseName=kept Total=4 Used=1 Free=3 Reserved=2 Remote=no
LicenseName=far@server Total=9 Used=0 Free=9 Reserved=0 Remote=yes
"""
TOTAL, _, FREE = parse(TEXT)
KNOWN = Licences(TOTAL, False, free=FREE)
PLANNED = Licences(TOTAL, True, free=FREE)
WAITS = job(1, "", "PENDING", reason="Licenses", licences="tool:3")


@pytest.mark.parametrize(
    ("text", "known", "word", "explained"),
    [
        ("tool:2", KNOWN, "now", "two are free"),
        ("tool:3", KNOWN, "later", "one is in use"),
        ("tool,tool:2", KNOWN, "later", "they add up"),
        ("tool:4", KNOWN, "never", "there are three"),
        ("tool:2,kept:1", KNOWN, "now", "both"),
        ("kept:2", KNOWN, "later", "a reservation keeps two"),
        ("none", KNOWN, "never", "no licence of the name"),
        ("far@server", KNOWN, "unknown", "of a server elsewhere"),
        ("tool|kept", KNOWN, "unknown", "one of two"),
        ("tool:2", None, "unknown", "slurmctld did not say"),
        ("tool:1", replace(KNOWN, mode={"tool": 3}), "unknown", "each rack and node has a count of its own"),
        ("tool:2", PLANNED, "unknown", "the licences are kept for a job that waits"),
        ("kept:1", PLANNED, "now", "of others"),
    ],
)
def test_licences_are_free_or_not(text: str, known: Licences | None, word: str, explained: str) -> None:
    said = by_licences(text, make([node("n1")], WAITS), known)
    assert said.word == word, (explained, said)
    assert said.at is None


@pytest.mark.parametrize("text", ["", "a b", "tool:", "tool:x", "tool:1234567", "tool=2"])
def test_what_is_no_list_of_licences_is_not_guessed(text: str) -> None:
    assert parse_asked(text) is None
