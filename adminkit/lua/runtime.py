"""The Lua that slurmctld runs, run by Python: the same files decide in `try`, in `replay` and in tests.

Text goes in and out as bytes, so that a name that is not UTF-8 arrives as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal

from adminkit.errors import AdminkitError, cause
from adminkit.files import read_plain
from adminkit.installed import data_file
from adminkit.lua.literal import MOST_BYTES
from adminkit.owner import as_caller

LuaVersion = Literal["lua51", "lua54"]
#: The one in Debian's and Ubuntu's Slurm.
USUAL: Final[LuaVersion] = "lua51"

#: A module is a chunk that gets this loader; it returns its table, which is kept.
_NEED: Final = b"""
local read = ...
local compile, kept = loadstring or load, {}
local function need(name)
  if kept[name] == nil then
    local chunk, why = compile(read(name), "@" .. name .. ".lua")
    if not chunk then error(why, 0) end
    kept[name] = chunk(need)
  end
  return kept[name]
end
return need
"""

#: data.read, with two values always.
_DATA: Final = b"""
local source = ...
local data = (loadstring or load)(source, "@data.lua")()
return function(text, name)
  local value, wrong = data.read(text, name)
  return value, wrong
end
"""

Request = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Decision:
    """What decide.lua says of one request. None for what it leaves as it is."""

    verdict: str  # accept, amend or reject
    queue: str | None = None
    fit: str | None = None  # of a refusal: the queue that takes the job
    limit: int | None = None
    time_min: int | None = None  # 0: a typed one is left out
    soft: int | None = None  # the soft limit that the policy gives
    extend: str | None = None  # auto: it may get more time; else why not; None: the policy gives none
    points: int | None = None
    licences: str | None = None  # those that the job gets, all of them
    record: str | None = None
    fired: tuple[tuple[str, str], ...] = ()  # rule, what it did
    untold: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    log: tuple[str, ...] = ()


class Lua:
    """One interpreter with the modules of job_submit/adminkit. AdminkitError for whatever fails inside it."""

    def __init__(self, version: LuaVersion = USUAL, read: Callable[[str], bytes] | None = None) -> None:
        try:
            module = import_module(f"lupa.{version}")
        except ImportError as error:
            raise AdminkitError(f"this build of lupa lacks {version}", "pip install --upgrade lupa") from error
        self._errors: tuple[type[Exception], ...] = (module.LuaError,)
        self._table_type = module.lua_type
        self._lua = module.LuaRuntime(encoding=None, register_eval=False, register_builtins=False)
        source = read or _own
        self._need = self._lua.execute(_NEED, lambda name: source(name.decode()))
        self._read = self._lua.execute(_DATA, _own("data"))

    def module(self, name: str) -> Any:
        """What the module `name` returns, as a Lua table."""
        return self.call(self._need, name)

    def table(self, text: bytes, name: str) -> Any:
        """The table in a generated file, by the check that slurmctld makes: a text that is not data is not loaded."""
        value, wrong = self._guarded(self._read, text, f"={name}".encode())
        if value is None and wrong is not None:
            raise AdminkitError(f"{name}: {wrong.decode('utf-8', 'replace')}", "it was not made by adminkit")
        if self._table_type(value) != "table":
            raise AdminkitError(f"{name} returns no table", "it was not made by adminkit, or is damaged")
        return value

    def run(self, source: bytes, *values: Any) -> Any:
        """What a chunk returns that is given these values; it sees Lua's own library."""
        return self._guarded(self._lua.execute, source, *values)

    def call(self, function: Any, *values: Any) -> Any:
        """A Lua function with Python values."""
        return self._guarded(function, *(self.into(value) for value in values))

    def into(self, value: Any) -> Any:
        """A Python value as Lua's: mappings, sequences and sets become tables, text bytes."""
        if isinstance(value, str):
            return value.encode("utf-8", "surrogateescape")
        if isinstance(value, Mapping):
            return self._lua.table_from({self.into(k): self.into(v) for k, v in value.items() if v is not None})
        if isinstance(value, (set, frozenset)):
            return self._lua.table_from({self.into(one): True for one in value})
        if isinstance(value, Sequence) and not isinstance(value, bytes):
            return self._lua.table_from([self.into(one) for one in value])
        return value

    def out(self, value: Any) -> Any:
        """A Lua value as Python's: a table with keys 1 … n is a list, any other a dict; {} is an empty dict."""
        if isinstance(value, bytes):
            return value.decode("utf-8", "surrogateescape")
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if self._table_type(value) != "table":
            return value
        items = {self.out(key): self.out(one) for key, one in value.items()}
        if 1 in items and all(number in items for number in range(2, len(items) + 1)):
            return [items[number] for number in range(1, len(items) + 1)]
        return items

    def _guarded(self, function: Callable[..., Any], *values: Any) -> Any:
        try:
            return function(*values)
        except self._errors as error:
            message = str(error.args[0] if error.args else error)
            raise AdminkitError(
                f"Lua: {message.splitlines()[0] if message else 'failed'}", "see docs/policy-spec.md"
            ) from error


