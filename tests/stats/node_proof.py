"""Planted nodes on made sites: how many are named, and how many others. Writes docs/measured/bad-nodes.md:

python -m tests.stats.node_proof
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from adminkit.findings.bad_node import Limits
from adminkit.stats.bad_nodes import judged
from tests.stats.node_sites import Plan, pairs, site
from tests.stats.trial_proof import wilson

PAGE: Final = Path(__file__).parents[2] / "docs/measured/bad-nodes.md"
SITE: Final = Plan(nodes=48, users=24, days=14, runs=3000)
EIGHT: Final = replace(SITE, nodes=96, sizes=(8,), scattered=True)


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of site, with so many bad nodes, which make a share of their runs fail."""

    what: str
    plan: Plan
    bad: int = 0
    fails: float = 0.0
    sites: int = 60


CASES: Final = (
    Case("no bad node", SITE),
    Case("no bad node; one node gets only night runs", replace(SITE, night_node=7)),
    Case("bad nodes", SITE, 3, 0.3),
    Case("bad nodes", SITE, 3, 0.6),
    Case("bad nodes, where runs fail within a minute", replace(SITE, at_once=True), 3, 0.6),
    Case("bad nodes; every run has 8 nodes, any free ones", EIGHT, 2, 0.5),
    Case("bad nodes; every run has 8 nodes, the first free ones", replace(EIGHT, scattered=False), 2, 0.5, 30),
)


@dataclass(frozen=True, slots=True)
class Result:
    """What was found on the sites of a case."""

    case: Case
    sites: int
    named: int  # bad nodes
    among: int  # bad nodes in a set of nodes that cannot be told apart
    wrong: int  # good nodes that were named
    wrong_sites: int
    false: Sequence[float]  # of each site, the share of the named nodes that are good

    @property
    def planted(self) -> int:
        return self.sites * self.case.bad

    @property
    def false_share(self) -> float:
        """The false discovery rate: the mean of `false`."""
        return float(np.mean(self.false))


def tried(case: Case, sites: int | None = None) -> Result:
    """Judge the case's sites, or the first `sites` of them; always the same ones."""
    sites = sites or case.sites
    named = among = wrong = wrong_sites = 0
    false = []
    for seed in range(sites):
        luck = np.random.default_rng(seed)
        bad = {int(node): case.fails for node in luck.choice(case.plan.nodes, case.bad, replace=False)}
        names, runs = pairs(site(replace(case.plan, bad=bad), seed))
        blamed = [(int(one.name.removeprefix("n")), one.among) for one in judged("c", names, runs, Limits().false)]
        alone = {node for node, of in blamed if of == 1}
        named += len(alone & bad.keys())
        among += len({node for node, of in blamed if of > 1} & bad.keys())
        wrong += len(alone - bad.keys())
        wrong_sites += bool(alone - bad.keys())
        false.append(len(alone - bad.keys()) / max(len(alone), 1))
    return Result(case, sites, named, among, wrong, wrong_sites, false)


_INTRO: Final = f"""\
# Whether bad nodes are found, and only these

<!-- Made by `python -m tests.stats.node_proof`; do not edit. -->

These are made sites (tests/stats/node_sites.py), so that the bad nodes are known. Each has {SITE.nodes} nodes,
{SITE.users} users and about 3,000 submissions in {SITE.days} days. On every site there is one user whose runs nearly
always fail, every sixth user runs jobs at night and fails more often, names are broken for hours, half of the failed
runs are submitted again at once, and twice a file system is away and most running jobs fail. Unless stated otherwise,
runs have 1, 2, 4 or 8 nodes and take the first free ones; if every run has 8 nodes, the site has {EIGHT.nodes} nodes. A
bad node makes the given share of its runs fail.
[bad_node](../findings/bad_node.md) says how a node is judged.

*Named* is the share of the bad nodes that were named, which is the power. *One of several* is the share of the bad
nodes that were in a set of nodes that ran the same runs and cannot be told apart. *Wrong* is the number of good nodes
that were named. *False discoveries* is the mean over the sites of the share of named nodes that are good; it may be at
most 5 %. Ranges in parentheses are 95 % intervals (Wilson); that of the last column is of the share of sites with a
wrong name.

| sites of | fails | sites | bad nodes | named | one of several | wrong | false discoveries | sites with a wrong name |
|---|---|---|---|---|---|---|---|---|
"""


#: What tests/oracle/test_bad_nodes.py holds.
PUBLIC: Final = """
## On a public trace

Few public traces name nodes. One that does is *pozidriv* (XDMoD's test data, real and anonymised): 11,704 runs of 18
users on 105 nodes in three days. On 17 of its nodes 30 runs or more failed, on one 50 of 75. `adminkit report states
--by node` names none of them: 1,000 of the 1,007 failed runs are one user's, whose runs failed wherever they ran. Only
84 runs are compared, because the others failed, or completed, together with all similar runs. Nobody knows whether a
node of that cluster was bad in those days, so this shows only that a user's failures are not blamed on nodes.
"""


def page(results: Sequence[Result]) -> str:
    return _INTRO + "".join(map(_row, results)) + PUBLIC


def _row(one: Result) -> str:
    fails, named, among = "", "", ""
    if one.planted:
        fails, among = f"{one.case.fails:.0%}".replace("%", " %"), f"{100 * one.among / one.planted:.1f} %"
        named = _share(one.named, one.planted)
    cells = (
        one.case.what, fails, one.sites, one.planted, named, among, one.wrong, f"{100 * one.false_share:.1f} %",
        _share(one.wrong_sites, one.sites),
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |\n"


def _share(part: int, whole: int) -> str:
    low, high = wilson(part, whole)
    return f"{100 * part / whole:.1f} % ({100 * max(low, 0.0):.1f} to {100 * high:.1f})"


if __name__ == "__main__":
    found = []
    for case in CASES:
        found.append(tried(case))
        print(_row(found[-1]), end="", flush=True)
    PAGE.write_text(page(found))
