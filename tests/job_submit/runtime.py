"""The Lua of job_submit/ in both releases of Lua that Slurm is built with, and its values as Python's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adminkit.deploy.rehearse import LUAS as RELEASES
from adminkit.lua import runtime

__all__ = ["JOB_SUBMIT", "MODULES", "RELEASES", "Lua"]

JOB_SUBMIT = Path(__file__).resolve().parents[2] / "job_submit"
MODULES = JOB_SUBMIT / "adminkit"


class Lua(runtime.Lua):
    """One Lua state, with what tests ask of it. Texts are UTF-8 with surrogateescape on the way in and out."""

    def decide(self, request: Any, policy: Any, incentives: Any = None, hints: Any = None) -> dict[str, Any]:
        """The decision on a submission."""
        return self._listed(self.module("decide").decide, request, self.ruleset(policy, incentives, hints))

    def modify(self, request: Any, job: Any, policy: Any, incentives: Any = None) -> dict[str, Any]:
        """The decision on an update."""
        return self._listed(self.module("decide").modify, request, job, self.ruleset(policy, incentives))

    def ruleset(self, policy: Any, incentives: Any = None, hints: Any = None) -> Any:
        """The tables as decisions use them."""
        return self.call(self.module("ruleset").of, policy, incentives, hints)

    def ask(self, module: str, name: str, *values: Any) -> Any:
        """What that function of a module returns, the first of several values."""
        answer = self.call(self.module(module)[name.encode()], *values)
        return self.out(answer[0] if isinstance(answer, tuple) else answer)

    def _listed(self, decide: Any, *values: Any) -> dict[str, Any]:
        answer = self.out(self.call(decide, *values))
        assert isinstance(answer, dict)
        return {**answer, **{key: answer.get(key) or [] for key in ("fired", "untold", "messages", "log")}}
