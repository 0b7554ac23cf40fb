"""Measured curves of time and energy as a Report: what each configuration takes, and which ones nothing beats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from adminkit.power.curves import points_of
from adminkit.power.files import Read
from adminkit.power.scaling import LEAST_POINTS, Model, model
from adminkit.render.format import percent, plural
from adminkit.render.report import Cell, Dot, Field, Meta, Panel, Pictures, Report, Scatter
from adminkit.stats.power_curve import Curve, Place

FIELDS: Final = (
    Field("model", help="what was trained"),
    Field("gpu", help="the kind of GPU"),
    Field("cap", "watts", "the power limit of a GPU", quiet=True),
    Field("gpus", "count", "GPUs"),
    Field("batch", "quantity", "the batch size of all GPUs together", quiet=True),
    Field("rows", "count", "measurements that are averaged in the next columns"),
    Field("unit", help="what seconds and joules are for: an iteration, or a piece of work that nobody counted"),
    Field("seconds", "quantity", "seconds per unit"),
    Field("joules", "quantity", "joules per unit, all GPUs together"),
    Field("power", "watts", "joules / seconds, all GPUs together"),
    Field(
        "edge",
        help="yes: no other configuration of this model and GPU needs both less time and less energy",
        quiet=True,
    ),
)
IMPORT_FIELDS: Final = (
    Field("file", help="the file, or the --source given for it"),
    Field("kind", help="the kind of file, according to its first line"),
    Field("rows", "count", "measurements that were stored"),
    Field("replaced", "count", "measurements from the same source that they replaced"),
    Field("empty", "count", "cells of a throughput table that are 0, which means not run"),
    Field("rejected", "count", "lines that could not be read"),
)
#: Panels of one picture, and lines of one panel.
_MOST_PANELS: Final = 8
_MOST_LINES: Final = 5


def power_report(curves: Sequence[Curve], database: str, pictures: bool) -> Report:
    """The places of all curves, in the header what their models are good for."""
    edges = edge(curves)
    rows: list[list[Cell]] = [
        [
            curve.model, curve.gpu, curve.cap, place.gpus, place.batch, place.rows, _unit(curve), place.seconds,
            place.joules, place.watts, _said(place, edges),
        ]
        for curve in curves
        for place in curve.places
    ]  # fmt: skip
    fitted = [(curve, model(points_of(curve))) for curve in curves]
    notes = [*_notes(fitted)] or ["nothing was imported yet: adminkit power import FILE"]
    meta = Meta(
        "Time and energy by configuration", database, (None, None), (), {}, None, {}, notes,
    )  # fmt: skip
    extra = {"models": [_described(curve, found) for curve, found in fitted if found is not None]}
    return Report(meta, FIELDS, rows, (), _pictures(curves, edges) if pictures else None, extra)


def import_report(files: Sequence[tuple[str, Read, int]], dry_run: bool) -> Report:
    """What each file said, and how many measurements of the same name it replaced."""
    rows: list[list[Cell]] = [
        [name, its.kind, len(its.rows), replaced, its.empty, len(its.broken)] for name, its, replaced in files
    ]
    notes = ["nothing was stored"] if dry_run else []
    if any(its.broken for _, its, _ in files) and not dry_run:
        notes.append("`adminkit trace rejected` has the lines that could not be read")
    return Report(Meta.plain("Measurements", notes), IMPORT_FIELDS, rows)


def edge(curves: Iterable[Curve]) -> set[int]:
    """The id() of places that no other place of the same work is better than: in time and energy, on one kind of GPU.

    An iteration of another batch is other work; an epoch is the same one.
    """
    same: dict[tuple[Any, ...], list[Place]] = {}
    for curve in curves:
        for place in curve.places:
            if place.joules is not None:
                key = (curve.model, curve.gpu, curve.by_iteration, place.batch if curve.by_iteration else None)
                same.setdefault(key, []).append(place)
    found = set()
    for places in same.values():
        least = float("inf")
        for place in sorted(places, key=lambda one: (one.seconds, one.joules or 0)):
            if (place.joules or 0) < least:
                least = place.joules or 0
                found.add(id(place))
    return found


def _said(place: Place, edges: set[int]) -> str | None:
    return None if place.joules is None else "yes" if id(place) in edges else ""


def _unit(curve: Curve) -> str:
    return "iteration" if curve.by_iteration else "piece"


def _name(curve: Curve) -> str:
    cap = "" if curve.cap is None else f" at {curve.cap:g} W"
    return f"{curve.model}{f' on {curve.gpu}' if curve.gpu else ''}{cap}"


def _notes(fitted: Sequence[tuple[Curve, Model | None]]) -> list[str]:
    notes = []
    if any(not curve.by_iteration for curve, _ in fitted):
        notes.append(
            "a piece is an epoch or a window whose steps the source does not count: pieces are assumed to be the same"
            " work"
        )
    for curve, found in fitted:
        if found is None or found.error is None:
            continue
        median, worst = percent(found.error.median), percent(found.error.worst)
        said = (
            f"{_name(curve)}: the model's median error is {median}, its largest error {worst}, over"
            f" {found.error.points} points that were each left out of the fit once"
        )
        if found.power_error:
            said += f"; the median error of its watts is {percent(found.power_error.median)}"
        notes.append(said)
    if refused := sum(found is None for _, found in fitted):
        notes.append(
            f"{plural(refused, 'curve')} without a model, which needs {LEAST_POINTS} points and two numbers of GPUs"
        )
    return notes


def _described(curve: Curve, found: Model) -> dict[str, Any]:
    a, c = found.arithmetic
    d, e, f = found.talking
    error, power = found.error, found.power_error
    return {
        "model": curve.model, "gpu": curve.gpu, "cap": curve.cap, "unit": _unit(curve),
        "a": a, "c": c, "d": d, "e": e, "f": f, "idle_watts": found.idle, "busy_watts": found.busy,
        "error_median": error and error.median, "error_worst": error and error.worst, "points": error and error.points,
        "power_error_median": power and power.median,
    }  # fmt: skip


def _pictures(curves: Sequence[Curve], edges: set[int]) -> Pictures | None:
    panels: list[Panel] = []
    families: dict[tuple[str, str, bool], list[Curve]] = {}
    for curve in curves:
        if any(place.joules is not None for place in curve.places):
            families.setdefault((curve.model, curve.gpu, curve.by_iteration), []).append(curve)
    for (name, gpu, counted), its in list(families.items())[:_MOST_PANELS]:
        lines: dict[int, list[Dot]] = {}
        for curve in its:
            for place in curve.places:
                if place.joules is not None:
                    dot = Dot(_dot(curve, place), place.seconds, place.joules, id(place) in edges)
                    lines.setdefault(place.gpus, []).append(dot)
        unit = "an iteration" if counted else "a piece of work"
        named = [(plural(gpus, "GPU"), dots) for gpus, dots in sorted(lines.items())][:_MOST_LINES]
        panels.append(
            Scatter(f"{name}{f' on {gpu}' if gpu else ''}", "filled: nothing is better in both", f"seconds of {unit}",
                    "joules", named)
        )  # fmt: skip
    if not panels:
        return None
    return Pictures(
        "What a joule buys",
        "Each point is a configuration; the line joins the configurations that no other beats.",
        panels,
    )


def _dot(curve: Curve, place: Place) -> str:
    words = [] if curve.cap is None else [f"{curve.cap:g} W"]
    if place.batch is not None:
        words.append(f"batch {place.batch:g}")
    return ", ".join(words) or f"{place.gpus}"
