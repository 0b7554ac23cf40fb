"""docs/security.md says what is so: its tests exist, its settings exist, and every actor has a table."""

from __future__ import annotations

import ast
import dataclasses
import re
from functools import cache

import pytest

from adminkit.config import Config
from adminkit.policy.model import Policy
from tools import docs

PAGE = docs.DOCS / "security.md"
TESTS = docs.ROOT / "tests"
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE.read_text())))
#: A setting of adminkit.toml or policy.toml: table.key, in backquotes.
SETTINGS = sorted(set(re.findall(r"`([a-z]+)\.([a-z_]+)`", PAGE.read_text())))
#: Endings of files, which look like settings.
ENDINGS = {"conf", "db", "json", "jsonl", "lua", "md", "py", "toml"}


@cache
def defined_in(name: str) -> frozenset[str]:
    """The tests that a file below tests/ defines."""
    path = TESTS / name
    tree = ast.parse(path.read_text() if path.exists() else "")
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def settings() -> set[str]:
    """Every table.key of both files."""
    found = set()
    for field in dataclasses.fields(Config):
        default = field.default_factory() if callable(field.default_factory) else field.default
        if dataclasses.is_dataclass(default):
            found |= {f"{field.name}.{key.name}" for key in dataclasses.fields(default)}
    for name, part in Policy.model_fields.items():
        inner = getattr(part.annotation, "model_fields", {})
        found |= {f"{name}.{key.alias or key_name}" for key_name, key in inner.items()}
    return found


@pytest.mark.parametrize(("file", "test"), NAMED, ids=[test for _, test in NAMED])
def test_a_test_that_is_named_exists(file: str, test: str) -> None:
    assert test in defined_in(file), f"no such test in tests/{file}"


@pytest.mark.parametrize("name", [f"{table}.{key}" for table, key in SETTINGS if key not in ENDINGS])
def test_a_setting_that_is_named_exists(name: str) -> None:
    assert name in settings()


def rows() -> list[list[str]]:
    """The cells of every row of the tables of "Who could do what"."""
    part = PAGE.read_text().partition("## Who could do what")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|") and not re.match(r"\|(-+\|)+|\| could ", line)]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_row_says_what_holds_and_which_test_shows_it() -> None:
    assert len(rows()) > 20
    for cells in rows():
        assert len(cells) == 3, cells
        assert "::test_" in cells[2], cells[0]


def test_it_names_tests_and_settings_in_the_way_that_is_looked_for() -> None:
    """A slip in how one is written would leave it unchecked."""
    assert PAGE.read_text().count("::test_") == len(re.findall(r"`[\w/]+\.py::test_\w+`", PAGE.read_text()))
    assert len(NAMED) > 30
    assert len(SETTINGS) > 3
