"""kind = "estimates": users type the limit that is recommended to them. docs/simulate/estimates.md."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from adminkit.recommend.menu import LEAST_RISK, MOST_RISK
from adminkit.simulate.case import Case, with_columns, with_facts
from adminkit.simulate.change import Change, Given, Kind, Limits, Shares, Sources
from adminkit.simulate.core import NONE
from adminkit.simulate.history import recommended
from adminkit.simulate.luck import Luck
from adminkit.simulate.pieces import again


class Estimates(Change):
    """The keys."""

    swept: ClassVar[str] = "uptake"

    kind: Literal["estimates"]
    uptake: Shares = (1.0,)  # of the users; a user follows with all jobs or none
    risk: Annotated[float, Field(ge=LEAST_RISK, le=MOST_RISK, strict=True)] | None = None  # None: the policy's
    menu: Limits | None = None  # None: the policy's
    resubmit: bool = True  # whether a job that the new limit ends is submitted again, with its own limit


def prepare(keys: Estimates, sources: Sources) -> Given:
    """The limit that would have been recommended at each submission, by what had ended then; NONE for none."""
    offer = sources.offer
    menu = offer.menu if keys.menu is None else tuple(sorted(keys.menu))
    return {"limit": recommended(sources, keys.name, offer.risk if keys.risk is None else keys.risk, menu)}


def apply(case: Case, keys: Estimates, value: float, given: Given, luck: Luck) -> Case:
    """Users who follow type the recommended limit where it is below their own."""
    import numpy as np

    origin, limit = case.facts["origin"], case.column("limit")
    told = np.where(origin == NONE, NONE, given["limit"][origin])
    users = luck.users("uptake", case, value)
    follow = users & (told != NONE) & ((limit == NONE) | (told < limit))
    shorter = with_columns(case, limit=np.where(follow, told, limit))
    shorter = with_facts(shorter, follows=users.astype(np.int64))
    return again(shorter, follow & (case.column("run") > told), limit) if keys.resubmit else shorter


KIND = Kind("estimates", Estimates, apply, prepare, of_users=True)
