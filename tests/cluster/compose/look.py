"""`python -m tests.cluster.compose check RELEASE`: whether a site that is up does all it is said to do."""

from __future__ import annotations

import json
import re
import time
from typing import Final

from tests.cluster.compose import feed, site
from tests.cluster.compose.host import ADMINKIT, PARTS, Site
from tests.cluster.harness.checkpoint import TRAINER
from tests.cluster.harness.config import PARTITIONS
from tests.cluster.harness.processes import ClusterError, until

_TRACE: Final = "/var/lib/adminkit/trace.db"
#: Runs in the trace, and those that have ended.
_COUNTED: Final = f"""import sqlite3
trace = sqlite3.connect("file:{_TRACE}?mode=ro", uri=True)
print(trace.execute("SELECT count(*), count(end_time) FROM job").fetchone())"""
_TRAIN: Final = f"cat >train.py <<'EOF'\n{TRAINER}\nEOF\nchmod +x train.py; rm -f log"


def check(here: Site) -> None:
    """Print a line for each; ClusterError where one does not hold."""
    began = time.monotonic()
    for look in (_nodes, _queues, _people, _policy, _kinds, plugin, _trace, _choices, _mail, _points):
        print(f"{look.__name__.lstrip('_'):8} {look(here)}  ({time.monotonic() - began:.0f} s)", flush=True)


def _must(holds: object, why: str) -> None:
    if not holds:
        raise ClusterError(why)


def _nodes(here: Site) -> str:
    found = sorted(here.ask("sinfo", "-h", "-N", "-p", "gq", "-o", "%N %G").splitlines())
    _must(found == [f"{name} gpu:8" for name in site.NODES], f"nodes: {found}")
    return ", ".join(found)


def _queues(here: Site) -> str:
    found = here.ask("sinfo", "-h", "-o", "%P %l").replace("*", "").split("\n")
    wanted = {f"{name} {longest.removeprefix('0')}" for name, _, longest in PARTITIONS[:4]}
    _must(wanted <= {line.replace(" 03:", " 3:") for line in found}, f"queues: {found}")
    return ", ".join(sorted(wanted))


def _people(here: Site) -> str:
    """The same uid on every host, an account in slurmdbd, a shell on the login node."""
    for at, (name, account) in enumerate(site.PEOPLE.items()):
        uids = {here.run("id", "-u", name, part=part).text for part in PARTS}
        _must(uids == {str(site.FIRST_UID + at)}, f"{name}: {uids}")
        known = here.ask("sacctmgr", "-n", "-P", "show", "assoc", f"user={name}", "format=account")
        _must(known == account, f"{name} is in {known}")
        shell = here.run("bash", "-lc", "pwd; which sbatch adminkit", user=name).text.split()
        _must(shell[:1] == [f"/home/{name}"] and len(shell) == 3, f"{name}'s shell: {shell}")
    return ", ".join(site.PEOPLE)


def _policy(here: Site) -> str:
    refused = here.run("sbatch", "-p", "gq-short", "--gres=gpu:1", "-t", "9:00:00", "--wrap", "true", user="aiko")
    said = refused.err.decode().splitlines()[0]
    _must(refused.code and "may ask for at most 03:00:00" in said, f"not refused: {said}")
    return said


def _kinds(here: Site) -> str:
    """One job of each kind that goes in all day: in its state at the end, or refused where it should be."""
    ids: dict[int, set[str]] = {}
    refused = 0
    for _, options, script, longest in feed.KINDS:
        command = (
            "sbatch",
            "--parsable",
            "-o",
            "/dev/null",
            *options,
            "--wrap",
            script.format(seconds=min(longest, 5)),
        )
        done = here.run(*command, user="ben")
        if done.code:
            refused += 1
            continue
        wanted = "FAILED" if "exit 3" in script else "TIMEOUT" if options[:2] == ("-p", "debug") else "COMPLETED"
        ids[int(done.text.partition(";")[0])] = {wanted}
    for job, states in ids.items():
        here.wait(job, seconds=240)
        _must(set(here.states(job)) == states, f"job {job} is {here.states(job)}, not {states}")
    _must(refused == 1, f"{refused} of the kinds are refused: one asks for more than its queue takes")
    return f"{len(ids)} ended as they should, {refused} refused"


