"""Who may read a trace cannot keep its owner from writing it."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.trace import connect
from adminkit.trace.lock import only_one


@pytest.mark.parametrize("before", [None, 0o640, 0o666])
def test_nobody_but_its_owner_opens_the_lock(tmp_path: Path, before: int | None) -> None:
    lock = tmp_path / ".trace.db.lock"
    if before is not None:
        lock.touch()
        lock.chmod(before)
    with only_one(tmp_path / "trace.db", "a test"):
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    with only_one(tmp_path / "trace.db", "a test"):
        pass


def test_a_folder_that_somebody_holds_is_waited_for_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "ALONE_SECONDS", 0.0)
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(AdminkitError, match="another process holds the lock of") as caught:
            connect.prepare(tmp_path / "trace.db")
    finally:
        os.close(handle)
    assert "lslocks" in caught.value.hint
    connect.prepare(tmp_path / "trace.db")
