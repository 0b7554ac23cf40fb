"""The query of each GPU exporter, asked of Debian's own Prometheus, which has two hours of made readings of each."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from adminkit.sections import Usage
from adminkit.usage.curve import curves
from adminkit.usage.prometheus import EXPORTERS, ask
from adminkit.usage.usage import Answer
from tests.usage.jobs import job
from tests.web.test_metrics import free_port, running

pytestmark = pytest.mark.web

HOUR = 3600
STEP = 60
#: Seconds between two readings of the made exporters.
SCRAPE = 30
#: Metric, labels, the share that is read, and for how many seconds the GPU has not been used; None: never used.
READINGS: tuple[tuple[str, str, float, int | None], ...] = (
    ("DCGM_FI_DEV_GPU_UTIL", 'gpu="0",UUID="GPU-a",Hostname="n1.example.org",hpc_job="11"', 0, None),
    ("DCGM_FI_DEV_GPU_UTIL", 'gpu="1",UUID="GPU-b",Hostname="n1.example.org",hpc_job="11"', 50, 900),
    ("DCGM_FI_DEV_GPU_UTIL", 'gpu="0",UUID="GPU-m",GPU_I_ID="1",Hostname="n1",hpc_job="13"', 0, None),
    ("DCGM_FI_DEV_GPU_UTIL", 'gpu="2",UUID="GPU-n",Hostname="n1"', 0, None),
    ("DCGM_FI_DEV_GPU_UTIL", 'gpu="0",UUID="GPU-e",Hostname="n5"', 0, None),
    ("DCGM_FI_DEV_GPU_UTIL", 'gpu="1",UUID="GPU-f",Hostname="n5"', 70, 0),
    ("DCGM_FI_DEV_GPU_UTIL_RATIO", 'gpu="0",UUID="GPU-g",Hostname="n2",hpc_job="12"', 0.5, 0),
    ("nvidia_gpu_duty_cycle", 'instance="n3:9445",minor_number="0",uuid="GPU-c",jobid="21"', 0, None),
    ("nvidia_gpu_duty_cycle", 'instance="n4:9445",minor_number="0",uuid="GPU-d"', 80, 600),
    ("nvidia_gpu_duty_cycle", 'instance="n4:9445",minor_number="1",uuid="MIG-GPU-d",jobid="23"', 0, None),
    ("nvidia_gpu_jobId", 'instance="n4:9445",minor_number="0",uuid="GPU-d"', 22, 0),
    ("ceems_compute_unit_gpu_index_flag", 'manager="slurm",uuid="31",gpuuuid="GPU-e",hostname="n5"', 1, 0),
    ("ceems_compute_unit_gpu_index_flag", 'manager="slurm",uuid="32",gpuuuid="GPU-f",hostname="n5"', 1, 0),
    ("adminkit_gpu_use_ratio", 'instance="n6:9100",exported_job="41",gpu="0",uuid="GPU-p"', 0.25, 1800),
    ("ceems_compute_unit_gpu_index_flag", 'manager="libvirt",uuid="33",gpuuuid="GPU-f",hostname="n5"', 1, 0),
)


def written(now: int) -> str:
    """The readings of two hours, as OpenMetrics."""
    lines = []
    for metric in dict.fromkeys(metric for metric, *_ in READINGS):
        lines.append(f"# TYPE {metric} gauge")
        for name, labels, share, quiet in READINGS:
            for at in range(now - 2 * HOUR, now + 1, SCRAPE) if name == metric else ():
                lines.append(f"{name}{{{labels}}} {0 if quiet is None or at > now - quiet else share} {at}")
    return "\n".join([*lines, "# EOF", ""])


@pytest.fixture(scope="module")
def usage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Usage]:
    """The settings with which the readings are found."""
    if missing := [name for name in ("promtool", "prometheus") if shutil.which(name) is None]:
        pytest.skip(f"not run: no {missing[0]} (apt-get install prometheus)")
    folder, port, now = tmp_path_factory.mktemp("usage"), free_port(), int(time.time())
    (folder / "made.om").write_text(written(now))
    (folder / "prometheus.yml").write_text("global: {scrape_interval: 30s}\n")
    made = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(folder / "made.om"), str(folder / "tsdb")]
    subprocess.run(made, check=True, capture_output=True, timeout=60)
    log = folder / "prometheus.log"
    with running(
        log, "prometheus", f"--web.listen-address=127.0.0.1:{port}", f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
    ):  # fmt: skip
        settings = Usage(prometheus=f"http://127.0.0.1:{port}", step=STEP)
        end = time.monotonic() + 60
        while any(one.notes for one in asked(settings).values()) and time.monotonic() < end:
            time.sleep(0.2)
        yield settings


def asked(usage: Usage) -> dict[str, Answer]:
    return {name: ask(usage, one, [job()], int(time.time()), 4 * HOUR) for name, one in EXPORTERS.items()}


@pytest.fixture(scope="module")
def answers(usage: Usage) -> dict[str, Answer]:
    """What each exporter's query finds."""
    return asked(usage)


