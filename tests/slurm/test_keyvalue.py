"""One parser for what scontrol and sacctmgr print as Key=Value, with its traps."""

from __future__ import annotations

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as some

from adminkit.slurm import keyvalue


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("A=1 B=2\n", [{"A": "1", "B": "2"}], "words of a line"),
        ("A=1 B=\n", [{"A": "1", "B": ""}], "an empty value"),
        ("A=1 B=x=y\n", [{"A": "1", "B": "x=y"}], "the first = cuts"),
        ("A=1 B=2 Reason=B=3 A=4\n", [{"A": "1", "B": "2", "Reason": "B=3"}], "an operator's text comes last"),
        ("A=1 Reason=job x C=9 D=8\n", [{"A": "1", "Reason": "job"}], "and makes no word that Slurm left out"),
        ("A=1 Comment=x Gres=gpu:8\n", [{"A": "1", "Comment": "x"}], "nor does a comment"),
        ("A=1 Extra=x Gres=gpu:8\n", [{"A": "1", "Extra": "x"}], "nor what is kept for others"),
        ("A=1 OS=Linux 6.1 B=2\n", [{"A": "1", "OS": "Linux", "B": "2"}], "a value with a space loses its rest"),
        ("B=2 A=1\n", [], "a line that does not begin so"),
        ("AA=1\n", [], "another key"),
        ("A=1\nA=2\n", [{"A": "1"}, {"A": "2"}], "a line each"),
        ("A=1 C=x\x85A=2\n", [{"A": "1", "C": "x\x85A=2"}], "no line ends there"),
        ("A=1 C=x\u2028A=2\n", [{"A": "1", "C": "x\u2028A=2"}], "nor there"),
    ],
)
def test_records(text: str, expected: list[dict[str, str]], why: str) -> None:
    assert list(keyvalue.records(text, "A")) == expected, why


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("ClusterName             = alpha\n", {"ClusterName": "alpha"}, "in columns"),
        ("A = x = y\n", {"A": "x = y"}, "the first = cuts"),
        ("A = \nB = 2\n", {"A": "", "B": "2"}, "an empty value does not take the next line"),
        ("A = 1\n\nCgroup Support Configuration:\nA = 2\n", {"A": "1"}, "the first counts"),
        ("  CgroupPlugin = (null)\n", {"CgroupPlugin": "(null)"}, "indented, and as printed"),
        ("SlurmctldHost[0] = head(10.0.0.1)\n", {"SlurmctldHost[0]": "head(10.0.0.1)"}, "one of several"),
        ("Configuration data as of 2026 = x\n", {}, "a sentence"),
        ("Slurmctld(primary) at head is UP\n", {}, "another"),
        ("A = a b  \r\n", {"A": "a b"}, "spaces inside stay"),
    ],
)
def test_settings(text: str, expected: dict[str, str], why: str) -> None:
    assert keyvalue.settings(text) == expected, why


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, None), ("", None), ("(null)", None), ("N/A", None), ("ALL", None), ("a", {"a"}), ("a,b,", {"a", "b"})],
)
def test_a_list_of_names(text: str | None, expected: set[str] | None) -> None:
    assert keyvalue.names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4", 4), ("0", 0), ("UNLIMITED", None), (None, None), ("-1", None), ("1.5", None), ("٣", None), ("9" * 19, None)],
)
def test_a_number(text: str | None, expected: int | None) -> None:
    assert keyvalue.number(text) == expected


WORDS = some.dictionaries(
    some.text("ABCDEFGHabcdefgh", min_size=1), some.text("abc019,:()[]./+-=", max_size=9), min_size=1, max_size=6
)


@drawn(some.lists(WORDS, max_size=4), some.text(max_size=30))
def test_what_was_printed_is_read_back_whatever_an_operator_wrote_behind_it(
    printed: list[dict[str, str]], comment: str
) -> None:
    behind = comment.replace("\n", "")
    words = [{"Key": "x", **line} for line in printed]
    text = "".join(" ".join(f"{k}={v}" for k, v in line.items()) + f" Comment={behind}\n" for line in words)
    for read, line in zip(keyvalue.records(text, "Key"), words, strict=True):
        assert read.items() >= line.items()


@drawn(some.text(max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    for line in keyvalue.records(text, "NodeName"):
        assert "NodeName" in line
    assert all("\n" not in name + value for name, value in keyvalue.settings(text).items())
