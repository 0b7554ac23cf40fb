"""The disk of the trace is full: no letter is lost, and none leaves that could not be written down before."""

from __future__ import annotations

import email
import os
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from adminkit.feedback.last_sent import mark_of
from adminkit.trace import outbox
from tests.feedback.site import Kept, folder, synced, tools
from tests.feedback.test_send import STEPS, THREE, act, states


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of two MB."""
    place = tmp_path / "small"
    place.mkdir()
    if (
        os.geteuid()
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "none", place], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("may not mount here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def fill(place: Path) -> None:
    """To the last byte."""
    with (place / "filler").open("ab", buffering=0) as file, suppress(OSError):
        while file.write(bytes(512)):
            pass


def test_before_a_run_nothing_leaves(small: Path) -> None:
    trace, place, kept = synced(small / "t.db", THREE), folder(small), Kept()
    fill(small)
    with pytest.raises(sqlite3.OperationalError, match=r"full|disk I/O"):
        act(trace, tools(place, kept, mark=mark_of(trace)))
    assert kept.messages == []
    (small / "filler").unlink()
    act(trace, tools(place, kept, mark=mark_of(trace)))
    assert len(kept.messages) == 3


@pytest.mark.parametrize("step", STEPS)
def test_in_the_middle_of_a_run_every_letter_arrives_one_of_them_perhaps_twice(
    small: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full from that step of the first letter on; later there is room again."""
    monkeypatch.setattr(outbox.time, "sleep", lambda seconds: None)
    trace, place, kept = synced(small / "t.db", THREE), folder(small), Kept()

    def at(name: str) -> None:
        if name == step:
            fill(small)

    with suppress(sqlite3.OperationalError):
        act(trace, tools(place, kept, mark=mark_of(trace), at=at))
    (small / "filler").unlink()
    act(trace, tools(place, kept, mark=mark_of(trace)))
    arrived = Counter(email.message_from_bytes(text)["Message-ID"] for _, text in kept.messages)
    assert len(arrived) == 3
    assert sum(arrived.values()) - 3 <= (step in ("claimed", "composed", "handed"))
    assert set(states(trace).values()) == {"sent"}
