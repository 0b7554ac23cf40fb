"""The words by which an elastic job is known and ordered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.elastic.words import Order, order_of, range_of, with_order
from adminkit.trace.word_parts import COMMENT_MAX

RECORD = "ak1:lim=60,src=e,el=1-8"
#: a comment, the range, why
RANGES = [
    (RECORD, (1, 8), "it opted in"),
    ("ak1:lim=60,src=e,cls=cpu,own=node,soft=1800,el=1-8,rules=a mine", (1, 8), "among other keys"),
    ("ak1:lim=60,src=e,new=x1,el=1-8", (1, 8), "behind a key of a later release"),
    ("ak1:lim=60,src=e", None, "it did not"),
    (f"mine {RECORD}", None, "the record is the first word"),
    ("ak1:lim=60,src=e mine,el=1-8", None, "somebody else's word"),
    ("ak1:lim=60,src=e,el=8-1", None, "upside down"),
    ("ak1:lim=60,src=e,el=0-8", None, "none at all"),
    ("ak1:lim=60,src=e,el=1-1025", None, "more than a node has"),
    ("ak1:lim=60,src=e,rules=a,el=1-8", None, "not in its place"),
    ("el=1-8", None, "no record"),
    ("", None, "nothing"),
]
#: a comment, the order, what is left without it, why
ORDERS = [
    ("el1:gpus=4,until=9", Order(4, 9), "", "alone"),
    (f"{RECORD} el1:gpus=4,until=9 mine", Order(4, 9), f"{RECORD} mine", "among others"),
    (f"{RECORD} el1:gpus=4,until=9", Order(4, 9), RECORD, "last"),
    ("el1:gpus=4,until=9  two", Order(4, 9), " two", "blanks of others stay"),
    ("el1:gpus=x,until=9 el1:gpus=2,until=8", Order(2, 8), "el1:gpus=x,until=9", "the first that is whole"),
    ("el1:gpus=4,until=9,more=1", None, "el1:gpus=4,until=9,more=1", "of another release"),
    ("xel1:gpus=4,until=9", None, "xel1:gpus=4,until=9", "inside a word"),
    ("mine", None, "mine", "none"),
]


@pytest.mark.parametrize(("comment", "expected", "why"), RANGES)
def test_a_range(comment: str, expected: tuple[int, int] | None, why: str) -> None:
    assert range_of(comment) == expected, why


@pytest.mark.parametrize(("comment", "expected", "rest", "why"), ORDERS)
def test_an_order(comment: str, expected: Order | None, rest: str, why: str) -> None:
    assert (order_of(comment), with_order(comment, None)) == (expected, rest), why


def test_a_comment_without_room_for_it_takes_none() -> None:
    full = f"{RECORD} {'x' * (COMMENT_MAX - len(RECORD) - 1)}"
    assert with_order(full, Order(4, 1_790_000_000)) is None
    assert with_order(full[:-40], Order(4, 1_790_000_000)) is not None


@given(st.text(alphabet="ael1:gpus=,until0123 \n", max_size=60), st.integers(1, 1024), st.integers(1, 10**11))
def test_an_order_is_read_as_it_was_written_and_no_other_word_is_touched(text: str, gpus: int, until: int) -> None:
    plain = with_order(text, None)
    while plain is not None and order_of(plain) is not None:
        plain = with_order(plain, None)
    assert plain is not None
    written = with_order(plain, Order(gpus, until))
    assert written is not None and order_of(written) == Order(gpus, until)
    assert with_order(written, None) == plain
