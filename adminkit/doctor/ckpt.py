"""doctor's checks of the checkpoint plugin: its line in plugstack.conf, its release, the nodes, what it relies on."""

from __future__ import annotations

import socket
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from adminkit.doctor import step_cgroups
from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError, cause
from adminkit.policy.extend_checks import SignalLead
from adminkit.render.format import plural, some
from adminkit.slurm import plugstack, release
from adminkit.slurm.requeue import requeue_delay

PLUGIN: Final = "adminkit_ckpt.so"
#: The plugin is tested under these. proctrack/pgid loses a process that makes a process group of its own.
TESTED: Final = ("proctrack/cgroup", "proctrack/linuxproc")
#: CgroupPlugin -> the hierarchy that it needs.
_WANTED: Final = {"cgroup/v1": "the freezer of cgroup v1", "cgroup/v2": "cgroup v2"}
#: The plugin's exit code where its line has no code=, as in spank/ckpt/options.h.
DEFAULT_CODE: Final = 85
#: Seconds; the lead of its signal where its line has none, and the longest, as there.
DEFAULT_LEAD: Final = 300
MOST_LEAD: Final = 86_400
#: Seconds. Slurm keeps a job that was put back from starting; what is longer is worth a setting.
LONG_RESTART: Final = 30
BUILD: Final = "build it with this release's headers and install it: make -C spank install"


def checkpoints(code: int) -> Iterator[Check]:
    """Every check; a single one where the plugin is not in use. AdminkitError without slurmctld.

    `code` is [checkpoint] code of the settings.
    """
    setup = plugstack.setup()
    if setup.plugstack is None:
        yield Check("ckpt", "ok", "not in use: slurmctld names no PlugStackConfig")
        return
    lines = list(plugstack.plugin_lines(setup.plugstack, PLUGIN, setup.folders))
    if not lines:
        yield Check("ckpt", "ok", f"not in use: {setup.plugstack} of this host has no line for {PLUGIN}")
        return
    yield _line(lines)
    yield _code(lines[0], code)
    yield _file(lines[0].path)
    yield _nodes()
    yield _kill(setup)
    yield _restart()


def signal_lead() -> SignalLead | None:
    """How long before the end a job is signalled that does not say it; None where the plugin is not in use here, or its
    line does not say it in a way that the plugin understands. AdminkitError without slurmctld.
    """
    setup = plugstack.setup()
    lines = [] if setup.plugstack is None else list(plugstack.plugin_lines(setup.plugstack, PLUGIN, setup.folders))
    return _signal_lead(lines[0]) if lines else None


def _signal_lead(line: plugstack.Line) -> SignalLead | None:
    _, _, word = (line.value("signal") or f"TERM@{DEFAULT_LEAD}").partition("@")
    numbers = [word or str(DEFAULT_LEAD), line.value("min_lead") or "1", line.value("max_lead") or str(MOST_LEAD)]
    if not all(one.isascii() and one.isdigit() and len(one) <= 6 and 1 <= int(one) <= MOST_LEAD for one in numbers):
        return None
    lead, least, most = map(int, numbers)
    return SignalLead(min(max(lead, least), most), f"{line.file}:{line.number}")


def _line(lines: Sequence[plugstack.Line]) -> Check:
    places = ", ".join(f"{one.file}:{one.number}" for one in lines)
    if required := next((one for one in lines if one.required), None):
        return Check(
            "ckpt",
            "warn",
            f"required in {required.file}:{required.number}",
            "write `optional` there: a required plugin that cannot be loaded fails jobs and drains nodes",
        )
    if len(lines) > 1:
        return Check(
            "ckpt", "warn", f"in several lines: {places}", "remove all but one: Slurm loads the plugin once for each"
        )
    return Check("ckpt", "ok", f"optional in {places}")


def _code(line: plugstack.Line, code: int) -> Check:
    """The plugin requeues by the exit code in its line; letters and points know such a run by that of the settings."""
    word = line.value("code") or ""
    plugins = int(word) if word.isascii() and word.isdigit() and 1 <= int(word) <= 127 else DEFAULT_CODE
    if plugins == code:
        return Check("ckpt code", "ok", f"exit code {code} means that there is more to do")
    return Check(
        "ckpt code",
        "warn",
        f"the plugin requeues jobs that exit with {plugins} ({line.file}:{line.number}),"
        f" letters and points expect {code} ([checkpoint] code)",
        f"set [checkpoint] code = {plugins} in adminkit.toml, or code={code} in plugstack.conf on every node",
    )


