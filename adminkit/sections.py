"""Sections of the settings (config.py) that one room reads, by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit

from annotated_types import Ge, Gt, Le, Lt, Predicate


@dataclass(frozen=True, slots=True)
class Elastic:
    """Jobs that continue with another number of GPUs. Seconds."""

    restart: Annotated[int, Ge(1)] = 300  # what a change costs the job
    between: Annotated[int, Ge(0)] = 3600  # a job has one change in that time at most
    patience: Annotated[int, Ge(1)] = 900  # how long an order holds
    efficiency: Annotated[float, Gt(0), Le(1)] = 0.5  # the least speed for each GPU, of that on its fewest


@dataclass(frozen=True, slots=True)
class Months:
    """Copies of months that are over, in Parquet, which reports read."""

    keep: bool = True  # sync and import write them; without DuckDB there are none
    quiet: Annotated[int, Ge(3600)] = 3 * 86_400  # seconds between the end of a month and its file
    least: Annotated[int, Ge(0)] = 100_000  # a trace of fewer runs has no files
    memory: Annotated[int, Ge(1 << 27)] = 1 << 30  # bytes that DuckDB may hold; the rest goes to disk
    threads: Annotated[int, Ge(1)] = 2


def is_service(url: str) -> bool:
    """Whether `url` names a service: http://host:9090, https://host/prefix."""
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query and parts.username is None


@dataclass(frozen=True, slots=True)
class Usage:
    """How busy the GPUs of running jobs are: whom to ask. Seconds."""

    sources: tuple[Literal["sampler", "dcgm", "jobstats", "ceems", "sstat"], ...] = ("sampler", "dcgm", "jobstats")
    prometheus: Annotated[str, Predicate(is_service)] | None = None  # http://host:9090; None: dcgm, … are not asked
    above: Annotated[float, Ge(0), Lt(1)] = 0.01  # a GPU is in use where its share of use is above
    step: Annotated[int, Ge(10), Le(3600)] = 60  # no reading is further from the next: the scrape interval or more
    fresh: Annotated[int, Ge(60), Le(86_400)] = 300  # a reading that is older says nothing of now
    window: Annotated[int, Ge(3600), Le(7 * 86_400)] = 86_400  # how far back Prometheus is asked
    timeout: Annotated[int, Ge(1), Le(600)] = 20
