"""Where the other simulator cannot be measured, the reason is said, and no ratio is judged."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from adminkit.simulate.core import Request, simulate
from tests.bench import rival
from tests.bench.rival_rules import Rules
from tests.simulate.cases import many

_TRACES = "no KTH-SP2-1996-2.swf.gz under $ADMINKIT_TRACES"


@pytest.mark.parametrize(
    ("trace", "python", "reason"),
    [
        (False, sys.executable, _TRACES),
        (True, "/nowhere/python", "[Errno 2] No such file or directory: '/nowhere/python'"),
        (True, "false", "Command"),
    ],
)
def test_the_reason_is_said(
    trace: bool,
    python: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ADMINKIT_TRACES", str(tmp_path))
    monkeypatch.setattr(sys, "executable", python)
    if trace:
        with gzip.open(tmp_path / rival.KTH, "wt") as file:
            file.write(f"; MaxProcs: 100\n{'1 ' * 18}\n")
    assert rival.run(tmp_path) == []
    assert capsys.readouterr().out.startswith(f"{rival.SIDE}: not run: {reason}")


def test_with_both_rules_replaced_they_are_those_of_the_model_easy() -> None:
    """AccaSim decides once a second, the model after each end; with these jobs that makes no difference."""
    jobs = dict(many(600, machine=8).request.jobs)
    number = jobs["id"]
    jobs |= {"submit": 1000 * jobs["submit"] + number, "run": 1000 * jobs["run"], "limit": 1000 * jobs["limit"]}
    starts = Rules(jobs, 8, True, True).run()
    assert starts == simulate(Request("easy", jobs, {"procs": 8})).start.tolist()
    assert starts != Rules(jobs, 8, True, False).run()
