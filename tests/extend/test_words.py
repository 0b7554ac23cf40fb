"""The words of an extension: who opted in, what was given, and how the comment keeps everything else."""

from __future__ import annotations

import pytest

from adminkit.extend.words import Given, given_of, opted_in, with_given
from adminkit.trace.word_parts import COMMENT_MAX


@pytest.mark.parametrize(
    ("comment", "expected", "why"),
    [
        ("ak1:lim=3600,src=e,ext=auto", True, "the record says so"),
        ("ak1:lim=none,src=d,ext=auto,rules=gq-max nt", True, "a default limit, rules and another word behind"),
        ("ak1:lim=60,src=e,cls=cpu,soft=60,el=1-2,ext=auto", True, "other keys before it"),
        ("ak1:lim=3600,src=e", False, "no key"),
        ("ak1:lim=3600,src=e,rules=a,ext=auto", False, "a rule's name ends the record"),
        ("ak1:lim=3600,src=e,ext=automatic", False, "another value"),
        ("x ak1:lim=3600,src=e,ext=auto", False, "not the first word"),
        ("ak1:lim=3600,src=e ext=auto", False, "a word of its own is somebody's"),
        ("", False, "nothing"),
    ],
)
def test_who_opted_in(comment: str, expected: bool, why: str) -> None:
    assert opted_in(comment) is expected, why


@pytest.mark.parametrize(
    ("comment", "expected", "why"),
    [
        ("ak1:lim=3600,src=e,ext=auto xt1:asked=3600,lim=5400,n=1", Given(3600, 5400, 1), "behind the record"),
        ("xt1:asked=60,lim=60,n=0 other", Given(60, 60, 0), "taken back"),
        ("ak1:x,xt1:asked=60,lim=120,n=1", None, "within another word"),
        ("xt1:asked=60,lim=120", None, "not whole"),
        ("xt1:asked=60,lim=120,n=1,more=2", None, "more than the word"),
        ("xt1:asked=-60,lim=120,n=1", None, "not a number"),
    ],
)
def test_what_was_given(comment: str, expected: Given | None, why: str) -> None:
    assert given_of(comment) == expected, why


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("", "xt1:asked=60,lim=120,n=1", "alone"),
        ("ak1:lim=60,src=e é  two", "ak1:lim=60,src=e é  two xt1:asked=60,lim=120,n=1", "behind what is there"),
        ("a xt1:asked=60,lim=90,n=9 b", "a xt1:asked=60,lim=120,n=1 b", "in the place of the old one"),
        ("é" * (COMMENT_MAX // 2), None, "bytes count, and there is no room"),
    ],
)
def test_the_rest_of_the_comment_stays(before: str, after: str | None, why: str) -> None:
    assert with_given(before, Given(60, 120, 1)) == after, why
