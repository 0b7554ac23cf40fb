"""Nodes on which more runs fail than on others, among runs that are alike: the evidence against each node.

Runs are alike if node_runs.py puts them into one group: the same user, job name, queue, nodes, GPUs, week and quarter
of the day. In a group, each node has one number: the share of its runs that failed, divided by the nodes of a run,
since a failure has one cause. Were all nodes equally good, each number might as well be any other node's of the group.
A node's score is the sum of its numbers over all groups, and its p-value is the Chernoff bound of the score's
permutation distribution, which is never too small, however few the runs: Chernoff, A measure of asymptotic efficiency
for tests of a hypothesis based on the sum of observations, Annals of Mathematical Statistics 23 (1952). The groups are
the strata of Mantel, Haenszel, Statistical aspects of the analysis of data from retrospective studies of disease,
JNCI 22 (1959).

Nodes are named one after the other. The runs of a named node are set aside before the next is looked at, so that it is
not blamed for its neighbour's failures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.node_runs import Pairs, node_runs
from adminkit.stats.select import Filter
from adminkit.stats.weeks import Reserved

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The bound is valid at each of these, and the least of them is taken.
_TILTS: Final = tuple(0.1 * 1.35**k for k in range(22))
#: 95 % of a normal distribution are within it on both sides.
_Z: Final = 1.959964
#: Sums of the same numbers in another order are equal within this.
_EQUAL: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Node:
    """The evidence against one node, without the runs that also ran on another named node."""

    cluster: str
    name: str
    among: int  # 1: to blame; N: one of N nodes is, and they cannot be told apart; 0: not to blame
    runs: int  # in groups in which runs on several nodes ended differently
    failed: int  # of these; of several that failed within an hour, the first
    users: int  # whose runs failed on it
    groups: int
    score: float
    expected: float  # what the score would be if its numbers were the means of the other nodes of the group
    squares: float  # the sum of the squares of the numbers in the score
    p: float  # at least the probability of such a score on a node like the others
    used: Reserved  # its part of the runs that failed

    @property
    def ratio(self) -> float | None:
        """score / expected; None where none of the other nodes' runs failed."""
        return self.score / self.expected if self.expected > 0 else None

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The 95 % interval of `ratio`, the score as a weighted Poisson sum: Byar's approximation in Breslow, Day,
        Statistical methods in cancer research II (1987), page 69. None where it is unbounded or unknown.
        """
        if self.expected <= 0 or self.score <= 0:
            return None, None
        unit = self.squares / self.score
        many = self.score / unit
        low = many * (1 - 1 / (9 * many) - _Z / (3 * math.sqrt(many))) ** 3
        more = many + 1
        high = more * (1 - 1 / (9 * more) + _Z / (3 * math.sqrt(more))) ** 3
        return max(low, 0.0) * unit / self.expected, high * unit / self.expected


@dataclass(frozen=True, slots=True)
class Scores:
    """A node in each place, by its number; nodes without a group have score 0 and p 1."""

    groups: NDArray[Any]
    score: NDArray[Any]
    mean: NDArray[Any]  # of the score, if all nodes are equally good
    expected: NDArray[Any]
    squares: NDArray[Any]
    p: NDArray[Any]


def bad_nodes(db: sqlite3.Connection, chosen: Filter, false: float) -> list[Node]:
    """Every node that can be compared with others; the named ones first, then by p.

    Of the named ones, at most the share `false` is expected to be wrong: Benjamini, Hochberg, Controlling the false
    discovery rate, JRSS B 57 (1995), over the nodes of a cluster.
    """
    found = [one for cluster, names, pairs in node_runs(db, chosen) for one in judged(cluster, names, pairs, false)]
    return sorted(found, key=lambda one: (not one.among, one.among, one.p, one.cluster, one.name))


def judged(cluster: str, names: Sequence[str], pairs: Pairs, false: float) -> list[Node]:
    """bad_nodes() of one cluster."""
    pairs = comparable(pairs)
    named, unclear, scored = _named(pairs, len(names), false)
    if not named and not unclear:
        return _nodes(cluster, names, pairs, scored=scored)
    sets = [[one] for one in named] + unclear
    known = sorted(node for those in sets for node in those)
    found = []
    for those in sets:
        its = comparable(without(pairs, [node for node in known if node not in those]))
        found += _nodes(cluster, names, its, those)
    return found + _nodes(cluster, names, comparable(without(pairs, known)))


def comparable(pairs: Pairs) -> Pairs:
    """The pairs in groups that tell nodes apart; of the failures on one node within an hour, the first: they are one
    event, such as a crash of the node or a file system that was away.
    """
    import numpy as np

    pairs = _mixed(pairs)
    kept = ~pairs.bad
    failed = np.flatnonzero(pairs.bad)
    hour, node = pairs.hour[failed].astype(np.int64), pairs.node[failed]
    _, first = np.unique(hour * (1 + int(pairs.node.max(initial=0))) + node, return_index=True)
    kept[failed[first]] = True
    return _mixed(pairs.only(kept))


def _mixed(pairs: Pairs) -> Pairs:
    """The pairs in groups with several nodes, with runs that failed and runs that did not."""
    import numpy as np

    if not len(pairs.run):
        return pairs
    group = pairs.group
    many = np.bincount(group)
    failed = np.bincount(group[pairs.bad], minlength=len(many))
    least = np.full(len(many), np.iinfo(np.int32).max, np.int32)
    most = np.full(len(many), -1, np.int32)
    np.minimum.at(least, group, pairs.node.astype(np.int32, copy=False))
    np.maximum.at(most, group, pairs.node.astype(np.int32, copy=False))
    return pairs.only(((failed > 0) & (failed < many) & (least < most))[group])


def without(pairs: Pairs, nodes: Sequence[int]) -> Pairs:
    """The pairs of runs that ran on none of `nodes`."""
    import numpy as np

    return pairs.only(~np.isin(pairs.run, pairs.run[np.isin(pairs.node, nodes)])) if nodes else pairs


def scores(pairs: Pairs, many: int) -> Scores:
    """The scores of nodes 0 to `many` - 1 on comparable pairs, and the bounds of their probabilities."""
    import numpy as np

    cell, at = np.unique(pairs.group.astype(np.int64) * many + pairs.node, return_inverse=True)
    of, node = cell // many, cell % many
    share = np.bincount(at, pairs.bad / pairs.nodes, len(cell)) / np.bincount(at, minlength=len(cell))
    del cell, at
    size = np.maximum(np.bincount(of), 1)
    total = np.bincount(of, share)
    score, mean = np.bincount(node, share, many), np.bincount(node, (total / size)[of], many)
    others = np.bincount(node, (total[of] - share) / np.maximum(size[of] - 1, 1), many)
    bound, some = np.zeros(many), share > 0
    whose, bad = of[some], share[some]
    for tilt in _TILTS:
        logs = np.log1p(np.bincount(whose, np.expm1(tilt * bad), len(size)) / size)
        bound = np.minimum(bound, np.bincount(node, logs[of], many) - tilt * score)
    p = np.where(score > mean + _EQUAL, np.exp(bound), 1.0)
    return Scores(np.bincount(node, minlength=many), score, mean, others, np.bincount(node, share**2, many), p)


def _named(pairs: Pairs, many: int, false: float) -> tuple[list[int], list[list[int]], Scores | None]:
    """The nodes to blame, and sets of nodes one of which is to blame but cannot be told from the others; and the scores
    of the rest, where it has pairs.

    Going down, the k-th node is named if its p is at most `false` × k / nodes, on the runs that ran on no node named
    before it. A node that ran with it, and whose p is as small, is a rival: the named one has to stand out on the runs
    without the rival, at `false`.
    """
    named, unclear, rest, tested, its = list[int](), list[list[int]](), pairs, 0, None
    while len(rest.run):
        its = scores(rest, many)
        tested = tested or int((its.groups > 0).sum())
        most = false * (len(named) + len(unclear) + 1) / tested
        suspects = [node for node in its.p.argsort(kind="stable").tolist() if its.p[node] <= most]
        if not suspects:
            break
        worst = next((one for one in suspects if not [*islice(_rivals(rest, one, suspects, many, false), 1)]), None)
        if worst is None:
            gone = sorted({suspects[0], *_rivals(rest, suspects[0], suspects, many, false)})
            unclear.append(gone)
        else:
            gone = [worst]
            named.append(worst)
        rest, its = comparable(without(rest, gone)), None
    return named, unclear, its


def _rivals(pairs: Pairs, node: int, suspects: Sequence[int], many: int, false: float) -> Iterator[int]:
    """Those of the suspects without whose runs nothing is left of the evidence against `node`; the one that ran with it
    most comes first.
    """
    import numpy as np

    pairs = pairs.only(np.isin(pairs.group, pairs.group[pairs.node == node]))
    together = np.bincount(pairs.node[np.isin(pairs.run, pairs.run[pairs.node == node])], minlength=many)
    for other in sorted(suspects, key=lambda one: -int(together[one])):
        if other != node and together[other]:
            left = comparable(without(pairs, [other]))
            if scores(left, many).p[node] > false:
                yield other


def _nodes(
    cluster: str, names: Sequence[str], pairs: Pairs, only: Sequence[int] | None = None, *, scored: Scores | None = None
) -> list[Node]:
    """The evidence of comparable pairs against each node that they have, or against some."""
    import numpy as np

    its, many, bad = scored or scores(pairs, len(names)), len(names), pairs.only(pairs.bad)
    runs, failed = np.bincount(pairs.node, minlength=many), np.bincount(bad.node, minlength=many)
    users = np.bincount(np.unique(bad.user.astype(np.int64) * many + bad.node) % many, minlength=many)
    gpus, cpus = (np.bincount(bad.node, one / bad.nodes, many) for one in (bad.gpu_seconds, bad.cpu_seconds))
    shown = its.groups.nonzero()[0].tolist() if only is None else only
    return [
        Node(
            cluster, names[node], len(only or ()), int(runs[node]), int(failed[node]), int(users[node]),
            int(its.groups[node]), float(its.score[node]), float(its.expected[node]), float(its.squares[node]),
            float(its.p[node]), Reserved(float(gpus[node]), float(cpus[node])),
        )
        for node in shown
    ]  # fmt: skip
