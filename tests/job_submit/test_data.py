"""What is data is loaded; a program is not, however it is disguised, and nothing that passes can hurt who loads it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.lua.literal import MOST_BYTES, module
from tests.job_submit.policies import hints, incentives, policy
from tests.job_submit.runtime import MODULES, Lua
from tests.support.hostile_tables import EXTREME, GENERATED, TABLES

INTERPRETERS = ("lua5.1", "lua5.4")
#: One process for all of them, with slurmctld's stack and little memory; a line of what came of each.
DRIVER = """
local need_data, paths = dofile(arg[1] .. "/data.lua"), {}
for i = 2, #arg do
    local file = io.open(arg[i], "rb")
    local value, wrong = need_data.read(file:read(need_data.MOST_BYTES + 1) or "", "=x")
    file:close()
    print(type(value), wrong)
    collectgarbage()
end
"""


def wrong(lua: Lua, text: str) -> str | None:
    found = lua.ask("data", "wrong", text)
    assert found is None or isinstance(found, str)
    return found


def loads(lua: Lua, text: str) -> Any:
    """The table, None for none: what data.lua lets through may still be no Lua."""
    return lua.run(b"local read, text = ... return (read(text, '=x'))", lua.module("data").read, lua.into(text))


@pytest.mark.parametrize(("what", "text"), TABLES, ids=[case[0] for case in TABLES])
def test_a_hostile_table_never_counts(lua: Lua, what: str, text: str) -> None:
    value = loads(lua, text)
    assert value is None or lua.ask("validate", "incentives", value), f"it would {what}"


def test_a_hundred_generated_ones_do_not_load(lua: Lua) -> None:
    loaded = [text for text in GENERATED if loads(lua, text) is not None]
    assert [text for text in loaded if not lua.ask("validate", "incentives", loads(lua, text))] == []
    assert len(set(GENERATED)) > 95, "they differ"


@pytest.mark.parametrize("interpreter", INTERPRETERS)
def test_none_of_them_hurts_a_thread_with_a_stack_of_1_mb(tmp_path: Path, interpreter: str) -> None:
    if not shutil.which(interpreter):
        pytest.skip(f"not run: no {interpreter}")
    paths = []
    for number, text in enumerate([*(text for _, text in (*TABLES, *EXTREME)), *GENERATED, module(incentives(), "x")]):
        path = tmp_path / f"{number}.lua"
        path.write_bytes(text.encode("latin-1"))
        paths.append(path)
    (tmp_path / "driver.lua").write_text(DRIVER)
    limits = "ulimit -s 1024; ulimit -v 500000; ulimit -t 60"
    words = " ".join(map(str, paths))
    command = ["sh", "-c", f"{limits}; exec {interpreter} {tmp_path}/driver.lua {MODULES} {words}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert len(said) == len(paths)
    assert said[-1] == "table\tnil", "the last one is good"
    hostile = [line for number, line in enumerate(said[:-1]) if not len(TABLES) <= number < len(TABLES) + len(EXTREME)]
    assert sum(line.startswith("table") for line in hostile) <= 1, "an endless number is for validate.lua to refuse"


GOOD = {"points": incentives(), "hints": hints({"大 job": {"": [1, 2, 3, 4]}}), "rules": policy()}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_generated_passes(lua: Lua, name: str) -> None:
    assert wrong(lua, module(GOOD[name], "x")) is None


KEYS = st.one_of(st.integers(-(2**40), 2**40), st.text(max_size=8))
VALUES = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**60), 2**60),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=12),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=5))
def test_whatever_the_writer_writes_passes_and_is_read(lua: Lua, value: dict[str, Any]) -> None:
    text = module(value, "x")
    assert wrong(lua, text) is None
    assert loads(lua, text) is not None


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='{}[]=,"\\. \n-0123456789etruefalsn()ab:#', max_size=60))
def test_what_passes_by_chance_is_a_table_or_no_lua_at_all(lua: Lua, inner: str) -> None:
    """A name or a call in it would be met by the empty environment as an error of its own."""
    text = "return {" + inner + "}"
    if wrong(lua, text) is None:
        why = b"local read, text = ... local _, why = read(text, '=x') return why"
        found = lua.out(lua.run(why, lua.module("data").read, lua.into(text)))
        assert found is None or not re.search(r"attempt to|global|upvalue|field", found), found


def test_depth_and_counts_are_bounded_at_the_named_numbers(lua: Lua) -> None:
    data = lua.module("data")
    deep = "return " + "{" * data.DEEPEST + "}" * data.DEEPEST
    assert wrong(lua, deep) is None
    assert "deep" in (wrong(lua, deep.replace("{}", "{{}}")) or "")
    assert "tables" in (wrong(lua, "return {" + "{}," * (data.MOST_TABLES + 1) + "}") or "")
    assert "values" in (wrong(lua, "return {" + "1," * (data.MOST_FIELDS + 1) + "}") or "")
    full = 'return {"' + "x" * (data.MOST_BYTES - 11) + '"}'
    assert len(full) == data.MOST_BYTES
    assert wrong(lua, full) is None
    assert "larger" in (wrong(lua, full + "\n") or "")
    assert data.MOST_BYTES == MOST_BYTES
