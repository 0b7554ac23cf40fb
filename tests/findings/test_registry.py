"""Every kind of finding has its page, and the page says what the registry says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adminkit import findings
from adminkit.findings.finding import SEVERITIES, Kind, Subject
from adminkit.findings.registry import KINDS

PAGES = Path(__file__).parents[2] / "docs" / "findings"
HEADINGS = ["What", "Why", "Config", "Example", "How it is computed"]


def table(name: str, heading: str) -> list[list[str]]:
    """The rows of the first table below a heading of a kind's page."""
    section = (PAGES / f"{name}.md").read_text().partition(f"\n## {heading}\n")[2].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return rows[2:]


def test_every_kind_has_a_file_and_a_page() -> None:
    files = {path.stem for path in Path(str(findings.__file__)).parent.glob("*.py")}
    assert files - {"__init__", "finding", "registry"} == set(KINDS)
    assert {path.stem for path in PAGES.glob("*.md")} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_page_has_the_headings_the_verdicts_and_the_evidence(kind: Kind) -> None:
    text = (PAGES / f"{kind.name}.md").read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    assert text.startswith(f"# {kind.name}\n")
    shown = [[verdict.strip("`"), severity, advice] for verdict, severity, advice in table(kind.name, "What")]
    assert shown == [[word, one.severity, one.advice] for word, one in kind.verdicts.items()]
    evidence = [[name.strip("`"), what] for name, what in table(kind.name, "How it is computed")]
    assert evidence == [[name, what.described] for name, what in kind.evidence.items()]


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_verdict_that_asks_for_something_says_what_to_do(kind: Kind) -> None:
    for word, verdict in kind.verdicts.items():
        assert verdict.severity in SEVERITIES, word
        assert bool(verdict.advice) or verdict.severity != "warn", word
        assert not verdict.advice.endswith("."), word


@pytest.mark.parametrize(
    ("verdict", "evidence", "expected"),
    [("moving", {"waiting": 1.0, "stuck": None}, {"waiting": 1.0}), ("gone", {}, None), ("moving", {"x": 1.0}, None)],
)
def test_a_finding_has_documented_words_only(
    verdict: str, evidence: dict[str, float | None], expected: dict[str, float] | None
) -> None:
    if expected is None:
        with pytest.raises(KeyError):
            KINDS["outbox"].finding(verdict, Subject(), evidence)
    else:
        assert KINDS["outbox"].finding(verdict, Subject(), evidence).evidence == expected


UNITS = {
    ("habit", "max_limit"): "seconds",
    ("habit", "at_maximum"): "",
    ("habit", "share"): "share",
    ("over_asked", "used"): "GPU-seconds",
    ("week", "used"): "seconds",
    ("overestimate", "unused"): "GPU-seconds",
    ("memory", "unused"): "byte-seconds",
    ("memory", "p90"): "share",
    ("failing", "completed_last"): "epoch seconds",
    ("waits", "avoided_low"): "seconds",
    ("month", "change_low"): "share",
    ("effect", "effect"): "",
}


@pytest.mark.parametrize(("place", "unit"), UNITS.items())
def test_a_number_of_the_evidence_has_its_unit(place: tuple[str, str], unit: str) -> None:
    assert KINDS[place[0]].evidence[place[1]].unit == unit
