"""Chance: the same for the same seed, whole users, whole submissions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adminkit.simulate.luck import SHAKE, Luck, shake
from tests.simulate.cases import case, many


def test_submissions_move_by_up_to_a_minute_and_never_back() -> None:
    moved = shake(many(), Luck(3)).column("submit") - many().column("submit")
    assert moved.min() >= 0
    assert moved.max() <= SHAKE
    assert len(set(moved.tolist())) > 40


def test_what_a_user_submits_in_one_second_stays_together() -> None:
    users = [0] * 50 + [1] * 50
    moved = shake(case([100] * 100, [60] * 100, [60] * 100, [1] * 100, users=users), Luck(1)).column("submit")
    assert len(set(moved[:50].tolist())) == 1
    assert len(set(moved[50:].tolist())) == 1
    assert moved[0] != moved[50]


def test_a_seed_is_always_the_same_chance() -> None:
    assert shake(many(), Luck(3)).column("submit").tolist() == shake(many(), Luck(3)).column("submit").tolist()
    assert shake(many(), Luck(3)).column("submit").tolist() != shake(many(), Luck(4)).column("submit").tolist()


@pytest.mark.parametrize(("share", "users"), [(0, 0), (0.25, 2), (0.5, 5), (1, 10)])
def test_a_share_is_of_users_and_takes_all_their_jobs(share: float, users: int) -> None:
    one = many()
    chosen = Luck(1).users("uptake", one, share)
    those = set(one.facts["user"][chosen].tolist())
    assert len(those) == users or (share == 0.25 and len(those) in (2, 3))
    assert chosen.tolist() == np.isin(one.facts["user"], sorted(those)).tolist()


def test_a_larger_share_holds_the_smaller_one() -> None:
    few, more = (Luck(2).users("uptake", many(), share) for share in (0.25, 0.5))
    assert (few <= more).all()


def test_a_job_of_nobody_follows_nothing() -> None:
    one = many()
    one.facts["user"][:] = -1
    assert not Luck(1).users("uptake", one, 1.0).any()
    assert not Luck(1).users("uptake", replace(one, names={**one.names, "users": []}), 1.0).any()
