"""The table `person`: one random id for each user of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.trace.connect import create, reader, writer
from adminkit.trace.person import PREFIX, names, person_of

CASES = [
    ("alpha", "mei", True, "the same user of the same cluster"),
    ("beta", "mei", False, "a name of another cluster may be somebody else"),
    ("alpha", "jun", False, "another user"),
    ("alpha", "'); DROP TABLE person; --", False, "a name is a value"),
]


@pytest.mark.parametrize(("cluster", "user", "same", "why"), CASES)
def test_a_user_of_a_cluster_has_one_id(cluster: str, user: str, same: bool, why: str, tmp_path: Path) -> None:
    create(tmp_path / "trace.db")
    with writer(tmp_path / "trace.db") as db:
        first = person_of(db, "alpha", "mei", now=1, uid=1001)
        assert (person_of(db, cluster, user, now=2) == first) is same, why
    assert first.startswith(PREFIX) and len(first) == len(PREFIX) + 16


def test_a_person_without_a_row_has_no_name(tmp_path: Path) -> None:
    create(tmp_path / "trace.db")
    with writer(tmp_path / "trace.db") as db:
        mei, jun = (person_of(db, "alpha", user, now=1) for user in ("mei", "jun"))
        db.execute("DELETE FROM person WHERE person = ?", (mei,))
    with reader(tmp_path / "trace.db") as db:
        assert names(db) == {jun: "jun"}
