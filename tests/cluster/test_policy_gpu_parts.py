"""Slices of MIG, shards and MPS in rules on a real slurmctld, judged by the TRES that Slurm gives such jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from adminkit.gres import UNTYPED, Shares, equivalents, parse_tres
from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.ruled import Ruled, rule, ruling

RULES = (
    rule("gq-gpus", "gq", gpus="-1")
    + rule("short-whole", "gq-short", gpu_slices=0)
    + rule("middle-parts", "gq-middle", gpu_slices="1-4")
    + rule("long-gpus", "gq-long", gpus="1-")
    + rule("debug-cpus", "debug", gpus="1-", classes=["cpu"])
)
#: Four shards are a GPU of n1; n2 has five slices of two GPUs.
SHARES = Shares({UNTYPED: 4})


class Cut(Cluster):
    """n1 has two GPUs of four shards each; n2 one whole GPU and slices of three more."""

    def _configure(self) -> None:
        super()._configure()
        conf, gres = self.home / "slurm.conf", self.home / "gres.conf"
        of_node = {"n1": "gpu:2,shard:8", "n2": "gpu:a100:1,gpu:a100_3g.20gb:4,gpu:1g.10gb:1"}
        text = conf.read_text()
        for node, words in of_node.items():
            text = re.sub(rf"^(NodeName={node} .*)Gres=gpu:8", rf"\1Gres={words}", text, flags=re.MULTILINE)
        conf.write_text(text)
        cards = f"{self.folder}/dev/gpu"
        gres.write_text(
            f"NodeName=n1 Name=gpu File={cards}[0-1]\nNodeName=n1 Name=shard Count=8\n"
            f"NodeName=n2 Name=gpu Type=a100 File={cards}0\nNodeName=n2 Name=gpu Type=a100_3g.20gb File={cards}[1-4]\n"
            f"NodeName=n2 Name=gpu Type=1g.10gb File={cards}5\n"
        )


@pytest.fixture(scope="module")
def ruled(outside: Listing) -> Iterator[Ruled]:
    settings = {
        "GresTypes": "gpu,shard",
        "AccountingStorageTRES": "gres/gpu,gres/gpu:a100,gres/gpu:a100_3g.20gb,gres/gpu:1g.10gb,gres/shard",
    }
    with private_slurm(nodes=2, kind=Cut, **settings) as booted, ruling(booted) as made:
        yield made


#: what is typed, what the user reads ("" for silence), why
TYPED = [
    ("-p gq --gres=shard:4", "", "four shards are a GPU"),
    ("-p gq --gres=shard:5", "The number of GPUs must be 0-1 for a job in gq; this one asks for 1.25"
                             " (gpu_slices=5)", "five are more"),
    ("-p gq --gres=gpu:a100_3g.20gb:2", "", "6/7 of a GPU"),
    ("-p gq --gres=gpu:a100_3g.20gb:3", "this one asks for 1.29 (gpu_slices=3)", "9/7 of a GPU"),
    ("-p gq -n1 --gpus=a100_3g.20gb:3", "this one asks for 1.29 (gpu_slices=3)", "by --gpus"),
    ("-p gq -N1 --gpus-per-node=a100_3g.20gb:3", "this one asks for 1.29 (gpu_slices=3)", "by --gpus-per-node"),
    ("-p gq -n3 --gpus-per-task=a100_3g.20gb:1", "this one asks for 1.29 (gpu_slices=3)", "by --gpus-per-task"),
    ("-p gq -N2 --gres=gpu:1", "this one asks for 2.", "whole GPUs as before"),
    ("-p gq-short --gres=gpu:1g.10gb:1", "The number of GPU slices and shards must be 0 for a job in gq-short;"
                                         " ", "no slice"),
    ("-p gq-short --gres=shard:2", "this one asks for 2", "no shard"),
    ("-p gq-short --gres=gpu:1", "", "a whole GPU"),
    ("-p gq-middle --gres=gpu:1", "must be 1-4 for a job in gq-middle; this one asks for 0", "no whole GPU"),
    ("-p gq-middle --gres=shard:4", "", "as many as may be"),
    ("-p gq-middle -N2 --gres=shard:4", "this one asks for 8", "times the nodes"),
    ("-p gq-long --gres=gpu:1g.10gb:1", "this one asks for 0.14 (gpu_slices=1)", "less than a GPU"),
    ("-p debug --gres=gpu:1g.10gb:1", "", "a job of a slice is not of the CPUs"),
    ("-p debug", "The number of GPUs must be 1+", "one without any is"),
]  # fmt: skip


@pytest.mark.cluster
@pytest.mark.parametrize(("words", "said", "why"), TYPED)
def test_parts_of_gpus_count_as_what_they_are(ruled: Ruled, words: str, said: str, why: str) -> None:
    ruled.rules(RULES)
    answer = ruled.sbatch("-t", "2", *words.split())
    assert answer.accepted is not bool(said), (why, answer)
    assert said in answer.text, (why, answer)


#: --gres, GPUs that it makes, parts
GIVEN = [
    ("shard:3", 0.75, 3),
    ("gpu:a100_3g.20gb:2", 6 / 7, 2),
    ("gpu:1g.10gb:1", 1 / 7, 1),
    ("gpu:a100:1", 1, 0),
    ("gpu:a100:1,gpu:a100_3g.20gb:1", 10 / 7, 1),
]


@pytest.mark.cluster
@pytest.mark.parametrize(("gres", "gpus", "parts"), GIVEN)
def test_what_slurm_gives_is_what_the_rules_counted(ruled: Ruled, gres: str, gpus: float, parts: int) -> None:
    """A rule whose maximum is just below refuses it, one at it lets it run; the job's TRES say the same."""
    ruled.rules(rule("at", "gq", gpu_slices=f"{parts}-{parts}") + rule("gpus", "gq", gpus=f"-{-int(-gpus // 1)}"))
    said = ruled.run("sbatch", "-o", "/dev/null", "-t", "2", "-p", "gq", "--gres", gres, "--wrap", "sleep 30")
    assert said.accepted, said
    assert said.job is not None
    ruled.cluster.wait(said.job, "RUNNING")
    job = ruled.job(said.job)
    tres = job.get("AllocTRES", job.get("TRES", ""))
    given = parse_tres(tres)
    assert given is not None, tres
    assert equivalents(given.whole, given.parts, SHARES) == pytest.approx(gpus), tres
    assert given.slices + sum(given.shards.values()) == parts, tres
    ruled.cluster.ask("scancel", str(said.job))
    if gpus > 1:
        ruled.rules(rule("gpus", "gq", gpus=f"-{int(gpus)}"))
        refused = ruled.sbatch("-t", "2", "-p", "gq", "--gres", gres)
        assert not refused.accepted and f"this one asks for {gpus:.2f}" in refused.text, refused


