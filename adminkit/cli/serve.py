"""adminkit serve: the trace in a web browser."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.operators import SERVE, operators_only
from adminkit.errors import AdminkitError, UsageError
from adminkit.owner import of_somebody_else
from adminkit.render.say import say
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.units import parse_duration

Socket = Annotated[
    Path | None,
    typer.Option(
        "--socket",
        metavar="PATH",
        help="The Unix socket. Default: that of adminkit-serve.service, in /run/adminkit-serve.",
    ),
]
Tcp = Annotated[
    int | None,
    typer.Option(
        "--tcp",
        metavar="PORT",
        min=0,
        max=65535,
        help="Serve on this port of 127.0.0.1 instead, protected by a token; 0: any free port.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="The file that holds the token (mode 0600); created if missing. Default: make a new token and print it.",
    ),
]
Host = Annotated[
    list[str] | None,
    typer.Option(
        "--host", metavar="NAME", help="A host name, besides localhost, that a proxy may send in the Host header."
    ),
]
Limit = Annotated[str, typer.Option("--time-limit", metavar="TIME", help="The time limit of each query.")]
Base = Annotated[str, typer.Option("--base-url", metavar="PATH", help="The path under which a proxy serves the pages.")]


def serve(
    db: options.Database = None,
    socket: Socket = None,
    tcp: Tcp = None,
    token_file: TokenFile = None,
    host: Host = None,
    time_limit: Limit = "10s",
    base_url: Base = "/",
) -> None:
    """Serve the trace read-only to browsers, with Datasette. Saved queries give the numbers in the reports. Runs
    until it is interrupted.

    Example: adminkit serve --tcp 8001
    """
    from adminkit.integrations import datasette_sockets as sockets
    from adminkit.integrations.datasette import application
    from adminkit.integrations.datasette_gate import Gate
    from adminkit.integrations.datasette_watch import GRACE, Watch

    if tcp is not None and socket is not None:
        raise UsageError("--tcp and --socket cannot be combined", "name one of them")
    if token_file is not None and tcp is None:
        raise UsageError("--token-file needs --tcp", "leave it out: the mode of a socket says who may connect")
    if (seconds := parse_duration(time_limit)) < 1:
        raise UsageError(f"--time-limit {time_limit} is not a time", "write for example: 10s")
    if not re.fullmatch(r"/(?:[\w.~-]+/)*", base_url, re.ASCII):
        raise UsageError(f"--base-url {base_url} is not a path", "begin and end it with a slash: /adminkit/")
    settings = config.load()
    path = find_trace(db, settings.db)
    operators_only(path, SERVE)
    if os.geteuid() == 0 and of_somebody_else(path):
        raise AdminkitError(
            "root does not serve another user's trace",
            "systemctl start adminkit-serve, or: runuser -u adminkit -- adminkit …",
        )
    with reader(path):  # it has looked at the file, and stays: -shm is never without a process that has it open
        watch = Watch(seconds + GRACE)
        served = application(path, settings, time_limit=seconds, base_url=base_url, watch=watch)
        watch.start()
        if tcp is None:
            place = socket or sockets.SYSTEM_SOCKET
            with sockets.unix_socket(place, path) as listening:
                _say(f"{path} is served on {place}; Ctrl-C ends it")
                sockets.run(Gate(served, host or ()), listening)
            return
        token = sockets.token_of(token_file)
        with sockets.tcp_socket(tcp) as listening:
            where = f"http://127.0.0.1:{listening.getsockname()[1]}{base_url}"
            _say(f"{path} is served on {where}; Ctrl-C ends it")
            _say(f"token: {token}" if token_file is None else f"the token is in {token_file}")
            sockets.run(Gate(served, host or (), token), listening)


def _say(text: str) -> None:
    say(text)
