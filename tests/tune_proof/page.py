"""docs/measured/tune-proof.md, made of tests/data/tune_proof.json; and the bars that the results have to hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from adminkit.tune.measured import LATE
from tests.tune_proof.proof import EVALUATIONS, NOTHING, Result
from tests.tune_proof.sites import EACH, FAMILIES, FRESH, Family
from tests.tune_proof.truth import NOISE

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/measured/tune-proof.md"
DATA: Final = ROOT / "tests/data/tune_proof.json"
#: The least share of the better sites that are found, and the most of the others with a recommendation.
FOUND, WRONG = 0.95, 0.05

#: What may not become worse, in words.
_JUDGED: Final = {
    "size": "sizes", "queue": "queues", "decile": "tenths of the users", "utilization": "use", LATE: "promised starts",
    "lost_hours": "hours lost",
}  # fmt: skip

_HEAD: Final = """# Does tune find what is better, and nothing where nothing is

<!-- Made by `python -m tests.tune_proof` from tests/data/tune_proof.json; do not edit. -->

This page compares what `adminkit tune` recommends on {sites} made sites with what is known to be true of them. Each
site has a law from which its jobs are drawn: who its users are, what their jobs need and what limits they type, how
many nodes there are, and how the scheduler is set. A search gets one trace of three months, about 3,000 jobs, with
5 to 11 combinations of two or three levers, and {evaluations} evaluations. It searches on the first two months and
looks at the third one once, for its pick only.

On the planted sites one or two combinations should be better, because of how the site is made. Whether they are is
found with {fresh} other traces of the same law, as is what the pick of the search really does. The change of the mean
wait in the third month is measured on each trace, and its standard deviation from trace to trace is the noise of one
month. A combination is *better by more than noise* if the mean change is below zero by more than {noise:g} standard
deviations, and if no group that the search has to protect waits longer (paired t tests, Holm, 5 %). A site is *better*
if some combination is. A better site is *found* if tune recommends a combination that is truly better (p < 5 % by the
fresh traces) and makes no protected group wait longer by more than noise. On the sites where nothing is better, that
follows from how they are made, and every recommendation counts as wrong. The truth and the search use the same
simulator, so this page says nothing of how well the simulator describes a real Slurm;
[simulate-real.md](simulate-real.md) does.

The laws were changed, and one rule of the method with them (four blocks of days are left), after searches of other
traces of the same laws. Then laws, method and the seed of the traces below were committed, and these were searched.
Eighteen of these sites had been searched before, when the search also stepped to neighbours of good combinations. That
was taken out because it did not help elsewhere, and then all sites were searched once, from the same traces. Days are
made regular on purpose: where months differ more, fewer changes are better by more than noise.
"""


def write(results: Sequence[Result]) -> None:
    """Keep the results."""
    DATA.write_text(json.dumps([asdict(one) for one in results], indent=1) + "\n")


def read() -> Sequence[Result]:
    """The results that are kept."""
    return [Result(**one) for one in json.loads(DATA.read_text())]


def better(results: Sequence[Result]) -> Sequence[Result]:
    """The planted sites on which something is better by more than noise."""
    return [one for one in results if one.planted and one.better]


def nulls(results: Sequence[Result]) -> Sequence[Result]:
    """The sites on which nothing is better."""
    return [one for one in results if not one.planted]


def bars(results: Sequence[Result]) -> Sequence[str]:
    """What does not hold, a sentence each."""
    good, bad = better(results), nulls(results)
    found, wrong = sum(one.is_found for one in good), sum(one.recommended for one in bad)
    broken = []
    if found < FOUND * len(good):
        broken.append(f"{found} of {len(good)} better sites are found")
    if wrong > WRONG * len(bad):
        broken.append(f"{wrong} of {len(bad)} other sites have a recommendation")
    return broken


def page(results: Sequence[Result]) -> str:
    """The whole page."""
    good, bad = better(results), nulls(results)
    small = [one for one in results if one.planted and not one.better]
    every = EACH * len(FAMILIES)
    lines = [_HEAD.format(sites=every, evaluations=EVALUATIONS, fresh=len(FRESH), noise=NOISE)]
    if len(results) < every:
        lines += [
            f"**Not finished: {len(results)} of {every} sites have been searched.** The rest is missing below.",
            "",
        ]
    lines += ["## Result", "", "| sites | number | recommended | rightly | goal |", "| --- | --- | --- | --- | --- |"]
    finished = len(results) == every
    found, wrong = sum(one.is_found for one in good), sum(one.recommended for one in bad)
    bar = _held(good, found >= FOUND * len(good), finished), _held(bad, wrong <= WRONG * len(bad), finished)
    for name, several, goal in (
        ("better by more than noise", good, f"rightly in at least {100 * FOUND:.0f} %: {bar[0]}"),
        ("nothing is better", bad, f"recommended in at most {100 * WRONG:.0f} %: {bar[1]}"),
        ("planted, but within the noise", small, "none"),
    ):
        recommended, right = sum(one.recommended for one in several), sum(one.is_found for one in several)
        lines.append(f"| {name} | {len(several)} | {recommended} | {right} | {goal} |")
    lines += [
        "",
        "## Families",
        "",
        f"Each family has {EACH} sites. The goal of a planted family is a right recommendation on each site that is",
        "better by more than noise; on the others nothing is to be recommended. *judged*: what may not become worse,",
        "the waits of groups of jobs and the measures of the whole.",
        "",
        _row("family", "what", "judged", "searched", "better", "recommended", "rightly", "goal"),
        _row(*["---"] * 8),
        *(_family(family, [one for one in results if one.family == family.name]) for family in FAMILIES),
    ]
    lines += ["", "## Sites", "", _row("site", "truly better", "tune says", "its pick", "third month", "truly")]
    lines.append(_row(*["---"] * 6))
    lines += [_row(one.site, _percent(one.truly) if one.better else _none(one), one.words, one.pick or "-",
                   _percent(one.held), _percent(one.pick_truly)) for one in results]  # fmt: skip
    lines += [
        "",
        "Changes are of the mean wait, as a share of today's. *truly better*: of the best combination that is better",
        "by more than noise and harms nobody. *third month*: of the pick, in the days that were held out. *truly*: of",
        f"the pick, by the fresh traces. *{NOTHING}*: no combination was better in the first two months without",
        "breaking a constraint.",
    ]
    return "\n".join(lines) + "\n"


def _family(family: Family, results: Sequence[Result]) -> str:
    """What became of one family."""
    good = better(results)
    goal = family.site(0).goal
    judged = ", ".join(_JUDGED.get(name, name) for name in (*goal.parts, *goal.keeps)) or "nothing"
    recommended, right = sum(one.recommended for one in results), sum(one.is_found for one in results)
    kept = sum(one.is_found for one in good) == len(good) if family.planted else recommended == 0
    return _row(
        family.name, family.what, judged, str(len(results)), str(len(good)), str(recommended), str(right),
        "-" if not results or (family.planted and not good) else "reached" if kept else "**missed**",
    )  # fmt: skip


def _held(several: Sequence[Result], bar: bool, finished: bool) -> str:
    """Whether a bar holds; nothing is said of it before all sites have been searched."""
    if not several or not finished:
        return "not finished"
    return "holds" if bar else "**does not hold**"


def _none(one: Result) -> str:
    return "within the noise" if one.planted else "nothing"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:+.0f} %"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
