"""A file of a trial that is damaged, gone or a link: A comes back, and a B that was kept stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adminkit.deploy import trial_round
from adminkit.deploy.files import table_path
from adminkit.deploy.trial import TRIAL, Side
from adminkit.deploy.trial_look import look
from adminkit.deploy.trial_sides import INCLUDED
from tests.support.trials import Tried


@pytest.mark.parametrize("damage", ["{", "", "[]", '{"format": 1}'])
def test_a_damaged_file_gives_a_back_whoever_finds_it(site: Tried, damage: str) -> None:
    for act in (site.round, site.restore):
        (site.folder / f"{TRIAL}.damaged").unlink(missing_ok=True)
        kept = (site.folder / TRIAL).read_text()
        site.round(site.at("b"))
        (site.folder / TRIAL).write_text(damage)
        act(site.at("b") + 60)
        assert not (site.folder / TRIAL).exists() and (site.folder / f"{TRIAL}.damaged").exists()
        (site.folder / TRIAL).write_text(kept)
        assert site.is_whole("a")


def test_a_link_in_the_place_of_its_file_is_not_followed(site: Tried, tmp_path: Path) -> None:
    site.round(site.at("b"))
    elsewhere = tmp_path / "elsewhere.json"
    shutil.copy(site.folder / TRIAL, elsewhere)
    (site.folder / TRIAL).unlink()
    (site.folder / TRIAL).symlink_to(elsewhere)
    text = elsewhere.read_text()
    site.round(site.at("b") + 60)
    assert elsewhere.read_text() == text
    (site.folder / TRIAL).unlink(missing_ok=True)
    shutil.copy(elsewhere, site.folder / TRIAL)
    assert site.is_whole("a")


@pytest.mark.parametrize("in_place", ["a", "b"])
def test_a_comes_back_where_the_folder_of_b_is_damaged(site: Tried, in_place: Side) -> None:
    """Its digest is in the record; A's own folder is still whole."""
    site.round(site.at(in_place))
    side = site.folder / "adminkit/trial/b/side.json"
    side.write_text(side.read_text().replace("20000", "9"))
    done = site.round(site.at("b") + 60)
    assert "not as adminkit writes it" in done.said[0]
    assert not (site.folder / TRIAL).exists()
    assert (site.folder / INCLUDED).read_text() == site.pair.a.text
    assert site.ctld.holds().queues["gq"]["MaxTime"] == "3-00:00:00"
    assert table_path(site.folder, "policy").read_text() == site.pair.a.policy


def test_a_comes_back_where_its_file_is_gone(site: Tried) -> None:
    kept = (site.folder / TRIAL).read_text()
    site.round(site.at("b"))
    (site.folder / TRIAL).unlink()
    assert "is gone" in look(site.target, site.at("b") + 30).notes[0]
    site.restore(site.at("b") + 60)
    assert look(site.target, site.at("b") + 90).ok
    acts = site.acts()
    site.round(site.at("b") + 120)
    assert site.acts() == acts, "once"
    (site.folder / TRIAL).write_text(kept)
    assert site.is_whole("a")


@pytest.mark.parametrize("damage", ["{", '{"format": 2}', None])
def test_b_that_was_kept_stays_whatever_becomes_of_the_file_of_the_trial(site: Tried, damage: str | None) -> None:
    """The next release may write another format."""
    site.round(site.at("b"))
    trial_round.stop(site.target, site.at("b") + 60, "kept", keep=True)
    site.round(site.at("b") + 120)
    if damage is None:
        (site.folder / TRIAL).unlink()
    else:
        (site.folder / TRIAL).write_text(damage)
    acts = site.acts()
    site.round(site.at("b") + 180)
    site.restore(site.at("b") + 180)
    assert site.acts() == acts
    assert (site.folder / INCLUDED).read_text() == site.pair.b.text
    assert site.ctld.holds().queues["gq"]["MaxTime"] == "1-00:00:00"
