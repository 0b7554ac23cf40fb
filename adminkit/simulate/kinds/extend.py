"""kind = "extend": users type the recommended limit, and jobs that reach it are given more time while no job waits for
their nodes. docs/simulate/extend.md.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, model_validator

from adminkit.errors import AdminkitError
from adminkit.policy.durations import seconds
from adminkit.quote import quote
from adminkit.recommend.menu import LEAST_RISK, MOST_RISK
from adminkit.simulate.case import Case, Column, Mask, with_columns, with_facts, with_site
from adminkit.simulate.change import Change, Count, Given, Kind, Limits, Seconds, Share, Shares, Sources
from adminkit.simulate.core import NONE
from adminkit.simulate.history import recommended
from adminkit.simulate.luck import Luck
from adminkit.simulate.pieces import again, resumed

#: Seconds between two rounds, as the unit has it.
EVERY: Final = 30
MINUTE: Final = 60
#: The core keeps what a job runs in 32 bits.
_MOST_RUN: Final = 2**31 - 1


def _step(value: Any) -> int | float:
    """Seconds, or a share of the limit that was asked for."""
    if isinstance(value, str) and value.strip().endswith("%"):
        try:
            share = float(value.strip()[:-1]) / 100
        except ValueError:
            raise ValueError('a step is a duration or a share of the limit, such as "25%"') from None
        if not 0.01 <= share <= 9:
            raise ValueError("a step is 1 to 900 percent of the limit")
        return share
    step = seconds(value)
    if step < MINUTE:
        raise ValueError("a step is one minute or more")
    return step


Step = Annotated[int | float, BeforeValidator(_step)]
Factor = Annotated[float, Field(gt=1, le=100, strict=True)]


class Extend(Change):
    """The keys: those of [extend] in policy.toml, of `estimates`, and what is assumed of jobs."""

    swept: ClassVar[str] = "uptake"

    kind: Literal["extend"]
    uptake: Shares = (1.0,)  # of the users who type the recommended limit
    risk: Annotated[float, Field(ge=LEAST_RISK, le=MOST_RISK, strict=True)] | None = None  # None: the policy's
    menu: Limits | None = None  # None: the policy's
    resubmit: bool = True  # whether a job that the recommended limit ends is submitted again, with its own limit
    everybody: bool = True  # whether jobs of users who keep their limits are given more time, too
    step: Step = 0.25
    most: Annotated[float, Field(ge=1, le=10, strict=True)] = 2.0  # times the limit asked for
    lead: Annotated[Seconds, Field(ge=120)] = 600
    times: Count = 8
    checkpoints: Share = 0.0  # of the users whose jobs resume
    overhead: Seconds = 120  # to resume
    requeue: Seconds = 0
    timeouts: Literal["endless"] | Factor = "endless"  # what jobs needed that their own limit ended

    @model_validator(mode="after")
    def _useful(self) -> Extend:
        if isinstance(self.step, int) and self.step < self.lead:
            raise ValueError(f"a step of {self.step} s is shorter than the lead of {self.lead} s")
        return self


def prepare(keys: Extend, sources: Sources) -> Given:
    """The recommended limits, as those of `estimates`. AdminkitError for a model that has no nodes."""
    if sources.case.request.model != "slurm":
        raise AdminkitError(
            f"scenario {quote(keys.name)} is about the nodes of jobs, and {sources.case.request.model} has none",
            "use --model slurm",
        )
    offer = sources.offer
    menu = offer.menu if keys.menu is None else tuple(sorted(keys.menu))
    return {"limit": recommended(sources, keys.name, offer.risk if keys.risk is None else keys.risk, menu)}


def apply(case: Case, keys: Extend, value: float, given: Given, luck: Luck) -> Case:
    """The recommended limit where it is below the own one; and for whom limits may be raised, and how far."""
    import numpy as np

    origin, limit, run = case.facts["origin"], case.column("limit"), case.column("run")
    told = np.where(origin == NONE, NONE, given["limit"][origin])
    users = luck.users("uptake", case, value)
    follow = users & (told != NONE) & ((limit == NONE) | (told < limit))
    censored = (limit > 0) & (run >= limit)
    needs = np.where(censored, _censored(keys, limit), run)
    able = users if not keys.everybody else np.ones(case.count, bool)
    changed = with_facts(case, follows=users.astype(np.int64))
    changed = with_columns(changed, run=needs, limit=np.where(follow, told, limit))
    changed = _raised(changed, keys, able)
    lost = keys.lead + keys.overhead
    resumes = luck.users("checkpoint", case, keys.checkpoints) & (told > lost + MINUTE) & ~censored
    cut = follow & (needs > told)
    changed = resumed(changed, np.flatnonzero(cut & resumes), lost, keys.requeue)
    if keys.resubmit:
        changed = _again(changed, keys, cut & ~resumes, limit, able)
    settings = {"extend_every": EVERY, "extend_lead": keys.lead, "extend_times": keys.times}
    return with_site(changed, settings={**case.request.settings, **settings})


def _censored(keys: Extend, limit: Column) -> Column:
    """What a job needs that its own limit ended: nobody knows, and more than that."""
    import numpy as np

    factor = 100.0 if keys.timeouts == "endless" else keys.timeouts
    needs: Column = np.minimum(np.ceil(limit * factor), _MOST_RUN).astype(np.int64)
    return needs


def _raised(case: Case, keys: Extend, able: Mask) -> Case:
    """Limits of these jobs may be raised. Without a limit of its own a job never reaches its end."""
    import numpy as np

    limit = case.column("limit")
    asked = np.maximum(limit, 0)
    step = np.ceil(asked * keys.step) if isinstance(keys.step, float) else np.full(case.count, float(keys.step))
    step = np.ceil(np.maximum(step, keys.lead) / MINUTE) * MINUTE
    most = np.floor(asked * keys.most)
    may = able & (limit > 0) & (keys.most > 1)
    return with_columns(
        case,
        step=np.minimum(np.where(may, step, 0), _MOST_RUN).astype(np.int64),
        most_limit=np.minimum(np.where(may, most, NONE), _MOST_RUN).astype(np.int64),
    )


def _again(case: Case, keys: Extend, cut: Mask, limit: Column, able: Mask) -> Case:
    """With a second run of each job of `cut`, which comes only if the first was ended at its limit."""
    import numpy as np

    many = len(limit)
    there = np.concatenate([cut, np.zeros(case.count - many, bool)])
    own = np.concatenate([limit, np.full(case.count - many, NONE)])
    second = again(case, there, own)
    added = np.arange(second.count) >= case.count
    after = second.column("after")
    allowed = np.concatenate([able, np.zeros(second.count - many, bool)])
    raised = _raised(second, keys, allowed[np.where(added, after, 0)])
    columns = {name: np.where(added, raised.column(name), second.column(name)) for name in ("step", "most_limit")}
    conditional = np.where(added, 1, second.column("if_killed", 0))
    return with_columns(second, if_killed=conditional, **columns)


KIND = Kind("extend", Extend, apply, prepare, of_users=True)
