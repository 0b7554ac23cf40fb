"""charge.toml: the schemes that jobs are charged by. Each problem names the file and the key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any, Final

from adminkit.economy.budgets import Budget, read_budgets
from adminkit.economy.formula import Formula, FormulaError, Number, parse, wrong_formula
from adminkit.economy.months import Calendar, zone
from adminkit.errors import AdminkitError, unknown_word
from adminkit.files import is_there
from adminkit.installed import data_file
from adminkit.quote import clean, quote
from adminkit.toml import read_toml

SYSTEM_SCHEMES: Final = Path("/etc/adminkit/charge.toml")
_HINT: Final = "docs/charge.md has every key"
#: Kinds of weights -> the field of a job that chooses one.
WEIGHTS: Final = ("gpu_type", "qos", "queue")
#: The weight of everything that is not named.
OTHERS: Final = "*"
MOST_DIGITS: Final = 6
_MOST_WEIGHT: Final = 10**9
#: Name -> a function from an exact number to a whole one. Charges are never below 0. With
#: `up`, the default, no run is too short to be charged.
ROUNDINGS: Final[Mapping[str, Callable[[Fraction], int]]] = {
    "half-even": lambda value: round(value),
    "half-up": lambda value: floor(value + Fraction(1, 2)),
    "up": ceil,
    "down": floor,
}
_FRACTION: Final = re.compile(r"[0-9]{1,40}(?:/[1-9][0-9]{0,39})?", re.ASCII)
_KEYS: Final = ("help", "formula", "unit", "digits", "rounding", "free_states", "weights")


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way to charge. `text` is the whole of it as canonical JSON, with its name and time zone: what is kept."""

    name: str
    formula: Formula
    unit: str
    digits: int
    rounding: str
    free_states: frozenset[str]
    weights: Mapping[str, Mapping[str, Fraction]]
    calendar: Calendar = field(compare=False)
    text: str
    help: str = field(default="", compare=False)

    def rounded(self, value: Number) -> int:
        """The value in the smallest unit of the scheme's money."""
        return int(ROUNDINGS[self.rounding](Fraction(value) * 10**self.digits))

    def written(self, smallest: int) -> str:
        """That number of the smallest unit, as an entry has it: 12.50."""
        return str(Decimal(smallest).scaleb(-self.digits)) if self.digits == 0 else _fixed(smallest, self.digits)


def _fixed(smallest: int, digits: int) -> str:
    whole, part = divmod(abs(smallest), 10**digits)
    return f"{'-' if smallest < 0 else ''}{whole}.{part:0{digits}}"


@dataclass(frozen=True, slots=True)
class ChargeFile:
    """A charge.toml. `scheme` is the one that `close` charges by; no `clusters` are all."""

    path: Path
    scheme: str
    clusters: Sequence[str]
    schemes: Mapping[str, Scheme]
    budgets: Sequence[Budget] = ()

    def named(self, name: str | None) -> Scheme:
        """The scheme of that name, the file's own for None. UsageError for another name."""
        wanted = self.scheme if name is None else name
        if wanted not in self.schemes:
            raise unknown_word("scheme", wanted, self.schemes)
        return self.schemes[wanted]


def load_schemes(named: Path | None, system: Path = SYSTEM_SCHEMES) -> ChargeFile:
    """The schemes of this host; those that come with adminkit where it has none. AdminkitError for a mistake."""
    path = named or (system if is_there(system) else data_file("etc", "charge.toml"))
    raw = read_toml(path, "name a file of schemes with --schemes; etc/charge.toml is an example")
    _known(raw, ("version", "timezone", "scheme", "clusters", "schemes", "budgets"), str(path))
    if raw.get("version") != 1:
        raise AdminkitError(f"{path}: version: this release of adminkit knows version 1", "write version = 1")
    tz = raw.get("timezone", "UTC")
    tables = raw.get("schemes")
    if not isinstance(tables, dict) or not tables:
        raise AdminkitError(f"{path}: no scheme", f"write [schemes.NAME] and below it a formula; {_HINT}")
    schemes = {name: _scheme(name, table, tz, f"{path}: schemes.{quote(name)}") for name, table in tables.items()}
    chosen = raw.get("scheme")
    if not isinstance(chosen, str) or chosen not in schemes:
        near = unknown_word("scheme", str(chosen), schemes)
        raise AdminkitError(f"{path}: scheme: {near.message}", near.hint)
    clusters = _texts(raw.get("clusters", []), f"{path}: clusters")
    budgets = read_budgets(raw.get("budgets", []), f"{path}: budgets")
    return ChargeFile(path, chosen, clusters, schemes, budgets)


