"""Recommended CPUs for each GPU, and the backtest of all of them, as Reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adminkit.recommend.advice import Advice
from adminkit.recommend.backtest import MANY, SAFE, Backtest
from adminkit.render.format import percent, plural
from adminkit.render.report import Cell, Field, Report
from adminkit.reports.recommend import History
from adminkit.reports.recommend_memory import freed_says
from adminkit.stats.cpus_used import BUSY, PARTS
from adminkit.stats.waste_freed import Freed

FIELDS: Final = (
    Field("similar", help="what the runs have in common with the job"),
    Field("runs", "count", "how many such runs were used, the most recent ones"),
    Field("cut_off", "count", "of these, runs that kept nearly all of their CPUs busy or that did not complete"),
    Field("expected", "quantity", "half of such runs kept at most this many CPUs busy for each GPU, on average"),
    Field("safe", "quantity", "the safe number before it is rounded"),
    Field("cpus_per_gpu", "count", "the safe number of CPUs for each GPU"),
    Field("risk", "share", "how often earlier runs kept more CPUs busy than such a number"),
    Field("tried", "count", "earlier runs on which such a number was tried"),
    Field("too_few", "count", "of these, runs that kept more CPUs busy, or nearly all that they had"),
    Field("batches", "count", "batches in which these runs were submitted"),
    Field("line", help="the line to paste into the batch script"),
)
BACKTEST_FIELDS: Final = (
    Field(
        "number",
        help="which number: what the run had, the mean of the user's last two runs, the expected one, the safe one",
    ),
    Field("given", "share", "runs for which there was such a number; other runs keep what they had"),
    Field("prediction_accuracy", "ratio", "mean of min(number / use, use / number)"),
    Field("over", "share", "runs that kept more CPUs busy, on average, than the number"),
    Field("worst_tenth", "share", "`over` in the worst tenth of the trace, leaving out the first tenth"),
    Field("over_p90", "share", f"90th percentile of `over` among users with {MANY} runs or more"),
    Field("mean", "quantity", "the mean of the numbers, for each GPU"),
    Field("saved", "share", "CPUs saved, as a share of the CPUs that runs had"),
)
_MEAN: Final = (
    "what a run used is a mean over its time, as Slurm keeps no peak: it may need more CPUs for a while, and is slower"
    " then, but does not fail"
)


def advice_report(advice: Advice, history: History, risk: float, unknown: int) -> Report:
    """One row, and in the notes a sentence with the line to paste."""
    given = advice.given
    line = None if advice.limit is None else f"#SBATCH --cpus-per-gpu={advice.limit // PARTS}"
    row: list[Cell] = [
        ", ".join(_shown(name) for name in given.level), given.runs, given.cut, _cpus(given.expected),
        _cpus(given.safe), None if advice.limit is None else advice.limit // PARTS, advice.risk, advice.tried,
        advice.over, advice.batches, line,
    ]  # fmt: skip
    asked = {_shown(name): str(value) for name, value in history.kind._asdict().items() if value is not None}
    notes = ["for " + ", ".join(f"{name} {value}" for name, value in asked.items()), *_sentences(advice, line, risk)]
    meta = history.meta("CPUs for each GPU of the next job", {}, None, _unknown(unknown), [*notes, _MEAN])
    return Report(meta, FIELDS, [row])


def backtest_report(
    tested: Backtest, history: History, unknown: int, freed: Mapping[str, Freed | None] | None = None
) -> Report:
    """CPUs saved against the share of runs that kept more of them busy, for every kind of number."""
    runs, request = max(tested.runs, 1), max(tested.scores[0].asked, 1)
    rows: list[list[Cell]] = [
        [
            "what it had" if place == 0 else score.method, score.given / runs, score.prediction_accuracy_sum / runs,
            score.over / runs, score.worst_tenth(), score.by_user(tested.users), score.asked / PARTS / runs,
            1 - score.asked / request,
        ]
        for place, score in enumerate(tested.scores)
    ]  # fmt: skip
    notes = [
        "each number is computed only from runs that had ended before the submission; nobody is given more than they"
        " had",
        f"{plural(tested.at_limit, 'run')} ({percent(tested.at_limit / runs)}) kept {percent(BUSY, 0)} or more of their"
        " CPUs busy: how many more they would have used is not known, and counts as nothing",
        "the risk that numbers aim at is adjusted, for the site and each user, according to how many were too small",
        f"{SAFE} is before rounding; users are given the rounded number",
        _MEAN,
        *freed_says(freed or {}, "CPUs"),
    ]
    meta = history.meta(
        "Backtest of recommended CPUs for each GPU, as they would have been given at each submission",
        {"user": history.kind.user} if history.kind.user else {},
        tested.runs,
        _unknown(unknown),
        notes if tested.runs else ["no run with GPUs whose use of CPUs is known has ended"],
        tested.span,
    )
    return Report(meta, BACKTEST_FIELDS, rows if tested.runs else [])


def _cpus(parts: int | None) -> float | None:
    return None if parts is None else parts / PARTS


def _shown(name: str) -> str:
    return "cpus per gpu" if name == "req_limit" else name.replace("_", " ")


def _unknown(runs: int) -> dict[str, int]:
    return {"with an unknown use of CPUs": runs} if runs else {}


def _sentences(advice: Advice, line: str | None, risk: float) -> list[str]:
    given = advice.given
    if line is None:
        return [f"nothing is recommended: {_why_not(advice, risk)}"]
    expected = f"{(given.expected or 0) / PARTS:.2f}"
    said = [f"half of such runs keep at most {expected} CPUs busy for each GPU; to be safe, paste: {line}"]
    if advice.risk is None:
        said.append("it is not known how often that is too few: before earlier runs, too little was known")
    else:
        said.append(
            f"of {plural(advice.tried, 'earlier run')} the number recommended just before would have been too few for"
            f" {advice.over}: a risk of {percent(advice.risk)}"
        )
    return said


def _why_not(advice: Advice, risk: float) -> str:
    given = advice.given
    if not given.runs:
        return "no such run with GPUs, whose use of CPUs is known, is known to have ended"
    if not given.enough:
        return f"too little history, {plural(given.runs, 'such run')}, for a risk of {percent(risk, 0)}"
    return f"{given.cut} of {plural(given.runs, 'such run')} may have used more CPUs, had they had more"