def plugin(here: Site) -> str:
    """A job that asks for the signal hears it, leaves with 85 and runs again."""
    here.run("sh", "-ec", _TRAIN, user="chie")
    words = ("sbatch", "--parsable", "--open-mode=append", "-o", "out", "-p", "gq", "--gres=gpu:1", "-t", "1")
    env = {"ADMINKIT_CKPT": "TERM@20,requeue=2"}
    done = here.run(*words, "--wrap", "./train.py log runs=2 code=85", user="chie", env=env)
    _must(done.code == 0, done.err.decode())
    here.wait(int(done.text.partition(";")[0]), "COMPLETED", 240)
    log = here.run("cat", "log", user="chie").text
    _must(re.findall(r"^\w+", log, re.MULTILINE) == ["start", "heard", "start"], f"it wrote {log}")
    return next(line for line in here.run("cat", "out", user="chie").text.splitlines() if "adminkit:" in line)


def _trace(here: Site) -> str:
    """What the timers brought in."""

    def grown() -> int:
        said = here.run(str(ADMINKIT), "trace", "status", "-f", "json", part="slurmctld", user=site.OPERATOR)
        rows = json.loads(said.text or '{"rows": []}')["rows"]
        return len(rows)

    until("the timer of sync", grown, 120, pause=2)
    seen: list[str] = []

    def enough() -> bool:
        seen[:] = re.findall(r"\d+", here.run("python3", "-c", _COUNTED, part="slurmctld").text)
        return len(seen) == 2 and int(seen[1]) > 8

    until("ended runs in the trace", enough, 180, pause=3)
    return f"{seen[0]} runs, {seen[1]} ended"


def _choices(here: Site) -> str:
    """What a user chooses on the login node is what the admin host reads; its doctor has nothing to say against it."""
    chosen = here.run(str(ADMINKIT), "feedback", "prefs", "--letters", "never", user="dai")
    _must(chosen.code == 0, chosen.err.decode())
    uid = site.FIRST_UID + list(site.PEOPLE).index("dai")
    asked = (
        f"from adminkit.feedback.prefs import read; from pathlib import Path; print(read(Path('{site.PREFS}'), {uid}))"
    )
    words = (str(ADMINKIT.with_name("python")), "-c", asked)
    found = here.run(*words, part="slurmctld", user=site.OPERATOR).text
    _must("letters='never'" in found, f"the admin host reads {found}")
    said = here.run(str(ADMINKIT), "doctor", "-f", "json", part="slurmctld", user=site.OPERATOR)
    checks = {row["check"]: row for row in json.loads(said.text)["rows"]}
    _must(checks["choices"]["status"] == "ok", f"doctor: {checks['choices']}")
    return str(checks["choices"]["found"])


def _mail(here: Site) -> str:
    """A letter of one who asked for much more than was used."""
    subject = "grep -rhm1 ^Subject: /shared/mail/new /shared/mail/cur | head -1"
    until("a letter to arrive", lambda: here.run("sh", "-c", subject, part="mail").text, 420, pause=5)
    letters = here.run("sh", "-c", "ls /shared/mail/new | wc -l", part="mail").text
    return f"{letters} letters; {here.run('sh', '-c', subject, part='mail').text}"


def _points(here: Site) -> str:
    """The tables of points that the timers compute and install."""
    place = "/etc/slurm/adminkit/incentives.lua"
    until("points", lambda: here.run("test", "-s", place, part="slurmctld").code == 0, 400, pause=5)
    return place
