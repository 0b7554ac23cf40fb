"""adminkit report …"""

from __future__ import annotations

import typer

app = typer.Typer(help="What the trace says.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def root() -> None:
    """What the trace says."""
