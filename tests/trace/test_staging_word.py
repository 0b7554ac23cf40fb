"""What the plugin adminkit_data left in a run's comment: what of it counts, and as what."""

from __future__ import annotations

import pytest

from adminkit.trace.staging_word import copies_of, waited

START = 1_790_000_000


def word(node: int = 0, *, at: int = START + 1, mode: str = "first", **values: int) -> str:
    said = {"bytes": 100, "hit": 20, "s": 7} | values
    return f"st1:at={at},node={node}," + ",".join(f"{key}={value}" for key, value in said.items()) + f",mode={mode}"


@pytest.mark.parametrize(
    ("comment", "start", "expected", "why"),
    [
        (word(), START, 7, "one node"),
        (f"ak1:lim=60,src=e {word()} mine", START, 7, "between others' words"),
        (f"{word()} {word(1, s=9)}", START, 9, "the slowest of two"),
        (f"{word()} {word(s=9)}", START, 7, "the first word of a node"),
        (word(at=START), START, 7, "it began with the run"),
        (word(at=START - 1), START, None, "an earlier run's"),
        (word(), None, None, "a run that did not begin"),
        (word(mode="behind"), START, None, "its tasks did not wait"),
        (word(bytes=0), START, 7, "all was there already"),
        (word(bytes=0, hit=0), START, None, "nothing was copied"),
        (word(mode="other"), START, None, "a mode of another release"),
        (word() + ",x=1", START, None, "a key of another release"),
        (word().replace("s=7", "s=" + "9" * 19), START, None, "no number that was measured"),
        (word().replace("st1", "st2"), START, None, "another grammar"),
        ("x" + word(), START, None, "inside of another word"),
        ("st1:bytes=1,s=9,hit=0", START, None, "without a node"),
        (None, START, None, "no comment"),
    ],
)  # fmt: skip
def test_a_word_counts_for_its_run(comment: str | None, start: int | None, expected: int | None, why: str) -> None:
    assert waited(comment, start) == expected, why


def test_a_node_says_what_it_read_and_what_it_had() -> None:
    (one,) = copies_of(word(3), START)
    assert (one.node, one.read, one.hit, one.seconds, one.mode) == (3, 100, 20, 7, "first")
