"""A private Slurm of the days' shape, with adminkit's script and the checkpoint plugin."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.cluster.harness.checkpoint import watched
from tests.cluster.harness.ending import TEMPORARY, clear_abandoned
from tests.cluster.harness.ruled import HEAD, Ruled, ruling
from tests.extend_real.arms import ARMS, LEAST_LEAD
from tests.extend_real.workloads import SHAPE
from tests.simulate_real.cluster import Shaped
from tests.soft_real.history import QUIET

RECORD: Final = 'record = "admin_comment"\n'


@contextmanager
def extending() -> Iterator[Ruled]:
    """A booted cluster with the script in force, in a folder of its own, stopped and removed at the end."""
    clear_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY))
    cluster = Shaped(folder, SHAPE)
    try:
        cluster.boot(owner=os.getpid())
        watched(cluster).configure("quiet=5", "poll=5")
        with ruling(cluster) as ruled:
            yield ruled
    finally:
        cluster.stop()
        shutil.rmtree(folder)


def turn(ruled: Ruled, arm: str) -> None:
    """Extending with the arm's keys, or off, by the policy alone."""
    rule = ARMS[arm]
    ruled.rules(HEAD + RECORD + QUIET + (rule.toml if rule else ""))
    if rule:
        _hasten(ruled.inner / "policy.lua", rule.lead)


def _hasten(table: Path, lead: int) -> None:
    """The lead of a day that is so much faster, in the compiled policy."""
    text = table.read_text()
    there = f'["lead"] = {LEAST_LEAD}'
    assert text.count(there) == 1, text
    table.write_text(text.replace(there, f'["lead"] = {lead}'))