class Decider:
    """decide.lua with one policy, and with the tables of incentives, hints and needs where there are some."""

    def __init__(
        self,
        policy: bytes,
        incentives: bytes | None = None,
        hints: bytes | None = None,
        version: LuaVersion = USUAL,
        read: Callable[[str], bytes] | None = None,
        soft_limits: bytes | None = None,
    ) -> None:
        """Each table is the text of its generated file."""
        self._lua = Lua(version, read)
        tables = [
            None if text is None else self._lua.table(text, name)
            for text, name in (
                (policy, "policy.lua"),
                (incentives, "incentives.lua"),
                (hints, "hints.lua"),
                (soft_limits, "soft_limits.lua"),
            )
        ]
        self._ruleset = self._lua.call(self._lua.module("ruleset")[b"of"], *tables)
        self._modules = self._lua.module("decide")

    @cached_property
    def _of_update(self) -> Any:
        return self._lua.call(self._lua.module("request")[b"reader"], self._ruleset, False)[b"of_update"]

    def decide(self, request: Request) -> Decision:
        """What would happen to this request, on which nothing else depends."""
        return self._decision(self._lua.call(self._modules[b"decide"], request, self._ruleset))

    def update(self, changes: Request, record: Request, known: Request, now: int) -> Decision:
        """What would happen to an update of a job by its owner. `changes` has names of job_desc, `record` those of
        job_rec, as 22.05 spells them; `known` is what a request says beside them, of the job before and after it.
        """
        by = record.get("user_id")
        requests = self._lua.call(self._of_update, changes, record, None, by, now)
        for request in requests:
            for name, value in known.items():
                request[name.encode()] = value
        return self._decision(self._lua.call(self._modules[b"modify"], *requests, self._ruleset))

    def _decision(self, made: Any) -> Decision:
        answer = self._lua.out(made)
        return Decision(
            verdict=answer["verdict"],
            queue=answer.get("queue"),
            fit=answer.get("fit"),
            limit=answer.get("limit"),
            time_min=answer.get("time_min"),
            soft=answer.get("soft"),
            extend=answer.get("extend"),
            points=answer.get("points"),
            licences=answer.get("licences"),
            record=answer.get("record"),
            fired=tuple((one["rule"], one["action"]) for one in answer.get("fired") or ()),
            untold=tuple(answer.get("untold") or ()),
            messages=tuple(answer.get("messages") or ()),
            log=tuple(answer.get("log") or ()),
        )


def load_table(path: Path, version: LuaVersion = USUAL) -> dict[str, Any]:
    """The table in a generated file. AdminkitError for one that cannot be read or loaded."""
    try:
        text = read_plain(path, MOST_BYTES)
    except OSError as error:
        why = cause(error)
        raise AdminkitError(f"couldn't read {path}: {why}", "adminkit policy install --apply puts one there") from error
    lua = Lua(version, read=_own)
    value = lua.out(lua.table(text, path.name))
    return value if isinstance(value, dict) else {}


def _own(name: str) -> bytes:
    """A module that came with adminkit."""
    with as_caller():
        return data_file("job_submit", "adminkit", f"{name}.lua").read_bytes()
