"""The examples of docs/checkpoint.md as jobs: warned, put back, carried on, then in the trace as jobs of two runs.

All run at the same time, with a limit of a minute; each has work for a little more than that, the training for two.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.checkpoint import Watched, proctrack
from tests.cluster.harness.checkpoint import watched as watching
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.operator import adminkit, one
from tests.examples.running import FOLDER, TORCHRUN, digest, has_torch, script_for_here, start

pytestmark = [pytest.mark.cluster, pytest.mark.soak]

WISH = "TERM@20,requeue=3"
#: name -> (script, what it is given, options, wish, seconds for each step, what its output holds in the end)
SHAPES = {
    "bash": ("sum.sh", "70 state-bash", (), f"{WISH},target=shell", 1.0, ["the sum of 1 to 70 is 2485"]),
    "python": ("python.sbatch", "70 state-python", (), WISH, 1.0, ["the sum of 1 to 70 is 2485"]),
    "array": ("array.sbatch", "70 state-array", (), WISH, 1.0, ["the sum of 1 to 70 is 2485"] * 2),
    "two nodes": ("nodes.sbatch", "70 state-nodes", (), WISH, 1.0, ["the sum of 1 to 70 is 2485"] * 2),
    "torch": ("torch.sbatch", "900 torch", (), "TERM@20,requeue=9", 0.1, ["done after 900 steps"]),
    "torchrun": ("torchrun.sbatch", "300 ddp", (), "TERM@20,requeue=9", 0.15, ["done after 300 steps"]),
}
#: How often a training is put back at least: on a busy machine PyTorch takes long to start.
LEARNING = {"torch": 2, "torchrun": 1}


@dataclass
class Ran:
    """The jobs by the names of SHAPES; an array's is its first."""

    watched: Watched
    jobs: dict[str, int] = field(default_factory=dict)

    def output(self, name: str) -> str:
        work = self.watched.cluster.work
        return "".join(path.read_text(errors="replace") for path in sorted(work.glob(f"{name.replace(' ', '-')}.*out")))

    def restarts(self, name: str) -> int:
        return self.output(name).count("goes back into the queue (")


@pytest.fixture(scope="module")
def ran(outside: Listing) -> Iterator[Ran]:
    with private_slurm(proctrack()) as cluster:
        found = Ran(watching(cluster))
        found.watched.configure("quiet=5", "poll=5")
        for file in FOLDER.iterdir():
            shutil.copy(file, cluster.work)
        (cluster.work / "torchrun.sbatch").write_text(script_for_here(FOLDER / "torchrun.sbatch"))
        for name in ("torch", "ddp"):
            (cluster.work / name).mkdir()
            (cluster.work / name).chmod(0o777)
        for name, (script, given, options, wish, pause, _) in SHAPES.items():
            if name in LEARNING and not has_torch():
                continue
            output = f"{name.replace(' ', '-')}.{'%a.' if name == 'array' else ''}out"
            env = {"ADMINKIT_CKPT": wish, "PAUSE": str(pause), "OMP_NUM_THREADS": "1", **TORCHRUN}
            command = ("sbatch", "--parsable", "-t", "1", "--mem=300", "-o", output, *options, script, *given.split())
            done = cluster.run(*command, user="games", env=env)
            assert done.code == 0, done.err
            found.jobs[name] = int(done.text)
        listed = ",".join(map(str, found.jobs.values()))

        def ended() -> bool:
            return cluster.ask("squeue", "-h", "-t", "PD,R,S,CG", "-j", listed, "-o", "%i") == ""

        found.watched.until("the examples to end", ended, 500.0)
        cluster.settle()
        yield found


@pytest.mark.parametrize("name", SHAPES)
def test_an_example_is_carried_on_over_its_limit(ran: Ran, name: str) -> None:
    if name not in ran.jobs:
        pytest.skip("not run: apt-get install python3-torch")
    text = ran.output(name)
    print(f"\n== {name}\n{text}")
    for line in SHAPES[name][-1]:
        assert text.count(line) == SHAPES[name][-1].count(line), text
    if name in LEARNING:
        assert text.count("saved at step") == ran.restarts(name) >= LEARNING[name]
    else:
        assert text.count("goes back into the queue (1 of 3)") == ran.restarts(name) == (2 if name == "array" else 1)
    assert "TIME LIMIT" not in text, "no piece came to its limit"


