"""Which schemes are a fixed price of one TRES, and how many minutes a budget then is."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from adminkit.economy.linear import price_of
from adminkit.economy.schemes import Scheme, load_schemes
from adminkit.errors import AdminkitError


def scheme(folder: Path, formula: str, more: str = "") -> Scheme:
    file = folder / "charge.toml"
    file.write_text(f'version = 1\nscheme = "s"\n[schemes.s]\nformula = "{formula}"\nunit = "points"\n{more}')
    return load_schemes(file).named(None)


@pytest.mark.parametrize(
    ("formula", "tres", "per_hour"),
    [
        ("node_hours", "node", Fraction(1)),
        ("gpu_hours * 2.5", "gres/gpu", Fraction(5, 2)),
        ("cpu_hours / 20", "cpu", Fraction(1, 20)),
        ("(gpu_hours + gpu_hours) * (1 + 0.5)", "gres/gpu", Fraction(3)),
        ("gpu_hours * weight", "gres/gpu", Fraction(1)),
        ("2 * cpu_hours - -cpu_hours + 0", "cpu", Fraction(3)),
        ("cpu_hours + 0 * gpu_hours", "cpu", Fraction(1)),
    ],
)
def test_a_price(formula: str, tres: str, per_hour: Fraction, tmp_path: Path) -> None:
    price = price_of(scheme(tmp_path, formula))
    assert (price.tres, price.per_hour) == (tres, per_hour)


@pytest.mark.parametrize(
    ("formula", "more", "said"),
    [
        ("gpu_hours + cpu_hours", "", "it charges cpu_hours and gpu_hours"),
        ("gpu_hours + 1", "", "it charges gpu_hours"),
        ("0.7 * elapsed", "", "elapsed"),
        ("gpu_hours if gpus > 0 else cpu_hours / 20", "", "if gpus > 0"),
        ("ceil(gpu_hours)", "", "ceil"),
        ("max(gpu_hours, 1)", "", "max"),
        ("gpu_hours * gpu_hours", "", "gpu_hours \\* gpu_hours"),
        ("1 / gpu_hours", "", "1 / gpu_hours"),
        ("gpu_hours * weight", '[schemes.s.weights.qos]\n"*" = 2\n', "weight"),
        ("gpu_hours * 0", "", "no TRES"),
        ("gpu_hours / 0", "", "gpu_hours / 0"),
        ("0 - gpu_hours", "", "gpu_hours"),
        ("energy_kwh * 30", "", "energy_kwh"),
        ("5", "", "no TRES"),
    ],
)
def test_what_is_no_price_is_refused(formula: str, more: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(AdminkitError, match=said) as error:
        price_of(scheme(tmp_path, formula, more))
    assert "2.5 * gpu_hours" in error.value.hint


def test_an_amount_in_whole_minutes(tmp_path: Path) -> None:
    price = price_of(scheme(tmp_path, "gpu_hours * 2.5"))
    assert [price.minutes(Decimal(one)) for one in ("100", "0.01", "-1", "0")] == [2400, 0, -24, 0]
