"""PyTorch on one GPU, on four, on two: the weights of a training that was never stopped. And a change that nobody
ordered by hand: by how fast earlier jobs of that name were."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.elastic import Elastic, elastic
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.operator import accounted, adminkit
from tests.cluster.harness.processes import until
from tests.examples.running import PYTHON, has_torch

pytestmark = [pytest.mark.cluster, pytest.mark.soak]
EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/elastic"
STEPS = 600
SAME = """import sys, torch
one, other = (torch.load(path) for path in sys.argv[1:])
print(max(float((one[key] - other[key]).abs().max()) for key in one), float(sum(v.abs().sum() for v in one.values())))
"""
#: 200 iterations a second on one GPU, 600 on four; tells how far it came, and leaves at the signal.
PACED = """rate=$((200 * (ADMINKIT_GPUS == 4 ? 3 : 1)))
trap 'echo $n > "$ADMINKIT_PROGRESS"; exit 85' TERM
echo "runs on $ADMINKIT_GPUS" >> {log}
for ((n = 0; n < 6000; n += rate)); do sleep 1 & wait $!; done
echo $n > "$ADMINKIT_PROGRESS"
"""


#: In torchrun's place. Debian 13's asks for libuv, without which Debian 13's torch is built.
SHELL = """for ((rank = 0; rank < ${ADMINKIT_GPUS:-1}; rank++)); do
    RANK=$rank WORLD_SIZE=${ADMINKIT_GPUS:-1} MASTER_ADDR=127.0.0.1 MASTER_PORT=29511 %s train.py "$1" "$2" &
done
wait"""


def with_a_shell(script: str) -> str:
    """The example's script with processes that the shell starts."""
    found = re.sub(r"^torchrun .*$", SHELL % PYTHON, script, flags=re.MULTILINE)
    assert found != script
    return found


@pytest.fixture(scope="module")
def site(outside: Listing) -> Iterator[Elastic]:
    with elastic() as found:
        yield found


@pytest.mark.skipif(not has_torch(), reason="not run: apt-get install python3-torch")
def test_a_training_ends_with_the_weights_of_one_that_was_never_stopped(site: Elastic) -> None:
    cluster = site.ruled.cluster
    (cluster.work / "train.py").write_text((EXAMPLE / "train.py").read_text())
    (cluster.work / "elastic.sbatch").write_text(with_a_shell((EXAMPLE / "elastic.sbatch").read_text()))
    for folder in ("whole", "parts"):
        (cluster.work / folder).mkdir()
        (cluster.work / folder).chmod(0o777)
    env = {"USE_LIBUV": "0", "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "PAUSE": "0.1"}
    wish = {"ADMINKIT_CKPT": "TERM@5,requeue=9", "ADMINKIT_ELASTIC": "1-4"}
    options = ("sbatch", "--parsable", "--mem=4000", "-c", "2", "-t", "20")
    whole = cluster.run(*options, "-o", "whole.out", "elastic.sbatch", str(STEPS), "whole", user="games",
                        env={**env, "PAUSE": "0"}).text  # fmt: skip
    cluster.wait(int(whole), "COMPLETED", 300)
    job = int(cluster.run(*options, "-o", "parts.out", "elastic.sbatch", str(STEPS), "parts", user="games",
                          env={**env, **wish}).text)  # fmt: skip
    output = cluster.work / "parts.out"

    def said() -> str:
        return output.read_text() if output.exists() else ""

    for gpus, before in ((4, 1), (2, 4)):
        until(f"it to train on {before}", lambda before=before: f" on {before}\n" in said(), 180)  # type: ignore[misc]
        until("it to be twice its lead old", lambda: _age(cluster, job) > 11, 60)
        done = site.rows("run", "--apply", "--job", job, "--gpus", gpus)
        assert [row["did"] for row in done] == ["ordered", "changed", "released"], (done, said())
    cluster.wait(job, "COMPLETED", 300)
    text = said()
    lines = [line.rpartition("]:")[2] for line in text.splitlines()]  # torchrun may put its process's name before it
    steps = [line for line in lines if line.startswith(("from step", "saved", "done"))]
    assert [line.rpartition(" ")[2] for line in steps if line.startswith("from")] == ["1", "4", "2"], text
    weights = [str(cluster.work / folder / "weights.pt") for folder in ("whole", "parts")]
    compared = subprocess.run([PYTHON, "-c", SAME, *weights], capture_output=True, text=True, check=True).stdout.split()
    print(steps, "greatest difference of a weight:", compared[0])
    assert float(compared[0]) < 1e-4 < float(compared[1]), compared


def _age(cluster: Cluster, job: int) -> int:
    """Seconds that its run has lasted."""
    parts = cluster.ask("squeue", "-h", "-t", "R", "-j", str(job), "-O", "TimeUsed:20").strip().split(":")
    return int(parts[-2]) * 60 + int(parts[-1]) if len(parts) > 1 else 0


def test_a_job_grows_into_idle_gpus_by_what_earlier_jobs_told(site: Elastic) -> None:
    """Three of its name took 6,000 iterations on one GPU, one on four went three times as fast."""
    cluster = site.ruled.cluster
    shell = "TERM@3,requeue=9,target=shell"
    before = [site.submit(PACED, "-J", "paced", wish=shell) for _ in range(3)]
    before.append(site.submit(PACED, "-J", "paced", "--gres=gpu:4", wish=shell))
    for job in before:
        cluster.wait(job.id, "COMPLETED")
        accounted(cluster, job.id, "COMPLETED")
    adminkit(cluster, site.db, "sync", "--since", "1d")

    job = site.submit(PACED, "-J", "paced", wish=shell)
    until("it to be old enough", lambda: _age(cluster, job.id) >= 7, 120)
    (look,) = site.rows("preview", "--job", job.id, ADMINKIT_ELASTIC_RESTART="2")
    assert (look["to"], look["verdict"]) == (4, "grow") and "is done" in look["why"], look
    assert look["known"] == "4 runs of its own"
    kept = site.rows("preview", "--job", job.id, ADMINKIT_ELASTIC_RESTART="600")
    assert kept[0]["verdict"] == "keep", "what it saves is less than that"
    done = site.rows("run", "--apply", ADMINKIT_ELASTIC_RESTART="2")
    assert [row["did"] for row in done] == ["ordered", "changed", "released"], done
    cluster.wait(job.id, "COMPLETED")
    assert job.log.read_text().splitlines() == ["runs on 1", "runs on 4"]