@pytest.mark.parametrize("name", LEARNING)
def test_a_training_that_was_stopped_has_the_weights_of_one_that_never_was(ran: Ran, name: str, tmp_path: Path) -> None:
    if name not in ran.jobs:
        pytest.skip("not run: apt-get install python3-torch")
    script, given, *_ = SHAPES[name]
    steps, place = given.split()
    run = ["bash", str(ran.watched.cluster.work / script), steps, str(tmp_path)]
    whole = start(run, tmp_path / "out", pause=0.0)
    assert whole.ended() == 0, whole.text()
    stopped = ran.watched.cluster.work / place / "weights.pt"
    assert digest(stopped) == digest(tmp_path / "weights.pt")


def test_the_trace_knows_each_as_one_job_of_several_runs(ran: Ran, tmp_path: Path) -> None:
    cluster, db = ran.watched.cluster, tmp_path / "trace.db"
    adminkit(cluster, db, "sync", "--since", "1h")
    print(adminkit(cluster, db, "report", "restarts").stdout)
    shown = json.loads(adminkit(cluster, db, "report", "restarts", "--format", "json").stdout)
    total = shown["rows"][-1]
    jobs = len(ran.jobs) + 1  # the array is two
    back = sum(ran.restarts(name) for name in ran.jobs)
    assert (total["jobs"], total["restarted"], total["runs"], total["put_back"]) == (jobs, jobs, jobs + back, back)
    assert total["unheeded"] == 0
    caught = total["signals"] - total["uncaught"]
    assert back <= caught <= back + jobs, "each run that was put back, and a last one may be done when its signal comes"
    assert total["unsaved_hours"] == 0 and 0 < total["saving_hours"] < back * 30 / 3600
    assert "completed" in shown["meta"]["notes"][0]
    accuracy = json.loads(adminkit(cluster, db, "report", "accuracy", "--min-elapsed", "5", "-f", "json").stdout)
    assert accuracy["meta"]["jobs"] == 0, "no piece of theirs is an estimate"
    assert accuracy["meta"]["excluded"]["checkpoint"] == jobs, "the last pieces; the others are REQUEUED"


def test_one_job_is_told_run_by_run(ran: Ran, tmp_path: Path) -> None:
    cluster, db = ran.watched.cluster, tmp_path / "trace.db"
    adminkit(cluster, db, "sync", "--since", "1h")
    job = str(ran.jobs["python"])
    print(adminkit(cluster, db, "report", "restarts", "--job", job).stdout)
    first, last, _ = json.loads(adminkit(cluster, db, "report", "restarts", "-j", job, "-f", "json").stdout)["rows"]
    assert (first["state"], first["ended"], first["heard"]) == ("REQUEUED", "more", 1)
    assert 38 <= first["signal_at"] <= 42, "20 s before the end of a minute"
    assert (last["state"], last["ended"], last["heard"]) == ("COMPLETED", None, None)
    assert last["wait"] > 0
    comment = one(db, "SELECT admin_comment FROM job WHERE job_id_raw = ? AND state = 'REQUEUED'", int(job))
    assert re.fullmatch(r"ck1:at=\d+,heard=1,rq=1,end=more", str(comment))


def test_doctor_sees_the_plugin(ran: Ran, tmp_path: Path) -> None:
    said = adminkit(ran.watched.cluster, tmp_path / "trace.db", "doctor", "--format", "json", code=None).stdout
    checks = {check["check"]: check for check in json.loads(said)["rows"]}
    found = {name: (check["status"], check["found"]) for name, check in checks.items() if name.startswith("ckpt")}
    print(json.dumps(found, indent=1))
    assert {status for status, _ in found.values()} == {"ok"}
    assert "built for Slurm" in found["ckpt file"][1]
    assert found["ckpt nodes"][1] == "this host is n1, n2, n3, n4"
