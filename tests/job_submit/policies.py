"""Compiled policies, requests and tables for the tests: the queues are those of the AAIC study."""

from __future__ import annotations

from typing import Any

HOUR = 3600
DAY = 24 * HOUR
NOW = 1_795_244_400

ALICE, BOB, OPERATOR = 1001, 1002, 64030
TEXTS = {
    "en": {
        "max_limit": "{queue} takes at most {max}, you asked for {asked}.",
        "max_limit.amend": "{queue} takes at most {max}: your limit is {limit} now, not {asked}.",
        "require_limit": "Give a time limit: --time=HH:MM:SS.",
        "default_limit": "No time limit was given: {limit} it is.",
        "min_limit": "{queue} is for jobs from {min} up, you asked for {asked}.",
        "restartable_above": "Above {value} only with ADMINKIT_CKPT.",
        "gpus": "{queue} takes {value} GPUs, you asked for {asked}.",
        "fit": "{fit} would take it: -p {fit}",
        "hint": "{runs} similar jobs needed {expected}: --time={safe} (risk {risk} %), you asked for {asked}.",
        "later": "From {from}: {message}",
        "points": "No update of the points here.",
    },
    "ja": {"max_limit": "{queue} の上限は {max} です。"},
}


def queue(**facts: Any) -> dict[str, Any]:
    """A queue of 50 nodes with 8 GPUs each."""
    return {
        "min_nodes": 1,
        "max_nodes": 50,
        "total_nodes": 50,
        "node_cpus": 40,
        "node_mem": 262_144,
        "node_gpus": 8,
        "gpu_types": {"p100"},
        "up": True,
        **facts,
    }


QUEUES = {
    "gq": queue(default_limit=HOUR, max_limit=72 * HOUR, is_default=True),
    "gq-short": queue(default_limit=HOUR, max_limit=3 * HOUR),
    "gq-middle": queue(default_limit=72 * HOUR, max_limit=168 * HOUR, max_nodes=1),
    "gq-long": queue(default_limit=72 * HOUR, max_limit=336 * HOUR),
}


def rule(check: str, value: Any, action: str = "reject", *, name: str = "", **more: Any) -> dict[str, Any]:
    """A rule; keys of `when` and the rule's own may both be given."""
    own = {key: more.pop(key) for key in ("from_", "text") if key in more}
    made: dict[str, Any] = {"name": name or check, "check": check, "value": value, "action": action}
    if more:
        made["when"] = {key: value if isinstance(value, (set, dict)) else {value} for key, value in more.items()}
    return {**made, **{key.rstrip("_"): value for key, value in own.items()}}


def policy(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "format": 1,
        "generation": "3f2a9c01d2e4",
        "made_at": NOW,
        "cluster": "alpha",
        "fail": "open",
        "record": "admin_comment",
        "languages": ["en"],
        "exempt": {0, OPERATOR},
        "menu": [900, HOUR, 3 * HOUR, DAY],
        "routing": {"action": "amend", "order": ["gq-short", "gq", "gq-middle", "gq-long"]},
        "queues": QUEUES,
        "rules": list(rules),
        "texts": TEXTS,
        "ckpt": {"variable": "ADMINKIT_CKPT", "option": "_SLURM_SPANK_OPTION_adminkit_ckpt_", "off": "off"},
        **more,
    }


def request(**fields: Any) -> dict[str, Any]:
    """Alice's job with one GPU on one node."""
    made = {"now": NOW, "uid": ALICE, "account": "physics", "qos": "normal", "gpus": 1, "nodes": 1, "cpus": 1}
    made |= {"job_name": "train", "queues": [], "batch": True, **fields}
    return made


def incentives(**more: Any) -> dict[str, Any]:
    return {
        "format": 1,
        "generation": "i1",
        "made_at": NOW,
        "cap": 720,
        "class_points": {"multi-node": 300, "multi-gpu": 100},
        "users": {ALICE: {"points": 420, "class": True}, BOB: {"points": 600, "class": False}},
        **more,
    }


def hints(rows: dict[str, dict[str, list[float]]], **more: Any) -> dict[str, Any]:
    """Alice's hints: job name -> queue -> expected, safe, risk, runs."""
    return {
        "format": 1,
        "generation": "h1",
        "made_at": NOW,
        "ratio": 3,
        "floor": 7200,
        "users": {ALICE: rows},
        **more,
    }


def applied(request: dict[str, Any], decision: dict[str, Any]) -> dict[str, Any]:
    """The request of the same job after Slurm took the decision."""
    after = dict(request)
    if "queue" in decision:
        after["queues"] = [decision["queue"]]
    if "limit" in decision:
        after |= {"limit": decision["limit"], "limit_kind": "finite"}
    if "time_min" in decision:
        after["time_min"] = decision["time_min"]
    if "record" in decision:
        after["admin_comment"] = decision["record"]
    return after
