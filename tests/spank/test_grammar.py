"""The plugin and job_submit's Lua agree on which values of ADMINKIT_CKPT ask for checkpoints."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.lua.runtime import LuaVersion
from tests.job_submit.runtime import Lua

HERE = Path(__file__).resolve().parent
SPANK = HERE.parents[1] / "spank"

ITEMS = st.one_of(
    st.sampled_from(["on", "off", "requeue", "target=shell", "target=jvm", "target=", "", " ", "OFF"]),
    st.builds("requeue={}".format, st.integers(-1, 1002)),
    st.builds(
        "{}{}@{}".format,
        st.sampled_from(["", "SIG", "sig", "SIGSIG"]),
        st.sampled_from(["TERM", "term", "Usr1", "USR2", "XCPU", "HUP", "KILL", "15", ""]),
        st.one_of(st.integers(-1, 86402), st.sampled_from(["", "1e3", "0300", "300@3", "0x10", "+5"])),
    ),
    st.text("TERMSIGUSR1@,=0123 requtagshlo", max_size=12),
)
VALUES = st.lists(ITEMS, max_size=4).map(",".join)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no cc")
    made = tmp_path_factory.mktemp("spank") / "wants"
    command = ["cc", "-std=c11", "-D_GNU_SOURCE", f"-I{SPANK}", "-o", made, HERE / "wants.c", SPANK / "ckpt/options.c"]
    subprocess.run(command, check=True)
    return made


@pytest.mark.parametrize("release", ["lua51", "lua54"])
def test_both_take_the_same_values_for_requests(program: Path, release: LuaVersion) -> None:
    lua = Lua(release)
    seen = set()

    @settings(max_examples=25, deadline=None)
    @given(st.lists(VALUES, min_size=20, max_size=40))
    def agree(values: list[str]) -> None:
        given_in = b"".join(value.encode() + b"\0" for value in values)
        said = subprocess.run([program], input=given_in, capture_output=True, check=True).stdout.split()
        ours = [b"yes" if lua.ask("ckpt", "wants", value) else b"no" for value in values]
        assert dict(zip(values, said, strict=True)) == dict(zip(values, ours, strict=True))
        seen.update(said)

    agree()
    assert seen == {b"yes", b"no"}, "the values are of both kinds"
