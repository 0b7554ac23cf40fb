"""Limits that a hub proposes: of one user's own servers, asked once, and what a user may type in their place."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adminkit.errors import AdminkitError, UsageError
from adminkit.fit.profiles import Profile
from adminkit.fit.request import Request
from adminkit.jupyter.limits import Limits, typed_limit, with_limit
from adminkit.jupyter.programs import Answer
from tests.support.builders import HOUR, job, make_trace
from tests.support.others import GROUP, OWNER

ONE = Profile("one", {}, Request("gq", 8, gpus=1, time_limit=8 * HOUR))
OPEN = Profile("open", {}, Request("gq"))


def servers(user: str, uid: int, first: int, elapsed: int) -> list[Any]:
    """Twelve of this user, a day apart, each ended by them."""
    return [
        job(
            first + 1440 * number, user=user, uid=uid, job_name="jupyter", state="CANCELLED", elapsed=elapsed,
            time_limit=8 * HOUR, cpus=8, gpus=1,
        )
        for number in range(12)
    ]  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return make_trace(
        tmp_path / "t.db", [*servers("nobody", 65534, 1, 50 * 60), *servers("games", 5, 20_000, 5 * HOUR)]
    )


def of(limits: Limits, user: str) -> Mapping[str, int]:
    async def later() -> Mapping[str, int]:
        while not (asked := limits._asked.get(user)) or not asked.task.done():
            await limits.of(user, [ONE, OPEN], "aaic")
        return await limits.of(user, [ONE, OPEN], "aaic")

    return asyncio.run(later())


@pytest.mark.parametrize(("user", "expected"), [("nobody", {"one": HOUR}), ("games", {"one": 6 * HOUR}), ("bin", {})])
def test_each_user_gets_what_comes_of_their_own_servers(trace: Path, user: str, expected: dict[str, int]) -> None:
    assert of(Limits(str(trace)), user) == expected


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
def test_a_trace_of_somebody_else_is_read_as_its_owner_and_the_hub_stays_who_it_is(trace: Path) -> None:
    for one in (trace.parent, trace):
        os.chown(one, OWNER, GROUP)
    temporary = Path(tempfile.gettempdir())
    for above in trace.parents:
        if above != temporary and above.is_relative_to(temporary):
            above.chmod(0o755)
    assert of(Limits(str(trace)), "nobody") == {"one": HOUR}
    assert os.geteuid() == 0


@pytest.mark.parametrize("user", ["x' OR '1'='1", "nobody' --", "", "\x00"])
def test_a_name_is_no_sql(trace: Path, user: str) -> None:
    sizes = {"one": {"queue": None, "cpus": 8, "gpus": 1, "most": 99999}}
    given = {"trace": str(trace), "user": user, "cluster": "", "sizes": sizes}
    words = [sys.executable, "-I", "-m", "adminkit.jupyter.limits_of"]
    done = subprocess.run(words, input=json.dumps(given), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) in ((0, "{}"), (1, "")), done.stderr
    assert "Traceback" not in done.stderr


def test_the_folder_that_the_hub_works_in_has_no_modules_of_its_own(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("adminkit", "json"):
        (tmp_path / f"{name}.py").write_text("import pathlib\npathlib.Path('run').touch()\nraise SystemExit(0)\n")
    monkeypatch.chdir(tmp_path)
    assert of(Limits(str(trace)), "nobody") == {"one": HOUR}
    assert not (tmp_path / "run").exists()


def test_a_user_is_asked_for_once_and_forms_do_not_wait() -> None:
    asked = []

    async def slow(words: list[str], *, given: str, timeout: float) -> Answer:
        asked.append(json.loads(given)["user"])
        await asyncio.sleep(0.5)
        return Answer(0, '{"one": 3600}', "")

    async def told() -> list[Mapping[str, int]]:
        limits = Limits("/t.db", slow)
        first = await asyncio.gather(*(limits.of("ada", [ONE], "") for _ in range(50)))
        await asyncio.sleep(0.6)
        return [*first, await limits.of("ada", [ONE], ""), await limits.of("ada", [ONE], "")]

    found = asyncio.run(told())
    assert found[:50] == [{}] * 50, "not known soon"
    assert found[50:] == [{"one": 3600}] * 2
    assert asked == ["ada"]


@pytest.mark.parametrize(
    "answer", [Answer(1, "", "no trace database"), Answer(0, "no JSON", ""), AdminkitError("no response within 60 s")]
)
def test_a_trace_that_cannot_be_read_proposes_nothing(answer: Answer | AdminkitError) -> None:
    async def fails(*_: Any, **__: Any) -> Answer:
        if isinstance(answer, AdminkitError):
            raise answer
        return answer

    assert asyncio.run(Limits("/t.db", fails).of("ada", [ONE], "")) == {}


@pytest.mark.parametrize(
    ("typed", "expected"),
    [(None, None), ("", None), ("30", 1800), ("1:30:00", 5400), ("00:15:00", 900), ("8:00:00", 8 * HOUR)],
)
def test_what_is_typed_is_a_limit_as_sbatch_takes_it(typed: str | None, expected: int | None) -> None:
    assert typed_limit(ONE, typed) == expected
    assert with_limit(ONE, expected).request.time_limit == (expected or 8 * HOUR)


@pytest.mark.parametrize(
    "typed", ["481", "0", "-1", "1h", "9 --gpus=8", ["30"], {"a": 1}, True, "9" * 5000, "UNLIMITED", "30\n--wrap=id"]
)
def test_what_is_no_limit_or_longer_is_refused(typed: object) -> None:
    with pytest.raises(UsageError):
        typed_limit(ONE, typed)


def test_a_profile_without_a_time_has_none_to_type() -> None:
    with pytest.raises(UsageError, match="has no time that could be shortened"):
        typed_limit(OPEN, "30")
