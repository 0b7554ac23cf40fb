"""What an audit found, and what audits set aside, as Reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.ingest.audited import VERDICTS, Audited, Example
from adminkit.quote import clean, quote
from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.trace.audit import Aside
from adminkit.units import show_time

FIELDS: Final = (
    Field("cluster", help="the cluster"),
    Field("verdict", help="what slurmdbd says about the rows"),
    Field("runs", "count", "rows with that verdict"),
    Field("users", "count", "the users of the rows that are set aside"),
    Field("first", "time", "when the first of them ended"),
    Field("last", "time", "when the last of them ended"),
    Field("becomes", help="what happens to the rows"),
)
ASIDE_FIELDS: Final = (
    Field("cluster", help="the cluster"),
    Field("run", help="which run: job and submission"),
    Field("job_id", help="as Slurm prints it"),
    Field("user", help="the user, according to the row"),
    Field("state", help="how it ended, according to the row"),
    Field("end", "time", "when it ended, according to the row"),
    Field("why", help="unknown: slurmdbd never had it; contradicted: slurmdbd has something else"),
    Field("aside_at", "time", "when it was set aside"),
)
#: verdict -> what becomes of such rows.
BECOMES: Final = {
    "confirmed": "stay as they are",
    "contradicted": "are set aside; slurmdbd's own row takes its place",
    "unknown": "are set aside",
    "beyond": "stay; nothing new follows from them",
    "open": "stay; have no end yet, and are asked about again",
}


def audit_report(audits: Sequence[Audited], applied: bool, database: str) -> Report:
    """A row for each cluster and verdict; examples, and letters about what is set aside, as notes."""
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for one in audits:
        for verdict in VERDICTS:
            if one.counts[verdict]:
                users = len(one.users[verdict]) if verdict in one.users else None
                ends = one.ends.get(verdict, (None, None))
                rows.append([one.cluster, verdict, one.counts[verdict], users, *ends, BECOMES[verdict]])
        notes += _notes(one, applied)
    if not applied and any(one.counts["contradicted"] + one.counts["unknown"] for one in audits):
        notes.append("nothing was written; --apply sets aside what slurmdbd contradicts or never had")
    elif not applied:
        notes.append("nothing was written; --apply records what is confirmed, so that it is not asked for again")
    meta = Meta("Audit", database, (None, None), [one.cluster for one in audits], {}, None, {}, notes)
    return Report(meta, FIELDS, rows)


def _notes(one: Audited, applied: bool) -> list[str]:
    notes = []
    if not one.known:
        notes.append(f"{clean(one.cluster)}: slurmdbd does not know this cluster, or no longer does")
    if one.before:
        notes.append(f"{clean(one.cluster)}: {plural(one.before, 'run')} confirmed by an earlier audit")
    if one.purge_unsaid:
        notes.append(
            f"{clean(one.cluster)}: {plural(one.purge_unsaid, 'run')} not judged: slurmdbd does not say after what time"
            " it purges jobs; look up PurgeJobAfter in slurmdbd.conf and give it with --purge-after"
        )
    notes += [_example(one.cluster, example) for example in one.examples if example.verdict in one.users]
    if one.due:
        verb = "were" if applied else "would be"
        notes.append(f"{clean(one.cluster)}: {plural(one.due, 'letter')} about them {verb} cancelled")
    for letter in one.sent:
        when = f" {show_time(letter.sent_at)}" if letter.sent_at else " just now"
        notes.append(f"{clean(one.cluster)}: a letter about {letter.run} went to {quote(letter.user)}{when}")
    return notes


def _example(cluster: str, example: Example) -> str:
    stored = example.stored
    whose = quote(stored.user) if stored.user else f"uid {stored.uid}"
    text = f"{clean(cluster)}: {example.verdict}: {stored.run} of {whose}, {quote(stored.state or 'no state')}"
    text += f", ended {show_time(stored.end_time)}" if stored.end_time is not None else ""
    return text + (f"; differs in {', '.join(example.differs)}" if example.differs else "")


def aside_report(aside: Sequence[Aside], notes: Sequence[str], database: str) -> Report:
    """One row for each run that was set aside."""
    rows = [[a.cluster, a.run, a.job_id, a.user, a.state, a.end_time, a.why, a.aside_at] for a in aside]
    meta = Meta("Set aside by audits", database, (None, None), sorted({a.cluster for a in aside}), {}, None, {}, notes)
    return Report(meta, ASIDE_FIELDS, rows)
