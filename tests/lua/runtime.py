"""The Lua of job_submit/ in both releases of Lua that Slurm is built with, and its values as Python's."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

JOB_SUBMIT = Path(__file__).resolve().parents[2] / "job_submit"
MODULES = JOB_SUBMIT / "adminkit"
RELEASES = ("lua51", "lua54")

_NEED = """
local folder, loader = ...
local loaded = {}
local function need(name)
    if not loaded[name] then
        local chunk = assert(loader(folder .. "/" .. name .. ".lua"))
        loaded[name] = chunk(need)
    end
    return loaded[name]
end
return need
"""


class Lua:
    """One Lua state. Texts are UTF-8 with surrogateescape on the way in and out, so that any byte passes through."""

    def __init__(self, release: str) -> None:
        self.state = import_module(f"lupa.{release}").LuaRuntime(encoding="latin-1", unpack_returned_tuples=True)
        run = self.state.eval("function(text, ...) return assert((loadstring or load)(text))(...) end")
        self.need = run(_NEED, str(MODULES), self.state.globals().loadfile)

    def table(self, value: Any) -> Any:
        """A Python value as Lua's."""
        if isinstance(value, str):
            return value.encode("utf-8", "surrogateescape").decode("latin-1")
        if isinstance(value, dict):
            return self.state.table_from({self.table(k): self.table(v) for k, v in value.items() if v is not None})
        if isinstance(value, (set, frozenset)):
            return self.state.table_from({self.table(item): True for item in value})
        if isinstance(value, (list, tuple)):
            return self.state.table_from([self.table(v) for v in value])
        return value

    def value(self, value: Any) -> Any:
        """A Lua value as Python's; whole floats are integers, as Lua 5.1 knows no difference."""
        if isinstance(value, str):
            return value.encode("latin-1").decode("utf-8", "surrogateescape")
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if hasattr(value, "items") and not isinstance(value, dict):
            found = {self.value(k): self.value(v) for k, v in value.items()}
            if found and set(found) == set(range(1, len(found) + 1)):
                return [found[i] for i in range(1, len(found) + 1)]
            return found
        return value

    def decide(self, request: Any, policy: Any, incentives: Any = None, hints: Any = None) -> dict[str, Any]:
        tables = [self.table(x) for x in (request, policy, incentives, hints)]
        answer = self.value(self.need("decide").decide(*tables))
        assert isinstance(answer, dict)
        return {**answer, **{k: answer.get(k) or [] for k in ("fired", "untold", "messages", "log")}}

    def modify(self, request: Any, job: Any, policy: Any, incentives: Any = None) -> dict[str, Any]:
        tables = [self.table(x) for x in (request, job, policy, incentives)]
        answer = self.value(self.need("decide").modify(*tables))
        assert isinstance(answer, dict)
        return {**answer, **{k: answer.get(k) or [] for k in ("fired", "untold", "messages", "log")}}
