"""Files of `adminkit tune` in one line, and the spaces that they make on a site."""

from __future__ import annotations

import tomllib
from typing import Any

from adminkit.tune.candidates import Choice, Value
from adminkit.tune.here import Here
from adminkit.tune.settings import Tune, tune_of
from adminkit.tune.space import Space, space_on

POLICY = "version = 1\n\n[soft_limits]\nenabled = false  # for now\n"
H = 3600
DAY = 24 * H
#: A week of age is worth 1680 points: 10 an hour.
SITE = Here(
    settings={"priority_weight_age": 1680, "priority_max_age": 7 * DAY, "bf_window": DAY},
    limits={"gq": (3 * DAY, DAY), "long": (None, None)},
    classes=("single-gpu", "multi-gpu", "multi-node"),
    release=(25, 11, 0),
)


def tune(levers: str, before: str = "") -> Tune:
    """A file with these lines below [levers]."""
    text = f"version = 1\n{before}\n[levers]\n{levers}"
    return tune_of(tomllib.loads(text), "t.toml", text)


def space(levers: str, here: Here = SITE, force: bool = False) -> Space:
    """The levers of such a file on a site."""
    return space_on(tune(levers), here, force)


def choice(one: Space, **values: Value) -> Choice:
    """The choice with these values; a dot in a lever's name is written __."""
    named: dict[str, Any] = {name.replace("__", "."): value for name, value in values.items()}
    assert named.keys() <= {lever.name for lever in one.levers}, named
    return tuple(named.get(lever.name) for lever in one.levers)
