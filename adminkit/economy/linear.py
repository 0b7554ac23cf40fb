"""Whether a scheme charges a fixed price of one TRES: a budget is then a number of its minutes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Final

from adminkit.economy.schemes import Scheme
from adminkit.errors import AdminkitError

#: A formula's name -> Slurm's TRES, and the column of the view run that has how many.
TRES: Final[Mapping[str, tuple[str, str]]] = {
    "node_hours": ("node", "size_nodes"),
    "cpu_hours": ("cpu", "size_cpus"),
    "gpu_hours": ("gres/gpu", "size_gpus"),
}
#: Factors that are 1 for every run where the scheme has no weights.
_WEIGHTS: Final = {
    "weight": ("gpu_type", "qos", "queue"),
    "gpu_weight": ("gpu_type",),
    "qos_weight": ("qos",),
    "queue_weight": ("queue",),
}
_HINT: Final = "Slurm can hold a budget of a price per node_hours, cpu_hours or gpu_hours, such as 2.5 * gpu_hours"

#: Name -> its factor; "" for the part that depends on nothing.
_Form = dict[str, Fraction]


@dataclass(frozen=True, slots=True)
class Price:
    """What an hour of a TRES costs in the scheme's unit."""

    tres: str
    column: str
    per_hour: Fraction

    def minutes(self, amount: Decimal) -> int:
        """The whole minutes of the TRES that an amount buys; below 0 for a debt."""
        return floor(Fraction(amount) / self.per_hour * 60)


class _NotLinear(Exception):
    """Its text is the part that is not."""


def price_of(scheme: Scheme) -> Price:
    """The price. AdminkitError where the formula is not a fixed price of one TRES."""
    try:
        tree = ast.parse(scheme.formula.text, mode="eval")
        form = _form(tree.body, scheme)
    except _NotLinear as error:
        raise AdminkitError(f"the scheme {scheme.name} is not a fixed price of one TRES: {error}", _HINT) from None
    names = sorted(name for name, factor in form.items() if name and factor)
    if form.get("") or len(names) != 1 or form[names[0]] <= 0:
        why = " and ".join(names) or "no TRES"
        raise AdminkitError(f"the scheme {scheme.name} is not a fixed price of one TRES: it charges {why}", _HINT)
    tres, column = TRES[names[0]]
    return Price(tres, column, form[names[0]])


def _form(node: ast.expr, scheme: Scheme) -> _Form:
    """The formula as factors of names. The file's reader has accepted it, so every node is one of the formula's."""
    match node:
        case ast.Constant():
            return {"": Fraction(Decimal(ast.get_source_segment(scheme.formula.text, node) or "0"))}
        case ast.Name(id=name) if name in TRES:
            return {name: Fraction(1)}
        case ast.Name(id=name) if name in _WEIGHTS and not any(kind in scheme.weights for kind in _WEIGHTS[name]):
            return {"": Fraction(1)}
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return _form(inner, scheme)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _scaled(_form(inner, scheme), Fraction(-1))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _sum(_form(left, scheme), _form(right, scheme))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _sum(_form(left, scheme), _scaled(_form(right, scheme), Fraction(-1)))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            one, two = _form(left, scheme), _form(right, scheme)
            if set(one) <= {""}:
                return _scaled(two, one.get("", Fraction(0)))
            if set(two) <= {""}:
                return _scaled(one, two.get("", Fraction(0)))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            under = _form(right, scheme)
            if set(under) <= {""} and under.get(""):
                return _scaled(_form(left, scheme), 1 / under[""])
    raise _NotLinear(ast.unparse(node))


def _scaled(form: _Form, factor: Fraction) -> _Form:
    return {name: value * factor for name, value in form.items()}


def _sum(one: _Form, two: _Form) -> _Form:
    return {name: one.get(name, Fraction(0)) + two.get(name, Fraction(0)) for name in {*one, *two}}
