"""GPUs of running jobs as a site's Prometheus has them: dcgm-exporter with job mapping, Jobstats' exporter, CEEMS.

One query each. It reads every reading of the last `window` seconds in steps that are at least a scrape apart, so that
none is missed: of each step the highest counts for "in use". Names and labels are those of dcgm-exporter 4.9 (before it
`DCGM_FI_DEV_GPU_UTIL`, in percent), of nvidia_gpu_prometheus_exporter (`jobid` as a label since September 2025, before
it as the value of `nvidia_gpu_jobId`) and of CEEMS 0.10. A MIG instance has no utilisation there, so it is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.sections import Usage
from adminkit.slurm.gpu_jobs import GpuJob
from adminkit.usage.http import post
from adminkit.usage.usage import Answer, GpuUse

#: Every job, not only those that are asked about: another one may have the same GPU.
_JOBS: Final = '=~"[1-9][0-9]*"'
_JOB: Final = re.compile(r"[0-9]{1,10}")
#: Labels, in lower case, that name the node and the GPU, the best first: those of the two exporters and of releases.
_NODES: Final = ("hostname", "host", "instance")
_GPUS: Final = ("uuid", "gpuuuid", "gpu", "minor_number", "index")
#: The label that tells the numbers of one answer apart.
_WHAT: Final = "adminkit"


@dataclass(frozen=True, slots=True)
class Exporter:
    """`of(over, step, jobs)`: the share of use, 0 to 1, as PromQL; `job`: the label with the job's id."""

    name: str
    job: str
    template: str

    def of(self, over: str, step: int, jobs: str) -> str:
        """`over`: the function that makes one number of a step's readings."""
        return f"({self.template})".replace("OVER", over).replace("STEP", f"{step}s").replace("JOBS", jobs)


#: JOBS is the matcher of the job's label; OVER(…[STEP]) is of raw readings.
_DCGM_UTIL: Final = "(OVER(DCGM_FI_DEV_GPU_UTIL{LABELS}[STEP]) / 100 or OVER(DCGM_FI_DEV_GPU_UTIL_RATIO{LABELS}[STEP]))"
EXPORTERS: Final[Mapping[str, Exporter]] = {
    one.name: one
    for one in (
        Exporter("dcgm", "hpc_job", _DCGM_UTIL.replace("LABELS", 'hpc_jobJOBS,GPU_I_ID=""')),
        Exporter(
            "jobstats",
            "jobid",
            '(OVER(nvidia_gpu_duty_cycle{jobidJOBS,GPU_I_ID="",uuid!~"MIG.*"}[STEP]) / 100'
            ' or OVER(nvidia_gpu_duty_cycle{jobid="",GPU_I_ID="",uuid!~"MIG.*"}[STEP]) / 100'
            " * on (instance, uuid) group_left (jobid)"
            ' count_values by (instance, uuid) ("jobid", nvidia_gpu_jobId{jobid=""} > 0))',
        ),
        Exporter(
            "ceems",
            "uuid",
            'label_replace(label_replace(ceems_compute_unit_gpu_index_flag{manager="slurm",uuidJOBS} == 1,'
            ' "hpc_job", "$1", "uuid", "(.*)"), "uuid", "$1", "gpuuuid", "(.*)")'
            " * on (gpuuuid) group_left () label_replace("
            + _DCGM_UTIL.replace("LABELS", 'GPU_I_ID=""')
            + ', "gpuuuid", "$1", "UUID", "(.+)")',
        ),
    )
}  # fmt: skip


def ask(settings: Usage, exporter: Exporter, jobs: Sequence[GpuJob], now: int, window: int) -> Answer:
    """What Prometheus has of these jobs. Away, or an answer that cannot be read: no uses and one note."""
    if settings.prometheus is None or not jobs:
        return Answer(source=exporter.name, at=None, uses={})
    query = query_of(exporter, window, settings.step, settings.above)
    try:
        text = post(settings.prometheus, "/api/v1/query", {"query": query, "timeout": f"{settings.timeout}s"},
                    settings.timeout)  # fmt: skip
        at, uses = parse(text, exporter, settings.step)
    except AdminkitError as error:
        return Answer(source=exporter.name, at=None, uses={}, notes=[error.message])
    return Answer(source=exporter.name, at=at, step=settings.step, uses=uses)


