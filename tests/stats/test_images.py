"""Kinds of images, as one SELECT of SQLite's counts them."""

from __future__ import annotations

from pathlib import Path
from random import Random

from adminkit.stats.images import images
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import MONDAY, job, make_trace
from tests.support.months import LATER, keep

SQL = """
SELECT cluster, container, count(*), total(size_nodes), count(*) FILTER (WHERE elapsed <= 600), count(DISTINCT user),
    coalesce(sum(elapsed), 0)
FROM run WHERE container IS NOT NULL AND size_nodes > 0 AND elapsed >= 0 AND end_time < ?
GROUP BY cluster, container HAVING total(size_nodes) >= 3 ORDER BY 4 DESC, cluster, container
"""


def test_images_are_counted_alike_from_sqlite_and_from_files_of_months(tmp_path: Path) -> None:
    random = Random(4)
    jobs = [
        job(
            number, cluster=random.choice(("aaic", "b")), container=random.choice((None, "apptainer", "enroot", "é")),
            nodes=random.choice((1, 2, 40, None)), user=random.choice(("ada", "bob", None)), elapsed=number * 7 % 1300,
            end_time=MONDAY + number * 86_400,
        ) for number in range(1, 120)
    ]  # fmt: skip
    path = make_trace(tmp_path / "t.db", jobs)
    chosen = Filter((), None, LATER, states=(), min_elapsed=-1, checkpoint_code=85)
    with reader(path) as db:
        expected = [tuple(row) for row in db.execute(SQL, (LATER,))]
        plain = images(db, chosen, 3, 600)
    assert keep(path)
    with reader(path) as db:
        kept = images(db, chosen, 3, 600)
    assert expected
    for found in (plain, kept):
        assert [
            (one.cluster, one.container, one.runs, one.starts, one.short, one.users, one.elapsed) for one in found
        ] == expected
