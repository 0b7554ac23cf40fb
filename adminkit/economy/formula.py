"""What a run of a job costs, as a formula of a TOML file: arithmetic over the numbers of one run, and nothing else.

    ceil(nodes * weight * (0.7 * max(elapsed, 300) + 0.1 * requested))
    node_hours * (0.7 if parallel else 1)

Python's parser reads it, a white list of nodes is kept, and the rest is refused; no text is ever run as Python. Values
are exact fractions, so nothing rounds before the end.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Final

from adminkit.errors import AdminkitError, unknown_word
from adminkit.quote import quote

Number = int | Fraction
#: Name -> what it is. A run's number that is unknown is None.
NAMES: Final[Mapping[str, str]] = {
    "elapsed": "seconds that the run ran",
    "requested": "seconds of the longest limit that it asked for; unknown where it had none",
    "nodes": "its nodes",
    "cpus": "its CPUs",
    "gpus": "its GPU equivalents: a slice or a shard is a part of one",
    "slices": "its MIG slices, whatever their size",
    "shards": "its shards",
    "node_hours": "nodes × hours",
    "cpu_hours": "CPUs × hours",
    "gpu_hours": "GPU equivalents × hours",
    "mem_gib": "its memory, GiB",
    "energy_kwh": "energy that slurmdbd recorded for it, kWh",
    "weight": "the product of gpu_weight, qos_weight and queue_weight",
    "gpu_weight": "the scheme's weight of its type of GPU; 1 without such a table, and for a run without GPUs",
    "qos_weight": "the scheme's weight of its QOS; 1 without such a table",
    "queue_weight": "the scheme's weight of its queue; 1 without such a table",
}
#: Names that are true or false: they stand where a condition does.
SWITCHES: Final[Mapping[str, str]] = {
    "bundle": "its steps run single-GPU work side by side",
    "parallel": "it ran on several nodes, and is not a bundle",
    "has_slices": "it had MIG slices",
    "has_shards": "it had shards",
    "has_mps": "it had MPS",
}
FUNCTIONS: Final = ("ceil", "floor", "max", "min")
#: Characters of a formula, nodes between its root and a leaf, nodes of all of it, arguments of a function.
LONGEST: Final = 500
DEEPEST: Final = 24
MOST_NODES: Final = 150
MOST_ARGUMENTS: Final = 8
_HINT: Final = "a formula has numbers, names, + - * /, parentheses, min, max, ceil, floor, and … if … else …"
#: Everything that a formula may be spelled with: no quote, bracket, colon, backslash, at sign, nor any other alphabet.
_SPELLING: Final = re.compile(r"[A-Za-z0-9_+\-*/().,<>=! \t\r\n]*", re.ASCII)
_LITERAL: Final = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,12})?|\.[0-9]{1,12}", re.ASCII)

#: A run's numbers and switches, by name.
Values = Mapping[str, Number | bool | None]
_Computed = Callable[[Values], Number]
_Decided = Callable[[Values], bool]


class NotChargeable(Exception):
    """A job without a charge; its text is the reason, in a few words that name no job."""


class FormulaError(ValueError):
    """A text that is not a formula."""

    def __init__(self, message: str, hint: str = _HINT) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula that was read; `names` are those that it may need."""

    text: str
    names: frozenset[str]
    _compute: _Computed

    def value(self, of: Values) -> Number:
        """What it comes to. NotChargeable where it needs what is unknown, or divides by zero."""
        try:
            return self._compute(of)
        except ZeroDivisionError:
            raise NotChargeable("the formula divides by zero") from None


def parse(text: str) -> Formula:
    """The formula that `text` is. FormulaError for anything else."""
    if len(text) > LONGEST:
        raise FormulaError(f"the formula has {len(text)} characters", f"{LONGEST} at most")
    strange = _SPELLING.sub("", text, count=1)
    if strange:
        raise FormulaError(f"{quote(strange[0])} is not allowed in a formula")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = ast.parse(" ".join(text.split()), mode="eval")
    except (SyntaxError, ValueError, Warning, RecursionError, MemoryError):
        raise FormulaError(f"not a formula: {quote(text)}") from None
    reader = _Reader(" ".join(text.split()))
    compute = reader.number(tree.body, 0)
    return Formula(reader.text, frozenset(reader.names), compute)