@pytest.mark.cluster
def test_an_update_is_held_to_the_same(ruled: Ruled) -> None:
    ruled.rules(RULES)
    job = ruled.sbatch("-t", "2", "-p", "gq", "--gres=shard:4").job
    assert not ruled.update(job, "TresPerNode=gres:shard:5").accepted
    assert ruled.update(job, "TresPerNode=gres:shard:3").accepted
    assert ruled.update(job, "TimeLimit=1").accepted


#: Spellings of more than a GPU, which Slurm may read, pass over or refuse.
SPELLINGS = [
    ("--gres=shard:+5",),
    ("--gres=shard: 5",),
    ("--gres=shard:1,shard:5",),
    ("--gres=shard=5",),
    ("--gres=gres:shard:5",),
    ("--gres=gres/shard:5",),
    ("--tres-per-task=gres:shard:5",),
    ("--gres=shard:0,shard:5",),
    ("--gres=gpu:a100_3g.20gb:+3",),
    ("--gres=gpu:a100_3g.20gb=3",),
    ("--gres=gpu:a100_3g.20gb:1,gpu:a100_3g.20gb:3",),
    ("--gpus=a100_3g.20gb:3", "-N1"),
    ("--gpus-per-task=a100_3g.20gb:1", "-n3", "-N1"),
    ("--gres=gpu:a100_3g.20gb:2,gpu:1g.10gb:1,gpu:a100:1",),
]  # fmt: skip


@pytest.mark.cluster
def test_no_spelling_of_parts_passes_a_rule(ruled: Ruled) -> None:
    """Whatever is let in gets no more than a GPU, by its TRES."""
    ruled.rules(rule("gq-gpus", "gq", gpus="-1"))
    escaped, refused = [], 0
    for words in SPELLINGS:
        said = ruled.run("sbatch", "-o", "/dev/null", "-t", "1", "-p", "gq", *words, "--wrap", "sleep 20")
        refused += not said.accepted
        if said.job is None:
            continue
        ruled.cluster.wait(said.job, ("RUNNING", "COMPLETED"), 30)
        job = ruled.job(said.job)
        given = parse_tres(job.get("AllocTRES", job.get("TRES", "")))
        size = None if given is None else equivalents(given.whole, given.parts, SHARES)
        if size is None or size > 1:
            escaped.append((words, job.get("TRES"), size))
        ruled.cluster.ask("scancel", str(said.job))
    assert escaped == []
    assert refused >= 8, refused
