"""Each kind of scenario has its page, with every key; each setting is one of the core's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adminkit.simulate.kinds.catalogue import KINDS
from adminkit.simulate.settings import ELASTIC, EXTEND, SETTINGS
from tools.simulate_pages import COMMAND

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "simulate"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_page_of_a_kind_has_its_parts_and_every_key(kind: str) -> None:
    page = (PAGES / f"{kind}.md").read_text()
    assert page.startswith(f"# Scenario {kind}\n")
    assert re.findall("^## (.*)$", page, re.MULTILINE) == ["What", "Why", "Config", "Example", "How it is computed"]
    assert page.count(f"```\n$ {COMMAND}\nanswer    ") == 1, "as tools.simulate_pages looks for it"
    named = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert named == set(KINDS[kind].keys.model_fields) - {"name", "kind", "on"}


def test_every_page_is_of_a_kind_and_linked() -> None:
    linked = re.findall(r"\(simulate/([\w-]+)\.md\)", (ROOT / "docs" / "simulate-scenarios.md").read_text())
    assert sorted(linked) == sorted(KINDS) == sorted(page.stem for page in PAGES.glob("*.md"))


def test_the_settings_are_those_of_the_core() -> None:
    source = (ROOT / "adminkit" / "native" / "simulate" / "fields.c").read_text()
    assert tuple(re.findall(r"^    SET\((\w+),", source, re.MULTILINE)) == (*SETTINGS, *EXTEND, *ELASTIC)
