"""Requests as decide.lua takes them: from what is typed to `try`, from a row of the trace."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adminkit.errors import UsageError
from adminkit.gres import Gpus, Shares, is_slice, parse_gres
from adminkit.lua.runtime import Request
from adminkit.policy.gpu_parts import typed_parts
from adminkit.stats.replay import Submission
from adminkit.units import parse_duration

_UNLIMITED: Final = ("unlimited", "infinite")
_MIB: Final = 2**20
_LIMIT_HINT: Final = "write minutes (90) or a clock (02:00:00, 3-00:00:00), as for sbatch, or units (15m, 1h30m)"


@dataclass(frozen=True, slots=True)
class Typed:
    """A submission as it could be typed. None is an option that is not given."""

    user: str | None = None
    account: str | None = None
    qos: str | None = None
    queues: Sequence[str] = ()
    limit: str | None = None
    time_min: str | None = None
    nodes: int | None = None
    cpus: int | None = None
    gpus: int | None = None
    gpu_type: str | None = None
    features: str | None = None
    job_name: str | None = None
    batch: bool = True
    ckpt: bool = False
    mem: int | None = None  # bytes for each node; 0 for all
    exclusive: bool = False
    gres: str | None = None  # of each node
    extend: str | None = None  # ADMINKIT_EXTEND in its environment


def typed_request(typed: Typed, uid: int | None, now: int, shares: Shares | None = None) -> Request:
    """The request of a submission with these options. `shares`: what part of a GPU a slice or a shard is here."""
    nodes = typed.nodes or 1
    limit = None if typed.limit is None else slurm_limit(typed.limit)
    request: dict[str, Any] = {
        "now": now,
        "uid": uid,
        "user": typed.user,
        "account": typed.account and typed.account.lower(),  # as Slurm keeps them
        "qos": typed.qos and typed.qos.lower(),
        "qos_given": typed.qos is not None,
        "job_name": typed.job_name,
        "queues": list(typed.queues),
        "limit": limit,
        "limit_kind": "unset" if typed.limit is None else "unlimited" if limit is None else "finite",
        "time_min": None if typed.time_min is None else slurm_limit(typed.time_min),
        "nodes": nodes,
        "cpus": typed.cpus,
        "gpus": typed.gpus or 0,
        "max_nodes": typed.nodes,
        # Without --nodes Slurm spreads --gpus as it can.
        "gpus_per_node": per_node(typed.gpus or 0, nodes) if typed.nodes or not typed.gpus else None,
        "gpu_type": typed.gpu_type,
        "features": typed.features,
        "account_given": typed.account is not None,
        "mem_per_node": None if typed.mem is None else typed.mem // _MIB or math.inf,
        "whole": typed.exclusive or None,
        "exclusive": typed.exclusive,
        "batch": typed.batch,
        "restartable": typed.ckpt if typed.batch else None,
        "extend": typed.extend or None,
    }
    return {**request, "gpu_slices": 0, **_parts(typed, nodes, shares or Shares())}


def _parts(typed: Typed, nodes: int, shares: Shares) -> dict[str, Any]:
    """The fields of --gres, and of a type that is a slice of MIG."""
    if typed.gres is not None:
        asked = parse_gres(typed.gres)
        if asked is None or typed.gpus is not None or typed.gpu_type is not None:
            why = "cannot be read" if asked is None else "says the GPUs already"
            raise UsageError(
                f"--gres {typed.gres}: {why}", "write it as for sbatch, without --gpus: gpu:a100:2, shard:4"
            )
        return typed_parts(asked, nodes, False, shares)
    if typed.gpus and typed.gpu_type and is_slice(typed.gpu_type):
        return typed_parts(Gpus({typed.gpu_type: typed.gpus}), nodes, typed.nodes is None, shares)
    return {}


def trace_request(asked: Submission, uids: Mapping[str, int], now: int) -> Request:
    """The request of a job of the trace. What the trace does not tell is left out, so rules say that they cannot tell.

    `uids` are those of users whom the policy exempts by name.
    """
    uid = uids.get(asked.user, asked.uid) if asked.user is not None else asked.uid
    return {
        "now": now,
        "uid": uid,
        "user": asked.user,
        "account": asked.account,
        "qos": asked.qos,
        "job_name": asked.job_name,
        "queues": asked.queue.split(",") if asked.queue else [],
        "limit": asked.time_limit if asked.limit_kind == "finite" else None,
        "limit_kind": asked.limit_kind or "unknown",
        "time_min": asked.time_min,
        "nodes": asked.nodes,
        "cpus": asked.cpus,
        "gpus": asked.gpus,
        "gpus_per_node": per_node(asked.gpus, asked.nodes),
        "gpu_slices": asked.gpu_parts,
        "mem": None if asked.mem is None else asked.mem // _MIB,
        "mem_unknown": asked.mem is None,
        "whole_unknown": True,
        "batch": True,
        "batch_unknown": True,  # to a rule of batch_only; soft limits take each job for one
    }


def with_lease(request: Request, table: Mapping[str, Any], now: int) -> Request:
    """The request as on a day on which nothing stands against soft limits: no reservation, no limit on minutes."""
    queues = {name: {"most": facts.get("max_limit")} for name, facts in table["queues"].items()}
    free: dict[str, Any] = {"qos_off": {}, "accounts_off": {}, "users_off": {}, "queues": queues}
    at = request["now"] or now
    return {**request, "lease": {"made_at": at, "valid_until": at + 90, **free}}


def per_node(gpus: float | None, nodes: int | None) -> float | None:
    """GPUs on each node, parts of one too; None where they are unknown or whole ones are not spread evenly."""
    if gpus is None or not nodes or (gpus % 1 == 0 and gpus % nodes):
        return None
    return gpus / nodes if gpus % 1 else int(gpus) // nodes


def slurm_limit(text: str) -> int | None:
    """What stands behind sbatch's --time, in seconds: 60 is minutes; None for unlimited, which 0 is too."""
    word = text.strip().lower()
    if word in _UNLIMITED:
        return None
    seconds = (
        int(word) * 60 if word.isascii() and word.isdigit() and len(word) < 10 else parse_duration(word, _LIMIT_HINT)
    )
    return -(-seconds // 60) * 60 or None
