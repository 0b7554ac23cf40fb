"""Searches the sites of the proof, and compares what is recommended with the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from adminkit.simulate.answer import Effort
from adminkit.tune.candidates import Choice
from adminkit.tune.race import rounds_of
from adminkit.tune.search import Found, question, search
from tests.tune_proof.sites import TRACE, Site
from tests.tune_proof.truth import True_, sources_of, truth
from tests.tune_proof.workloads import drawn

#: Replicates of combinations that a search may run.
EVALUATIONS: Final = 150


@dataclass(frozen=True)
class Result:
    """What became of one site. `words`: what the search says."""

    site: Site
    planted: bool
    known: Sequence[True_]
    pick: Choice | None
    words: str

    @property
    def is_better(self) -> bool:
        """Whether some combination is better by more than noise, and harms nobody."""
        return any(one.planted for one in self.known)

    @property
    def recommended(self) -> bool:
        """Whether the search recommends its pick."""
        return self.words == "better"

    @property
    def found(self) -> bool:
        """Whether the search recommends a combination that is truly better."""
        return self.recommended and any(one.choice == self.pick and one.right for one in self.known)

    @property
    def best(self) -> True_ | None:
        """The best of the combinations that are better by more than noise; None for none."""
        return min((one for one in self.known if one.planted), key=lambda one: one.all.mean, default=None)


def searched(site: Site, folder: Path, evaluations: int = EVALUATIONS) -> Found:
    """What tune says of the site's trace; a search of one core that keeps nothing."""
    with sources_of(drawn(site.law, TRACE), site.space, folder) as sources:
        asked = question(sources, site.space, site.goal)
        return search(asked, Effort(1, cores=1), rounds_of(evaluations))


def result(site: Site, planted: bool, evaluations: int = EVALUATIONS) -> Result:
    """The truth and the search of one site."""
    with TemporaryDirectory() as folder:
        found = searched(site, Path(folder), evaluations)
        known = truth(site, Path(folder))
    words = "nothing to try" if found.verdict is None else found.verdict.word
    return Result(site, planted, known, None if found.pick is None else found.pick.choice, words)
