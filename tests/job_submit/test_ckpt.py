"""Whether a batch job counts as restartable: the cases of tests/data/ckpt_options.tsv, and noise."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.job_submit import site
from tests.job_submit.policies import HOUR, policy, rule
from tests.job_submit.runtime import Lua

TABLE = Path(__file__).resolve().parents[1] / "data" / "ckpt_options.tsv"
PREFIX = "_SLURM_SPANK_OPTION_adminkit_ckpt_"
NAMES = {"variable": "ADMINKIT_CKPT", "option": PREFIX, "off": "off"}
CASES = [line.split("\t") for line in TABLE.read_text().splitlines() if not line.startswith("#")]


def environment(value: str, options: str) -> dict[str, str]:
    found = {} if value == "-" else {"ADMINKIT_CKPT": value}
    for option in options.split(";") if options != "-" else []:
        name, _, text = option.partition("=")
        found[PREFIX + name] = text
    return found


@pytest.mark.parametrize(("value", "options", "expected", "why"), CASES)
def test_an_environment(lua: Lua, value: str, options: str, expected: str, why: str) -> None:
    assert expected in ("yes", "no")
    answer = lua.ask("ckpt", "restartable", environment(value, options), NAMES)
    assert answer is (expected == "yes"), why


@pytest.mark.parametrize(("value", "options", "expected", "why"), CASES[:8] + CASES[-6:])
def test_a_job_with_that_environment(
    lua: Lua, tmp_path: Path, value: str, options: str, expected: str, why: str
) -> None:
    site.write(tmp_path, policy=policy(rule("restartable_above", HOUR, "amend")))
    answer = site.run(lua, site.case(tmp_path, desc={"environment": environment(value, options)}))
    assert answer["desc"]["time_limit"] == (1200 if expected == "yes" else 60), why
    assert answer["errors"] == []


def test_srun_and_salloc_show_nothing_and_are_not_asked(lua: Lua, tmp_path: Path) -> None:
    site.write(tmp_path, policy=policy(rule("restartable_above", HOUR)))
    answer = site.run(lua, site.case(tmp_path, desc={"script": None, "environment": {"ADMINKIT_CKPT": "on"}}))
    assert (answer["code"], answer["errors"]) == (0, [])


@given(st.text(alphabet="TERMSIGUSRon@,=0123456789 requtagshlf\n\x00-", max_size=30))
def test_noise_is_judged_and_never_raises(lua: Lua, value: str) -> None:
    wants = lua.ask("ckpt", "wants", value)
    assert wants in (True, False)
    if wants:
        assert all(item and not item.isspace() for item in value.split(","))
        assert not any(char in value for char in " \n\x00-")
