"""Tables that only B has: they come with B, and A, which reads none, is whole without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from adminkit.deploy.files import changing, read_text, table_path
from adminkit.deploy.trial_file import Plan
from adminkit.deploy.trial_sides import Pair, config, write_pair
from adminkit.deploy.trial_tables import both_tables
from adminkit.economy.tables import lua
from adminkit.errors import AdminkitError
from tests.support.trials import Tried, tried

NEEDS: Final[dict[str, Any]] = {"format": 1, "made_at": 1, "quantiles": [50, 75, 90], "users": {}}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tried:
    folder = tmp_path / "site"
    folder.mkdir()
    found = tried(folder, monkeypatch)
    b = found.pair.b
    pair = Pair(found.pair.a, config("b", b.policy, b.slurm, b.queues, {"soft_limits": lua(NEEDS)}))
    with changing(folder):
        write_pair(folder, pair, None)
    found.keep(digests={one.side: one.digest for one in (pair.a, pair.b)})
    found.pair = pair
    return found


def test_the_switch_back_is_whole_though_a_table_stays_that_only_b_reads(site: Tried) -> None:
    site.round(site.at("b"))
    assert site.is_whole("b") and read_text(table_path(site.folder, "soft_limits")) == lua(NEEDS)
    site.round(site.at("a", 6))
    assert site.is_whole("a") and site.whole.trial.placed[-1].side == "a"
    table_path(site.folder, "soft_limits").unlink()
    site.round(site.at("b", 6))
    assert read_text(table_path(site.folder, "soft_limits")) == lua(NEEDS), "put again"


@pytest.mark.parametrize("reads", [False, True])
def test_a_that_reads_needs_has_to_have_a_table_to_go_back_to(site: Tried, tmp_path: Path, reads: bool) -> None:
    tables = tmp_path / "tables-b"
    tables.mkdir()
    (tables / "soft_limits.lua").write_text(lua(NEEDS))
    plan = Plan(tmp_path / "trial.toml", tables=tables)
    if reads:
        with pytest.raises(AdminkitError, match=r"there is no soft_limits\.lua to go back to"):
            both_tables(plan, site.folder, reads)
    else:
        assert both_tables(plan, site.folder, reads) == ({}, {"soft_limits": lua(NEEDS)})
