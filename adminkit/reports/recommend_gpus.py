"""How many GPUs a training should ask for, as a Report with one sentence to act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from adminkit.recommend.gpu_waits import GpuWaits
from adminkit.recommend.gpus import SMALL, Choice, GpuAdvice, Ratio
from adminkit.render.format import percent, plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.stats.wait_given_limit import Expected

FIELDS: Final = (
    Field("gpus", "count", "GPUs"),
    Field("how", help="where the values come from: measured, model, or not known"),
    Field("runs", "count", "the user's own runs from which the row is computed", quiet=True),
    Field("seconds", "quantity", "seconds per iteration or piece of work"),
    Field("joules", "quantity", "joules of all GPUs and their nodes, per iteration or piece of work"),
    Field("time", "ratio", "time / the time with the present number of GPUs"),
    Field("time_low", "ratio", "lower end of the 95 % interval of time", quiet=True),
    Field("time_high", "ratio", "upper end", quiet=True),
    Field("energy", "ratio", "energy / the energy with the present number of GPUs"),
    Field("energy_low", "ratio", "lower end of the 95 % interval of energy", quiet=True),
    Field("energy_high", "ratio", "upper end", quiet=True),
    Field("cost", "ratio", "GPU-hours, or what the site's scheme charges / the same with the present number"),
    Field("wait", "duration", "the median wait of similar requests, if any are known"),
    Field("wait_low", "duration", "lower end of the 95 % interval of the expected median wait", quiet=True),
    Field("wait_high", "duration", "upper end", quiet=True),
    Field("off", "share", "the model's median error, if the values come from the model", quiet=True),
    Field("line", help="the line to paste into the batch script, if this number is recommended", below=True),
)


def gpus_report(
    advice: GpuAdvice,
    subject: str,
    database: str,
    max_slower: float,
    notes: Sequence[str],
    waits: GpuWaits = GpuWaits(),  # noqa: B008 - it is frozen
    costs: Mapping[int, float] | None = None,
) -> Report:
    """A row for each number; the sentence is the header's answer.

    `costs`: what an iteration is charged, by number of GPUs; None: GPU-hours are the cost.
    """
    rows = [_row(one, advice, waits.by_gpus.get(one.gpus), _cost(one, advice, costs)) for one in advice.choices]
    said = [*notes, *([waits.note] if waits.note else [])]
    if advice.fitted is not None and advice.fitted.error is not None:
        error = advice.fitted.error
        said.append(
            f"the model's median error is {percent(error.median)}, its largest error {percent(error.worst)}, over"
            f" {error.points} points that were each left out of the fit once"
        )
    if not advice.by_energy:
        said.append("the energy of what could be compared is not known: the fewest GPU-hours decide")
    filters = {"slower": f"<= {percent(max_slower, 0)}"}
    meta = Meta(
        f"GPUs for {subject}",
        database,
        (None, None),
        (),
        filters,
        None,
        {},
        said,
        answers=[sentence(advice, max_slower)],
    )
    return Report(meta, FIELDS, rows)


def sentence(advice: GpuAdvice, max_slower: float) -> str:
    """What to do, in one sentence."""
    best, present = advice.best, plural(advice.present, "GPU")
    if best.gpus == advice.present:
        return f"stay with {present}: no other known number is better and at most {percent(max_slower, 0)} slower"
    assert best.time is not None
    cost = (best.energy, "energy") if advice.by_energy else (Ratio(best.gpu_hours or 1.0), "GPU-hours")
    assert cost[0] is not None
    gain = f"{_differs(best.time, 'time')}, {_differs(cost[0], cost[1])}"
    made = " by the model" if best.how == "model" else ""
    return f"ask for {plural(best.gpus, 'GPU')} instead of {advice.present}:{made} {gain}"


def _differs(ratio: Ratio, what: str) -> str:
    """31 % less energy (27 to 35 %); about the same time (3 % less)."""
    change = abs(1 - ratio.value)
    word = "less" if ratio.value < 1 else "more"
    if change < SMALL:
        return f"about the same {what} ({percent(change, 0)} {word})" if change >= 0.005 else f"the same {what}"
    shown = f"{percent(change, 0)} {word} {what}"
    if ratio.low is None or ratio.high is None:
        return shown
    low, high = sorted(100 * (ratio.value > 1 or -1) * (one - 1) for one in (ratio.low, ratio.high))
    return f"{shown} ({low:.0f} to {high:.0f} %)"


def _cost(one: Choice, advice: GpuAdvice, costs: Mapping[int, float] | None) -> float | None:
    if costs is None:
        return one.gpu_hours
    each, now = costs.get(one.gpus), costs.get(advice.present)
    return each / now if each is not None and now else None


def _row(one: Choice, advice: GpuAdvice, wait: Expected | None, cost: float | None) -> list[Cell]:
    line = f"#SBATCH --gpus={one.gpus}" if one is advice.best and one.gpus != advice.present else None
    waits = (None, None, None) if wait is None else (round(wait.median), round(wait.low), round(wait.high))
    return [
        one.gpus, one.how, one.runs, one.seconds, one.joules, *_three(one.time), *_three(one.energy), cost,
        *waits, one.off.median if one.off else None, line,
    ]  # fmt: skip


def _three(ratio: Ratio | None) -> list[Cell]:
    return [None] * 3 if ratio is None else [ratio.value, ratio.low, ratio.high]
