"""What is said of scenarios: sentences that begin with the verdict, rows, pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from adminkit.render import text
from adminkit.render.figure import picture
from adminkit.render.html import page
from adminkit.render.report import Curves, Meta, Report, Series
from adminkit.reports.simulate_scenarios import FIELDS, scenarios_report, sentences_of
from adminkit.simulate.answer import Answer
from adminkit.simulate.compare import NO_CHANGE, Row
from tests.simulate.test_answer import asked, scenario

CALIBRATION = "calibration: trust"


@pytest.fixture(scope="module")
def found() -> Answer:
    return asked(
        scenario("nodes", "factor = 2", "twice <b>")
        + scenario("load", "factor = 1", "nothing")
        + scenario("load", "factor = 1.3", "more")
    )


def report(found: Answer) -> Report:
    meta = Meta.plain("What would happen", ["20 paired replicates", "jobs arrive when they were submitted"])
    return scenarios_report(found, replace(meta, answers=(CALIBRATION,)))


def test_the_calibration_comes_first_then_each_scenario(found: Answer) -> None:
    answers = report(found).meta.answers
    assert answers[0] == CALIBRATION
    firsts = [next(one for one in answers if one.startswith(name)) for name in ("twice", "nothing", "more")]
    assert "shorter" in firsts[0]
    assert "no significant change of the mean wait" in firsts[1]
    assert "longer" in firsts[2]
    assert all("95 % interval" in one for one in firsts)


def test_who_gains_and_who_loses_is_named(found: Answer) -> None:
    assert any("shorter waits for: " in one for one in sentences_of("twice <b>", found.rows))
    assert any("longer waits for: " in one for one in sentences_of("more", found.rows))
    assert len(sentences_of("nothing", found.rows)) == 1


def test_an_interval_without_0_that_is_not_significant_says_why() -> None:
    row = Row("it", "all", "(all)", "mean_wait", "seconds", 9, 250.0, 220.0, -30.0, -50.0, -10.0, 0.04, NO_CHANGE)
    assert sentences_of("it", [row]) == [
        "it: no significant change of the mean wait, today 4.2 min (95 % interval -50 s to -10 s, which is not"
        " significant among all rows)"
    ]
    (plain,) = sentences_of("it", [replace(row, high=10.0)])
    assert plain.endswith("(95 % interval -50 s to +10 s)")


def test_each_row_is_json_with_bare_numbers(found: Answer) -> None:
    data = json.loads(text.as_json(report(found)))
    assert data["meta"]["answers"][0] == CALIBRATION
    assert list(data["rows"][0]) == [field.name for field in FIELDS]
    assert len(data["rows"]) == len(found.rows)
    assert {row["verdict"] for row in data["rows"]} <= {"less", "more", "no significant change", "too few jobs to say"}


def test_each_unit_is_shown_as_people_write_it(found: Answer) -> None:
    shown = text.table(report(found), None, None, colour=False, ascii_only=False)
    lines = {line.split()[3]: line for line in shown.splitlines() if line.startswith("nothing") and " all " in line}
    assert ":" in lines["mean_wait"]
    assert "%" in lines["utilization"]


def test_each_scenario_has_its_pictures_and_names_are_no_markup(found: Answer, tmp_path: Path) -> None:
    made = report(found)
    assert made.pictures is not None
    kinds = [type(panel) for panel in made.pictures.panels]
    assert kinds == [Curves] * 3 + [Series] * 3
    html = page(made, None)
    assert "twice <b>" not in html
    assert "twice &lt;b&gt;" in html
    assert html.count("<svg ") == 6
    assert picture(made, "png").startswith(b"\x89PNG")
    assert b"<svg" in picture(made, "svg")
