"""The command `adminkit` itself, before any other is put below it."""

from __future__ import annotations

from typing import Annotated

import typer

import adminkit
from adminkit.cli.group import Listing
from adminkit.render.say import hush, put
from adminkit.trace.schema import SCHEMA_VERSION


def empty() -> typer.Typer:
    """`adminkit` without commands."""
    app = typer.Typer(
        cls=Listing,
        name="adminkit",
        help="The Slurm operator's kit for honest time limits.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        put(f"adminkit {adminkit.__version__} (trace schema {SCHEMA_VERSION})")
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the release and the schema version."),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            help="Print only rows and errors: no header, notes or progress. Must come before the command.",
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the Python traceback of an error.")] = False,
) -> None:
    """The Slurm operator's kit for honest time limits."""
    hush(quiet)