class _Reader:
    """Turns the tree of one formula into functions; `names` and `nodes` are those met so far."""

    def __init__(self, text: str) -> None:
        self.text, self.names, self.nodes = text, set[str](), 0

    def number(self, node: ast.expr, depth: int) -> _Computed:
        self._count(depth)
        match node:
            case ast.Constant():
                return self._literal(node)
            case ast.Name(id=name):
                return self._name(name)
            case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=inner):
                value = self.number(inner, depth + 1)
                return value if isinstance(sign, ast.UAdd) else lambda of: -value(of)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=right):
                return _OPERATIONS[type(op)](self.number(left, depth + 1), self.number(right, depth + 1))
            case ast.IfExp(test=test, body=body, orelse=other):
                decide = self.condition(test, depth + 1)
                yes, no = self.number(body, depth + 1), self.number(other, depth + 1)
                return lambda of: yes(of) if decide(of) else no(of)
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]):
                return self._call(name, given, depth)
        raise FormulaError(f"{self._shown(node)} is not allowed where a formula needs a number")

    def condition(self, node: ast.expr, depth: int) -> _Decided:
        self._count(depth)
        match node:
            case ast.Name(id=name) if name in SWITCHES:
                self.names.add(name)
                return lambda of: bool(_known(of, name))
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                value = self.condition(inner, depth + 1)
                return lambda of: not value(of)
            case ast.BoolOp(op=op, values=values):
                decided = [self.condition(one, depth + 1) for one in values]
                every = isinstance(op, ast.And)
                return lambda of: all(one(of) for one in decided) if every else any(one(of) for one in decided)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                compare, low = _COMPARISONS[type(op)], self.number(left, depth + 1)
                high = self.number(right, depth + 1)
                return lambda of: compare(low(of), high(of))
        raise FormulaError(
            f"{self._shown(node)} is not a condition", f"compare two numbers, or use one of: {', '.join(SWITCHES)}"
        )

    def _count(self, depth: int) -> None:
        self.nodes += 1
        if depth > DEEPEST or self.nodes > MOST_NODES:
            raise FormulaError(
                "the formula has too many parts", f"write at most {MOST_NODES}, nested at most {DEEPEST} deep"
            )

    def _literal(self, node: ast.Constant) -> _Computed:
        """The number as it is written: a float of Python's would have another value."""
        written = self._shown(node)
        if not _LITERAL.fullmatch(written):
            raise FormulaError(
                f"{written} is not a number", "write 12, 0.7 or .5: at most 15 digits, 12 of them after the point"
            )
        exact = _plain(Fraction(Decimal(written)))
        return lambda of: exact

    def _name(self, name: str) -> _Computed:
        if name in SWITCHES:
            raise FormulaError(f"{name} is true or false, not a number", f"write 0.7 if {name} else 1")
        if name not in NAMES:
            near = unknown_word("name", name, (*NAMES, *SWITCHES, *FUNCTIONS))
            raise FormulaError(f"{quote(name)} is not a name that a formula knows", near.hint)
        self.names.add(name)

        return lambda of: _known(of, name)

    def _call(self, name: str, given: list[ast.expr], depth: int) -> _Computed:
        if name not in FUNCTIONS:
            raise FormulaError(
                f"{quote(name)} is not a function that a formula knows", f"known: {', '.join(FUNCTIONS)}"
            )
        single = name in ("ceil", "floor")
        if not given or len(given) > (1 if single else MOST_ARGUMENTS):
            raise FormulaError(f"{name} was given {len(given)} numbers", "ceil(x), floor(x), max(x, y), min(x, y)")
        values = [self.number(one, depth + 1) for one in given]
        if single:
            first, whole = values[0], ceil if name == "ceil" else floor
            return lambda of: whole(first(of))
        choose: Callable[..., Number] = max if name == "max" else min
        return lambda of: choose([value(of) for value in values])

    def _shown(self, node: ast.expr) -> str:
        return quote(ast.get_source_segment(self.text, node) or self.text)


def _known(of: Values, name: str) -> Number:
    value = of[name]
    if value is None:
        raise NotChargeable(f"{name} is not known")
    return value


def _plain(value: Fraction) -> Number:
    return value.numerator if value.denominator == 1 else value


def _add(left: _Computed, right: _Computed) -> _Computed:
    return lambda of: left(of) + right(of)


def _subtract(left: _Computed, right: _Computed) -> _Computed:
    return lambda of: left(of) - right(of)


def _multiply(left: _Computed, right: _Computed) -> _Computed:
    return lambda of: left(of) * right(of)


def _divide(left: _Computed, right: _Computed) -> _Computed:
    return lambda of: Fraction(left(of)) / right(of)


_OPERATIONS: Final[Mapping[type[ast.operator], Callable[[_Computed, _Computed], _Computed]]] = {
    ast.Add: _add,
    ast.Sub: _subtract,
    ast.Mult: _multiply,
    ast.Div: _divide,
}
_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Number, Number], bool]]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}


def wrong_formula(where: str, error: FormulaError) -> AdminkitError:
    """The error for an operator: `where` names file and key."""
    return AdminkitError(f"{where}: {error.message}", error.hint)
