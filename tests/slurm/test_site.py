"""A cluster described in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.slurm.site import Site, SiteQueue, load_site, made_up, site_text

GQ = SiteQueue("gq", 3600, 259200, is_default=True, gpu_types=frozenset({"p100"}), deny_accounts=frozenset({"b", "a"}))


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    site = Site("alpha", (GQ, SiteQueue("debug", up=False)), frozenset({0, 64030}), {"alice": 1001})
    path = tmp_path / "site.json"
    path.write_text(site_text(site))
    assert load_site(path) == site
    assert site_text(load_site(path)) == site_text(site)


def test_it_may_be_written_by_hand_in_toml(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text('cluster = "alpha"\n[[queues]]\nname = "gq"\nmax_limit = 3600\ngpu_types = ["p100"]\n')
    assert load_site(path).queue("gq") == SiteQueue("gq", max_limit=3600, gpu_types=frozenset({"p100"}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"cluster": "a", "queues": [{"name": "gq", "max_limt": 1}]}', "queues.0.max_limt"),
        ('{"cluster": "a", "queues": [{"name": "gq", "max_limit": "1"}]}', "queues.0.max_limit"),
        ("{", "is no description of a cluster"),
    ],
)
def test_a_wrong_one_is_refused_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "site.json"
    path.write_text(text)
    with pytest.raises(AdminkitError) as caught:
        load_site(path)
    assert said in caught.value.message
    assert str(path) in caught.value.message


def test_a_missing_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(AdminkitError, match="no such file"):
        load_site(tmp_path / "none.json")


def test_one_made_up_has_the_queues_and_the_first_is_the_default() -> None:
    site = made_up(["gq", "gq-short", "gq"], users=["ada"])
    assert [(queue.name, queue.is_default) for queue in site.queues] == [("gq", True), ("gq-short", False)]
    assert 0 in site.privileged
    assert site.uids["ada"] not in site.privileged
    assert site.queue("nosuch") is None
