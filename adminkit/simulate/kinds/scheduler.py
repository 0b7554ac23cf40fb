"""kind = "scheduler": other parameters of the scheduler, or another model. docs/simulate/scheduler.md."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, StrictInt, model_validator

from adminkit.errors import AdminkitError, unknown_word
from adminkit.quote import quote
from adminkit.simulate.case import Case, with_site
from adminkit.simulate.change import Change, Given, Kind, Sources
from adminkit.simulate.core import MODELS, Model, simulate, without_jobs
from adminkit.simulate.luck import Luck
from adminkit.simulate.settings import SETTINGS


class Scheduler(Change):
    """The keys."""

    kind: Literal["scheduler"]
    set: dict[str, StrictInt] = Field(default_factory=dict)  # by the names of docs/simulate-spec.md
    model: Model | None = None

    @model_validator(mode="after")
    def _something(self) -> Scheduler:
        if not self.set and self.model is None:
            raise ValueError("give it what to set, set = { bf_window = 259200 }, or a model")
        for name in self.set:
            if name not in SETTINGS:
                raise ValueError(f"no such setting: {quote(name)}; {unknown_word('setting', name, SETTINGS).hint}")
        return self


def prepare(keys: Scheduler, sources: Sources) -> Given:
    """Refuses a model that has another kind of site than today's, and values that the core does not take."""
    pool = [sources.case.request.model != "slurm", (keys.model or sources.case.request.model) != "slurm"]
    if pool[0] != pool[1]:
        raise AdminkitError(
            f"scenario {quote(keys.name)}: {keys.model} cannot be compared with {sources.case.request.model}: one has "
            "nodes, the other a pool of processors",
            f"models of one pool: {', '.join(model for model in MODELS if model != 'slurm')}",
        )
    try:
        simulate(without_jobs(apply(sources.case, keys, None, {}, Luck(0)).request))
    except AdminkitError as error:
        said = error.message.rpartition(": ")[2]
        raise AdminkitError(f"scenario {quote(keys.name)}: {said}", "docs/simulate-spec.md has the settings") from error
    return {}


def apply(case: Case, keys: Scheduler, value: Any, given: Given, luck: Luck) -> Case:
    """The settings that are given take the place of today's."""
    return with_site(case, settings={**case.request.settings, **keys.set}, model=keys.model or case.request.model)


KIND = Kind("scheduler", Scheduler, apply, prepare)
