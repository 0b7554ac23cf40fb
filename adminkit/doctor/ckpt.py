"""doctor's lines on the checkpoint plugin: its line in plugstack.conf, its release, the nodes, what it relies on."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from adminkit.doctor.check import Line
from adminkit.errors import AdminkitError, cause
from adminkit.render.format import plural, some
from adminkit.slurm import plugstack, release

PLUGIN: Final = "adminkit_ckpt.so"
#: Under these the tests of the plugin run. proctrack/pgid loses sight of a process that makes a group of its own.
TRIED: Final = ("proctrack/cgroup", "proctrack/linuxproc")
#: The plugin's code where its line names none, as in spank/ckpt/options.h.
DEFAULT_CODE: Final = 85
BUILD: Final = "build it with this release's headers and install it: make -C spank install"


def checkpoints(code: int) -> Iterator[Line]:
    """Every line; one alone where the plugin is not in use. AdminkitError without slurmctld.

    `code` is [checkpoint] code of the settings.
    """
    setup = plugstack.setup()
    if setup.plugstack is None:
        yield "ckpt", "ok", "not in use: slurmctld names no PlugStackConfig", ""
        return
    lines = list(plugstack.plugin_lines(setup.plugstack, PLUGIN, setup.folders))
    if not lines:
        yield "ckpt", "ok", f"not in use: {setup.plugstack} of this host has no line for {PLUGIN}", ""
        return
    yield _line(lines)
    yield _code(lines[0], code)
    yield _file(lines[0].path)
    yield _nodes()
    yield _kill(setup)


def _line(lines: Sequence[plugstack.Line]) -> Line:
    places = ", ".join(f"{one.file}:{one.number}" for one in lines)
    if required := next((one for one in lines if one.required), None):
        return (
            "ckpt", "warn", f"required in {required.file}:{required.number}",
            "write `optional` there: where the plugin cannot be loaded, a required one fails jobs and drains nodes",
        )  # fmt: skip
    if len(lines) > 1:
        return "ckpt", "warn", f"in several lines: {places}", "leave one of them: Slurm loads each"
    return "ckpt", "ok", f"optional in {places}", ""


def _code(line: plugstack.Line, code: int) -> Line:
    """The plugin puts a job back by the code of its line; letters and points know it by the settings'."""
    said = line.value("code") or ""
    plugins = int(said) if said.isascii() and said.isdigit() and 1 <= int(said) <= 127 else DEFAULT_CODE
    if plugins == code:
        return "ckpt code", "ok", f"{code} means that there is more to do", ""
    return (
        "ckpt code", "warn", f"the plugin puts back what ends with {plugins} ({line.file}:{line.number}),"
        f" letters and points know {code} ([checkpoint] code)",
        f"write [checkpoint] code = {plugins}, or code={code} in plugstack.conf on every node",
    )  # fmt: skip


def _file(path: Path) -> Line:
    """Trap: it runs as root inside slurmstepd, so whoever may write it is root."""
    try:
        built, running = plugstack.built_for(path), release.release()
        unsafe = path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH) or path.stat().st_uid != 0
    except AdminkitError as error:
        return "ckpt file", "missing", error.message, error.hint
    except OSError as error:
        return "ckpt file", "missing", f"{path}: {cause(error)}", BUILD
    found = f"{path}, built for Slurm {release.show_release(built)}"
    if built[:2] != running[:2]:
        found += f", and this is {release.show_release(running)}: Slurm leaves it out, and no job is warned"
        return "ckpt file", "missing", found, BUILD
    if unsafe:
        return (
            "ckpt file",
            "warn",
            f"{found}, can be written by others than root",
            f"chown root {path}; chmod 0755 {path}",
        )
    return "ckpt file", "ok", found, ""


def _nodes() -> Line:
    """This host is all that can be looked at; of the others slurmctld knows the release."""
    names = {socket.gethostname(), socket.gethostname().partition(".")[0]}
    try:
        every, ours = plugstack.nodes(), release.release()
    except AdminkitError as error:
        return "ckpt nodes", "warn", error.message, error.hint
    others = [node for node in every if node.host not in names and node.host.partition(".")[0] not in names]
    here = f"this host is {some([node.name for node in every if node not in others]) or 'no node'}"
    strange = [node for node in others if _other_release(node.release, ours)]
    if strange:
        found = ", ".join(f"{node.name} {node.release}" for node in strange[:6])
        return (
            "ckpt nodes", "warn", f"{here}; {plural(len(strange), 'node')} of another release: {found}",
            "a plugin serves one release: those nodes need a file of their own, built with their headers",
        )  # fmt: skip
    if others:
        seen = some([node.name for node in others])
        return (
            "ckpt nodes", "ok", f"{here}; not looked at, of the same release: {plural(len(others), 'node')} ({seen})",
            "run `adminkit doctor` there, or compare the file: a node without it runs jobs and warns none",
        )  # fmt: skip
    return "ckpt nodes", "ok", here, ""


def _other_release(text: str, ours: release.Release) -> bool:
    try:
        return release.parse_release(text)[:2] != ours[:2]
    except AdminkitError:
        return False


def _kill(setup: plugstack.Setup) -> Line:
    """How the plugin finds the processes of a step."""
    found = setup.proctrack or "ProctrackType is not known"
    if setup.proctrack not in TRIED:
        return "ckpt steps", "warn", found, f"tried with {' and '.join(TRIED)}; others may lose sight of processes"
    if setup.proctrack == "proctrack/linuxproc":
        return "ckpt steps", "ok", f"{found}: processes are found by their parents", ""
    found += f", {setup.cgroup or 'CgroupPlugin not known'}"
    if setup.cgroup == "disabled":
        return "ckpt steps", "warn", found, "proctrack/cgroup needs cgroups: see CgroupPlugin in cgroup.conf"
    if not _cgroups():
        return (
            "ckpt steps", "warn", f"{found}, and this host has neither cgroup v2 nor v1's freezer mounted",
            "on a node: mount it, or set CgroupPlugin in cgroup.conf; on a host without slurmd this is as it should be",
        )  # fmt: skip
    return "ckpt steps", "ok", f"{found}: processes are found in the step's cgroup", ""


def _cgroups(mounts: Path = Path("/proc/self/mounts")) -> bool:
    """Whether a hierarchy is mounted in which proctrack/cgroup puts steps."""
    if not os.access(mounts, os.R_OK):
        return True
    rows = [line.split() for line in mounts.read_text("utf-8", "replace").splitlines()]
    return any(
        row[2] == "cgroup2" or (row[2] == "cgroup" and "freezer" in row[3].split(",")) for row in rows if row[3:]
    )
