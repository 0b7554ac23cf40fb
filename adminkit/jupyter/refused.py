"""Why a server did not start: as text for an API, as HTML for the page."""

from __future__ import annotations

import html
from collections.abc import Sequence

from tornado import web


class Refused(web.HTTPError):
    """What the hub shows: `jupyterhub_message` to programs, `jupyterhub_html_message` on the page."""

    def __init__(self, message: str, lines: Sequence[str] = (), *, status: int = 409) -> None:
        """`lines`: of a log. `status`: 4xx where Slurm said no, which the hub does not count as its failure."""
        self.jupyterhub_message = "\n".join([message, *lines])
        shown = f"<p>{html.escape(message)}</p>"
        if lines:
            shown += f"<pre>{html.escape(chr(10).join(lines))}</pre>"
        self.jupyterhub_html_message = shown
        super().__init__(status, self.jupyterhub_message.replace("%", "%%"))
        self.reason = "Not started"
