"""What several files of this folder use: a browser, and a cluster for a hub."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.web import hub
from tests.web.lab import lab_environment

if TYPE_CHECKING:
    from tests.web.browser import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if missing := [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]:
        pytest.skip(f"not run: no {missing[0]} (tests/setup/install.sh web)")
    from tests.web.browser import chromium

    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def hub_cluster() -> Iterator[Cluster]:
    """One node, so that eight GPUs are all that there is."""
    if lacking := hub.missing():
        pytest.skip(f"not run: no {lacking[0]} (tests/setup/install.sh web)")
    pytest.importorskip("jupyterhub", reason="not run: no jupyterhub (pip install -e '.[jupyter]')")
    with private_slurm(nodes=1, SchedulerParameters="sched_interval=1,batch_sched_delay=0,bf_interval=2") as booted:
        yield booted


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """An environment with JupyterLab."""
    with lab_environment() as one:
        yield one
