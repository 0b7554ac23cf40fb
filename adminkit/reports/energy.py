"""The energy of jobs as a Report: kilowatt-hours, watts of a GPU, what idle GPUs drew, and what is not known."""

from __future__ import annotations

from typing import Final

from adminkit.config import Energy as Settings
from adminkit.render.format import percent, plural, show
from adminkit.render.report import Bar, Bars, Cell, Field, Panel, Pictures, Report
from adminkit.reports.header import header, label, several
from adminkit.reports.spec import Option, Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.efficiencies import IDLE
from adminkit.stats.energy import PARTS, Energy, Group, energy

FIELDS: Final = (
    Field("jobs", "count", "jobs that ran, however they ended"),
    Field("measured", "count", "of these, the energy is known and possible"),
    Field("share_measured", "share", "node-hours of the measured jobs / node-hours of all"),
    Field("energy_joules", "energy", "what the nodes of the measured jobs used while these ran"),
    Field("energy_share", "share", "of all measured energy of the report"),
    Field("gpu_watts", "watts", "energy of the measured jobs with GPUs / their GPU-seconds: the whole node's"),
    Field("node_watts", "watts", "energy / node-seconds"),
    Field("idle", "count", "measured jobs whose GPUs were busy for less than 1 % of the time"),
    Field("idle_joules", "energy", "what the nodes of these used"),
    Field("shared", "count", "measured jobs that did not hold all CPUs of their nodes: others' energy is in theirs"),
    Field("capped", "count", "jobs of more energy than their nodes can draw; in no sum", quiet=True),
    Field("co2_kg", "quantity", "energy × co2 of the settings, kg", quiet=True),
    Field("cost", "quantity", "energy × price of the settings", quiet=True),
    Field("cluster", quiet=True),
)
ALL: Final = "(all)"
#: Rows of the table, and groups of the picture.
_MOST: Final = 30
_MOST_BARS: Final = 12
_NOTHING: Final = (
    "no job has any energy: Slurm measures it only where slurm.conf has AcctGatherEnergyType, AcctGatherNodeFreq and"
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
        notes.append(f"not shown: {plural(len(rest), 'row')} of {joules}")
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
        return ["no job is left to count; the lines above say why"]
    notes = []
    if overall.capped:
        most = f"{settings.node_watts:,.0f} W"
        notes.append(
            f"{plural(overall.capped, 'job')} used more than {most} a node ([energy] node_watts): they are in no sum"
        )
    if not overall.measured:
        return [*notes, _NOTHING]
    if missing := overall.jobs - overall.measured - overall.capped:
        notes.append(f"of {plural(missing, 'job')} no energy is known; nothing is made up for them")
    if overall.shared:
        share = percent(overall.shared_joules / overall.joules)
        notes.append(
            f"nodes of {plural(overall.shared, 'job')} with {share} of the energy were not theirs alone: Slurm books"
            " what a node uses to every job on it, so sums count it more than once"
        )
    if overall.unsure:
        notes.append(f"of {plural(overall.unsure, 'job')} it is not known whether others were on their nodes")
    if overall.idle:
        notes.append(f"idle GPUs were busy for less than {percent(IDLE, 0)} of the time")
    if settings.price is not None:
        notes.append(f"cost at {settings.price:g} a kWh, in the currency of the settings")
    return notes


def _pictures(measured: Energy, part: str) -> Pictures | None:
    groups = [group for group in measured.groups if group.joules][:_MOST_BARS]
    if not groups:
        return None
    many = several(group.cluster for group in measured.groups)
    overall = measured.overall
    bars = [
        Bar(label(group.value or "(unknown)", group.cluster, many), group.measured, group.joules / overall.joules)
        for group in groups
    ]
    panels: list[Panel] = [Bars(f"Energy by {part}", "share of the energy that was measured", bars)]
    whole = show(overall.joules, "energy", None)
    caption = "The number beside a bar is that of its measured jobs."
    if overall.idle_joules:
        caption += f" Nodes with idle GPUs used {percent(overall.idle_joules / overall.joules)} of the energy."
    return Pictures(f"{whole} in {plural(overall.measured, 'job')}", caption, panels)


def _measure(trace: sqlite3.Connection, query: Query) -> Energy:
    return energy(trace, query.filter, query.by, query.settings.energy.node_watts)


SPEC: Final = ReportSpec(
    "energy",
    "What jobs used in kilowatt-hours: watts of a GPU, what idle GPUs drew, and how much of it was measured.",
    _measure,
    energy_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until"),
    parts=tuple(PARTS),
    options=(Option("most", ("--most",), "How many rows to show, most energy first; 0: all.", default=_MOST, least=0),),
    pictures=True,
    every_end=True,
)
