"""The log of acts: one line each, whole whatever happened to the one before."""

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
