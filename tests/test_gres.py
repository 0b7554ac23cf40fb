"""What a list of TRES or GRES says of GPUs, and how many GPUs that makes."""

from __future__ import annotations

import pytest

from adminkit.gres import UNREADABLE, UNTYPED, Shares, equivalents, kind, parse_gres, parse_tres
from tests.support.gres_words import Case, cases

PARSERS = {"tres": parse_tres, "gres": parse_gres}


@pytest.mark.parametrize("case", cases("tres") + cases("gres"), ids=str)
def test_a_text_says_what_the_table_says(case: Case) -> None:
    read = PARSERS[case.form](case.text)
    if case.counts is None:
        assert read is None
        return
    assert read is not None
    job = read.held()
    assert (job.whole, job.slices, sum(job.shards.values()), sum(job.mps.values())) == case.counts
    assert "+".join(sorted(name for name, many in job.types.items() if many and name != UNTYPED)) == case.types
    assert job.per == case.per
    assert equivalents(job.whole, job.parts, Shares()) == pytest.approx(case.equivalents)


SHARES = Shares({UNTYPED: 4, "a40": 8}, {"v100": 200}, {"a100_3g.20gb": 0.5, "1g.24gb": 0.25, "shard:t4": 0.1})


@pytest.mark.parametrize(
    ("whole", "words", "is_kind", "gpus", "why"),
    [
        (2, "", "whole", 2.0, "whole GPUs only"),
        (0, "", None, 0.0, "none"),
        (0, "shard=2", "shard", 0.5, "four shards are a GPU"),
        (0, "shard:a40=2", "shard", 0.25, "and eight of another type"),
        (0, "shard:a100=2", "shard", 0.5, "a type that the site does not tell apart"),
        (0, "shard:t4=2", "shard", 0.2, "a type that the config names"),
        (0, "3*shard=2", "shard", 1.5, "on each of three nodes"),
        (0, "mps=50", "mps", 0.5, "per cent"),
        (0, "mps:v100=50", "mps", 0.25, "of a type with a count of its own"),
        (0, "slice:a100_3g.20gb=2", "slice", 1.0, "a type that the config names"),
        (0, "slice:1g.24gb=2", "slice", 0.5, "a profile that it names"),
        (0, "slice:x_1g.24gb=2", "slice", 0.5, "of whatever type"),
        (0, "slice:x_1g_24gb=2", "slice", 0.5, "however it is spelt"),
        (1, "slice:2g.10gb=1", "mixed", 1 + 2 / 7, "both"),
        (0, UNREADABLE, None, None, "a text that cannot be read"),
        (0, "slice:2g.48gb=1", "slice", None, "a profile of several GPUs"),
    ],
)
def test_words_make_so_much_of_a_gpu(whole: int, words: str, is_kind: str | None, gpus: float | None, why: str) -> None:
    assert kind(whole, words) == is_kind, why
    assert equivalents(whole, words, SHARES) == (None if gpus is None else pytest.approx(gpus)), why


def test_what_a_node_has_are_its_gpus_and_its_shards() -> None:
    node = parse_gres("gpu:a100:4(S:0-1),shard:a100:16(S:0-1)")
    assert node is not None and (node.types, node.shards) == ({"a100": 4}, {"a100": 16})
