"""kind = "policy": rules at submission. docs/simulate/policy.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from adminkit.errors import AdminkitError
from adminkit.files import read_named
from adminkit.policy.load import load_policy
from adminkit.quote import quote
from adminkit.simulate.asked import Answer, Fate, answers
from adminkit.simulate.case import Case, Column, take, with_columns, with_facts
from adminkit.simulate.change import Change, Given, Kind, Share, Sources
from adminkit.simulate.core import NONE
from adminkit.simulate.luck import Luck
from adminkit.toml import MOST_BYTES


class Refused(BaseModel):
    """What users do whose job is refused, in shares of the users."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    resubmit: Share = 0.0  # they type what the refusal says
    move: Share = 0.0  # they go to the queue that it names; users who are told of none resubmit
    leave: Share = 0.0

    @model_validator(mode="after")
    def _whole(self) -> Refused:
        if abs(self.resubmit + self.move + self.leave - 1) > 1e-9:
            raise ValueError("resubmit, move and leave are shares that must add up to 1")
        return self


class PolicyRules(Change):
    """The keys."""

    kind: Literal["policy"]
    policy: str  # a policy.toml; a relative path begins at the folder of the scenarios
    refused: Refused = Refused(resubmit=1.0)


#: For each of today's jobs and each way to be accepted: whether it is, and what it then asks for; NONE: as today.
_COLUMNS = ("limit", "queue", "nodes", "cpus", "gpus", "site_factor")


def prepare(keys: PolicyRules, sources: Sources) -> Given:
    """Each way's columns, by decide.lua; a way is `at_once`, `typed` or `moved`."""
    import numpy as np

    path = sources.folder / Path(keys.policy).expanduser()
    if not path.is_file():
        raise AdminkitError(
            f"scenario {quote(keys.name)}: couldn't read {path}: no such file",
            'policy = "…" is a path that begins at the folder of the scenarios',
        )
    policy = load_policy(path)
    if sources.db is None or sources.keys is None:
        raise AdminkitError(f"scenario {quote(keys.name)} needs the requests of a trace", "name a trace with --db")
    ids, submits = (sources.keys[name].tolist() for name in ("job_id_raw", "submit_time"))
    place = {key: number for number, key in enumerate(zip(ids, submits, strict=True))}
    queues = {name: number for number, name in enumerate(sources.case.names["queues"])}
    ways: dict[str, dict[str, Column]] = {
        way: {name: np.full(len(ids), NONE, np.int64) for name in ("accepted", *_COLUMNS)}
        for way in ("at_once", "typed", "moved")
    }
    asked = answers(sources.db, policy, sources.site, sources.cluster, sources.checkpoint_code)
    for key, answer in asked:
        at = place.get(key)
        if at is not None:
            _write(ways, at, answer, queues)
    return {"ways": ways, "digest": read_named(path, MOST_BYTES)}


def _write(ways: dict[str, dict[str, Column]], at: int, answer: Answer, queues: dict[str, int]) -> None:
    fates: dict[str, Fate | None] = {"at_once": answer.at_once, "typed": answer.typed, "moved": answer.moved}
    for way, fate in fates.items():
        columns = ways[way]
        columns["accepted"][at] = fate is not None
        if fate is None:
            continue
        given = (fate.time_limit, queues.get(fate.queue or "", NONE), fate.nodes, fate.cpus, fate.gpus, fate.points)
        for name, value in zip(_COLUMNS, given, strict=True):
            columns[name][at] = NONE if value is None else value


def apply(case: Case, keys: PolicyRules, value: Any, given: Given, luck: Luck) -> Case:
    """Accepted jobs get what the policy decided; refused users do what the shares say, user by user."""
    import numpy as np

    ways, origin = given["ways"], case.facts["origin"]

    def of(way: str, name: str) -> Column:
        column: Column = np.where(origin == NONE, NONE, ways[way][name][origin])
        return column

    ranks = luck.user_ranks("refused", case, 0.0)
    refused = of("at_once", "accepted") == 0
    leaves = refused & (ranks >= 1 - keys.refused.leave)
    moves = refused & ~leaves & (ranks >= 1 - keys.refused.leave - keys.refused.move) & (of("moved", "accepted") == 1)
    types = refused & ~leaves & ~moves & (of("typed", "accepted") == 1)
    changed = case
    for way, mask in (("at_once", of("at_once", "accepted") == 1), ("typed", types), ("moved", moves)):
        changed = _taken(changed, mask, {name: of(way, name) for name in _COLUMNS})
    stays = ~refused | moves | types
    changed = with_facts(changed, follows=_changes(case, changed))
    return changed if stays.all() else take(changed, np.flatnonzero(stays))


def _taken(case: Case, mask: Any, columns: dict[str, Column]) -> Case:
    """The case in which the jobs of `mask` ask for what `columns` have, where that is not NONE."""
    import numpy as np

    changed: dict[str, Column] = {}
    for name, column in columns.items():
        here = mask & (column != NONE)
        if name == "queue":
            bits = np.left_shift(np.int64(1), np.maximum(column, 0))
            changed["queues"] = np.where(here, bits, case.column("queues", 1))
        elif here.any():
            changed[name] = np.where(here, column, case.column(name, 0))
    if "nodes" in changed and "most_nodes" in case.request.jobs:
        changed["most_nodes"] = np.where(mask & (columns["nodes"] != NONE), changed["nodes"], case.column("most_nodes"))
    size = "gpus" if case.column("gpus", 0).max(initial=0) > 0 else "cpus"
    if size in changed and "procs" in case.request.jobs:
        changed["procs"] = np.where(mask & (columns[size] != NONE), changed[size], case.column("procs"))
    return with_columns(case, **changed)


def _changes(before: Case, after: Case) -> Column:
    """1 for jobs that ask for something else than today."""
    import numpy as np

    other = np.zeros(before.count, np.int64)
    for name, column in after.request.jobs.items():
        other |= column != before.column(name, 0)
    return other


KIND = Kind("policy", PolicyRules, apply, prepare, of_users=True)
