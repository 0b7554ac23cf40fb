"""adminkit site."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit.cli import options
from adminkit.render.format import plural
from adminkit.render.say import put, say

if TYPE_CHECKING:
    from adminkit.slurm.site import Site


class Form(StrEnum):
    """How a cluster is written down."""

    TOML = "toml"
    JSON = "json"


def site(
    site: options.SiteFile = None,
    format: Annotated[
        Form | None,
        typer.Option("--format", "-f", help="The format. Default: according to --output's suffix, else TOML."),
    ] = None,
    output: options.Output = None,
) -> None:
    """Describe the cluster as it is now, in a file for --site. Covers its queues, nodes, QOS and associations.

    Example: adminkit site --output site.toml
    """
    from adminkit.slurm.gather import Gathered, describe
    from adminkit.slurm.site_file import load_site

    gathered = describe() if site is None else Gathered(load_site(site))
    write_site(gathered.site, gathered.notes, format, output)


def write_site(cluster: Site, notes: Sequence[str], format: Form | None, output: Path | None) -> None:
    """The notes go to stderr, the site to `output` or stdout."""
    from adminkit.render.sink import write_aside
    from adminkit.slurm.site_file import site_text

    for note in notes:
        say(f"note: {note}")
    ending = Form.JSON if output is not None and output.suffix == ".json" else Form.TOML
    text = site_text(cluster, (format or ending).value)
    if output is None:
        put(text, end="")
        return
    write_aside(output, text.encode())
    say(
        f"wrote {output}: {plural(len(cluster.queues), 'queue')}, {plural(len(cluster.nodes), 'node')}, "
        f"{len(cluster.qos)} QOS, {plural(len(cluster.associations), 'association')}"
    )
