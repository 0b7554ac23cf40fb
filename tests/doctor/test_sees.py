"""doctor's line `sees`: every job or not, and an AdminLevel where it is needed and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.doctor import sees
from adminkit.doctor.check import Check
from adminkit.slurm import cluster

OPEN, HIDDEN, SHORT = "none", "jobs,usage", "1-00:00:00"
GIVE, TAKE = "set adminlevel=Operator", "set adminlevel=None"

CASES = {
    "nobody hides anything, and no level": (None, OPEN, "UNLIMITED", OPEN, "ok", "every job: AdminLevel None", ""),
    "usage and users are not jobs": (None, "usage,users", "UNLIMITED", OPEN, "ok", "every job", ""),
    "slurmdbd hides jobs": (None, HIDDEN, "UNLIMITED", OPEN, "missing", "own jobs only: ", GIVE),
    "slurmdbd takes short questions only": (None, OPEN, SHORT, OPEN, "warn", "at most 86400 s", GIVE),
    "slurmctld hides open jobs": (None, OPEN, "UNLIMITED", "jobs", "warn", "own open jobs only", GIVE),
    "an operator where slurmdbd hides jobs": ("Operator", HIDDEN, "UNLIMITED", OPEN, "ok", "every job", ""),
    "an operator where questions are short": ("Operator", OPEN, SHORT, OPEN, "ok", "every job", ""),
    "an operator where slurmctld hides open jobs": ("Operator", OPEN, "UNLIMITED", "jobs", "ok", "every job", ""),
    "an operator for nothing": ("Operator", OPEN, "UNLIMITED", OPEN, "warn", "which it does not need", TAKE),
    "an operator for what is none of adminkit's": ("Operator", "usage", "UNLIMITED", "usage", "warn", "need", TAKE),
    "an administrator for nothing": ("Administrator", OPEN, "UNLIMITED", OPEN, "warn", "does not need", TAKE),
    "an administrator where an operator is enough": (
        "Administrator", HIDDEN, "UNLIMITED", OPEN, "warn", "Operator is enough", GIVE,
    ),
    "slurmdbd does not say": (None, None, "UNLIMITED", OPEN, "warn", "own jobs only, perhaps", GIVE),
    "slurmdbd does not say, to an operator": ("Operator", None, "UNLIMITED", OPEN, "ok", "unknown", ""),
}  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.db"
    path.touch()
    return path


def say(
    monkeypatch: pytest.MonkeyPatch, level: str | None, private: str | None, limit: str, here: str, root: bool = False
) -> None:
    """What Slurm answers; from 26.05 on slurmdbd's own PrivateData and start are not said."""
    text = f"PrivateData = {here}\n\nSlurmDBD configuration:\nMaxQueryTimeRange = {limit}\nPrivateData = {private}\n"
    text += "" if private is None else "BOOT_TIME = 2026-11-21T04:14:15\n"
    monkeypatch.setattr(sees, "is_root", lambda: root)
    monkeypatch.setattr(cluster, "admin_level", lambda: level)
    monkeypatch.setattr(cluster, "accounting", lambda: cluster.parse_accounting(text))


@pytest.mark.parametrize("case", CASES)
def test_what_is_seen_and_what_is_needed(case: str, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    level, private, limit, here, status, found, hint = CASES[case]
    say(monkeypatch, level, private, limit, here)
    line = sees.sees(trace)
    assert (line.name, line.status) == ("sees", status)
    assert found in line.found
    assert hint in line.hint
    assert bool(line.hint) == (status != "ok")


def test_an_operator_who_does_not_sync_is_left_alone(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who is an operator for other work, and looks at the trace of user adminkit."""
    say(monkeypatch, "Operator", OPEN, "UNLIMITED", OPEN)
    monkeypatch.setattr(sees, "syncs", lambda db: False)
    assert sees.sees(trace).status == "ok"


def test_root_sees_every_job_whatever_its_level(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, None, HIDDEN, "UNLIMITED", "jobs", root=True)
    seen = "every job: AdminLevel None, PrivateData=jobs,usage, PrivateData=jobs of slurm.conf"
    assert sees.sees(trace) == Check("sees", "ok", seen)
