"""A formula is arithmetic over a job's numbers; whatever else is typed is refused, and nothing of it is ever run."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain
from typing import Any

import pytest

from adminkit.economy.formula import NAMES, SWITCHES, FormulaError, NotChargeable, parse
from adminkit.quote import clean

JOB: dict[str, Any] = {
    **dict.fromkeys(NAMES, 1), **dict.fromkeys(SWITCHES, False),
    "elapsed": 7200, "requested": 36_000, "nodes": 2, "node_hours": 4, "weight": Fraction("1.5"),
}  # fmt: skip

VALUES = [
    ("12", 12, "a number"),
    (".5 + 0.25", Fraction(3, 4), "decimals are what they look like"),
    ("0.1 + 0.2 == 0.3 and 1 or 2", None, "a condition is no number"),
    ("1 if 0.1 + 0.2 == 0.3 else 0", 1, "no binary fraction comes in between"),
    ("ceil(2 / 3 * 3)", 2, "a quotient is exact"),
    ("7 - 2 - 1", 4, "from left to right"),
    ("-elapsed + +1", -7199, "signs"),
    ("max(elapsed, 300) + min(1, 2, 3)", 7201, "max and min"),
    ("floor(7.9) + ceil(7.1)", 15, "whole numbers"),
    ("ceil(nodes * weight * (0.7 * max(elapsed, 300) + 0.1 * requested))", 25_920, "TSUBAME's"),
    ("node_hours * (0.7 if parallel else 1)", 4, "a switch"),
    ("1 if not parallel and (nodes >= 2 or bundle) else 2", 1, "and, or, not"),
    ("1 if nodes != 2 else 2 if elapsed < 1 else 3", 3, "one after the other"),
    ("1 +\n  1", 2, "two lines"),
]


#: operator -> what it says of 1, 2 and 3 beside two nodes
COMPARED = {
    "<": (True, False, False), "<=": (True, True, False), ">": (False, False, True), ">=": (False, True, True),
    "==": (False, True, False), "!=": (True, False, True),
}  # fmt: skip


@pytest.mark.parametrize("operator", COMPARED)
def test_a_comparison_knows_less_equal_and_more(operator: str) -> None:
    said = tuple(parse(f"1 if {number} {operator} nodes else 0").value(JOB) == 1 for number in (1, 2, 3))
    assert said == COMPARED[operator]


@pytest.mark.parametrize(("text", "value", "why"), VALUES)
def test_a_formula_comes_to_the_exact_number(text: str, value: Fraction | None, why: str) -> None:
    if value is None:
        with pytest.raises(FormulaError):
            parse(text)
    else:
        assert parse(text).value(JOB) == value, why


STOPS = [
    ("requested", {"requested": None}, "requested is not known"),
    ("1 / (nodes - 2)", {}, "the formula divides by zero"),
    ("1 if parallel else 2", {"parallel": None}, "parallel is not known"),
    ("max(1, gpus)", {"gpus": None}, "gpus is not known"),
]


@pytest.mark.parametrize(("text", "changes", "reason"), STOPS)
def test_what_is_unknown_stops_it(text: str, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(NotChargeable, match=reason):
        parse(text).value({**JOB, **changes})


def test_what_is_unknown_and_not_needed_does_not() -> None:
    assert parse("cpu_hours if nodes > 1 else gpu_hours").value({**JOB, "gpu_hours": None}) == 1


_REACHES = """
__import__('os').system('id') | open('/etc/passwd') | open("/etc/passwd").read() | exec('1') | eval('1')
compile('1','','eval') | ().__class__ | (1).__class__.__bases__ | nodes.__class__ | nodes.real | ''.join([]) | 'a' * 9
"a" | b'a' | f'{nodes}' | r'x' | [].append | [1] | {1} | {1: 2} | {} | (1, 2) | 1, 2 | [x for x in nodes]
(x for x in nodes) | {x for x in nodes} | nodes[0] | nodes[:] | lambda: 1 | lambda x: x | (lambda: 1)() | (yield)
(yield 1) | await nodes | (nodes := 1) | nodes = 1 | nodes += 1 | import os | from os import system | del nodes
assert 1 | pass | return 1 | raise nodes | global nodes | def f(): pass | class A: pass | if 1: 2 | while 1: 2
for x in y: z | with nodes: 1 | try: 1 | @nodes | nodes; elapsed | # comment | 1 # comment | \\ | ` | $ | ? | ~1
2 ** 9 | 2 ** 99999999 | 9 ** 9 ** 9 | 1 // 2 | 1 % 2 | 1 @ 2 | 1 << 2 | 1 >> 2 | 1 & 2 | 1|2 | 2 ^ 1 | ~nodes
not nodes | nodes and 1 | 1 < 2 | 1 < 2 < 3 | nodes is 1 | nodes in (1,) | nodes not in (1,) | 1 if nodes else 2
1 if 1 else 2 | 1 if 1 < 2 < 3 else 2 | True | False | None | ... | NotImplemented | Ellipsis | __debug__ | inf | nan
Infinity | NaN | -inf | float('nan') | Decimal('NaN') | 1e5 | 1E5 | 1e999 | 1e-5 | 0x10 | 0o7 | 0b1 | 1_000 | 1j
1.5j | 1. | 00 1 | 1 2 | 1if 1<2 else 3 | 0xfor | 1234567890123456 | 0.1234567890123 | 99999999999999999999 | abs(1)
pow(2, 9) | sum(1) | print(1) | int(1) | float(1) | range(9) | round(1) | len(1) | getattr(nodes, 1) | vars() | dir()
globals() | locals() | type(1) | input() | breakpoint() | exit() | quit() | help() | id(1) | hash(1) | max() | min()
ceil() | floor() | ceil(1, 2) | floor(1, 2) | max(1, 2, 3, 4, 5, 6, 7, 8, 9) | max(*nodes) | max(**nodes) | max(a=1)
max(key=min) | max | min | ceil | max(max) | max(min, 1) | min(1)(2) | ceil(1)(1) | nodes(1) | nodes() | 1() | 1(2)
(nodes)(1) | max.x(1) | parallel | parallel + 1 | bundle * 2 | max(parallel, 1) | -parallel | not parallel | user
job_name | account | cluster | Nodes | NODES | node | gpu hours | gpu-houres | hours | _ | __ | __class__
__builtins__ | __name__ | nodes_ | ( | ) | () | (1 | 1) | + | 1 + | * 1 | / | , | = | == 1 | ! | 1 = 2 | nodes ==
! nodes | <> | 1 <> 2 | . | .. | .1.2 | 1..real | print 1 | exec 1 | 1 if | if 1 else 2 | 1 else 2 | else | and | or
not | in
"""
#: Text that no line above can hold: other alphabets, controls, and too much of everything.
_ODD = [
    "",
    " ",
    "\n",
    "\x00",
    "1\x00",
    "nodes\x00",
    "\ufeff1",
    "１",
    "²",
    "½",
    "٣",
    "ｎodes",
    "nоdes",
    "nodes\u200b",
    "1\u00a0+ 1",
    "\u202e1",
    "1\x0b+ 1",
    "1\x0c",
    "nodes\ud800",
    "😀",
    "x" * 501,
    "(" * 60 + "1" + ")" * 60 + "x",
    "-" * 100 + "1",
    "-" * 499,
    "1" + "+1" * 100,
    "not " * 100 + "parallel",
    "1 if parallel else " * 26 + "1",
    "max(" * 40 + "1" + ")" * 40,
    "+".join(["9" * 15] * 40),
    "1" * 400,
    "((((" * 124,
    "1<" * 200 + "1",
    "." * 300,
    "nodes." * 80,
    "1/" * 240,
]
HOSTILE = [*chain.from_iterable(line.split(" | ") for line in _REACHES.strip().splitlines()), *_ODD]


def refusal(text: str) -> FormulaError | None:
    try:
        parse(text)
    except FormulaError as error:
        return error
    return None


def test_200_texts_that_reach_for_more_than_their_numbers_are_refused() -> None:
    found = {text: refusal(text) for text in HOSTILE}
    assert len(found) >= 200
    assert [text for text, error in found.items() if error is None] == []
    assert all(
        len(error.message) < 300 and clean(error.message) == error.message and error.hint
        for error in found.values()
        if error
    )