@pytest.mark.parametrize(
    ("exporter", "expected"),
    [
        ("dcgm", {(11, "n1", "GPU-a"): None, (11, "n1", "GPU-b"): 900, (12, "n2", "GPU-g"): 0}),
        ("jobstats", {(21, "n3", "GPU-c"): None, (22, "n4", "GPU-d"): 600}),
        ("ceems", {(31, "n5", "GPU-e"): None, (32, "n5", "GPU-f"): 0}),
    ],
)
def test_the_query_of_an_exporter_finds_each_gpu_of_each_job(
    answers: dict[str, Answer], exporter: str, expected: dict[tuple[int, str, str], int | None]
) -> None:
    answer = answers[exporter]
    found = {(number, use.node, use.gpu): use for number, uses in answer.uses.items() for use in uses}
    assert (set(found), answer.notes, answer.step) == (set(expected), (), STEP)
    for key, quiet in expected.items():
        use = found[key]
        assert use.last_used is None if quiet is None else abs(use.quiet - quiet) <= STEP + SCRAPE, (key, use)
        assert 2 * HOUR - 2 * STEP <= use.until - use.since <= 2 * HOUR + STEP and use.covered > 0.98, (key, use)
        assert (use.busy == 0) == (quiet is None), (key, use)


@pytest.mark.parametrize(
    ("number", "node", "source", "expected"),
    [
        (11, "n1", "dcgm", {"GPU-a": (0, None), "GPU-b": (0.5, 900)}),
        (12, "n2", "dcgm", {"GPU-g": (0.5, 0)}),
        (21, "n3", "jobstats", {"GPU-c": (0, None)}),
        (22, "n4", "jobstats", {"GPU-d": (0.8, 600)}),
        (32, "n5", "ceems", {"GPU-f": (0.7, 0)}),
        (41, "n6", "plugin", {"GPU-p": (0.25, 1800)}),
        (12, "n1", "", {}),
        (77, "n1", "", {}),
    ],
)
def test_the_curve_of_a_run_is_its_use_over_its_time(
    usage: Usage, number: int, node: str, source: str, expected: dict[str, tuple[float, int | None]]
) -> None:
    """Of the last hour and a half, whose end has no use where `quiet` says so."""
    now = int(time.time())
    begin, every = now - 5400, replace(usage, sources=("dcgm", "jobstats", "ceems"))
    found = curves(every, number, {node}, begin, now)
    assert {one.gpu: one.source for one in found} == dict.fromkeys(expected, source)
    for one in found:
        share, quiet = expected[one.gpu]
        assert one.step == 113 and len(one.values) == 47 and None not in one.values
        for part, value in enumerate(one.values):
            ends = begin + (part + 1) * one.step
            is_quiet = quiet is None or ends - one.step - SCRAPE > now - quiet
            if is_quiet or ends < now - (quiet or 0) - SCRAPE:
                assert value == pytest.approx(0 if is_quiet else share), (one, part)


def test_a_run_from_before_the_readings_has_no_curve(usage: Usage) -> None:
    now = int(time.time())
    assert curves(usage, 11, {"n1"}, now - 20 * HOUR, now - 10 * HOUR) == []
