"""Faults of slurmctld and of a node."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Final

from tests.cluster.harness.checkpoint import TRAINER
from tests.faults.results import Outcome
from tests.faults.work import HEAD, Work, must, wait_for

#: Options, and the record that the shipped policy leaves in AdminComment; None where it refuses.
KINDS: Final = (
    (("-p", "gq", "--gres=gpu:1", "-t", "01:00:00"), "ak1:lim=3600,src=e"),
    (("-p", "gq", "--gres=gpu:1"), "ak1:lim=none,src=d,rules=gq-default"),
    (("-p", "gq-short", "--gres=gpu:1", "-t", "2-00:00:00"), None),
    (("-p", "gq", "--gres=gpu:1", "-t", "02:00:00", "-N", "2"), "ak1:lim=7200,src=e"),
)
_REFUSED: Final = "may ask for at most 03:00:00"
_PLACE: Final = "/home/aiko/ckpt"
_PREPARE: Final = f"""rm -rf {_PLACE}; mkdir {_PLACE}
cat >{_PLACE}/train.py <<'EOF'
{TRAINER}
EOF
chmod 755 {_PLACE}/train.py; chown -R aiko: {_PLACE}"""
#: What sbatch says where slurmctld is away: nobody refused anything.
_AWAY: Final = re.compile(
    r"[Cc]ontroller|Unexpected message|[Ss]ocket timed out|Connection re(?:fused|set)|Zero Bytes|temporarily unable"
)


@dataclass(frozen=True)
class Sent:
    """One submission and what its user read. `tries`: how often slurmctld was away."""

    kind: int
    job: int | None
    said: str
    tries: int


def slurmctld_restarted(work: Work) -> Outcome:
    """slurmctld is restarted twice while users submit jobs.

    Rules change or refuse some of the jobs, and some jobs earn points.
    """
    site = work.site
    loaded = r"grep -c 'adminkit: policy ' /site/aaic/log/slurmctld.log || true"
    work.sync()
    site.shell(
        HEAD,
        "runuser -u adminkit -- /adminkit/.venv/bin/adminkit incentives compute --out /var/lib/adminkit/tables"
        f" --db {work.db} && /adminkit/.venv/bin/adminkit incentives install --from /var/lib/adminkit/tables --apply",
    )
    before = int(site.shell(HEAD, loaded))
    sent: list[Sent] = []
    people = threading.Thread(target=lambda: sent.extend(_submitting(work, 60)))
    people.start()
    for _ in range(2):
        time.sleep(6)
        site.kill(HEAD, "slurmctld", "TERM")
    people.join(300)
    must(len(sent) == 60, f"only {len(sent)} submissions came back")
    for one in sent:
        expected = KINDS[one.kind][1]
        must((one.job is None) == (expected is None), f"{KINDS[one.kind][0]}: {one.said}")
        must(expected is not None or _REFUSED in one.said, f"refused without its text: {one.said}")
    accepted = {one.job: one.kind for one in sent if one.job is not None}
    for job, kind in accepted.items():
        record = _word(site.ask("scontrol", "-o", "show", "job", str(job)), "AdminComment")
        must(record == KINDS[kind][1], f"job {job} {KINDS[kind][0]}: AdminComment={record}")
    work.ended(accepted)
    points = _points(work)
    tries = sum(one.tries for one in sent)
    text = site.shell(HEAD, "grep 'adminkit: policy ' /site/aaic/log/slurmctld.log").splitlines()
    must(len(text) >= before + 2, f"the policy was loaded {len(text) - before} times since")
    said = re.sub(r"^\[[^]]*\] ", "", text[-1])
    notes = (
        f"60 submissions: {len(accepted)} accepted with their record, {60 - len(accepted)} refused by their rule; "
        f"attempts while slurmctld was down: {tries}",
        points,
    )
    return replace(work.judge(accepted), line=said, where="slurmctld.log", notes=notes)


def node_lost(work: Work) -> Outcome:
    """A job runs on two nodes. Just before the job gets its signal, one of the nodes loses network and power."""
    site = work.site
    site.shell("login", _PREPARE)
    words = (
        "-p",
        "gq",
        "--gres=gpu:1",
        "-t",
        "2",
        "-N2",
        "-w",
        "n1,n2",
        "--requeue",
        "--open-mode=append",
        "-o",
        f"{_PLACE}/out",
    )
    words = ("sbatch", "--parsable", *words)
    script = f"srun sh -c 'exec {_PLACE}/train.py {_PLACE}/log.$SLURM_PROCID runs=2 code=85'"
    done = site.run(*words, "--wrap", script, user="aiko", env={"ADMINKIT_CKPT": "TERM@75,requeue=3"})
    must(done.code == 0, done.err.decode())
    job = int(done.text.partition(";")[0])
    site.wait(job, "RUNNING", 30)
    others = work.jobs(3, "sleep 3")
    time.sleep(38)
    site.lose("n2")
    heard = f"grep -c heard {_PLACE}/log.0 || true"
    wait_for("the process on n1 to hear its signal", lambda: site.shell("login", heard) == "1", 60)
    wait_for("the job to be requeued or to run again", lambda: _restarts(work, job) >= 1, 150)
    site.find("n2")
    site.resume_node("n2")
    work.ended([job], 240)
    state = site.ask("sacct", "-n", "-X", "-D", "-P", "-o", "State,NodeList", "-j", str(job)).splitlines()
    out = site.shell("login", f"cat {_PLACE}/out")
    told = [one for one in out.splitlines() if "adminkit:" in one]
    must(told, f"the plugin said nothing: {out[-400:]}")
    must(state[-1].startswith("COMPLETED"), f"it ended as {state}")
    notes = (f"the job's runs: {', '.join(one.replace('|', ' on ') for one in state)}", *told[1:4])
    work.ended(others)
    return replace(work.judge([job, *others]), line=told[0], where="the job's output", notes=notes)


def _submitting(work: Work, number: int) -> Iterator[Sent]:
    users = cycle(("aiko", "ben", "chie", "dai"))
    for kind, user in zip(islice(cycle(range(len(KINDS))), number), users, strict=False):
        command = ("sbatch", "--parsable", "-o", "/dev/null", *KINDS[kind][0], "--wrap", "sleep 1")
        for tries in range(60):
            done = work.site.run(*command, user=user)
            said = done.err.decode(errors="replace")
            if done.code == 0:
                yield Sent(kind, int(done.text.partition(";")[0]), said, tries)
                break
            if not _AWAY.search(said):
                yield Sent(kind, None, said, tries)
                break
            time.sleep(0.5)


def _points(work: Work) -> str:
    """Points are still given by the slurmctld that was restarted."""
    site = work.site
    # sprio lists what waits for its turn: more nodes than are idle.
    full = site.submit("sleep 60", "-p", "free", "-N3", "--exclusive", "-t", "5", user="dai")
    site.wait(full, "RUNNING")
    job = site.submit("true", *KINDS[3][0], user="aiko")
    found: list[str] = []

    def listed() -> bool:
        head, *lines = site.run("sprio", "-l", "-j", str(job)).text.splitlines()
        found[:] = [line.split()[head.split().index("SITE")] for line in lines]
        return bool(found)

    wait_for("sprio to list a job that waits", listed, 30)
    site.ask("scancel", str(full), str(job))
    must(int(found[0]) > 0, f"no points for two nodes: {found[0]}")
    return f"a job on two nodes gets {found[0]} points in sprio's column SITE"


def _restarts(work: Work, job: int) -> int:
    return int(_word(work.site.ask("scontrol", "-o", "show", "job", str(job)), "Restarts") or 0)


def _word(shown: str, name: str) -> str:
    found = re.search(rf"\b{name}=(\S*)", shown)
    return found[1] if found else ""
