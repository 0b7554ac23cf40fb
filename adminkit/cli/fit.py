"""adminkit fit: whether a request can start now, when, or never, why, and what smaller one would."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adminkit.cli import options
from adminkit.errors import UsageError

Partition = Annotated[
    str | None, typer.Option("--partition", "-p", metavar="NAME", help="The queue. Default: Slurm's.")
]
Gpus = Annotated[str | None, typer.Option("--gpus", "-G", metavar="[TYPE:]N", help="GPUs, as for sbatch.")]
Cpus = Annotated[int, typer.Option("--cpus", "-c", min=1, metavar="N", help="CPUs.")]
Mem = Annotated[str | None, typer.Option("--mem", metavar="SIZE", help="Memory, as for sbatch: 4G; 500 is MiB.")]
Time = Annotated[
    str | None, typer.Option("--time", "-t", metavar="TIME", help="The limit, as for sbatch: 90 is minutes; 1:30:00.")
]
Account = Annotated[str | None, typer.Option("--account", "-A", metavar="NAME", help="The account it is for.")]
Qos = Annotated[str | None, typer.Option("--qos", "-q", metavar="NAME", help="The QOS.")]
Named = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="NAME", help="What this profile of `adminkit profiles` asks for, and nothing else."
    ),
]
File = Annotated[
    Path | None,
    typer.Option("--profiles", metavar="FILE", help="The profiles. Default: /etc/adminkit/profiles.toml."),
]
Who = Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="For this user. Default: you.")]


def fit(
    partition: Partition = None,
    gpus: Gpus = None,
    cpus: Cpus = 1,
    mem: Mem = None,
    time: Time = None,
    account: Account = None,
    qos: Qos = None,
    profile: Named = None,
    profiles: File = None,
    user: Who = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Say whether a job on one node can start now, when, or never, why, and what smaller one would start now."""
    from adminkit.fit.ask import answer
    from adminkit.fit.profiles import SYSTEM_PROFILES, load_profiles, named
    from adminkit.fit.request import request
    from adminkit.render.sink import Way, emit
    from adminkit.reports.fit import fit_report
    from adminkit.slurm.will_run import user_of

    who = user_of(user)
    if profile is None:
        asked = request(partition, cpus, mem, gpus, time, account, qos)
    elif (partition, cpus, mem, gpus, time, account, qos) == (None, 1, None, None, None, None, None):
        asked = named(load_profiles(profiles or SYSTEM_PROFILES), profile).request
    else:
        raise UsageError("a profile has its own size", "leave out --profile, or the options of the size")
    found = answer(asked, who)
    emit(fit_report([found], who.name), Way(format.value, output))
