"""The action log: one line each, whole whatever happened to the one before."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit import actions

FIRST = '{"at": 1, "what": "policy install"}\n'


@pytest.mark.parametrize(
    ("before", "kept", "why"),
    [
        ("", 0, "a new log"),
        (FIRST, 1, "one after the other"),
        (FIRST + '{"at": 2, "what": "inc', 1, "the disk was full in the middle of a line"),
        (FIRST[:-1], 1, "only its end was cut off"),
    ],
)
def test_a_line_is_read_again_whatever_was_there(tmp_path: Path, before: str, kept: int, why: str) -> None:
    log = tmp_path / "acts.jsonl"
    log.write_text(before)
    actions.append(log, {"at": 9, "what": "incentives install"})
    found = actions.read(log)
    assert len(found) == kept + 1, why
    assert found[-1] == {"at": 9, "what": "incentives install"}, why
    assert log.read_text().startswith(before), "only ever appended"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[" * 100_000, "deeper than a parser goes"),
        ('{"at": 2, "who": ' + "[" * 400 + '"ada"' + "]" * 400 + "}", "deeper than a walk goes"),
        ('{"at": 2, "who": ["ada"}', "no JSON"),
        ('["ada"]', "no act"),
    ],
)
def test_a_line_that_is_no_act_stays_as_it_is(tmp_path: Path, line: str, why: str) -> None:
    log = tmp_path / "acts.jsonl"
    log.write_text(f'{line}\n{{"at": 3, "who": "ada"}}\n')
    assert actions.rewrite(log, lambda act: {**act, "who": "someone"}) == 1, why
    assert [act["at"] for act in actions.read(log)] == [3], why
    assert log.read_text() == f'{line}\n{{"at": 3, "who": "someone"}}\n', why
