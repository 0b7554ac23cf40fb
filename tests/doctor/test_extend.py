"""What doctor says of more time for running jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adminkit import actions, config
from adminkit.deploy.extend_state import STATE, State, month_of, write_state
from adminkit.deploy.files import SUBFOLDER, table_path
from adminkit.doctor import extend
from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError
from adminkit.lua.literal import module
from adminkit.policy.extend_checks import SignalLead
from tests.job_submit.policies import policy
from tests.job_submit.test_extend import SETTINGS

NOW = 1_800_000_000


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Check]]:
    """`host(...)`: the checks on a host of slurmctld, where extending is on by default."""

    def says(
        settings: dict[str, Any] | None = SETTINGS,
        state: State | None = None,
        others: tuple[str, ...] = (),
        acting: bool | None = True,
        signal: int | None = None,
        held: tuple[bool | None, ...] = (),
        made: Path | None = None,
    ) -> list[Check]:
        (tmp_path / SUBFOLDER).mkdir(exist_ok=True)
        more = {} if settings is None else {"extend": settings}
        table_path(tmp_path, "policy").write_text(module(policy(**more), "made for a test"))
        if state is not None:
            write_state(tmp_path, state)
        for number, one in enumerate(held):
            line = actions.act("extend", None, None, {}, job=number, held=one)
            actions.append(tmp_path / "acts.jsonl", {**line, "at": NOW - 3600})
        there = SimpleNamespace(others=lambda: others)
        monkeypatch.setattr(extend, "controller_or_conf", lambda: there)
        monkeypatch.setattr(extend, "site_folder", lambda *_: tmp_path)
        monkeypatch.setattr(extend.extending, "is_acting", lambda _: acting)
        monkeypatch.setattr(extend.time, "time", lambda: NOW)

        def lead() -> SignalLead | None:
            return None if signal is None else SignalLead(signal, "/p.conf:3")

        monkeypatch.setattr(extend.ckpt, "signal_lead", lead)
        return list(extend.extend(replace(config.Config(), acts=made or tmp_path / "acts.jsonl")))

    return says


def kept(ago: int = 10, whole: bool = True) -> State:
    return State(NOW - ago, month_of(NOW), whole=whole)


#: what is there -> the status and a part of what is found of each check
SAID: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "it is off": ({"settings": None}, []),
    "the timer was never started": ({}, [("missing", "no round was ever run")]),
    "the timer runs": ({"state": kept()}, [("ok", "the last round was at")]),
    "two rounds were missed": ({"state": kept(70)}, [("ok", "the last round was at")]),
    "the timer was stopped": ({"state": kept(121)}, [("missing", "no round since")]),
    "another host is in control": (
        {"others": ("b",), "acting": False},
        [("ok", "another host's slurmctld is in control")],
    ),
    "this one is": ({"others": ("b",), "state": kept()}, [("ok", "the last round")]),
    "what was given is not known": (
        {"state": kept(whole=False)},
        [("ok", "the last round"), ("warn", "not known here")],
    ),
    "and there is no budget": (
        {"state": kept(whole=False), "settings": {key: one for key, one in SETTINGS.items() if key != "budget"}},
        [("ok", "the last round")],
    ),
    "the plugin signals before": (
        {"state": kept(), "signal": 600},
        [("warn", "signals jobs 00:10:00 before"), ("ok", "the last")],
    ),
    "the plugin signals after": ({"state": kept(), "signal": 300}, [("ok", "the last round")]),
    "changes held": ({"state": kept(), "held": (True, None, False, True)}, [("ok", "the last round")]),
    "changes did not hold": (
        {"state": kept(), "held": (False, None, False, True)},
        [("ok", "the last round"), ("warn", "2 did not hold and 1 did")],
    ),
}


@pytest.mark.parametrize("why", SAID)
def test_what_is_said(host: Callable[..., list[Check]], why: str) -> None:
    there, expected = SAID[why]
    found = host(**there)
    assert len(found) == len(expected), found
    for check, (status, words) in zip(found, expected, strict=True):
        assert (check.status, check.name) == (status, "extend") and words in check.found, check
        assert bool(check.hint) == (status != "ok")


def test_a_damaged_state_is_no_round(host: Callable[..., list[Check]], tmp_path: Path) -> None:
    (tmp_path / SUBFOLDER).mkdir()
    (tmp_path / STATE).write_text("{")
    assert [(one.status, one.hint) for one in host()][-1] == (
        "warn",
        'wait, or set budget = "none" in [extend] and install the policy',
    )


def test_settings_that_cannot_be_read_are_said(host: Callable[..., list[Check]]) -> None:
    with pytest.raises(AdminkitError, match="couldn't read \\[extend\\]"):
        host(settings={**SETTINGS, "most": None})
