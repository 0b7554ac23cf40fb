"""A report is a spec: whoever adds one gets its command, formats, frame and pages."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import typer

from adminkit.cli.report import app_of
from adminkit.errors import UsageError
from adminkit.render.report import Bar, Bars, Field, Meta, Pictures, Report
from adminkit.reports import catalogue
from adminkit.reports.catalogue import SPECS
from adminkit.reports.spec import Option, Query, ReportSpec
from tests.conftest import GOLDEN
from tests.support.builders import job, make_trace
from tests.support.reports import REVIEWED
from tools import docs

HEADINGS = ("What", "Why", "Options", "Example", "How it is computed")


def count(trace: sqlite3.Connection, query: Query) -> dict[str, int]:
    """Runs by queue or user, at least so many."""
    column = f'"{query.by}"'
    users = query.filter.users
    where = f"user IN ({', '.join('?' * len(users))})" if users else "TRUE"
    rows = trace.execute(f"SELECT {column}, count(*) FROM run WHERE {where} GROUP BY 1 ORDER BY 1", list(users))
    return {name: runs for name, runs in rows if runs >= query.own["least"]}


def shown(measured: dict[str, int], query: Query) -> Report:
    meta = Meta("Toys", query.database, (None, None), (), {}, sum(measured.values()), {})
    bars = Bars("Toys", "", [Bar(name, runs, 1.0) for name, runs in measured.items()])
    return Report(
        meta, (Field(query.by), *TOY.fields), [[*one] for one in measured.items()], (), Pictures("T", "", [bars])
    )


TOY = ReportSpec(
    "toy",
    "How many runs there are.",
    "report toy",
    count,
    shown,
    (Field("runs", "count", "runs of any kind"),),
    ("user",),
    parts=("queue", "user"),
    options=(Option("least", ("--least",), "Fewer are not shown.", default=1, least=0),),
    pictures=True,
)


@pytest.fixture
def toys(no_settings: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> typer.Typer:
    monkeypatch.setenv(
        "ADMINKIT_DB", str(make_trace(tmp_path / "t.db", [job(1), job(2), job(3, user="bob", queue="debug")]))
    )
    return app_of((*SPECS, TOY))


def said(app: typer.Typer, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    app(["toy", *words], standalone_mode=False)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "rows", "why"),
    [
        ([], [["debug", 1], ["gq", 2]], "the first part by itself"),
        (["--by", "user"], [["ada", 2], ["bob", 1]], "another part"),
        (["--least", "2"], [["gq", 2]], "its own option"),
        (["--user", "bob"], [["debug", 1]], "a filter that it takes"),
    ],
)
def test_a_spec_is_a_command(
    toys: typer.Typer, capsys: pytest.CaptureFixture[str], words: list[str], rows: list[list[object]], why: str
) -> None:
    told = json.loads(said(toys, capsys, *words, "--format", "json"))
    assert [list(row.values()) for row in told["rows"]] == rows, why


def test_it_has_every_format_and_pictures(
    toys: typer.Typer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert [line.split() for line in said(toys, capsys).splitlines()[-2:]] == [["debug", "1"], ["gq", "2"]]
    assert list(csv.reader(io.StringIO(said(toys, capsys, "-f", "csv")))) == [
        ["queue", "runs"],
        ["debug", "1"],
        ["gq", "2"],
    ]
    assert "| gq | 2 |" in said(toys, capsys, "-f", "markdown")
    assert "<table" in said(toys, capsys, "-f", "html")
    assert "Toys" in said(toys, capsys, "--plot").partition("gq")[2]
    said(toys, capsys, "--picture", str(tmp_path / "toy.png"))
    assert (tmp_path / "toy.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--queue", "gq"], "No such option: --queue"),
        (["--states", "all"], "No such option: --states"),
        (["--by", "account"], "'account' is not one of"),
        (["--least", "-1"], r"(>=|equal to )0"),
        (["--user", "bop"], "no such user: bop"),
    ],
)
def test_it_takes_what_its_spec_names_and_nothing_else(
    toys: typer.Typer, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    with pytest.raises(Exception) as caught:
        said(toys, capsys, *words)
    error: Any = caught.value  # of a class of typer's or of adminkit's
    assert re.search(message, str(error) or error.format_message())


def test_it_is_in_the_help_and_in_the_generated_pages(toys: typer.Typer) -> None:
    (command,) = [one for one in docs.commands(toys, ("adminkit", "report")) if one.words[-1] == "toy"]
    assert command.function is not None
    taken = {one.names[0]: one for one in docs.parameters(command.function)}
    assert list(taken) == [
        "--db",
        "--least",
        "--by",
        "--user",
        "--as-of",
        "--columns",
        "--format",
        "--output",
        "--plot",
        "--picture",
    ]
    assert (taken["--least"].default, taken["--by"].value, taken["--by"].default) == ("1", "queue|user", "queue")
    assert (command.about, command.example) == ("How many runs there are.", "adminkit report toy")
    page = docs.reports((TOY,))
    assert "| `runs` | count | Int64 | runs of any kind |" in page
    assert "[options](cli.md#adminkit-report-toy)" in page


def test_it_is_a_frame(toys: typer.Typer, monkeypatch: pytest.MonkeyPatch) -> None:
    import adminkit

    monkeypatch.setattr(catalogue, "SPECS", (*SPECS, TOY))
    made = adminkit.open().report("toy", by="user")
    assert (made["user"].tolist(), made["runs"].tolist(), made.attrs["units"]) == (
        ["ada", "bob"],
        [2, 1],
        {"runs": "count"},
    )
    with pytest.raises(UsageError, match="no such option of toy: queue"):
        adminkit.open().report("toy", queue="gq")


@pytest.mark.parametrize("spec", SPECS, ids=[spec.name for spec in SPECS])
def test_every_report_has_golden_files_and_a_page_with_all_its_columns(spec: ReportSpec[object]) -> None:
    assert spec.name in REVIEWED
    for suffix in ("txt", "json", "csv", "md"):
        assert (GOLDEN / f"{spec.name}.{suffix}").exists()
        assert (GOLDEN / f"{spec.name}-empty.{suffix}").exists()
    page = (docs.DOCS / "reports" / f"{spec.name}.md").read_text()
    assert page.startswith(f"# adminkit report {spec.name}\n")
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert [heading for heading in HEADINGS if heading not in headings] == []
    assert [field.name for field in spec.fields if f"`{field.name}`" not in page] == []
