"""Site: what the rules at submission have to know of one cluster, as a value that can be kept in a file.

`policy install` gathers it from Slurm; `try` and `replay` take it from a file, or make one up of the queues that a
policy names.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from adminkit.errors import AdminkitError, cause

#: Uids of users who are known by name only, from here on: above any that a system gives away.
_MADE_UP: Final = 4_000_000_000


@dataclass(frozen=True, slots=True)
class SiteQueue:
    """A queue at the time of installation. None is unknown; of a limit or of who may use it, that there is none.

    Trap: unlike cluster.Queue, `default_limit` is None where the queue has no DefaultTime of its own.
    """

    __pydantic_config__ = {"extra": "forbid", "strict": True}  # noqa: RUF012 - read by pydantic, never changed

    name: str
    default_limit: int | None = None  # seconds
    max_limit: int | None = None  # seconds
    min_nodes: int | None = None
    max_nodes: int | None = None
    up: bool = True
    is_default: bool = False
    total_nodes: int | None = None
    node_cpus: int | None = None  # of its largest node, like the next two
    node_mem_mib: int | None = None
    node_gpus: int | None = None
    gpu_types: frozenset[str] | None = None
    features: frozenset[str] | None = None
    allow_accounts: frozenset[str] | None = None
    deny_accounts: frozenset[str] | None = None
    allow_qos: frozenset[str] | None = None
    deny_qos: frozenset[str] | None = None
    allow_groups: frozenset[str] | None = None
    whole: bool = False  # its jobs take whole nodes: OverSubscribe=EXCLUSIVE


@dataclass(frozen=True, slots=True)
class Node:
    """One node's size. Memory in MiB."""

    queues: frozenset[str]
    cpus: int
    mem: int
    gpus: int
    gpu_types: frozenset[str]
    features: frozenset[str]


@dataclass(frozen=True, slots=True)
class Site:
    """One cluster. `privileged` are the uids of root, SlurmUser, operators and administrators."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}  # noqa: RUF012 - read by pydantic, never changed

    cluster: str
    queues: tuple[SiteQueue, ...] = ()
    privileged: frozenset[int] = frozenset({0})
    uids: Mapping[str, int] = field(default_factory=dict)  # of the users that the policy names

    def queue(self, name: str) -> SiteQueue | None:
        """The queue of this name."""
        return next((one for one in self.queues if one.name == name), None)


def made_up(
    queues: Iterable[str], users: Iterable[str] = (), limits: Mapping[str, tuple[int | None, int | None]] | None = None
) -> Site:
    """A cluster of these queues, the first the default one, all of them up, open to everybody and of nodes with 8 GPUs.

    `limits` are queues' own default and maximum limits, where they are known.
    """
    limits = limits or {}
    names = list(dict.fromkeys(queues))
    uids = {user: _MADE_UP + number for number, user in enumerate(dict.fromkeys(users))}
    none = (None, None)
    return Site(
        "example",
        tuple(SiteQueue(name, *limits.get(name, none), is_default=name == names[0], node_gpus=8) for name in names),
        uids=uids,
    )


def load_site(path: Path) -> Site:
    """A Site from a file, JSON or TOML by its ending. AdminkitError names the file and the key."""
    from pydantic import TypeAdapter, ValidationError

    try:
        text = path.read_text("utf-8")
        raw: Any = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        return TypeAdapter(Site).validate_json(json.dumps(raw))
    except OSError as error:
        why = cause(error)
        raise AdminkitError(f"couldn't read {path}: {why}", "name another with --site") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise AdminkitError(f"{path}: {key}: {first['msg'].lower()}", "docs/policy.md shows such a file") from error
    except (ValueError, TypeError) as error:
        raise AdminkitError(f"{path} is no description of a cluster: {error}", "see docs/policy.md") from error


def site_text(site: Site) -> str:
    """A Site as JSON that load_site reads back, the same text for the same Site."""
    return json.dumps(asdict(site), indent=2, default=sorted) + "\n"
