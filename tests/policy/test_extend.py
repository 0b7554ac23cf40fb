"""[extend] of policy.toml: what may stand there, what it compiles to, what an operator reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.deploy.extend_round import settings_in_force
from adminkit.deploy.files import SUBFOLDER, table_path
from adminkit.doctor.ckpt import _signal_lead
from adminkit.errors import AdminkitError
from adminkit.extend.settings import Settings
from adminkit.lua.runtime import Decider, Decision, LuaVersion
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.diff import differences
from adminkit.policy.explain import explain
from adminkit.policy.extend_checks import SignalLead, lead_clashes
from adminkit.policy.extend_settings import Extend
from adminkit.policy.load import examine, load_policy
from adminkit.policy.model import Policy
from adminkit.policy.replay import replay_trace
from adminkit.policy.request import Typed, typed_request
from adminkit.reports.policy import replay_report, try_lines
from adminkit.slurm.plugstack import Line
from adminkit.slurm.site import made_up
from adminkit.stats.replay import one_cluster
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, job, make_trace

NOW = 1_800_000_000


def loaded(folder: Path, text: str, head: str = "") -> Policy:
    path = folder / "policy.toml"
    path.write_text(f"version = 1\n{head}[extend]\n{text}\n")
    return load_policy(path)


#: (settings, what they compile to, as far as they differ from the defaults)
COMPILED: list[tuple[str, dict[str, Any], str]] = [
    ("", {}, "the defaults"),
    ('step = "00:30:00"', {"step": {"seconds": 1800}}, "a clock"),
    ('step = "30m"', {"step": {"seconds": 1800}}, "units"),
    ('step = "50%"', {"step": {"share": 0.5}}, "a part of the limit"),
    ('step = " 100 % "', {"step": {"share": 1.0}}, "as long again"),
    ('budget = "none"', {"budget": None}, "no budget"),
    ('budget = "2d"', {"budget": 172_800}, "two days"),
    ("most = 1.25", {"most": 1.25}, "as much as one step"),
    ("most = 10", {"most": 10.0}, "a whole number"),
    ('lead = "2m"', {"lead": 120}, "the shortest lead"),
    ("times = 1", {"times": 1}, "once"),
    ('queues = ["gq"]', {"queues": {"gq": True}}, "a queue"),
    ('classes = ["cpu"]\nqos = ["Low"]', {"classes": {"cpu": True}, "qos": {"low": True}}, "QOS as Slurm keeps them"),
    (
        'users_off = ["alice", "zoe"]\naccounts_off = ["Vision"]\nqos_off = ["Free"]',
        {
            "users_off": {"alice": True, "zoe": True},
            "accounts_off": {"vision": True},
            "qos_off": {"free": True},
        },
        "users by name, and by uid where it is known",
    ),
    ('default = "off"\nearned = true', {"default": "off", "earned": True}, "switches"),
    ("preemptible = true\ninteractive = true", {"preemptible": True, "interactive": True}, "more switches"),
]
DEFAULTS: dict[str, Any] = {
    "queues": {"gq": True, "gq-short": True}, "classes": {}, "qos": {}, "default": "auto", "step": {"share": 0.25},
    "most": 2.0, "lead": 600, "budget": 86_400, "times": 8, "earned": False, "users_off": {}, "accounts_off": {},
    "qos_off": {}, "preemptible": False, "interactive": False, "variable": "ADMINKIT_EXTEND", "server": "jupyter",
}  # fmt: skip


@pytest.mark.parametrize(("text", "differs", "why"), COMPILED, ids=[case[2] for case in COMPILED])
def test_what_it_compiles_to(tmp_path: Path, text: str, differs: dict[str, Any], why: str) -> None:
    site = made_up(["gq", "gq-short"], ["alice"])
    table = policy_table(loaded(tmp_path, f"enabled = true\n{text}"), site, NOW)
    expected = {key: value for key, value in {**DEFAULTS, **differs}.items() if value is not None}
    if "users_off" in differs:
        expected["users_off"] |= {site.uids["alice"]: True}
    assert table["extend"] == expected, why
    assert Decider(policy_text(table).encode())


def test_it_is_off_by_default(tmp_path: Path) -> None:
    policy = loaded(tmp_path, "")
    assert policy.extend == Extend() and "extend" not in policy_table(policy, made_up(["gq"]), NOW)
    assert "extend" not in dict(explain(policy))


#: (settings, what the error says, what the hint says)
WRONG: list[tuple[str, str, str]] = [
    ("enabeld = true", "extend.enabeld: no such key", "did you mean enabled?"),
    ('default = "atuo"', "extend.default: 'atuo' is not one of", "did you mean auto?"),
    ('default = ""', "extend.default", "known"),
    ('step = "save it"', "extend.step", ""),
    ('step = "save"', 'write a time ("00:30:00") or a part', ""),
    ('step = "9m"', "over before the next decision, 00:10:00 before the end", 'set step = "00:10:00" or more'),
    ('step = "0%"', "from 1% to 900%", ""),
    ('step = "901%"', "from 1% to 900%", ""),
    ('step = "12.5%"', "extend.step", ""),
    ('step = "-5%"', "extend.step", ""),
    ("step = 30", 'write "30m" or "30s"', ""),
    ("step = 0.25", "extend.step", ""),
    ("step = true", "extend.step", ""),
    ('step = "90s"', "whole minutes", ""),
    ('step = "0m"', "whole minutes", ""),
    ('step = "9999d"', "less than a year", ""),
    ('step = ["25%"]', "extend.step", ""),
    ("most = 0.5", "extend.most", ""),
    ("most = 11", "extend.most", ""),
    ("most = nan", "extend.most", ""),
    ("most = inf", "extend.most", ""),
    ('most = "2"x', "policy.toml", ""),
    ('lead = "119s"', "extend.lead", ""),
    ('lead = "2d"', "extend.lead", ""),
    ("lead = 600", 'write "600m" or "600s"', ""),
    ('budget = "nnoe"', "did you mean none?", ""),
    ("budget = 24", 'write "24m" or "24s"', ""),
    ('budget = "0h"', "whole minutes", ""),
    ("times = 0", "extend.times", ""),
    ("times = 1001", "extend.times", ""),
    ('classes = ["gpu"]', "extend.classes[1]: 'gpu' is not one of cpu", ""),
    ('step = "50%"\nmost = 1.25', "a step of 50% of the limit is longer than most = 1.25", "most = 1.5, or step = "),
    ("most = 1.0", "a step of 25% of the limit is longer than most = 1 allows", "set most = 1.25"),
    ("most = 1.2", "longer than most = 1.2", 'step = "20%"'),
    ('step = "1h"\nmost = 1', "longer than most = 1", "set most = 2.0"),
    ('step = "2h"\nbudget = "1h"', "longer than all that a user may get", 'budget = "02:00:00"'),
]


@pytest.mark.parametrize(("text", "said", "hint"), WRONG, ids=[case[0] for case in WRONG])
def test_what_is_wrong_is_named_with_the_nearest_right_line(tmp_path: Path, text: str, said: str, hint: str) -> None:
    with pytest.raises(AdminkitError) as error:
        loaded(tmp_path, text)
    assert said in error.value.message and hint in error.value.hint, (error.value.message, error.value.hint)


@pytest.mark.parametrize("record", ["comment", "extra", "none"])
def test_the_record_has_to_be_where_users_cannot_write(tmp_path: Path, record: str) -> None:
    with pytest.raises(AdminkitError, match="record is " + record):
        loaded(tmp_path, "enabled = true", f'record = "{record}"\n')
    assert loaded(tmp_path, "enabled = false", f'record = "{record}"\n')


#: (settings, the queues' longest limits, a part of each problem)
QUEUES: list[tuple[str, dict[str, int | None], list[str], str]] = [
    ("", {"gq": HOUR}, [], "a part of any limit"),
    ('step = "1h"', {"gq": HOUR}, [], "twice the longest limit is an hour more"),
    ('step = "2h"', {"gq": HOUR}, ['set step = "01:00:00" or less'], "more than that"),
    ('step = "2h"', {"gq": HOUR, "long": 2 * HOUR}, [], "the limits of one queue are long enough"),
    ('step = "2h"\nqueues = ["gq"]', {"gq": HOUR, "long": 2 * HOUR}, ["longest limit"], "but that one is left out"),
    ('step = "2h"', {"gq": None}, [], "no longest limit"),
    ('queues = ["qg"]', {"gq": HOUR}, ["no such queue: qg"], "no such queue"),
]


@pytest.mark.parametrize(("text", "queues", "said", "why"), QUEUES, ids=[case[3] for case in QUEUES])
def test_what_does_not_go_with_the_cluster(
    tmp_path: Path, text: str, queues: dict[str, int | None], said: list[str], why: str
) -> None:
    loaded(tmp_path, f"enabled = true\n{text}")
    _, problems = examine(tmp_path / "policy.toml", queues)
    found = [f"{one} {one.hint}" for one in problems]
    assert len(found) == len(said) and all(words in one for words, one in zip(said, found, strict=True)), (found, why)


#: (the plugin's arguments, seconds; None: not known)
SIGNALS: list[tuple[tuple[str, ...], int | None]] = [
    ((), 300), (("signal=USR1",), 300), (("signal=TERM@900",), 900), (("signal=TERM@900", "max_lead=600"), 600),
    (("signal=TERM@10", "min_lead=60"), 60), (("signal=TERM@x",), None), (("signal=TERM@0",), None),
    (("signal=TERM@900", "max_lead=9999999"), None),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "lead"), SIGNALS)
def test_when_the_plugin_signals(arguments: tuple[str, ...], lead: int | None) -> None:
    found = _signal_lead(Line(Path("/p.conf"), 3, False, Path("/adminkit_ckpt.so"), arguments))
    assert found == (None if lead is None else SignalLead(lead, "/p.conf:3"))


#: (the policy's lead, the plugin's; None: not known, the right line or "" where nothing is wrong)
LEADS: list[tuple[str, int | None, str]] = [
    ("10m", 300, ""),
    ("10m", None, ""),
    ("5m", 300, 'set lead = "00:06:00" or more'),
    ("10m", 600, 'set lead = "00:11:00" or more'),
    ("601s", 600, 'set lead = "00:11:00" or more'),
    ("11m", 600, ""),
    ("12m", 661, 'set lead = "00:13:00" or more'),
    ("2m", 60, ""),
    ("2m", 90, 'set lead = "00:03:00" or more'),
    ("10m", 86_400, 'set lead = "1-00:01:00" or more'),
]


@pytest.mark.parametrize(("lead", "plugin", "hint"), LEADS)
def test_a_lead_within_the_plugins(tmp_path: Path, lead: str, plugin: int | None, hint: str) -> None:
    signal = None if plugin is None else SignalLead(plugin, "/p.conf:3")
    on = loaded(tmp_path, f'enabled = true\nlead = "{lead}"')
    assert [one.hint for one in lead_clashes(on, signal)] == ([hint] if hint else [])
    assert lead_clashes(loaded(tmp_path, f'lead = "{lead}"'), signal) == [], "off"


def tried(policy: Policy, version: LuaVersion = "lua51", **typed: Any) -> Decision:
    table = policy_table(policy, made_up(["gq"], ["alice"]), NOW)
    asked = Typed(**{"user": "alice", "queues": ["gq"], "limit": "10:00:00", "nodes": 1, "gpus": 1, **typed})
    return Decider(policy_text(table).encode(), version=version).decide(typed_request(asked, 1001, NOW))


#: (settings, what is typed, what `try` shows)
TRIED: list[tuple[str, dict[str, Any], str]] = [
    ("enabled = true", {}, "more time    yes, if no waiting job would start later for it"),
    ("enabled = true", {"extend": "off"}, "more time    no: nobody asked for it, or its user switched it off"),
    ('enabled = true\ndefault = "off"', {}, "more time    no: nobody asked"),
    ('enabled = true\ndefault = "off"', {"extend": "auto"}, "more time    yes"),
    ("enabled = true", {"batch": False}, "more time    no: it is interactive"),
    ("enabled = true", {"batch": False, "extend": "auto"}, "sbatch: ADMINKIT_EXTEND=auto has no effect on this job"),
    ("enabled = true", {"extend": "x"}, "sbatch: ADMINKIT_EXTEND must be auto or off."),
    ("enabled = true", {"limit": None}, "more time    no: it names no limit"),
    ('enabled = true\nclasses = ["cpu"]', {}, "more time    no: its class"),
    ('enabled = true\nqos = ["low"]', {"qos": "Low"}, "more time    yes"),
    ('enabled = true\naccounts_off = ["Vision"]', {"account": "vision"}, "more time    no: its account"),
]


@pytest.mark.parametrize("version", ["lua51", "lua54"])
@pytest.mark.parametrize(("text", "typed", "line"), TRIED, ids=[f"{one[0]} {one[1]}" for one in TRIED])
def test_what_try_shows(tmp_path: Path, version: LuaVersion, text: str, typed: dict[str, Any], line: str) -> None:
    shown = try_lines(tried(loaded(tmp_path, text), version, **typed))
    assert line in shown, shown


def test_try_says_nothing_where_it_is_off(tmp_path: Path) -> None:
    decision = tried(loaded(tmp_path, ""), extend="auto")
    assert decision.extend is None and "more time" not in try_lines(decision) and decision.messages == ()


def test_it_is_explained(tmp_path: Path) -> None:
    said = dict(explain(loaded(tmp_path, "enabled = true")))["extend"]
    assert said == (
        "Running jobs that named a limit get 25% of its limit more when 00:10:00 are left, where no waiting job would"
        " start later for it: at most 8 times, at most 2 times their limit, and at most 1-00:00:00 for all jobs of a"
        " user in a month. ADMINKIT_EXTEND=off switches it off; interactive jobs and jobs that others may preempt get"
        " none."
    )
    text = (
        'enabled = true\nqueues = ["gq"]\nclasses = ["cpu"]\nqos = ["low"]\nstep = "30m"\nbudget = "none"\n'
        'default = "off"\nearned = true\npreemptible = true\ninteractive = true\nmost = 1.5'
    )
    said = dict(explain(loaded(tmp_path, text)))["extend"]
    assert said == (
        "Running cpu jobs in gq of the QOS low of users whose limits earn points that named a limit get 00:30:00 more"
        " when 00:10:00 are left, where no waiting job would start later for it: at most 8 times, at most 1.5"
        " times their limit, and any time for all jobs of a user in a month."
        " ADMINKIT_EXTEND=auto is needed in the job's environment."
    )


def test_a_difference_is_shown_in_its_unit(tmp_path: Path) -> None:
    site = made_up(["gq"])
    before = policy_table(loaded(tmp_path, 'enabled = true\nstep = "30m"'), site, NOW)
    after = policy_table(loaded(tmp_path, 'enabled = true\nstep = "1h"\nlead = "20m"\nbudget = "2d"'), site, NOW)
    found = {one.place: (one.installed, one.file) for one in differences(before, after)}
    assert found == {
        "extend.step.seconds": ("00:30:00", "01:00:00"),
        "extend.lead": ("00:10:00", "00:20:00"),
        "extend.budget": ("1-00:00:00", "2-00:00:00"),
    }


def test_replay_counts_who_opts_in_and_who_ran_into_the_limit(tmp_path: Path) -> None:
    def run(number: int, elapsed: int, **more: Any) -> Any:
        asked = {"time_limit": HOUR, "limit_original": HOUR, "limit_source": "explicit", **more}
        return job(number, elapsed=elapsed, **{"user": "ada", **asked})

    jobs = [
        run(1, 600),
        run(2, HOUR, state="TIMEOUT"),
        run(3, HOUR + 59, state="TIMEOUT"),
        run(4, HOUR - 1),
        run(5, 600, limit_original=None, limit_source="default"),  # it named none
        run(6, 2 * HOUR, queue="gq-short"),  # left out
        run(7, 2 * HOUR, job_name="jupyter"),  # a server
        run(8, 2 * HOUR, user="bob"),  # left out
    ]
    path = make_trace(tmp_path / "trace.db", jobs)
    for default, expected in (("auto", (4, 2)), ("off", (0, 0))):
        text = f'enabled = true\nqueues = ["gq"]\nusers_off = ["bob"]\ndefault = "{default}"'
        with reader(path) as trace:
            filter = one_cluster(trace, Filter(checkpoint_code=85))
            replayed = replay_trace(trace, loaded(tmp_path, text), made_up(["gq", "gq-short"]), filter, NOW)
        assert (replayed.counts.extended, replayed.counts.reached) == expected
        notes = [one for one in replay_report(replayed, filter, "trace.db", [], []).meta.notes if "more time" in one]
        assert len(notes) == (default == "auto") and all(
            "4 jobs, of which 2 ran into their limit" in one for one in notes
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Settings(600, 2.0, 8, share=0.25, budget=86_400, queues=frozenset({"gq"}))),
        (
            'step = "30m"\nmost = 3\nlead = "15m"\nbudget = "none"\nqos = ["Low"]\nearned = true\npreemptible = true',
            Settings(900, 3.0, 8, 1800, None, None, True, True, frozenset({"gq"}), frozenset({"low"})),
        ),
        (
            'step = "25%"\nusers_off = ["alice"]\naccounts_off = ["Vision"]\nqos_off = ["Free"]',
            Settings(
                600, 2.0, 8, share=0.25, budget=86_400, queues=frozenset({"gq"}), users_off=frozenset({"alice", 1}),
                accounts_off=frozenset({"vision"}), qos_off=frozenset({"free"}),
            ),
        ),
    ],
)  # fmt: skip
def test_the_round_reads_what_was_compiled(tmp_path: Path, text: str, expected: Settings) -> None:
    table = policy_table(loaded(tmp_path, f"enabled = true\n{text}"), made_up(["gq"], ["alice"]), NOW)
    (tmp_path / SUBFOLDER).mkdir()
    table_path(tmp_path, "policy").write_text(policy_text(table))
    if expected.users_off:
        expected = replace(expected, users_off=frozenset(table["extend"]["users_off"]))
    assert settings_in_force(tmp_path) == expected
    off = policy_table(loaded(tmp_path, text), made_up(["gq"]), NOW)
    table_path(tmp_path, "policy").write_text(policy_text(off))
    assert settings_in_force(tmp_path) is None
