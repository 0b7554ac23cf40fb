"""A recommended limit, and the backtest of all of them, as Reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from adminkit.recommend.advice import Advice
from adminkit.recommend.backtest import MANY, SAFE, Backtest
from adminkit.recommend.predict import Recommendation, Rule
from adminkit.render.format import percent, plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.stats.runs import Kind
from adminkit.units import show_duration

FIELDS: Final = (
    Field("similar", help="what the runs have in common with the job"),
    Field("runs", "count", "how many such runs were used, the most recent ones"),
    Field("cut_off", "count", "of these, runs that needed more than they got"),
    Field("expected", "duration", "half of such runs take this long or less"),
    Field("safe", "duration", "the safe limit before it is rounded"),
    Field("limit", "duration", "the safe limit"),
    Field("risk", "share", "how often such a limit would have been too short for earlier runs"),
    Field("tried", "count", "earlier runs on which such a limit was tried"),
    Field("too_short", "count", "of these, runs that needed more time"),
    Field("batches", "count", "batches in which these runs were submitted"),
    Field("line", help="the line to paste into the batch script"),
)
BACKTEST_FIELDS: Final = (
    Field(
        "limit",
        help="which limit: the user's own, the mean of the user's last two runs, the expected time, the safe limit",
    ),
    Field("given", "share", "runs for which there was such a limit; other runs keep their own limit"),
    Field("prediction_accuracy", "ratio", "mean of min(limit / need, need / limit)"),
    Field("over", "share", "runs that needed more than the limit"),
    Field("worst_tenth", "share", "`over` in the worst tenth of the trace, leaving out the first tenth"),
    Field("over_p90", "share", f"90th percentile of `over` among users with {MANY} runs or more"),
    Field("hours_asked", "hours", "all limits together"),
    Field("hours_saved", "share", "hours saved, as a share of the hours that users asked for"),
)


@dataclass(frozen=True, slots=True)
class History:
    """What was asked for, and the runs that the answer is learnt from."""

    kind: Kind
    rule: Rule
    database: str
    clusters: Sequence[str]  # of the whole trace
    sources: Mapping[str, int]  # job.SOURCES -> runs
    untimed: int = 0  # runs without an end to learn from

    def meta(
        self,
        title: str,
        filters: Mapping[str, str],
        jobs: int | None,
        excluded: Mapping[str, int],
        notes: Sequence[str],
        span: tuple[int | None, int | None] = (None, None),
    ) -> Meta:
        clusters = [self.kind.cluster] if self.kind.cluster else self.clusters
        notes = [*notes, *_untimed(self.untimed), *learnt_from(self.sources)]
        return Meta(title, self.database, (None, None), clusters, filters, jobs, excluded, notes, span)


def advice_report(advice: Advice, history: History) -> Report:
    """One row, and in the notes a sentence with the line to paste."""
    given = advice.given
    line = None if advice.limit is None else f"#SBATCH --time={show_duration(advice.limit)}"
    row: list[Cell] = [
        ", ".join(_shown(name) for name in given.level), given.runs, given.cut, given.expected, given.safe,
        advice.limit, advice.risk, advice.tried, advice.over, advice.batches, line,
    ]  # fmt: skip
    asked = {_shown(name): str(value) for name, value in history.kind._asdict().items() if value is not None}
    notes = [
        "for " + ", ".join(f"{name} {value}" for name, value in asked.items()),
        *_sentences(advice, line, history.rule),
    ]
    return Report(history.meta("A limit for the next job", {}, None, {}, notes), FIELDS, [row])


def _shown(name: str) -> str:
    """A field of Kind as it is typed: req_limit is the limit."""
    return name.removeprefix("req_").replace("_", " ")


def _sentences(advice: Advice, line: str | None, rule: Rule) -> list[str]:
    given = advice.given
    if line is None:
        return ["nothing is recommended: " + _why_not(given, rule)]
    said = [f"half of such runs take at most {show_duration(given.expected or 0)}; to be safe, paste: {line}"]
    if advice.risk is None:
        said.append(
            "it is not known how often that is too short: before earlier runs, too little was known to work out a limit"
        )
    else:
        said.append(
            f"of {plural(advice.tried, 'earlier run')} the limit recommended just before would have been too short for"
            f" {advice.over}: a risk of {percent(advice.risk)}"
        )
    if advice.copy:
        said.append(
            f"{show_duration(advice.copy)} of the limit are for the copy of the data to the nodes (--data), which took"
            " that long for one of the last runs"
        )
    return said


def _why_not(given: Recommendation, rule: Rule) -> str:
    if not given.runs:
        return "no such run is known to have ended"
    if not given.enough:
        return (
            f"too little history, {plural(given.runs, 'such run')}; a risk of {percent(rule.risk, 0)} needs"
            f" {rule.least_runs} that were not submitted together"
        )
    if given.safe is None:
        return f"{given.cut} of {plural(given.runs, 'such run')} needed more than they got; how much more is not known"
    return f"such runs need up to {show_duration(given.safe)}, more than the queue's maximum"


def learnt_from(told: Mapping[str, int]) -> list[str]:
    """That it says more than slurmdbd does, where it does. Hints and letters learn from other runs."""
    others = {source: runs for source, runs in told.items() if source != "slurmdbd"}
    if not others:
        return []
    shown = ", ".join(f"{source} {runs:,}" for source, runs in told.items())
    return [f"from runs of every source: {shown}; hints and letters learn only from slurmdbd's and trusted ones"]


#: How far above the risk the share over may be in a tenth of a trace: docs/recommend.md has the traces.
TENTH: Final = 0.15


def backtest_report(tested: Backtest, history: History) -> Report:
    """Accuracy against the share of runs cut off, for every kind of limit."""
    runs = max(tested.runs, 1)
    request = max(tested.scores[0].asked, 1)
    rows: list[list[Cell]] = [
        [
            score.method, score.given / runs, score.prediction_accuracy_sum / runs, score.over / runs,
            score.worst_tenth(), score.by_user(tested.users), score.asked / 3600, 1 - score.asked / request,
        ]
        for score in tested.scores
    ]  # fmt: skip
    untimed = {"without a start and an end": history.untimed} if history.untimed else {}
    meta = history.meta(
        "Backtest of recommended limits, as they would have been given at each submission",
        {"user": history.kind.user} if history.kind.user else {},
        tested.runs,
        {"without a limit": tested.no_limit, **untimed},
        _backtest_notes(tested, history.rule, history.untimed),
        tested.span,
    )
    return Report(meta, BACKTEST_FIELDS, rows if tested.runs else [])


def _untimed(runs: int) -> list[str]:
    if not runs:
        return []
    return [
        f"{plural(runs, 'run')} left out: how long they ran is known, but not when (an SWF trace without waits, a table"
        " without starts), and so not which of them had ended before a submission"
    ]


def _backtest_notes(tested: Backtest, rule: Rule, untimed: int) -> list[str]:
    if not tested.runs:
        return [] if untimed else ["no run with a limit has ended"]
    parameters = ", ".join(f"{name} {value:g}" for name, value in asdict(rule).items())
    return [
        f"rule: {parameters}",
        "each limit is computed only from runs that had ended before the submission; nobody is given more than they"
        " asked for",
        f"{plural(tested.at_limit, 'run')} ({percent(tested.at_limit / tested.runs)}) reached their own limit: what"
        " they needed beyond it is not known, and counts as nothing",
        "the risk that limits aim at is adjusted, for the site and each user, according to how many were too short."
        " It holds for all runs together; in a tenth of them, the share may be up to"
        f" {percent(min(rule.risk + TENTH, 1.0), 0)}",
        f"{SAFE} is before rounding, as published figures are; users are given the rounded limit",
    ]
