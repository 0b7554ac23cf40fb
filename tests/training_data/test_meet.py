"""Tasks of a job that read from each other."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from adminkit.data import meet
from adminkit.data.meet import Task, rate, task_of

STEP = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}
STEP["SLURM_STEP_NUM_NODES"] = "2"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (STEP, Task("7.0", 1, 2)),
        ({}, None),
        ({**STEP, "SLURM_STEP_NUM_NODES": "1"}, None),
        ({**STEP, "SLURM_PROCID": "2"}, None),
        ({**STEP, "SLURM_JOB_ID": "../x"}, None),
    ],
)
def test_a_task_is_one_of_several_nodes(environ: Mapping[str, str], expected: Task | None) -> None:
    assert task_of(environ) == expected


def test_three_tasks_read_from_each_other_and_leave_nothing(tmp_path: Path) -> None:
    found: dict[int, float | None] = {}

    def run(number: int) -> None:
        found[number] = rate(Task("7.0", number, 3), tmp_path / "meet")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and all(one is not None and one > 1e6 for one in found.values())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"{}", b"x", b"[]", b'{"host": "127.0.0.1", "port": 1, "token": "x"}'])
def test_a_task_that_does_not_meet_another_knows_nothing_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    monkeypatch.setattr(meet, "SEND", 0.1)
    (tmp_path / "meet").mkdir()
    if content is not None:
        (tmp_path / "meet/1.json").write_bytes(content)
    assert rate(Task("7.0", 0, 2), tmp_path / "meet", wait=0.3) is None
    assert not (tmp_path / "meet/0.json").exists()


def test_nothing_is_sent_to_somebody_without_the_token(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=meet._serve, args=(server, "a" * 32, meet.time.monotonic() + 5))
        thread.start()
        with socket.create_connection(server.getsockname(), timeout=5) as peer:
            peer.sendall(b"b" * 32)
            assert peer.recv(1) == b""
        with socket.create_connection(server.getsockname(), timeout=5) as peer:
            peer.sendall(b"a" * 32)
            assert peer.recv(1) == b"\0"
        thread.join()
