"""The batch script of a server. sbatch's options are words of its command line, so nothing in them becomes a line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from adminkit.job import SERVER_NAME


def script(words: Sequence[str], modules: Sequence[str] = ()) -> str:
    """A login shell that loads the modules and becomes the server."""
    lines = ["#!/bin/bash -l"]
    if modules:
        lines.append(f"module load -- {shlex.join(modules)}")
    return "\n".join([*lines, f"exec {shlex.join(words)}", ""])


def kernel_words(kernel: str | None) -> list[str]:
    """jupyter_server's words for the kernel of a notebook that names none."""
    return [] if kernel is None else [f"--MultiKernelManager.default_kernel_name={kernel}"]


def container_words(container: Sequence[str], image: str | None) -> list[str]:
    """What stands before a server whose profile has an image; {image} is replaced, in whatever word it stands."""
    return [] if image is None else [word.replace("{image}", image) for word in container]


def options(home: str, mark: str, exported: Sequence[str], asked: Sequence[str]) -> list[str]:
    """sbatch's words for one server: what the operator's profile asks for, and where the log goes.

    `mark`: by which the job is found again. `exported`: the variables that the job gets; sbatch's own environment holds
    their values, hidden from others.
    """
    return [
        f"--job-name={SERVER_NAME}",
        f"--comment={mark}",
        f"--chdir={home}",
        f"--output={home}/.jupyterhub-%j.log",
        f"--export={','.join(exported) or 'NONE'}",
        "--no-requeue",
        *asked,
    ]


def log_of(home: str, job_id: str) -> str:
    """Where the log of that job is."""
    return f"{home}/.jupyterhub-{job_id}.log"