def query_of(exporter: Exporter, window: int, step: int, above: float) -> str:
    """The one query: five numbers of each GPU of each job, told apart by a label."""
    peak = exporter.of("max_over_time", step, _JOBS)
    mean = exporter.of("avg_over_time", step, _JOBS)
    over = f"[{window}s:{step}s]"
    numbers = {
        "first": f"min_over_time(timestamp({peak}){over})",
        "until": f"max_over_time(timestamp({peak}){over})",
        "last": f"max_over_time(timestamp({peak} > {above:g}){over})",
        "count": f"count_over_time({peak}{over})",
        "sum": f"sum_over_time({mean}{over})",
        "use": f"max_over_time({peak}[{2 * step}s:{step}s])",
    }
    return " or ".join(f'label_replace({each}, "{_WHAT}", "{name}", "", "")' for name, each in numbers.items())


def parse(text: str, exporter: Exporter, step: int) -> tuple[int, dict[int, list[GpuUse]]]:
    """(Prometheus' time, uses by job). AdminkitError for what is not an answer to a query.

    A series without a job, a node or a GPU is passed over, and one with a value that is not a number. If one GPU of a
    job has two series, neither counts.
    """
    at, series = _series(text)
    found: dict[tuple[int, str, str], dict[str, float]] = {}
    twice = set()
    for labels, value in series:
        key, what = gpu_of(labels, exporter), str(labels.get(_WHAT, ""))
        if key is None or value is None:
            continue
        if what in found.setdefault(key, {}):
            twice.add(key)
        found[key][what] = value
    uses: dict[int, list[GpuUse]] = {}
    for (job_id, node, gpu), numbers in found.items():
        use = None if (job_id, node, gpu) in twice else _use(node, gpu, numbers, step)
        if use is not None:
            uses.setdefault(job_id, []).append(use)
    return at, uses


def gpu_of(labels: Mapping[str, Any], exporter: Exporter) -> tuple[int, str, str] | None:
    """(job, node, GPU) of a series; None where one is missing, or the job is not a job's number."""
    low = {name.lower(): str(label) for name, label in labels.items()}
    job = low.get("hpc_job") if exporter.name == "ceems" else low.get(exporter.job)
    node, gpu = _first(low, _NODES), _first(low, _GPUS)
    if job is None or _JOB.fullmatch(job) is None or not node or not gpu:
        return None
    return int(job), _host(node), gpu


def _use(node: str, gpu: str, numbers: Mapping[str, float], step: int) -> GpuUse | None:
    """None where a number is missing. Each step stands for the readings of the `step` seconds before it."""
    if not {"first", "until", "count", "sum"} <= numbers.keys():
        return None
    last = numbers.get("last")
    measured = numbers["count"] * step
    return GpuUse(
        node=node,
        gpu=gpu,
        since=int(numbers["first"]),
        until=int(numbers["until"]),
        measured=measured,
        busy=min(measured, max(0.0, numbers["sum"] * step)),
        last_used=None if last is None else int(last),
        use=numbers.get("use"),
    )


def _series(text: str) -> tuple[int, list[tuple[Mapping[str, Any], float | None]]]:
    """(time, (labels, value) of each series)."""
    try:
        answer = json.loads(text)
        if answer.get("status") != "success":
            raise AdminkitError(f"Prometheus refused the query: {str(answer.get('error', 'no reason'))[:200]}")
        data = answer["data"]
        if data["resultType"] != "vector":
            raise ValueError("not a vector")
        rows = [(one["metric"], one["value"]) for one in data["result"]]
        at = max((float(value[0]) for _, value in rows), default=0.0)
        return int(at), [(dict(labels), number(value[1])) for labels, value in rows]
    except AdminkitError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise AdminkitError("couldn't read what Prometheus answered", "is [usage] prometheus right?") from error


def number(text: object) -> float | None:
    """None for NaN, infinite, negative, and what is not a number."""
    try:
        value = float(str(text))
    except ValueError:
        return None
    return value if 0 <= value < 1e15 else None


def _first(labels: Mapping[str, str], names: Iterable[str]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")


def _host(label: str) -> str:
    """node1.example.org:9400 -> node1."""
    return label.partition(":")[0].partition(".")[0]
