"""Adaptive conformal control: the share of runs that needed more than their limit steers the risk that limits aim at.

After each outcome the logarithm of the risk moves by a step that is proportional to what was promised less what
happened, so that over time the share is the promised one, whatever the runs do:
Gibbs, Candès: Adaptive conformal inference under distribution shift, NeurIPS 2021. A fast part follows single
decisions, a slow one all that happened so far, as in Angelopoulos, Candès, Tibshirani: Conformal PID control for time
series prediction, NeurIPS 2023. Each site has its own offset, each user another one beside it, which fades: who has
few runs is treated as the site is.

An outcome is known when its run has ended. Runs that a user submitted before the first of them had ended were given
their limits by the same knowledge, an array or a loop over hours: they are one wave, and a wave of n weighs sqrt(n).

The state is a function of the runs that it was fed with, and is kept nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from adminkit.recommend.online import online
from adminkit.recommend.predict import LEVELS, Predictor, Recommendation, Rule, needed, was_cut
from adminkit.sqlite import sqlite3
from adminkit.stats.runs import Kind, Run, latest


@dataclass(frozen=True, slots=True)
class Steering:
    """The parameters. docs/recommend.md has the reason of each. Offsets are natural logarithms of risk / rule.risk."""

    site_step: float = 0.1  # of the site's offset, per outcome of weight 1
    user_step: float = 0.3  # of the user's
    user_fade: float = 0.05  # of the user's offset, per outcome of weight 1
    least: float = math.log(0.05)  # both offsets together
    most: float = math.log(4.0)
    highest: float = 0.5  # risk: above it a limit would be below the expected time
    rate_gain: float = 3.0  # of the target, by the share over so far
    rate_runs: int = 20_000  # ended runs after which a run counts half in that share
    rate_prior: float = 1000.0  # runs as promised, before the first
    rate_less: float = -0.7  # the least of log(target / what was promised) …
    rate_more: float = 0.3  # … and the most


@dataclass(slots=True)
class _Wave:
    """Runs of one user that were given limits before the first of them had ended."""

    runs: int = 0
    ended: bool = False


@dataclass(slots=True)
class _Site:
    """`kept` is how many of `runs` may be over by the promise, less how many were; both fade."""

    offset: float = 0.0
    kept: float = 0.0
    runs: float = 0.0


@dataclass(slots=True)
class _User:
    offset: float = 0.0
    wave: _Wave = field(default_factory=_Wave)


class Control:
    """Call `submitted` and `ended` in the order of `online`."""

    def __init__(self, rule: Rule, steering: Steering | None = None) -> None:
        self._steering = steering or Steering()
        self._promised = rule.risk
        self._most = min(self._steering.most, max(math.log(self._steering.highest / rule.risk), 0.0))
        self._rate_fade = 2.0 ** (-1 / self._steering.rate_runs)
        self._sites: dict[str | None, _Site] = {}
        self._users: dict[tuple[str | None, str | None], _User] = {}
        # By id: the caller holds a run until it has ended.
        self._given: dict[int, tuple[int, _Wave]] = {}

    def risk(self, cluster: str | None, user: str | None) -> float:
        """What the next limit of this user should aim at; the least of all clusters for no cluster."""
        if cluster is None and None not in self._sites:
            return min((self._risk(name, user) for name in self._sites), default=self._promised)
        return self._risk(cluster, user)

    def submitted(self, run: Run, safe: int | None) -> None:
        """A run that was given a limit, or none."""
        if safe is None:
            return
        user = self._users.setdefault(run.kind[:2], _User())
        if user.wave.ended:
            user.wave = _Wave()
        user.wave.runs += 1
        limit = run.kind.req_limit
        self._given[id(run)] = max(safe if limit is None else min(safe, limit), 1), user.wave

    def ended(self, run: Run) -> None:
        """Learn from the outcome of a run. One that was cut off before its limit is ignored."""
        limit, wave = self._given.pop(id(run), (None, None))
        if limit is None or wave is None:
            return
        wave.ended = True
        need = needed(run)
        if need < limit and was_cut(run):
            return
        site = self._sites.setdefault(run.kind.cluster, _Site())
        user = self._users[run.kind[:2]]
        given, over, weight = self._steering, need > limit, 1 / math.sqrt(wave.runs)
        error = self._aim(site, over) - over
        site.offset = self._within(site.offset + given.site_step * weight * error)
        faded = user.offset * (1 - given.user_fade * weight)
        user.offset = self._within(faded + given.user_step * weight * error)

    def _risk(self, cluster: str | None, user: str | None) -> float:
        site, own = self._sites.get(cluster), self._users.get((cluster, user))
        offset = (site.offset if site else 0.0) + (own.offset if own else 0.0)
        return self._promised * math.exp(self._within(offset))

    def _aim(self, site: _Site, over: bool) -> float:
        """The target of the share over: less than promised after too many runs over, more after too few."""
        given, promised = self._steering, self._promised
        site.kept = site.kept * self._rate_fade + promised - over
        site.runs = site.runs * self._rate_fade + 1
        spare = given.rate_gain * site.kept / (site.runs + given.rate_prior) / promised
        return promised * math.exp(max(given.rate_less, min(given.rate_more, spare)))

    def _within(self, offset: float) -> float:
        return max(self._steering.least, min(self._most, offset))


class Steered:
    """A predictor whose risk is controlled by the outcomes of its limits."""

    def __init__(self, rule: Rule, levels: Sequence[tuple[str, ...]] = LEVELS) -> None:
        self.predictor = Predictor(rule, levels)
        self.control = Control(rule)

    def submitted(self, run: Run) -> Recommendation:
        """What is recommended for it."""
        cluster, user = run.kind[:2]
        given = self.predictor.predict(run.kind, self.control.risk(cluster, user))
        self.control.submitted(run, given.safe)
        return given

    def next(self, kind: Kind, risk: float | None) -> Recommendation:
        """What is recommended for the next job of `kind`, at `risk`, which another control gave; None: at its own."""
        return self.predictor.predict(kind, self.control.risk(*kind[:2]) if risk is None else risk)

    def ended(self, run: Run) -> None:
        """Learn from it."""
        self.control.ended(run)
        self.predictor.ended(run)


def control(sites: Iterable[Iterable[Run]], rule: Rule) -> Control:
    """The control after the runs of all `sites`; the runs of each come by submission."""
    steered = Steered(rule)
    for runs in sites:
        for has_ended, run in online(runs):
            if has_ended:
                steered.ended(run)
            else:
                steered.submitted(run)
    return steered.control


def trace_control(
    db: sqlite3.Connection, clusters: Iterable[str], risk: float, *, acting: bool = False, checkpoint_code: int
) -> Control:
    """The state after the last runs of these clusters that the trace has; `acting` as in `latest`."""
    lately = (latest(db, cluster, acting=acting, checkpoint_code=checkpoint_code) for cluster in clusters)
    return control(lately, Rule(risk=risk))
