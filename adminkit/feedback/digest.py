"""The values of the weekly letters: a user's digest, and the operators' summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any, Final

from adminkit.feedback import format
from adminkit.feedback.chart import Bar, bars
from adminkit.feedback.found import found
from adminkit.feedback.letter import DigestLetter, OperatorLetter
from adminkit.feedback.letter_data import Known
from adminkit.feedback.template_values import (
    OUTCOMES,
    Chart,
    LessMemory,
    LostWeekly,
    Missed,
    Named,
    OtherGpus,
    Weekly,
    recommended,
)
from adminkit.findings import week as judgement
from adminkit.findings.finding import Finding
from adminkit.quote import clean
from adminkit.recommend.again import MIB, show_memory
from adminkit.sqlite import sqlite3
from adminkit.stats.finished import finished, tasks
from adminkit.stats.letters import Late, failures, late, went_out
from adminkit.stats.runs import Kind
from adminkit.stats.weeks import WEEK, Name, Reserved, Week
from adminkit.units import show_bytes

#: Weeks of the operators' chart.
WEEKS: Final = 8
DAY: Final = 86_400
#: Names of which another number of GPUs is said, and less memory.
GPUS: Final = 3
MEMORY: Final = 3
#: About queues, in the operators' letter.
FINDINGS: Final = 3


def digest(db: sqlite3.Connection, due: DigestLetter, known: Known, tz: tzinfo | None) -> dict[str, Any]:
    """The values of digest.*.j2."""
    weekly, names = known.weeks(due), known.names(due)
    this, before = weekly[-1], sum(weekly[:-1], Week())
    findings = _findings(due.cluster, due.user, this, before, names)
    best = next(iter(_names(findings, "best")), None)
    missed = late(db, due.cluster, due.uid, due.since, due.until)
    return {
        "week": _weekly(this, due.since, due.until, sum(one.hit_limit for one in names.values())),
        "before": _weekly(before, due.until - len(weekly) * WEEK, due.since) if before.runs else None,
        "trend": _trend(findings),
        "praise": any(one.verdict == "praise" for one in findings),
        "best": None if best is None else _named(best, names[best], None),
        "worst": [_named(name, names[name], _kind(due, name, known), known) for name in _names(findings, "worst")],
        "lost_week": _lost(known, due),
        "waited_for": _sum(one.waited_for for one in names.values()),
        "gpus": _gpus(known, due, names),
        "memory": _memory(known, due, names),
        "late": [_missed(db, due, one) for one in missed],
        "chart": Chart("week", _week_bars(weekly, due, tz)),
    }


def operator(db: sqlite3.Connection, due: OperatorLetter, known: Known, tz: tzinfo | None) -> dict[str, Any]:
    """The values of operator.*.j2. They name no user but in `notes`."""
    weekly = known.cluster_weeks(due, WEEKS)
    this, before = weekly[-1], sum(weekly[-5:-1], Week())
    sent = went_out(db, due.cluster, due.since, due.until)
    failed = failures(db, due.cluster, due.since, due.until)
    return {
        "notes": [clean(note) for note in due.notes],
        "week": _weekly(this, due.since, due.until),
        "before": _weekly(before, due.until - 5 * WEEK, due.since) if before.runs else None,
        "trend": _trend(_findings(due.cluster, None, this, before)),
        "found": [found(one) for one in known.site_findings(due, FINDINGS)],
        "sent": sent,
        "failures": [(format.harmless(one.said, 160), one.letters) for one in failed],
        "chart": Chart("cluster", _week_bars(weekly, due, tz)),
    }


def _lost(known: Known, due: DigestLetter) -> LostWeekly | None:
    lost = known.lost(due)
    if lost is None or not sum(lost.reserved):
        return None
    runs = sorted(lost.runs.items(), key=lambda one: (-one[1], one[0]))
    return LostWeekly([(OUTCOMES[state], count) for state, count in runs], lost.reserved)


def _findings(
    cluster: str, user: str | None, this: Week, before: Week, names: Mapping[str | None, Name] | None = None
) -> list[Finding]:
    measure = judgement.Measure(cluster, user, this, before, names or {})
    return judgement.check(measure, judgement.LETTERS)


def _trend(findings: Sequence[Finding]) -> str:
    return next(one.verdict for one in findings if one.verdict in judgement.TRENDS)


def _names(findings: Sequence[Finding], verdict: str) -> list[str]:
    """The job names with that verdict, in its order."""
    return [one.subject.name for one in findings if one.verdict == verdict and one.subject.name is not None]


def _weekly(week: Week, since: int, until: int, hit_limit: int = 0) -> Weekly:
    return Weekly(
        since=since, last=until - DAY // 2, runs=week.runs, used=week.used, asked=week.asked,
        used_fraction=week.used_fraction, accuracy=week.accuracy, unused=week.unused, hit_limit=hit_limit,
    )  # fmt: skip


def _named(name: str, one: Name, kind: Kind | None, known: Known | None = None) -> Named:
    advice = None
    if kind is not None and known is not None:
        advice, _ = recommended(known.advice(kind), kind, "overestimated")
    week = one.week
    return Named(
        name=format.harmless(name), runs=week.runs, used=week.used, asked=week.asked,
        used_fraction=week.used_fraction or 0, unused=week.unused, advice=advice,
    )  # fmt: skip


def _gpus(known: Known, due: DigestLetter, names: Mapping[str | None, Name]) -> list[OtherGpus]:
    """Up to GPUS names of this week, most hours first, that another number of GPUs would serve better."""
    found: list[OtherGpus] = []
    for name in sorted((name for name in names if name), key=lambda name: (-names[name].week.used, name)):
        advice = known.gpus(due, name)
        if advice is None or advice.best.gpus == advice.present or advice.best.time is None:
            continue
        if advice.best.time.low is None:  # by the model, or by single runs: too little for a letter
            continue
        best = advice.best
        assert best.time is not None and best.gpu_hours is not None
        found.append(
            OtherGpus(
                format.harmless(name), best.gpus, advice.present, best.time.value - 1,
                best.energy.value - 1 if best.energy and advice.by_energy else None, best.gpu_hours - 1,
            )
        )  # fmt: skip
    return found[:GPUS]


def _memory(known: Known, due: DigestLetter, names: Mapping[str | None, Name]) -> list[LessMemory]:
    """Up to MEMORY names of this week, most memory first, whose runs ask for far more than they use."""
    found: list[tuple[int, LessMemory]] = []
    for name in sorted(name for name in names if name):
        sized = known.memory(due, name)
        if sized is None or not sized.is_far_less:
            continue
        given = sized.advice
        assert given.limit is not None and given.risk is not None and sized.asked is not None
        one = LessMemory(
            format.harmless(name), show_bytes(sized.asked * MIB), show_bytes(sized.used * MIB),
            show_memory(given.limit * MIB), given.risk, given.tried, given.over,
        )  # fmt: skip
        found.append((sized.asked - given.limit, one))
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])[:MEMORY]]


def _kind(due: DigestLetter, name: str, known: Known) -> Kind | None:
    """The kind of the user's last run of that name."""
    mine = known.runs(due.cluster, due.user)
    return next((run.kind for run in reversed(mine) if run.kind.job_name == name), None)


def _missed(db: sqlite3.Connection, due: DigestLetter, one: Late) -> Missed:
    key = (one.job_id_raw, one.submit_time)
    if one.is_array and (array := tasks(db, due.cluster, *key, due.until)):
        key = array.key
    run = finished(db, due.cluster, *key)
    limit = run.kind.req_limit if run else None
    return Missed(format.harmless(one.job_name), str(one.job_id_raw), (run.elapsed if run else None) or 0, limit)


def _week_bars(weekly: Sequence[Week], due: DigestLetter | OperatorLetter, tz: tzinfo | None) -> list[Bar]:
    """A bar a week, from the first week with a run."""
    begin = next((place for place, week in enumerate(weekly) if week.runs), len(weekly) - 1)
    rows = []
    for place in range(begin, len(weekly)):
        since = due.until - (len(weekly) - place) * WEEK
        rows.append((format.day(since + DAY // 2, due.language, tz), weekly[place].used, weekly[place].asked))
    return bars(rows)


def _sum(parts: Any) -> Reserved:
    gpu = cpu = 0.0
    for part in parts:
        gpu, cpu = gpu + part.gpu_seconds, cpu + part.cpu_seconds
    return Reserved(gpu, cpu)
