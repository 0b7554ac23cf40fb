"""A policy's mistakes, meaning, effects and changes, as Reports and as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import Final

from adminkit.lua.runtime import Decision
from adminkit.policy.diff import Difference
from adminkit.policy.problem import Problem
from adminkit.policy.replay import Count, Replayed
from adminkit.quote import clean
from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.stats.select import Filter
from adminkit.units import show_duration, show_time

#: Users that a replay names.
HARDEST: Final = 10

#: decide.lua's word on more time -> what an operator reads.
_MORE_TIME: Final = {
    "auto": "yes, if no waiting job would start later for it",
    "off": "no: nobody asked for it, or its user switched it off",
    "word": "no: ADMINKIT_EXTEND is neither auto nor off",
    "limit": "no: it names no limit",
    "queue": "no: its queue is left out",
    "class": "no: its class is left out, or is not known",
    "user": "no: its user is left out",
    "account": "no: its account is left out, or is not known",
    "qos": "no: its QOS is left out, or is not known",
    "het": "no: it is heterogeneous",
    "interactive": "no: it is interactive",
    "record": "no: its record has no room for it",
}

CHECK_FIELDS: Final = (
    Field("kind", help="error, or note: a note does not prevent an install"),
    Field("places", help="where it is in the file; for a conflict, both places"),
    Field("message", help="what is wrong"),
    Field("hint", help="what to do"),
)
EXPLAIN_FIELDS: Final = (Field("name", help="name of a rule or a section"), Field("sentence", help="what it means"))
TRY_FIELDS: Final = (
    Field("verdict", help="accept, amend or reject"),
    Field("queue", help="where the job would go, if it is changed"),
    Field("limit", "duration", "its limit, if it is changed"),
    Field("time_min", "duration", "its --time-min, if it is changed; 0 for one that is left out"),
    Field("soft_limit", "duration", "what backfill would plan with, if that is not its limit"),
    Field("more_time", help="auto if it may get more time at its limit, else why not; empty if the policy gives none"),
    Field("points", "count", "points of priority, if it earns any"),
    Field("licences", help="all licences that it gets, if they are changed"),
    Field("rules", help="rules that fired, and what each did"),
    Field("cannot_tell", help="rules that depend on something that is not given"),
    Field("record", help="what would be kept with the job"),
    Field("messages", help="what the user reads, one message per line"),
)
DIFF_FIELDS: Final = (
    Field("place", help="the rule or setting"),
    Field("change", help="added, removed or changed"),
    Field("installed", help="the installed value"),
    Field("file", help="the value in the file"),
)
REPLAY_FIELDS: Final = (
    Field("part", help="rule, queue or user (the ten most affected)"),
    Field("value", help="its name"),
    Field("jobs", "count", "jobs; for a rule, jobs on which it fired"),
    Field("accepted", "count", "accepted as they are"),
    Field("amended", "count", "accepted with another limit or queue"),
    Field("rejected", "count", "refused"),
    Field("warned", "count", "accepted, with a message to their users"),
    Field("cannot_tell", "count", "not known, because the trace lacks something that a rule depends on"),
    Field("freed_hours", "hours", "hours by which time limits were lowered"),
    Field("cut_short", "count", "jobs that ran longer than the limit they would have had"),
)


def check_report(problems: Sequence[Problem], notes: Sequence[str]) -> Report:
    """One row per problem."""
    rows = [("note" if one.note else "error", "; ".join(one.places), one.message, one.hint) for one in problems]
    return Report(Meta.plain("What is wrong with the policy", notes), CHECK_FIELDS, rows)


def check_lines(problems: Sequence[Problem], notes: Sequence[str]) -> str:
    """Text for people: a line per problem, its hint below it."""
    lines = []
    for one in problems:
        lines.append(f"{'note' if one.note else 'error':<6} {clean(str(one))}")
        if one.hint:
            lines.append(f"{'':<6} {clean(one.hint)}")
    return "".join(f"{line}\n" for line in [*lines, *map(clean, notes)])


def explain_report(rows: Sequence[tuple[str, str]], notes: Sequence[str]) -> Report:
    """One row per sentence."""
    return Report(Meta.plain("What the policy means", notes), EXPLAIN_FIELDS, rows)


def explain_lines(rows: Sequence[tuple[str, str]]) -> str:
    """Text for people: name and sentence, side by side."""
    width = max((len(name) for name, _ in rows), default=0)
    return "".join(f"{name:<{width}}  {clean(sentence)}\n" for name, sentence in rows)


def try_report(decision: Decision, notes: Sequence[str]) -> Report:
    """One row."""
    row: list[Cell] = [
        decision.verdict,
        decision.queue,
        decision.limit,
        decision.time_min,
        decision.soft,
        decision.extend,
        decision.points,
        decision.licences,
        _fired(decision) or None,
        " ".join(decision.untold) or None,
        decision.record,
        "\n".join(decision.messages) or None,
    ]
    return Report(Meta.plain("What would happen to the job", notes), TRY_FIELDS, [row])


def try_lines(decision: Decision) -> str:
    """Text for people: what becomes of the job, then what its owner reads as sbatch shows it."""
    facts = {
        "verdict": decision.verdict,
        "queue": decision.queue,
        "limit": None if decision.limit is None else show_duration(decision.limit),
        "time-min": None
        if decision.time_min is None
        else show_duration(decision.time_min)
        if decision.time_min
        else "-",
        "soft limit": None if decision.soft is None else show_duration(decision.soft),
        "more time": None if decision.extend is None else _MORE_TIME[decision.extend],
        "points": None if decision.points is None else str(decision.points),
        "licences": decision.licences,
        "rules": _fired(decision),
        "cannot tell": " ".join(decision.untold),
        "record": decision.record,
    }
    lines = [f"{name:<12} {clean(text)}" for name, text in facts.items() if text]
    before = "sbatch: error: " if decision.verdict == "reject" else "sbatch: "
    lines += ["", "the user reads"] if decision.messages else []
    lines += [before + clean(line) for message in decision.messages for line in message.split("\n")]
    return "".join(f"{line}\n" for line in lines)


def diff_report(differences: Sequence[Difference], notes: Sequence[str]) -> Report:
    """One row per difference."""
    rows = [(one.place, one.change, one.installed, one.file) for one in differences]
    return Report(Meta.plain("The policy installed, against the file", notes), DIFF_FIELDS, rows)


def diff_lines(differences: Sequence[Difference]) -> str:
    """Text for people: + what the file adds, - what it takes away, ~ what it changes."""
    lines = []
    for one in differences:
        if one.change == "changed":
            lines += [f"~ {one.place}", f"    is       {one.installed}", f"    becomes  {one.file}"]
        else:
            lines.append(f"{'+' if one.change == 'added' else '-'} {one.place}: {one.file or one.installed}")
    return "".join(f"{clean(line)}\n" for line in lines or ["no difference"])


def replay_report(
    replayed: Replayed, filter: Filter, database: str, rules: Sequence[str], notes: Sequence[str]
) -> Report:
    """Rules in file order, queues by jobs, the users hit hardest; everything below."""
    counts = replayed.counts
    rows = [_row("rule", name, counts.rules.get(name, Count()), rule=True) for name in rules]
    queues = sorted(counts.queues.items(), key=lambda item: (-item[1].jobs, item[0] or ""))
    rows += [_row("queue", name, count) for name, count in queues]
    users = sorted(counts.users.items(), key=lambda item: (-_hit(item[1]), -item[1].warned, item[0] or ""))
    rows += [_row("user", name, count) for name, count in users[:HARDEST] if _hit(count) or count.warned]
    filters = {name: text for name, text in filter.described().items() if name not in ("states", "elapsed")}
    notes = list(notes)
    if counts.unsure:
        notes.append(f"whether {plural(counts.unsure, 'job')} asked for a limit or got the default is not known")
    if counts.planned:
        notes.append(
            f"planned by need: {plural(counts.planned, 'job')}, of which {counts.outlived} ran longer than their soft"
            " limit; a table that was made from these same jobs makes that look better than it is"
        )
    if counts.extended:
        notes.append(
            f"may get more time: {plural(counts.extended, 'job')}, of which {counts.reached} ran into their limit;"
            " the trace does not show whether a user said ADMINKIT_EXTEND, nor which jobs are of srun or salloc"
        )
    notes += _typed_notes(replayed)
    if not counts.total.jobs:
        notes.append("no job is left to count; the lines above say why")
    meta = Meta(
        "What the policy would have done",
        database,
        (filter.since, filter.until),
        filter.clusters,
        filters,
        counts.total.jobs,
        replayed.excluded,
        notes,
        replayed.span,
    )
    return Report(meta, REPLAY_FIELDS, rows, [_row("all", "(all)", counts.total)])


def _typed_notes(replayed: Replayed) -> Iterator[str]:
    """Who typed --time-min, before soft limits change what that means."""
    typed, jobs = replayed.typed, replayed.counts.total.jobs
    if typed is None or not jobs:
        return
    if typed.unknown < jobs and not typed.jobs:
        yield "nobody gave a --time-min, according to the records in AdminComment"
    elif typed.jobs:
        yield (
            f"a --time-min of its own: {plural(typed.jobs, 'job')} of {plural(typed.users, 'user')}, according to the"
            f" records in AdminComment; {typed.lowered} of them ended with a lower limit than was asked for"
        )
    if typed.unknown:
        yield (
            f"whether {plural(typed.unknown, 'job')} had a --time-min is not known: Slurm's accounting does not keep"
            " it, and they have no record in AdminComment"
        )


def rules_at_note(at: int | None, tz: tzinfo | None = None) -> str:
    """A note of when the rules were looked at."""
    return "every rule counts as if its date had come" if at is None else f"the rules as of {show_time(at, tz)}"


def _row(part: str, name: str | None, count: Count, rule: bool = False) -> list[Cell]:
    return [
        part,
        name,
        count.jobs,
        None if rule else count.accepted,
        count.amended,
        count.rejected,
        count.warned,
        count.untold,
        count.freed / 3600,
        count.cut,
    ]


def _hit(count: Count) -> int:
    return count.amended + count.rejected


def _fired(decision: Decision) -> str:
    return " ".join(f"{rule}={action}" for rule, action in decision.fired)
