"""What an audit compares, as SQL: a row of job and its steps with `t`, slurmdbd's row in the trace `theirs`."""

from __future__ import annotations

from typing import Final

CONFIRMED: Final = "confirmed"
CONTRADICTED: Final = "contradicted"
ABSENT: Final = "absent"
#: slurmdbd has only the run's end, see trace/upsert.py.
SHELL: Final = "shell"

#: What an ended run never changes in slurmdbd, and what points and letters are made of. Not here: names of users and
#: QOS, which sacctmgr may change, and AdminComment, over which other tools write.
DECIDING: Final = (
    "uid", "account", "queue", "job_name", "state", "start_time", "end_time", "elapsed", "time_limit", "limit_kind",
    "nodes", "cpus", "gpus", "gpu_parts", "req_gpu_parts", "array_job", "array_task", "het_job",
)  # fmt: skip

KEYS: Final = "(job.cluster, job.job_id_raw, job.submit_time) = (t.cluster, t.job_id_raw, t.submit_time)"
#: slurmdbd has more than the run's end (see trace/upsert.py); less neither confirms nor contradicts.
KNOWN: Final = "(t.qos, t.job_name) IS NOT ('Unknown', 'allocation')"
_STEPS_OF: Final = "(s.cluster, s.job_id_raw, s.submit_time) = (job.cluster, job.job_id_raw, job.submit_time)"
_STEP_KEYS: Final = (
    "(o.cluster, o.job_id_raw, o.submit_time, o.step) = (s.cluster, s.job_id_raw, s.submit_time, s.step)"
)
#: Whether a run has other steps than the answers, as far as nodes, tasks and GPUs go. A purge takes the earliest
#: steps, so a step that began before all that slurmdbd has of the run does not count.
_STEPS_DIFFER: Final = f"""
EXISTS (SELECT 1 FROM theirs.step AS s LEFT JOIN step AS o ON {_STEP_KEYS}
    WHERE {_STEPS_OF} AND (o.step, o.nodes, o.tasks, o.gpus) IS NOT (s.step, s.nodes, s.tasks, s.gpus))
OR EXISTS (SELECT 1 FROM step AS s LEFT JOIN theirs.step AS o ON {_STEP_KEYS}
    WHERE {_STEPS_OF} AND o.step IS NULL AND coalesce(s.start_time, 1 << 62) >= (
        SELECT min(s.start_time) FROM theirs.step AS s WHERE {_STEPS_OF}))
"""
#: Column -> whether it differs so that it matters. A record of the policy that slurmdbd has lost since is not a
#: difference, nor is CPU time whose steps it has purged.
DIFFERS: Final[dict[str, str]] = {
    **{column: f"job.{column} IS NOT t.{column}" for column in DECIDING},
    "limit_original": (
        "t.limit_source <> 'unknown' AND (job.limit_source, job.limit_original) IS NOT"
        " (t.limit_source, t.limit_original)"
    ),
    # Where slurmdbd still has the record, it has the whole comment.
    "ext_limit": (
        "(t.limit_source <> 'unknown' OR t.ext_times IS NOT NULL) AND (job.ext_asked, job.ext_limit, job.ext_times)"
        " IS NOT (t.ext_asked, t.ext_limit, t.ext_times)"
    ),
    "cpu_time": "coalesce(abs(job.cpu_time - t.cpu_time) > 1, 0)",
    "steps": _STEPS_DIFFER,
}
#: Those of DIFFERS that follow from steps.
OF_STEPS: Final = frozenset({"cpu_time", "steps"})
VERDICT: Final = (
    f"CASE WHEN t.cluster IS NULL THEN CASE WHEN EXISTS (SELECT 1 FROM theirs.job AS t WHERE {KEYS})"
    f" THEN '{SHELL}' ELSE '{ABSENT}' END WHEN {' OR '.join(f'({sql})' for sql in DIFFERS.values())}"
    f" THEN '{CONTRADICTED}' ELSE '{CONFIRMED}' END"
)
#: Whether a run without an end has what an honest one never has: another's, or what slurmdbd does not have. The next
#: sync corrects the rest.
LASTING: Final[dict[str, str]] = {
    **{
        column: f"job.{column} IS NOT NULL AND t.{column} IS NULL"
        for column in DECIDING
        if "limit" not in column and column != "req_gpu_parts"
    },
    **{column: f"job.{column} IS NOT t.{column}" for column in ("uid", "array_job", "het_job")},
    "limit_original": DIFFERS["limit_original"],
}
