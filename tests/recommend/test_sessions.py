"""A limit for interactive servers: which runs count, and what a person who ends one has said by that."""

from __future__ import annotations

from typing import Any

import pytest

from adminkit.recommend.sessions import Size, session_limit
from adminkit.stats.runs import Kind, Run
from tests.recommend.histories import OFFER, history
from tests.support.builders import HOUR

JUPYTER = Kind("aaic", "ada", "jupyter", "gq", 1, 8, 1, 8 * HOUR)
SIZE = Size("gq", 8, 1, 8 * HOUR)


def servers(state: str = "CANCELLED", needs: int = 50 * 60, **kind: Any) -> list[Run]:
    return history([needs] * 12, state=state, kind=JUPYTER._replace(**kind))


@pytest.mark.parametrize(
    ("runs", "size", "expected", "why"),
    [
        (servers(), SIZE, HOUR, "a server that its user cancelled had the time that it needed"),
        (servers("CANCELLED by 1001"), SIZE, HOUR, "in sacct's longer words"),
        (servers("COMPLETED"), SIZE, HOUR, "one that ended when idle"),
        (servers("TIMEOUT", 8 * HOUR), SIZE, None, "its limit ended each"),
        (servers()[:3], SIZE, None, "too few"),
        (servers(needs=40), SIZE, None, "none of them served anybody"),
        (servers(job_name="train"), SIZE, None, "batch jobs of the same size"),
        (servers(queue="cq"), SIZE, None, "another queue"),
        (servers(queue="cq"), Size(None, 8, 1, 8 * HOUR), HOUR, "a profile that names no queue"),
        (servers(gpus=2), SIZE, None, "another size"),
        (servers(cpus=4), SIZE, None, "another size"),
        (servers(gpus=None), Size("gq", 8, 0, 8 * HOUR), HOUR, "without GPUs"),
        (servers(needs=3 * HOUR), Size("gq", 8, 1, 2 * HOUR), None, "longer than the profile allows"),
        (servers(needs=100 * 60), Size("gq", 8, 1, 110 * 60), 110 * 60, "never longer than the profile's time"),
        ([], SIZE, None, "nobody yet"),
    ],
)
def test_limits_come_of_servers_of_that_size(runs: list[Run], size: Size, expected: int | None, why: str) -> None:
    assert session_limit(runs, "jupyter", size, OFFER) == expected, why
