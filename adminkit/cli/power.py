"""adminkit power …"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.group import group
from adminkit.errors import AdminkitError, UsageError, cause, unknown_word
from adminkit.files import open_named
from adminkit.quote import clean
from adminkit.render.say import say
from adminkit.render.sink import Way, emit
from adminkit.trace.connect import reader, writer
from adminkit.trace.location import find_trace

app = group("Measure how much time and energy training runs take.")

Model = Annotated[str | None, typer.Option("--model", metavar="NAME", help="Only this model.")]
Gpu = Annotated[str | None, typer.Option("--gpu", metavar="KIND", help="Only this kind of GPU.")]
Cap = Annotated[
    float | None, typer.Option("--cap", metavar="WATTS", min=1, help="Only measurements with this power limit per GPU.")
]
Batch = Annotated[
    float | None,
    typer.Option("--batch", metavar="N", min=1, help="Only measurements with this batch size, counted over all GPUs."),
]


def _complete(incomplete: str) -> list[str]:
    return options.complete_files(incomplete, (".csv",))


@app.command("import")
def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="CSV files of measurements.", autocompletion=_complete)
    ],
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="What was trained, if the files do not say.")
    ] = None,
    gpu: Annotated[
        str | None, typer.Option("--gpu", metavar="KIND", help="The kind of GPU, if the files do not say.")
    ] = None,
    batch: Annotated[
        float | None,
        typer.Option(
            "--batch", metavar="N", min=1, help="The batch size of all GPUs together, if the files do not say."
        ),
    ] = None,
    iterations: Annotated[
        float | None, typer.Option("--iterations", metavar="N", min=1, help="Iterations in a Zeus window.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source", metavar="NAME", help="The name to store the file under. Default: the file's own name."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what the files say, and store nothing.")] = False,
    db: options.Database = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Store measurements of time and energy. Reads Zeus's power summaries and windows, throughput tables, and
    adminkit's own CSV.

    Importing the same file again replaces what was stored from it.

    Example: adminkit power import power.csv --model resnet50
    """
    from adminkit.power.files import MOST_BYTES, Given, Read, read
    from adminkit.reports.power import import_report
    from adminkit.trace.power_curve import set_aside, store

    if source is not None and len(files) > 1:
        raise UsageError("--source works with a single file only", "import the other files one by one")
    found: list[tuple[str, Read]] = []
    for path in files:
        try:
            with open_named(path, MOST_BYTES) as file:
                found.append((source or path.name, read(file, path.name, Given(model, gpu, batch, iterations))))
        except OSError as error:
            raise AdminkitError(f"can't read {path}: {cause(error)}", "check the path") from error
    for name, its in found:
        if not its.rows:
            line, reason, _ = its.broken[0] if its.broken else (1, "it has no rows", "")
            raise AdminkitError(
                f"couldn't read any row of {name}: line {line}: {reason}", "docs/power.md has the columns"
            )
    now, target = int(time.time()), find_trace(db, config.load().db)
    replaced = [0] * len(found)
    if not dry_run:
        with writer(target) as trace:
            for place, (name, its) in enumerate(found):
                replaced[place] = store(trace, name, its.rows, now)
                set_aside(trace, f"power {name}", its.broken, now)
    for name, its in found:
        for line, reason, _ in its.broken[:3]:
            say(f"note: {clean(name)}, line {line}: {clean(reason)}")
    stored = [(name, its, before) for (name, its), before in zip(found, replaced, strict=True)]
    emit(import_report(stored, dry_run), Way(format.value, output))


@app.command()
def show(
    model: Model = None,
    gpu: Gpu = None,
    cap: Cap = None,
    batch: Batch = None,
    db: options.Database = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
    plot: options.Plot = False,
    picture: options.Picture = None,
) -> None:
    """Show the time and energy of each configuration, and which is best. A configuration is best if no other needs both
    less time and less energy. Also says how well a fitted model describes the measurements.

    Example: adminkit power show --model resnet50 --plot
    """
    from adminkit.reports.power import power_report
    from adminkit.stats.power_curve import curves, models

    path = find_trace(db, config.load().db)
    way = Way(format.value, output, plot, picture)
    with reader(path) as trace:
        known = models(trace)
        if model is not None and model not in known:
            raise unknown_word("model", model, known)
        found = curves(trace, model, gpu, cap, batch)
        if known and not found:
            raise AdminkitError("no measurement matches", "leave out --gpu, --cap or --batch")
    emit(power_report(found, str(path), way.pictures), way)