def scheme_of(text: str) -> Scheme:
    """The scheme whose canonical text was kept. AdminkitError for any other text."""
    try:
        kept = json.loads(text)
        name, tz = kept.pop("name"), kept.pop("timezone")
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise AdminkitError("the ledger's scheme cannot be read", "adminkit charge verify names it") from error
    return _scheme(name, kept, tz, "the ledger's scheme")


def _scheme(name: str, table: Any, tz: Any, where: str) -> Scheme:
    if not isinstance(table, dict):
        raise AdminkitError(f"{where} is not a table", _HINT)
    _known(table, _KEYS, where)
    if not isinstance(table.get("formula"), str):
        raise AdminkitError(f"{where}.formula is not a text", 'write formula = "node_hours"')
    try:
        formula = parse(table["formula"])
    except FormulaError as error:
        raise wrong_formula(f"{where}.formula", error) from None
    try:
        calendar = Calendar(zone(str(tz)))
    except ValueError as error:
        raise AdminkitError(f"{where}: {error}", 'write timezone = "UTC", or another zone of tzdata') from None
    unit, digits = table.get("unit"), table.get("digits", 2)
    if not isinstance(unit, str) or not 0 < len(unit) <= 20 or clean(unit) != unit:
        raise AdminkitError(f"{where}.unit: no unit", 'name the unit of charges: unit = "points"')
    if type(digits) is not int or not 0 <= digits <= MOST_DIGITS:
        raise AdminkitError(
            f"{where}.digits is not 0 to {MOST_DIGITS}", "write how many digits an amount has after the point"
        )
    rounding = table.get("rounding", "up")
    if not isinstance(rounding, str) or rounding not in ROUNDINGS:
        near = unknown_word("rounding", str(rounding), ROUNDINGS)
        raise AdminkitError(f"{where}.rounding: {near.message}", near.hint)
    free = sorted(set(_texts(table.get("free_states", []), f"{where}.free_states")))
    weights = _weights(table.get("weights", {}), f"{where}.weights")
    text = json.dumps(
        {
            "name": name, "formula": formula.text, "unit": unit, "digits": digits, "rounding": rounding,
            "free_states": free, "timezone": str(tz),
            "weights": {kind: {key: str(value) for key, value in of.items()} for kind, of in weights.items()},
        },
        sort_keys=True,
    )  # fmt: skip
    return Scheme(
        name, formula, unit, digits, rounding, frozenset(free), weights, calendar, text, str(table.get("help", ""))
    )


def _weights(table: Any, where: str) -> dict[str, dict[str, Fraction]]:
    if not isinstance(table, dict):
        raise AdminkitError(f"{where} is not a table", _HINT)
    _known(table, WEIGHTS, where)
    found: dict[str, dict[str, Fraction]] = {}
    for kind, of in table.items():
        if not isinstance(of, dict):
            raise AdminkitError(
                f"{where}.{kind} is not a table", 'write a weight for each name, and "*" for all other names'
            )
        found[kind] = {key: _weight(value, f"{where}.{kind}.{quote(key)}") for key, value in of.items()}
    return found


def _weight(value: Any, where: str) -> Fraction:
    """A number as it is written; what was kept is the text of a fraction."""
    if isinstance(value, str) and _FRACTION.fullmatch(value):
        return Fraction(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_WEIGHT:
        return Fraction(Decimal(repr(value)))
    raise AdminkitError(f"{where} is not a weight", "write a number, 0 or more: 2.5")


def _known(table: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in table:
        if key not in keys:
            near = unknown_word("key", key, keys)
            raise AdminkitError(f"{where}: {near.message}", near.hint)


def _texts(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise AdminkitError(f"{where} is not a list of names", 'write ["one", "another"]')
    return value
