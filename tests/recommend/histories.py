"""Hand-made histories, and what is recommended after them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adminkit.recommend.groups import Features
from adminkit.recommend.predict import Predictor, Recommendation, Run
from adminkit.stats.similar import Ended

HOUR = 3600
ADA = Features("ada", "train", "gq", (1, 1, None), 24 * HOUR)


def after(runs: Iterable[int | Run], of: Features = ADA, **settings: Any) -> Recommendation | None:
    """What is recommended after runs that ended one after the other; a number is a run of so many seconds."""
    predictor = Predictor(**settings)
    for run in runs:
        predictor.ended(of, run if isinstance(run, Run) else Run(run), predictor.predict(of, 0))
    return predictor.predict(of, 0)


def ended(submit: int, elapsed: int, wait: int = 0, **changes: Any) -> Ended:
    """A run of ada's with a day's limit on one GPU."""
    given: dict[str, Any] = {
        "user": "ada", "uid": 1001, "job_name": "train", "queue": "gq", "req_nodes": 1, "req_gpus": 1, "req_cpus": 8,
        "request": 24 * HOUR, "time_limit": 24 * HOUR, "submit_time": submit, "end_time": submit + wait + elapsed,
        "elapsed": elapsed, "state": "COMPLETED", "gpus": 1, "cpus": 8, "nodes": 1,
    }  # fmt: skip
    return Ended(**{**given, **changes})
