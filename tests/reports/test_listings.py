"""Every listing is in one table, has golden files, and says what each of its columns is."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path

import pytest

from adminkit.render import text
from adminkit.reports.catalogue import SPECS
from adminkit.reports.listings import LISTINGS, NAMED_BY_CALLERS, SAME, Listing
from tests.conftest import GOLDEN
from tests.support.listings import LISTED
from tools import docs

NAMES = [listing.name for listing in LISTINGS]


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Notes and filters have times of the host's zone in them."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_every_command_that_lists_something_has_its_columns_in_the_table() -> None:
    listed = {
        " ".join(command.words[1:])
        for command in docs.commands()
        if command.function is not None
        and any("--format" in one.names and "csv" in one.value for one in docs.parameters(command.function))
    }
    known = {listing.command for listing in LISTINGS} | SAME.keys() | {f"report {spec.name}" for spec in SPECS}
    assert listed == known | set(NAMED_BY_CALLERS)
    assert {SAME[command] for command in SAME} <= {f"{one.command} {one.when}".strip() for one in LISTINGS}


@pytest.mark.parametrize("listing", LISTINGS, ids=NAMES)
def test_each_column_says_what_it_is(listing: Listing) -> None:
    assert [field.name for field in listing.fields if not field.help] == []


def test_each_has_golden_files() -> None:
    assert list(LISTED) == NAMES
    elsewhere = [made for made in LISTED.values() if isinstance(made, str)]
    assert [name for name in elsewhere if not (GOLDEN / f"{name}.txt").exists()] == []


def rounded(document: str) -> str:
    """The same with twelve digits of long numbers: the last ones of a fitted model are another numpy's own."""
    return re.sub(r"-?\d+\.\d{10,}(e[+-]?\d+)?", lambda one: repr(float(f"{round(float(one[0]), 12):.12g}")), document)


@pytest.mark.usefixtures("utc")
@pytest.mark.parametrize("listing", [one for one in LISTINGS if callable(LISTED[one.name])], ids=lambda one: one.name)
def test_each_listing_is_as_reviewed(tmp_path: Path, golden: Callable[[str, str], None], listing: Listing) -> None:
    made = LISTED[listing.name]
    assert callable(made)
    report = made(tmp_path)
    assert list(report.fields) == list(listing.fields)
    golden(f"listings/{listing.name}.txt", text.table(report, UTC, None, colour=False, ascii_only=False))
    golden(f"listings/{listing.name}.json", rounded(text.as_json(report)))
