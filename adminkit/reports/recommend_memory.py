"""A recommended --mem, and the backtest of all of them, as Reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adminkit.quote import clean
from adminkit.recommend.advice import Advice
from adminkit.recommend.backtest import MANY, SAFE, Backtest
from adminkit.render.format import percent, plural
from adminkit.render.report import Cell, Field, Report
from adminkit.reports.recommend import History
from adminkit.stats.peaks import MIB
from adminkit.stats.waste_freed import Freed
from adminkit.units import show_bytes

FIELDS: Final = (
    Field("similar", help="what the runs have in common with the job"),
    Field("runs", "count", "how many such runs were used, the most recent ones"),
    Field("cut_off", "count", "of these, runs that ran out of memory or that did not complete"),
    Field("expected", "bytes", "half of such runs need this much on a node, or less"),
    Field("safe", "bytes", "the safe size before it is rounded"),
    Field("mem", "bytes", "the safe size, for each node"),
    Field("risk", "share", "how often such a size would have been too small for earlier runs"),
    Field("tried", "count", "earlier runs on which such a size was tried"),
    Field("too_small", "count", "of these, runs that needed more memory, or ran out of it"),
    Field("batches", "count", "batches in which these runs were submitted"),
    Field("line", help="the line to paste into the batch script"),
)
BACKTEST_FIELDS: Final = (
    Field(
        "size",
        help="which size: the user's own, the mean of the user's last two runs, the expected peak, the safe size",
    ),
    Field("given", "share", "runs for which there was such a size; other runs keep their own size"),
    Field("prediction_accuracy", "ratio", "mean of min(size / peak, peak / size)"),
    Field("over", "share", "runs that needed more than the size"),
    Field("worst_tenth", "share", "`over` in the worst tenth of the trace, leaving out the first tenth"),
    Field("over_p90", "share", f"90th percentile of `over` among users with {MANY} runs or more"),
    Field("mean", "bytes", "the mean of the sizes, for each node"),
    Field("saved", "share", "memory saved, as a share of the memory that users asked for"),
)


def advice_report(advice: Advice, history: History, risk: float, unknown: int) -> Report:
    """One row, and in the notes a sentence with the line to paste."""
    given, kind = advice.given, history.kind
    line = None if advice.limit is None else f"#SBATCH --mem={typed(advice.limit)}"
    row: list[Cell] = [
        ", ".join(_shown(name) for name in given.level), given.runs, given.cut, _bytes(given.expected),
        _bytes(given.safe), _bytes(advice.limit), advice.risk, advice.tried, advice.over, advice.batches, line,
    ]  # fmt: skip
    asked = {_shown(name): str(value) for name, value in kind._asdict().items() if value is not None}
    if kind.req_limit is not None:
        asked["mem"] = typed(kind.req_limit)
    notes = ["for " + ", ".join(f"{name} {value}" for name, value in asked.items()), *_sentences(advice, line, risk)]
    return Report(
        history.meta("Memory for the next job, on each node", {}, None, _unknown(unknown), notes), FIELDS, [row]
    )


def backtest_report(
    tested: Backtest, history: History, unknown: int, freed: Mapping[str, Freed | None] | None = None
) -> Report:
    """Memory saved against the share of runs that would have run out of it, for every kind of size.

    `freed`: what the sizes would have done on each cluster, where that was looked at.
    """
    runs, request = max(tested.runs, 1), max(tested.scores[0].asked, 1)
    rows: list[list[Cell]] = [
        [
            score.method, score.given / runs, score.prediction_accuracy_sum / runs, score.over / runs,
            score.worst_tenth(), score.by_user(tested.users), score.asked * MIB / runs, 1 - score.asked / request,
        ]
        for score in tested.scores
    ]  # fmt: skip
    notes = [
        "each size is computed only from runs that had ended before the submission; nobody is given more than they"
        " asked for",
        f"{plural(tested.at_limit, 'run')} ({percent(tested.at_limit / runs)}) ran out of memory: what they needed"
        " beyond it is not known, and counts as nothing",
        "the risk that sizes aim at is adjusted, for the site and each user, according to how many were too small",
        f"{SAFE} is before rounding; users are given the rounded size",
        *freed_says(freed or {}, "memory"),
    ]
    meta = history.meta(
        "Backtest of recommended memory, as it would have been given at each submission",
        {"user": history.kind.user} if history.kind.user else {},
        tested.runs,
        {"without a request": tested.no_limit, **_unknown(unknown)},
        notes if tested.runs else ["no run with a known peak and request has ended"],
        tested.span,
    )
    return Report(meta, BACKTEST_FIELDS, rows if tested.runs else [])


def freed_says(freed: Mapping[str, Freed | None], what: str) -> list[str]:
    """A sentence for each cluster: the GPU-hours that these sizes would have left usable."""
    found = []
    for cluster, one in freed.items():
        where = f"{clean(cluster)}: " if len(freed) > 1 else ""
        if one is None:
            found.append(
                f"{where}which GPUs these sizes would have set free is not known: the trace does not record what was"
                " free on nodes"
            )
        elif not one.stranded:
            found.append(f"{where}no GPU was free but stranded by {what}")
        else:
            interval = (
                f"interval not known: only {plural(one.days, 'day')} had such GPUs"
                if one.low is None or one.high is None
                else f"95 % interval {percent(one.low)} to {percent(one.high)}"
            )
            found.append(
                f"{where}{one.stranded / 3600:,.1f} GPU-hours were free but stranded by {what}; with these sizes"
                f" {one.freed / 3600:,.1f} would not have been ({percent(one.freed / one.stranded)}; {interval}), had"
                " every run started when it did"
            )
    return found


def typed(mib: int) -> str:
    """MiB as sbatch takes it: 24G, 1536M."""
    return f"{mib}M" if mib % 1024 else f"{mib // 1024}G"


def _bytes(mib: int | None) -> int | None:
    return None if mib is None else mib * MIB


def _shown(name: str) -> str:
    return "mem" if name == "req_limit" else name.replace("_", " ")


def _unknown(runs: int) -> dict[str, int]:
    return {"without a known peak": runs} if runs else {}


def _sentences(advice: Advice, line: str | None, risk: float) -> list[str]:
    given = advice.given
    if line is None:
        return [f"nothing is recommended: {_why_not(advice, risk)}"]
    expected = show_bytes((given.expected or 0) * MIB)
    said = [f"half of such runs need at most {expected} on a node; to be safe, paste: {line}"]
    if advice.risk is None:
        said.append("it is not known how often that is too small: before earlier runs, too little was known")
    else:
        said.append(
            f"of {plural(advice.tried, 'earlier run')} the size recommended just before would have been too small for"
            f" {advice.over}: a risk of {percent(advice.risk)}"
        )
    return said


def _why_not(advice: Advice, risk: float) -> str:
    given = advice.given
    if not given.runs:
        return "no such run with a known peak is known to have ended"
    if not given.enough:
        return f"too little history, {plural(given.runs, 'such run')}, for a risk of {percent(risk, 0)}"
    return f"{given.cut} of {plural(given.runs, 'such run')} may have needed more than they show"
