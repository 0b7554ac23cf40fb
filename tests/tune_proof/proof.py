"""Searches the sites of the proof, and compares what is recommended with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from adminkit.simulate.answer import Effort
from adminkit.tune.candidates import Choice
from adminkit.tune.race import rounds_of
from adminkit.tune.search import Found, question, search
from tests.tune_proof.sites import TRACE, Family, Site
from tests.tune_proof.truth import every, sources_of, truth
from tests.tune_proof.workloads import drawn

#: Replicates of combinations that a search may run.
EVALUATIONS: Final = 120
#: The words of a search that looks at no held-out day.
NOTHING: Final = "no pick"


@dataclass(frozen=True)
class Result:
    """What became of one site. Changes are of the mean wait in the third month, as a share of today's.

    `better`: whether a combination is better by more than noise, and harms nobody; `truly`: the best of these, by fresh
    draws. `words`: what the search says; `held`: what its pick does to the held-out days; `pick_truly`: the same by
    fresh draws. `right`: whether its pick is truly better, and makes no group wait longer by more than noise.
    """

    family: str
    site: str
    planted: bool
    combinations: int
    better: bool
    truly: float | None
    words: str
    pick: str
    held: float | None
    pick_truly: float | None
    right: bool

    @property
    def recommended(self) -> bool:
        """Whether the search recommends its pick."""
        return self.words == "better"

    @property
    def is_found(self) -> bool:
        """Whether the search recommends a combination that is truly better."""
        return self.recommended and self.right


def searched(site: Site, folder: Path, evaluations: int = EVALUATIONS) -> Found:
    """What tune says of the site's trace; a search of one core that keeps nothing."""
    with sources_of(drawn(site.law, TRACE), site.space, folder) as sources:
        asked = question(sources, site.space, site.goal)
        return search(asked, Effort(1, cores=1), rounds_of(evaluations))


def result(family: Family, site: Site, evaluations: int = EVALUATIONS) -> Result:
    """The search of one site, and the truth of its pick and of what is better by construction."""
    with TemporaryDirectory() as folder:
        found = searched(site, Path(folder), evaluations)
        recommends = found.verdict is not None and found.verdict.carries_over
        picked = [found.pick.choice] if found.pick is not None and (family.planted or recommends) else []
        known = truth(site, Path(folder), list(dict.fromkeys([*family.better, *picked])))
    best = min((one for one in known if one.planted), key=lambda one: one.all.mean, default=None)
    choice = None if found.pick is None else found.pick.choice
    pick = next((one for one in known if one.choice == choice), None)
    return Result(
        family.name,
        site.name,
        family.planted,
        len(every(site.space)),
        best is not None,
        None if best is None else best.all.relative,
        NOTHING if found.verdict is None else found.verdict.word,
        "" if choice is None else shown(site, choice),
        None if found.verdict is None else found.verdict.standing.objective.relative,
        None if pick is None else pick.all.relative,
        pick is not None and pick.right,
    )


def shown(site: Site, choice: Choice) -> str:
    """The levers that differ from today."""
    return ", ".join(
        f"{lever.name.partition('.')[2]} {value}"
        for lever, value in zip(site.space.levers, choice, strict=True)
        if value is not None
    )
