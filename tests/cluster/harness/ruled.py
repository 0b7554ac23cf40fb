"""A cluster whose submissions adminkit decides: rules put in place by the command itself, and what users then read."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tests.cluster.harness import warm
from tests.cluster.harness.cluster import Cluster, Word
from tests.cluster.harness.processes import until

ADMINKIT = warm.ADMINKIT
HEAD = 'version = 1\nlanguages = ["en"]\n'
_JOB = re.compile(rb"(?:Submitted batch job|job|allocation|^)\s*(\d+)", re.MULTILINE)
_WORD = re.compile(r"(\S+?)=(.*?)(?= +\S+?=|$)")


def rule(name: str, queue: str, **keys: object) -> str:
    """A rule of policy.toml for one queue. `from_` is `from`."""
    lines = ["[[rules]]", f'name = "{name}"', f'queues = ["{queue}"]']
    for key, value in keys.items():
        lines.append(f"{key.rstrip('_')} = {value if isinstance(value, date) else json.dumps(value)}")
    return "\n".join([*lines, "", ""])


def at_most(hours: int) -> str:
    """A rule: gq takes so many hours."""
    return rule("gq-max", "gq", max_limit=f"{hours:02d}:00:00")


#: gq-short is lowered to an hour.
SHORT_MAX = rule("short-max", "gq-short", max_limit="01:00:00", action="amend")


@dataclass(frozen=True)
class Said:
    """What a submission said to its user: every line without the program's name and "error:"."""

    code: int
    job: int | None
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def accepted(self) -> bool:
        return self.code == 0


class Ruled:
    """A booted cluster with JobSubmitPlugins=lua."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.folder = cluster.home
        self.inner = cluster.home / "adminkit"
        self.policy = cluster.folder / "policy.toml"
        self.acts = cluster.folder / "acts.jsonl"
        self.text = ""

    def adminkit(
        self, *words: Word, code: int | None = 0, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A command as root of this host; its exit code has to be `code`, None for any."""
        whole = {
            **self.cluster.env(), "ADMINKIT_CONFIG": "", "ADMINKIT_ACTS": str(self.acts),
            "PATH": f"{ADMINKIT.parent}:{self.cluster.env()['PATH']}", **(env or {}),
        }  # fmt: skip
        done = warm.run([str(word) for word in words], whole)
        assert code is None or done.returncode == code, f"{done.stdout}\n{done.stderr}\n{self.tail()}"
        return done

    def rules(self, text: str, *words: Word) -> None:
        """Have these rules in force; `text` follows the head of the file. Nothing is done where they are already."""
        whole = text if text.startswith("version") else HEAD + text
        self.policy.write_text(whole)
        if whole != self.text or words:
            self.text = ""
            self.adminkit("policy", "install", "--apply", "--policy", self.policy, *words)
            self.text = whole

    def sbatch(self, *options: Word, user: str | None = "games", script: str = "true") -> Said:
        """Submit a held job; nothing of it ever runs."""
        return self.run("sbatch", "-H", "-o", "/dev/null", *options, "--wrap", script, user=user)

    def most(self) -> int | None:
        """The hours that gq takes now under at_most(), as a user finds out; None where nothing is refused."""
        refused = self.sbatch("--test-only", "-p", "gq", "-t", "71:00:00")
        found = re.search(r"may ask for at most (\d+):00:00", refused.text)
        return int(found.group(1)) if found else None

    def run(self, *command: Word, user: str | None = "games", env: Mapping[str, str] | None = None) -> Said:
        done = self.cluster.run(*command, user=user, env=env)
        lines = []
        for line in (done.err + done.out).decode(errors="replace").splitlines():
            lines.append(re.sub(r"^(?:sbatch|srun|salloc|scontrol): (?:error: )?", "", line))
        found = _JOB.search(done.out + done.err) if done.code == 0 else None
        return Said(done.code, int(found.group(1)) if found else None, tuple(lines))

    def job(self, job: int | None, user: str | None = None) -> dict[str, str]:
        """What slurmctld knows of a job, as scontrol words it; of an array or a het job, of its first part."""
        assert job is not None
        text = self.cluster.ask("scontrol", "-o", "show", "job", str(job), user=user)
        return dict(_WORD.findall(re.split(r"\n(?=JobId=)", text)[0].replace("\n", " ")))

    def update(self, job: int | None, *changes: str, user: str | None = "games") -> Said:
        assert job is not None
        return self.run("scontrol", "update", f"JobId={job}", *changes, user=user)

    def log(self, since: int = 0) -> str:
        """slurmctld's log from this byte on."""
        return self._log_path.read_bytes()[since:].decode(errors="replace")

    def log_size(self) -> int:
        return self._log_path.stat().st_size

    def wait_for_log(self, words: str, since: int, seconds: float = 60.0) -> None:
        until(f"slurmctld's log to say {words!r}", lambda: words in self.log(since), seconds)

    @property
    def _log_path(self) -> Path:
        return self.cluster.home / "log" / "slurmctld.log"

    def clear(self) -> None:
        """Cancel whatever is there."""
        jobs = self.cluster.ask("squeue", "-h", "-a", "-o", "%A").split()
        if jobs:
            self.cluster.run("scancel", *sorted(set(jobs)))

    def tail(self) -> str:
        return self.cluster.tail("slurmctld.log")

    def alive(self) -> bool:
        return b"is UP" in self.cluster.run("scontrol", "ping").out


@contextmanager
def ruling(cluster: Cluster, *more: str) -> Iterator[Ruled]:
    """The way a site takes: the first install, then JobSubmitPlugins=lua; `more` are further lines of slurm.conf."""
    ruled = Ruled(cluster)
    ruled.policy.write_text(HEAD)
    first = ruled.adminkit("policy", "install", "--apply", "--policy", ruled.policy, code=1)
    assert "slurm.conf lacks JobSubmitPlugins=lua" in first.stderr, first.stderr
    with (cluster.home / "slurm.conf").open("a") as conf:
        conf.write("\n".join(("JobSubmitPlugins=lua", *more, "")))
    second = ruled.adminkit("policy", "install", "--apply", "--policy", ruled.policy, code=1)
    assert "slurm.conf has JobSubmitPlugins=lua, but slurmctld runs without it yet" in second.stderr, second.stderr
    assert "runs without it yet" in ruled.adminkit("policy", "status", code=1).stdout
    cluster.restart_ctld()
    cluster.until_idle()
    ruled.adminkit("policy", "status")
    yield ruled
