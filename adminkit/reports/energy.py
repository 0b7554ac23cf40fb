"""The energy of jobs as a Report: kilowatt-hours, watts of a GPU, what idle GPUs drew, and what is not known."""

from __future__ import annotations

from typing import Final

from adminkit.config import Energy as Settings
from adminkit.messages import counted, joined, message
from adminkit.render.format import percent, show
from adminkit.render.report import Bar, Bars, Cell, Field, Panel, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.efficiency import UNKNOWN, idle_note
from adminkit.reports.header import header, label, several
from adminkit.reports.spec import Option, Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.energy import PARTS, Energy, Group, energy

FIELDS: Final = (
    Field("jobs", "count", "jobs that ran, however they ended"),
    Field("measured", "count", "of these, jobs with a known and plausible energy"),
    Field("share_measured", "share", "node-hours of the measured jobs / node-hours of all jobs"),
    Field("energy_joules", "energy", "energy that the nodes of the measured jobs used while those jobs ran"),
    Field("energy_share", "share", "their share of all measured energy in the report"),
    Field(
        "gpu_watts",
        "watts",
        "energy of the measured jobs with GPUs / their GPU-seconds; the energy is that of the whole node",
    ),
    Field("node_watts", "watts", "energy / node-seconds"),
    Field("idle", "count", "measured jobs whose GPUs were busy for less than 1 % of the time"),
    Field("idle_joules", "energy", "energy that the nodes of these jobs used"),
    Field(
        "shared",
        "count",
        "measured jobs that did not hold all CPUs of their nodes; their energy includes that of other jobs",
    ),
    Field("capped", "count", "jobs with more energy than their nodes could have drawn; left out of sums", quiet=True),
    Field("co2_kg", "quantity", "energy × co2 from the settings, in kg", quiet=True),
    Field("cost", "quantity", "energy × price from the settings", quiet=True),
    Field("cluster", quiet=True),
)
ALL: Final = "(all)"
#: Rows of the table, and groups of the picture.
_MOST: Final = 30
_MOST_BARS: Final = 12
_NOTHING: Final = message(
    "no energy is recorded for any job: Slurm measures it only where slurm.conf has AcctGatherEnergyType,"
    " AcctGatherNodeFreq and"
    " energy= in JobAcctGatherFrequency; docs/energy.md says how"
)


def energy_report(measured: Energy, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    most, settings = int(query.own["most"]), query.settings.energy
    shown = measured.groups[:most] if most else measured.groups
    rows = [_row(group, group.value, measured.overall, settings) for group in shown]
    total = _row(measured.overall, ALL, measured.overall, settings)
    notes = _notes(measured, settings)
    if rest := measured.groups[len(shown) :]:
        joules = show(sum(group.joules for group in rest), "energy", None)
        rows_left = counted("{number:,} row", "{number:,} rows", len(rest))
        notes.append(message("not shown: {rows} with {energy}", rows=rows_left, energy=joules))
    meta = header("Energy of jobs", measured, query, measured.overall.jobs, notes)
    pictures = _pictures(measured, query.by) if query.pictures else None
    return Report(meta, (Field(query.by), *FIELDS), rows, [total], pictures)


def _row(group: Group, name: str | None, overall: Group, settings: Settings) -> list[Cell]:
    known = bool(group.measured)
    kwh = group.joules / 3.6e6
    return [
        name, group.jobs, group.measured, _ratio(group.node_seconds, group.node_seconds_all),
        group.joules if known else None, _ratio(group.joules, overall.joules),
        _ratio(group.gpu_joules, group.gpu_seconds), _ratio(group.joules, group.node_seconds),
        group.idle, group.idle_joules if known else None, group.shared, group.capped,
        kwh * settings.co2 / 1000 if known and settings.co2 is not None else None,
        kwh * settings.price if known and settings.price is not None else None,
        group.cluster,
    ]  # fmt: skip


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _notes(measured: Energy, settings: Settings) -> list[str]:
    overall = measured.overall
    if not overall.jobs:
        return [nouns.NONE_COUNTED]
    notes: list[str] = []
    if overall.capped:
        most = f"{settings.node_watts:,.0f} W"
        notes.append(
            message(
                "{jobs} used more than {power} per node ([energy] node_watts): this energy is left out of the sums",
                jobs=nouns.jobs(overall.capped),
                power=most,
            )
        )
    if not overall.measured:
        return [*notes, _NOTHING]
    if missing := overall.jobs - overall.measured - overall.capped:
        notes.append(
            message("the energy of {jobs} is not known; no value is estimated for them", jobs=nouns.jobs(missing))
        )
    if overall.shared:
        share = percent(overall.shared_joules / overall.joules)
        notes.append(
            message(
                "nodes of {jobs} with {share} of the energy were shared: Slurm attributes all of a node's energy to"
                " each job on the node, so sums count that energy more than once",
                jobs=nouns.jobs(overall.shared),
                share=share,
            )
        )
    if overall.unsure:
        notes.append(
            message("it is not known whether other jobs ran on the nodes of {jobs}", jobs=nouns.jobs(overall.unsure))
        )
    if overall.idle:
        notes.append(idle_note())
    if settings.price is not None:
        notes.append(
            message("cost at {price:g} per kWh, in whatever currency energy.price is given in", price=settings.price)
        )
    return notes


def _pictures(measured: Energy, part: str) -> Pictures | None:
    groups = [group for group in measured.groups if group.joules][:_MOST_BARS]
    if not groups:
        return None
    many = several(group.cluster for group in measured.groups)
    overall = measured.overall
    bars = [
        Bar(label(group.value or UNKNOWN, group.cluster, many), group.measured, group.joules / overall.joules)
        for group in groups
    ]
    heading = message("Energy by {part}", part=nouns.part(part))
    panels: list[Panel] = [Bars(heading, message("share of the energy that was measured"), bars)]
    whole = show(overall.joules, "energy", None)
    caption = message("The number beside each bar is how many jobs were measured.")
    if overall.idle_joules:
        share = percent(overall.idle_joules / overall.joules)
        idle = message("Nodes with idle GPUs used {share} of the energy.", share=share)
        caption = joined(" ", (caption, idle))
    return Pictures(message("{energy} in {jobs}", energy=whole, jobs=nouns.jobs(overall.measured)), caption, panels)


def _measure(trace: sqlite3.Connection, query: Query) -> Energy:
    return energy(trace, query.filter, query.by, query.settings.energy.node_watts)


SPEC: Final = ReportSpec(
    "energy",
    "How many kilowatt-hours jobs used. Shows the watts per GPU, what idle GPUs drew, and how much was measured.",
    "report energy --since 30d",
    _measure,
    energy_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until"),
    parts=tuple(PARTS),
    options=(
        Option(
            "most",
            ("--most",),
            "How many rows to show, those with the most energy first; 0: all.",
            default=_MOST,
            least=0,
        ),
    ),
    pictures=True,
    every_end=True,
)
