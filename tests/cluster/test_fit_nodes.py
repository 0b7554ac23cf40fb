"""`adminkit fit` of several nodes, whole nodes, features and licences, against what slurmctld then does."""

from __future__ import annotations

import json
import time
from typing import Any

from adminkit.cli.main import main
from adminkit.fit import ask
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.processes import until
from tests.cluster.harness.requests import USER, settled


def fit(cluster: Cluster, *words: str) -> tuple[dict[str, Any], list[str]]:
    ask.forget()
    file = cluster.work / "fit.json"
    assert main(["fit", "-f", "json", "--output", str(file), *words]) == 0
    found = json.loads(file.read_text())
    (row,) = found["rows"]
    return row, found["meta"]["notes"]


def run(cluster: Cluster, *words: str) -> None:
    cluster.wait(cluster.submit("sleep 900", "-t", "30", *words, user=USER), "RUNNING")


#: what is asked where n1 has six GPUs and CPUs in use and n2 four GPUs; the verdict; why
ASKED = [
    (("-N", "2", "--gpus-per-node", "4"), "now", None),
    (("-N", "3", "--gpus-per-node", "2"), "now", None),
    (("-N", "3", "--gpus-per-node", "3"), "later", "busy"),
    (("-N", "4"), "never", "size"),
    (("-N", "2", "--gpus-per-node", "9"), "never", "size"),
    (("-N", "3", "-c", "2"), "now", None),
    (("-N", "3", "-c", "3"), "later", "busy"),
    (("-N", "2", "--ntasks-per-node", "3", "-c", "2"), "now", None),
    (("-N", "3", "--ntasks-per-node", "3"), "later", "busy"),
    (("-n", "17"), "now", None),
    (("-n", "18"), "later", "busy"),
    (("-n", "25"), "never", "size"),
    (("-N", "2", "-n", "15"), "now", None),
    (("-N", "2", "-n", "16"), "later", "busy"),
    (("-N", "2", "-c", "4", "--mem-per-cpu", "15G"), "now", None),
    (("-N", "3", "-c", "2", "--mem-per-cpu", "31G"), "later", "busy"),
    (("--exclusive",), "now", None),
    (("-N", "2", "--exclusive"), "later", "busy"),
    (("-N", "2", "-C", "odd"), "now", None),
    (("-N", "3", "-C", "odd|even"), "now", None),
    (("-N", "2", "-C", "even"), "never", "size"),
    (("-C", "odd&even"), "never", "feature"),
    (("-C", "nosuch"), "never", "feature"),
    (("-C", "odd&first|even"), "room", None),
    (("-L", "tool:2"), "later", "licence"),
    (("-L", "tool:1"), "now", None),
    (("-L", "tool:4"), "never", "licence"),
    (("-L", "nosuch"), "never", "licence"),
]


def test_what_is_said_of_several_nodes_is_what_slurm_does(empty: Cluster) -> None:
    run(empty, "-w", "n1", "-N1", "-n6", "--gres=gpu:6", "-L", "tool:2")
    run(empty, "-w", "n2", "-N1", "-n1", "--gres=gpu:4")
    for words, verdict, why in ASKED:
        row, _ = fit(empty, "--user", USER, "-t", "20", *words)
        if verdict == "room":  # Slurm's order of & and | is not judged
            assert row["vectors"] == "unknown" and row["verdict"] != "now", (words, row)
            continue
        assert row["verdict"] == verdict and row["why"] == why, (words, row)
        if verdict == "later" and why == "busy":
            assert abs(row["at"] - time.time() - 1800) < 120, (words, row)
        nodes = () if {"-N", "-n"} & set(words) else ("-N1",)
        done = empty.run(
            "sbatch", "--parsable", "-o", "/dev/null", "-t", "20", *nodes, *words, "--wrap=sleep 900", user=USER
        )
        did = "never"
        if not done.code:
            job = int(done.text.partition(";")[0])
            did = settled(empty, job)
            empty.ask("scancel", str(job))
            until("it to have left", lambda job=job: not empty.ask("squeue", "-h", "-j", str(job)), 30.0)
        assert did == verdict or (verdict, did) == ("never", "later"), (words, did, done.text)


def test_a_job_that_waits_for_several_nodes_is_judged_by_them(empty: Cluster) -> None:
    run(empty, "-N3", "--gpus-per-node=6")
    job = empty.submit("sleep 900", "-N2", "--gpus-per-node=3", "-t", "20", user=USER)
    until("it to wait", lambda: empty.ask("squeue", "-h", "-j", str(job), "-o", "%r").strip() == "Resources", 90.0)
    row, notes = fit(empty, "--job", str(job))
    assert (row["verdict"], row["why"], row["vectors"], row["waiting"]) == ("later", "busy", "later", "later"), row
    assert abs(row["at"] - time.time() - 1800) < 120, row
    assert any(note.startswith("would start now: -p gq -N 2 --gpus-per-node 2") for note in notes), notes
    last = empty.submit("sleep 900", "-n", "24", "-t", "20", user=USER)  # all CPUs: of fewer backfill may start it
    until("it to wait", lambda: empty.ask("squeue", "-h", "-j", str(last), "-o", "%r").strip() != "None", 90.0)
    row, _ = fit(empty, "--job", str(last))
    assert row["vectors"] is None and row["method"] in (None, "slurm"), "how many of which nodes is Slurm's choice"


def test_a_waiting_job_with_a_feature_and_a_licence(empty: Cluster) -> None:
    run(empty, "-w", "n2", "-N1", "--exclusive")
    job = empty.submit("sleep 900", "-N1", "-C", "even", "-t", "20", user=USER)
    until("it to wait", lambda: empty.ask("squeue", "-h", "-j", str(job), "-o", "%r").strip() != "None", 90.0)
    row, _ = fit(empty, "--job", str(job))
    assert (row["verdict"], row["why"]) == ("later", "busy") and abs(row["at"] - time.time() - 1800) < 120, row
    row, _ = fit(empty, "--user", USER, "-N", "2", "-C", "odd", "-t", "20")
    assert row["waiting"] == "now", "the job that waits is placed on n2"
