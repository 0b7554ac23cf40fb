"""The log of a job lies in its owner's folder: what they may put in its place, and what is shown of it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from adminkit.jupyter.job_log import BYTES, LINES, WIDTH, last_lines, tail


def read(path: Path) -> list[str]:
    return asyncio.run(last_lines(str(path), []))


def test_the_end_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {n}\n" for n in range(100_000)) + "\nTraceback: no module\n\n")
    found = read(log)
    assert found[-1] == "Traceback: no module"
    assert len(found) == LINES
    assert found[-2] == "line 99999"


def test_a_short_log_is_read_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\r\ntwo \xff\n\x1b[31mred")
    assert read(log) == ["one", "two \ufffd", "\\x1b[31mred"]


def test_other_things_in_its_place_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not yours")
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(secret)
    os.mkfifo(pipe)
    for path in (link, pipe, tmp_path, tmp_path / "none", Path("/dev/zero"), Path("/proc/self/mem")):
        assert read(path) == [], path


def test_requests_of_browsers_are_left_out() -> None:
    log = """[I 2026-11-26 10:00:00.123 ServerApp] 200 GET /user/ada/api/contents (ada@10.0.0.1) 1.23ms
[W 2026-11-26 10:00:01.123 ServerApp] 404 POST /user/ada/api/kernels/x (ada@10.0.0.1) 1.23ms referer=http://hub/
[I 2026-11-26 10:00:01.123 LabApp] GET /user/ada/lab (10.0.0.1)
10.0.0.1 - - [26/Nov/2026] "GET / HTTP/1.1" 200 -
MemoryError: could not GET / put it
"""
    assert tail(log) == ["MemoryError: could not GET / put it"]


@pytest.mark.parametrize("text", ["x" * 10 * BYTES, "\n" * BYTES, "\u202e" * 100, "a\rb\r" * 1000])
def test_what_is_shown_is_bounded(text: str) -> None:
    shown = tail(text)
    assert len(shown) <= LINES
    assert all(0 < len(line) <= WIDTH and line.isprintable() for line in shown)