def _file(path: Path) -> Check:
    """Trap: it runs as root inside slurmstepd, so whoever can write the file is root."""
    try:
        built, running = plugstack.built_for(path), release.release()
        unsafe = path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH) or path.stat().st_uid != 0
    except AdminkitError as error:
        return Check("ckpt file", "missing", error.message, error.hint)
    except OSError as error:
        return Check("ckpt file", "missing", f"{path}: {cause(error)}", BUILD)
    found = f"{path}, built for Slurm {release.show_release(built)}"
    if built[:2] != running[:2]:
        found += f", this is {release.show_release(running)}: Slurm does not load it, and no job is warned"
        return Check("ckpt file", "missing", found, BUILD)
    if unsafe:
        return Check(
            "ckpt file", "warn", f"{found}; users other than root can write it", f"chown root {path}; chmod 0755 {path}"
        )
    return Check("ckpt file", "ok", found)


def _nodes() -> Check:
    """Check the file on this host; for the other nodes, the release that slurmctld knows."""
    names = {socket.gethostname(), socket.gethostname().partition(".")[0]}
    try:
        every, ours = plugstack.nodes(), release.release()
    except AdminkitError as error:
        return Check("ckpt nodes", "warn", error.message, error.hint)
    others = [node for node in every if node.host not in names and node.host.partition(".")[0] not in names]
    here = f"this host is {some([node.name for node in every if node not in others]) or 'no node'}"
    differing = [node for node in others if _other_release(node.release, ours)]
    if differing:
        names_and_releases = ", ".join(f"{node.name} {node.release}" for node in differing[:6])
        return Check(
            "ckpt nodes",
            "warn",
            f"{here}; {plural(len(differing), 'node')} of another release: {names_and_releases}",
            "a plugin works with one release: build it for those nodes with the headers of their release",
        )
    if others:
        unseen = some([node.name for node in others])
        return Check(
            "ckpt nodes",
            "ok",
            f"{here}; not checked, with the same release: {plural(len(others), 'node')} ({unseen})",
            "run `adminkit doctor` there, or compare the file: a node without the plugin runs jobs but does not warn"
            " them",
        )
    return Check("ckpt nodes", "ok", here)


def _other_release(text: str, ours: release.Release) -> bool:
    try:
        return release.parse_release(text)[:2] != ours[:2]
    except AdminkitError:
        return False


def _kill(setup: plugstack.Setup) -> Check:
    """How the plugin finds the processes of a step, by ProctrackType."""
    found = setup.proctrack or "ProctrackType unknown"
    if setup.proctrack not in TESTED:
        return Check(
            "ckpt steps",
            "warn",
            found,
            f"the plugin is tested with {' and '.join(TESTED)}; another ProctrackType may miss processes",
        )
    if setup.proctrack == "proctrack/linuxproc":
        return Check("ckpt steps", "ok", f"{found}: processes are found by their parents")
    found += f", {setup.cgroup or 'CgroupPlugin unknown'}"
    if setup.cgroup == "disabled":
        return Check("ckpt steps", "warn", found, "proctrack/cgroup needs cgroups: see CgroupPlugin in cgroup.conf")
    seen = step_cgroups.look(setup.cgroup)
    if seen is None:
        return Check("ckpt steps", "ok", f"{found}; what this host has mounted cannot be read")
    if seen.version is None:
        return Check(
            "ckpt steps",
            "warn",
            f"{found}; this host has not mounted {_WANTED.get(setup.cgroup or '', 'cgroup v2 or the freezer of v1')}",
            "on a node, mount it or set CgroupPlugin in cgroup.conf; a host without slurmd needs neither",
        )
    found += f"; version {seen.version} is mounted here"
    if seen.unknown:
        return Check(
            "ckpt steps",
            "warn",
            f"{found}, with job folders whose names the plugin does not know: {some(seen.unknown)}",
            "there, processes are found by their parents, and a process whose parents have ended gets no signal: a"
            " newer adminkit may know the names; CgroupJobIdPaths=yes in cgroup.conf (26.05) brings back the old names",
        )
    if not seen.jobs:
        return Check("ckpt steps", "ok", f"{found}; no job runs here, so the names of its folders were not seen")
    many = plural(len(seen.jobs), "job")
    return Check("ckpt steps", "ok", f"{found}, {many} by {seen.naming}: processes without a parent are found too")


def _restart() -> Check:
    delay = requeue_delay()
    found = f"a restart costs {delay.seconds} s here, by {delay.by}"
    if delay.seconds <= LONG_RESTART:
        return Check("ckpt restart", "ok", found)
    if not delay.settable:
        return Check("ckpt restart", "ok", f"{found}; Slurm 25.11 and later can shorten it with requeue_delay")
    return Check(
        "ckpt restart",
        "warn",
        found,
        "add requeue_delay=5 to SchedulerParameters in slurm.conf, then: scontrol reconfigure; a restart then costs 6"
        " s",
    )
