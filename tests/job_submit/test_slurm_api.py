"""Submissions and updates through job_submit.lua as slurmctld makes them: every trap of its interface has a case."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.job_submit import site
from tests.job_submit.policies import ALICE, BOB, HOUR, OPERATOR, hints, incentives, policy, rule
from tests.job_submit.runtime import Lua

H = HOUR
MAX = rule("max_limit", 10 * H, "amend", queues="gq")
REFUSE = rule("max_limit", 10 * H, queues="gq")
NO_VAL, INFINITE = 4294967294, 4294967295
OK, ERROR, POLICY_BROKEN = 0, -1, 2050


@pytest.fixture(scope="module")
def amending(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = policy(MAX, rule("restartable_above", 100 * H, "warn"))
    return site.write(tmp_path_factory.mktemp("amending"), policy=table, incentives=incentives(), hints=hints({}))


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    routing = {"action": "off", "order": []}
    return site.write(tmp_path_factory.mktemp("refusing"), policy=policy(REFUSE, routing=routing))


def test_a_limit_is_lowered_the_decision_recorded_and_the_points_given(lua: Lua, amending: Path) -> None:
    answer = site.run(lua, site.case(amending))
    assert answer["code"] == OK
    assert answer["desc"]["time_limit"] == 600
    assert answer["desc"]["admin_comment"] == "ak1:lim=72000,src=e,rules=max_limit"
    assert answer["desc"]["site_factor"] == 420
    assert answer["messages"] == ["gq takes at most 10:00:00: your limit is 10:00:00 now, not 20:00:00."]
    assert answer["info"] == ["adminkit: amended job of uid 1001: max_limit=amend"]
    assert answer["errors"] == []
    assert answer["load_code"] == OK


def test_a_second_call_on_the_same_job_changes_nothing(lua: Lua, amending: Path) -> None:
    once = site.run(lua, site.case(amending))
    twice = site.run(lua, site.case(amending, calls=2))
    assert twice["desc"] == once["desc"]
    assert twice["messages"] == once["messages"]


def test_a_refusal_gives_slurm_s_own_error_and_changes_nothing(lua: Lua, refusing: Path) -> None:
    case = site.case(refusing)
    answer = site.run(lua, case)
    assert answer["code"] == 2051
    assert answer["desc"] == case["desc"]
    assert answer["messages"] == ["gq takes at most 10:00:00, you asked for 20:00:00."]


#: rule, what the job asks for, names that `slurm` lacks; the error
ERRORS: list[tuple[dict[str, Any], dict[str, Any], list[str], int]] = [
    (rule("max_limit", HOUR), {}, [], 2051),
    (rule("require_limit", True), {"time_limit": None}, [], 8000),
    (rule("nodes", {"max": 1}), {"min_nodes": 2}, [], 2006),
    (rule("cpus", {"max": 1}), {"min_cpus": 4}, [], 2069),
    (rule("gpus", {"max": 1}), {"tres_per_node": "gres:gpu:2"}, [], 2072),
    (rule("gpus_per_node", {"max": 1}), {"tres_per_node": "gres:gpu:2"}, [], 2072),
    (rule("cpus", {"max": 1}), {"min_cpus": 4}, ["ESLURM_INVALID_CPU_COUNT"], 2050),
    (rule("gpus", {"max": 1}), {"tres_per_node": "gres:gpu:2"}, ["ESLURM_INVALID_GRES"], 2050),
    (
        rule("gpus", {"max": 1}),
        {"tres_per_node": "gres:gpu:2"},
        ["ESLURM_INVALID_GRES", "ESLURM_ACCOUNTING_POLICY"],
        ERROR,
    ),
]


@pytest.mark.parametrize(("broken", "desc", "lacks", "code"), ERRORS)
def test_the_error_tells_what_is_wrong_and_where_a_release_lacks_it_that_a_policy_is_broken(
    lua: Lua, tmp_path: Path, broken: dict[str, Any], desc: dict[str, Any], lacks: list[str], code: int
) -> None:
    site.write(tmp_path, policy=policy(broken))
    answer = site.run(lua, site.case(tmp_path, desc=desc, lacks=lacks))
    assert answer["code"] == code


@pytest.mark.parametrize(
    ("desc", "limit", "why"),
    [
        ({"time_limit": None}, None, "unset numbers are 4294967294"),
        ({"time_limit": INFINITE}, 600, "unlimited"),
        ({"time_limit": 600}, 600, "just right"),
        ({"partition": "gq-long,gq", "time_limit": 601}, 600, "one of several partitions"),
        ({"partition": "gq-long", "time_limit": 9000}, 9000, "another partition"),
        ({"partition": None, "time_limit": None, "time_min": 700}, None, "no queue and no limit: the default queue"),
        ({"het_job_offset": 1}, 600, "a component of a heterogeneous job"),
        ({"array_inx": "1-100%5"}, 600, "an array, in one call"),
        ({"script": None}, 600, "srun and salloc"),
    ],
)
def test_what_becomes_of_a_limit(lua: Lua, amending: Path, desc: dict[str, Any], limit: int | None, why: str) -> None:
    answer = site.run(lua, site.case(amending, desc=desc))
    assert answer["code"] == OK
    assert answer["desc"].get("time_limit") == limit, why
    assert answer["errors"] == []


def test_time_min_is_bounded_where_no_limit_is_given(lua: Lua, amending: Path) -> None:
    answer = site.run(lua, site.case(amending, desc={"time_limit": None, "time_min": 700}))
    assert answer["desc"]["time_min"] == 600


def test_a_job_without_a_queue_goes_where_slurm_lets_the_user_go(lua: Lua, amending: Path) -> None:
    desc = {"partition": None, "time_limit": 60}
    assert site.run(lua, site.case(amending, desc=desc))["desc"]["partition"] == "gq-short"
    unlisted = {name: part for name, part in site.PARTS.items() if name != "gq-short"}
    assert site.run(lua, site.case(amending, desc=desc, parts=unlisted))["desc"]["partition"] == "gq"
    down = {**site.PARTS, "gq-short": {"state_up": 1}}
    assert site.run(lua, site.case(amending, desc=desc, parts=down))["desc"]["partition"] == "gq"


@pytest.mark.parametrize(
    ("desc", "expected"),
    [
        ({}, 420),
        ({"min_nodes": 2}, 720),
        ({"tres_per_node": "gres:gpu:8"}, 520),
        ({"user_id": BOB, "min_nodes": 2}, 600),
        ({"user_id": 5}, None),
        ({"user_id": 5, "min_nodes": 2}, 300),
        ({"user_id": 5, "tres_per_node": None, "tres_per_job": "gres:gpu:p100:16"}, None),  # 26.05 may give 8 on one
        ({"user_id": 5, "tres_per_node": None, "tres_per_job": "gres:gpu:p100:16", "min_nodes": 2}, 300),
    ],
)
def test_points(lua: Lua, amending: Path, desc: dict[str, Any], expected: int | None) -> None:
    answer = site.run(lua, site.case(amending, desc=desc))
    assert answer["desc"].get("site_factor") == expected


def test_no_name_is_looked_up_while_slurmctld_waits(lua: Lua, amending: Path) -> None:
    assert site.run(lua, site.case(amending))["lookups"] == 0


def test_a_name_is_looked_up_where_the_policy_knows_no_uid(lua: Lua, tmp_path: Path) -> None:
    site.write(tmp_path, policy=policy(rule("max_limit", 10 * H, "amend", users="alice")))
    answer = site.run(lua, site.case(tmp_path))
    assert (answer["lookups"], answer["desc"]["time_limit"]) == (1, 600)


@pytest.mark.parametrize("uid", [0, OPERATOR])
def test_root_and_operators_pass(lua: Lua, refusing: Path, uid: int) -> None:
    answer = site.run(lua, site.case(refusing, uid=uid))
    assert (answer["code"], answer["desc"]["time_limit"], answer["messages"]) == (OK, 1200, [])


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        ("admin_comment", None, "ak1:lim=72000,src=e,rules=max_limit"),
        ("admin_comment", "mine: 3 % {x}", "ak1:lim=72000,src=e,rules=max_limit mine: 3 % {x}"),
        ("comment", "a\nb", "ak1:lim=72000,src=e,rules=max_limit a\nb"),
        ("extra", None, "ak1:lim=72000,src=e,rules=max_limit"),
        ("none", None, None),
    ],
)
def test_where_the_record_goes(lua: Lua, tmp_path: Path, field: str, before: str | None, after: str | None) -> None:
    site.write(tmp_path, policy=policy(MAX, record=field))
    answer = site.run(lua, site.case(tmp_path, desc={field: before} if before else {}))
    assert answer["desc"].get(field) == after
    assert {"admin_comment", "comment", "extra"} & set(answer["desc"]) == ({field} if after else set())


def test_the_probe_is_refused_with_the_generations(lua: Lua, amending: Path, tmp_path: Path) -> None:
    answer = site.run(lua, site.case(amending, desc={"name": "adminkit:generation?"}))
    assert answer["code"] == ERROR
    assert answer["messages"] == ["adminkit generation 3f2a9c01d2e4 incentives i1 hints h1"]
    site.write(tmp_path)
    bare = site.run(lua, site.case(tmp_path, desc={"name": "adminkit:generation?"}))
    assert bare["messages"] == ["adminkit generation none incentives none hints none"]


HOSTILE = [
    "%s%s%n",
    "\\027Lua",
    "'); os.execute('true') --",
    "]]..error()..[[",
    "{asked}{fit}",
    "a\nb\r\x1b[2J",
    "ak1:lim=1,src=e",
    "名前",
    "$(id)`id`",
    "\\",
    '"',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_from_a_job_becomes_code_or_a_format(lua: Lua, tmp_path: Path, text: str) -> None:
    own = policy(rule("max_limit", H, "amend"), rule("cpus", {"min": 2}, "warn"), record="comment")
    site.write(tmp_path, policy=own, incentives=incentives(), hints=hints({text: {"": [60, 60, 1, 9]}}))
    words = dict.fromkeys(("name", "account", "comment", "qos", "partition", "features", "tres_per_node"), text)
    answer = site.run(lua, site.case(tmp_path, desc={**words, "min_cpus": 1}))
    assert answer["code"] == OK
    assert answer["errors"] == []
    assert answer["desc"]["time_limit"] == 60
    assert answer["desc"]["comment"] == (f"ak1:lim=72000,src=e,rules=max_limit+cpus {text}")
    assert answer["desc"]["name"] == text
    assert not any("\n" in line or "\x1b" in line for line in answer["messages"] + answer["info"])


BROKEN = {
    "decide": "local need = ...\nlocal d = {}\nfunction d.decide() error('boom %s %d') end\n"
    "function d.modify() error('boom') end\nreturn d\n"
}


@pytest.mark.parametrize("fail", ["open", "closed"])
@pytest.mark.parametrize("rec", [None, {"time_limit": 60}])
def test_an_error_of_ours_is_open_or_closed_as_the_policy_says(
    lua: Lua, tmp_path: Path, fail: str, rec: dict[str, Any] | None
) -> None:
    site.write(tmp_path, policy=policy(MAX, fail=fail), **BROKEN)
    update = {"rec": rec, "desc": {"time_limit": 600}} if rec else {}
    answer = site.run(lua, site.case(tmp_path, **update))
    assert answer["code"] == (OK if fail == "open" else ERROR)
    assert len(answer["errors"]) == 1
    assert "boom" in answer["errors"][0]
    assert (answer["messages"] == []) == (fail == "open")
    assert "admin_comment" not in answer["desc"]
    operator = site.run(lua, site.case(tmp_path, uid=OPERATOR, **update))
    assert operator["code"] == OK, "an error never locks the operators out"


def test_a_write_that_slurm_refuses_takes_the_others_back(lua: Lua, tmp_path: Path) -> None:
    site.write(tmp_path, policy=policy(MAX))
    bad = (
        "local need = ...\nlocal d = {}\nfunction d.decide() return { verdict = 'amend', queue = 'gq-long', limit = 60,"
    )
    bad += " record = 'ak1:lim=none,src=d', points = {}, messages = {}, log = {} } end\nreturn d\n"
    (tmp_path / "adminkit" / "decide.lua").write_text(bad)
    answer = site.run(lua, site.case(tmp_path))
    assert answer["code"] == OK
    assert {key: answer["desc"].get(key) for key in ("partition", "time_limit", "admin_comment", "site_factor")} == {
        "partition": "gq",
        "time_limit": 1200,
        "admin_comment": None,
        "site_factor": None,
    }


def test_a_script_without_its_modules_loads_and_accepts(lua: Lua, tmp_path: Path) -> None:
    site.write(tmp_path, policy=policy(REFUSE))
    shutil.rmtree(tmp_path / "adminkit")
    answer = site.run(lua, site.case(tmp_path))
    assert (answer["load_code"], answer["code"]) == (OK, OK)
    assert "not in force" in answer["loading"]["errors"][0]
    update = site.run(lua, site.case(tmp_path, rec={}, desc={"time_limit": 5}))
    assert update["code"] == OK


def test_a_module_that_does_not_parse_does_not_stop_the_script_from_loading(lua: Lua, tmp_path: Path) -> None:
    site.write(tmp_path, policy=policy(REFUSE), rules="local x = = 1")
    answer = site.run(lua, site.case(tmp_path))
    assert (answer["load_code"], answer["code"]) == (OK, OK)
    assert "rules.lua" in answer["loading"]["errors"][0]


SITE_SCRIPT = """
function slurm_job_submit(job_desc, part_list, submit_uid)
    if job_desc.name == "site says no" then
        return slurm.ERROR
    end
    if job_desc.name == "site breaks" then
        error("broken")
    end
    job_desc.comment = "site"
    return slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end
-- THE TWO LINES
return slurm.SUCCESS
"""


def two_lines() -> str:
    """The lines as docs/job-submit.md gives them."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "job-submit.md").read_text()
    return page.partition("```lua\nlocal ok, adminkit")[2].partition("```")[0]


@pytest.fixture
def own_script(tmp_path: Path) -> Path:
    site.write(tmp_path, policy=policy(MAX))
    lines = "local ok, adminkit" + two_lines()
    assert lines.count("\n") == 2
    lines = lines.replace("/etc/slurm", str(tmp_path))
    (tmp_path / "job_submit.lua").write_text(SITE_SCRIPT.replace("-- THE TWO LINES", lines))
    return tmp_path


def test_two_lines_put_it_behind_a_script_of_the_site_s_own(lua: Lua, own_script: Path) -> None:
    answer = site.run(lua, site.case(own_script))
    assert answer["desc"]["comment"] == "site"
    assert answer["desc"]["time_limit"] == 600
    refused = site.run(lua, site.case(own_script, desc={"name": "site says no"}))
    assert refused["code"] == ERROR
    assert refused["desc"]["time_limit"] == 1200
    update = site.run(lua, site.case(own_script, rec={}, desc={"time_limit": 1500}))
    assert update["desc"]["time_limit"] == 600


def test_an_error_of_the_site_s_script_stays_one_and_our_rules_hold(lua: Lua, own_script: Path) -> None:
    """Slurm up to 25.11 accepts a job on an error: whoever can make the site's script fail would pass our rules too."""
    answer = site.run(lua, {**site.case(own_script, desc={"name": "site breaks"}), "catch": True})
    assert answer["raised"].endswith("broken")
    assert answer["desc"]["time_limit"] == 600


def test_the_site_s_script_goes_on_without_ours(lua: Lua, own_script: Path) -> None:
    shutil.rmtree(own_script / "adminkit")
    answer = site.run(lua, site.case(own_script))
    assert (answer["code"], answer["desc"]["comment"], answer["desc"]["time_limit"]) == (OK, "site", 1200)


# updates

#: what is asked, of which job, by whom; code, what is left in job_desc, why
UPDATES: list[tuple[dict[str, Any], dict[str, Any], int, int, dict[str, Any], str]] = [
    ({"priority": 0}, {"time_limit": 9000}, ALICE, OK, {}, "a hold"),
    ({"priority": INFINITE}, {"time_limit": 9000}, ALICE, OK, {}, "a release"),
    ({"comment": "x"}, {"time_limit": 9000}, ALICE, OK, {}, "a comment"),
    ({"time_limit": 600}, {}, ALICE, OK, {}, "a limit that keeps the rule"),
    ({"time_limit": 601}, {"time_limit": 60}, ALICE, OK, {"time_limit": 600}, "a limit above it is lowered"),
    ({"time_limit": INFINITE}, {"time_limit": 60}, ALICE, OK, {"time_limit": 600}, "so is no limit at all"),
    ({"time_limit": 900}, {"time_limit": 1000}, ALICE, OK, {}, "lowering what was too high before the rule came"),
    ({"time_limit": 1100}, {"time_limit": 1000}, ALICE, OK, {"time_limit": 600}, "raising it further"),
    ({"time_limit": 900}, {"time_limit": 60}, OPERATOR, OK, {}, "an operator"),
    ({"time_limit": 900}, {"time_limit": 60}, 0, OK, {}, "root"),
    ({"partition": "gq"}, {"partition": "gq-long", "time_limit": 900}, ALICE, OK, {"time_limit": 600}, "a move"),
    ({"partition": "gq-long"}, {"time_limit": 600}, ALICE, OK, {}, "a move away"),
    ({"time_min": 700}, {"time_limit": 500}, ALICE, OK, {"time_min": 600}, "--time-min"),
    ({"name": "x"}, {"time_limit": 9000}, ALICE, OK, {}, "a name"),
    ({"time_limit": 90}, {"job_state": 1}, ALICE, OK, {}, "the owner of a running job lowers its limit"),
]


@pytest.mark.parametrize(("desc", "rec", "uid", "code", "left", "why"), UPDATES, ids=[update[5] for update in UPDATES])
def test_an_update(
    lua: Lua,
    amending: Path,
    desc: dict[str, Any],
    rec: dict[str, Any],
    uid: int,
    code: int,
    left: dict[str, Any],
    why: str,
) -> None:
    answer = site.run(lua, site.case(amending, uid=uid, desc=desc, rec=rec))
    assert (answer["code"], answer["errors"]) == (code, []), why
    assert answer["desc"] == {**desc, **left}, why


def test_an_update_is_refused(lua: Lua, refusing: Path) -> None:
    answer = site.run(lua, site.case(refusing, desc={"time_limit": 700}, rec={"time_limit": 60}))
    assert answer["code"] == 2051
    assert answer["messages"] == ["gq takes at most 10:00:00, you asked for 11:40:00."]


PUT_BACK = 0x8000  # pending, and the nodes of its last run are not free yet

#: what is asked, of a job of which state, by whom; whether it is refused, why
ENDING: list[tuple[dict[str, Any], int, int, bool, str]] = [
    ({"qos": "brief"}, PUT_BACK, ALICE, True, "QOS"),
    ({"account": "chemistry"}, PUT_BACK, ALICE, True, "account"),
    ({"partition": "gq-long"}, PUT_BACK, ALICE, True, "queue"),
    ({"time_limit": 5}, PUT_BACK | 0x400, ALICE, True, "limit, by its other flag too"),
    ({"time_limit": 5}, PUT_BACK | 0x1000000 | 5, ALICE, True, "a run that failed, with a flag of later releases"),
    ({"time_limit": 5}, PUT_BACK, 0, False, "root"),
    ({"time_limit": 5}, PUT_BACK, OPERATOR, False, "an operator"),
    ({"priority": 0}, PUT_BACK, ALICE, False, "a hold"),
    ({"time_limit": 1200}, PUT_BACK, ALICE, False, "what it has already"),
    ({"time_limit": 5}, 0, ALICE, False, "a job that waits"),
    ({"time_limit": 5}, 0x4000, ALICE, False, "a job that gets its nodes"),
]


@pytest.mark.parametrize(("desc", "state", "uid", "is_refused", "why"), ENDING, ids=[case[4] for case in ENDING])
def test_an_update_while_the_last_run_ends(
    lua: Lua, refusing: Path, desc: dict[str, Any], state: int, uid: int, is_refused: bool, why: str
) -> None:
    rec = {"job_state": state, "partition": "gq-long"} if "partition" not in desc else {"job_state": state}
    answer = site.run(lua, site.case(refusing, uid=uid, desc=desc, rec=rec))
    assert answer["code"] == (2020 if is_refused else OK), why
    assert ("try again in a few seconds" in " ".join(answer["messages"])) == is_refused


@pytest.mark.parametrize(("more", "nodes"), [({"ntasks_per_tres": 1, "num_tasks": 2}, 1), ({}, 0)])
def test_a_job_of_no_nodes_whose_gpus_follow_from_tasks_is_one_of_one(
    lua: Lua, amending: Path, more: dict[str, Any], nodes: int
) -> None:
    """job_rec shows such GPUs by Slurm's own count alone, which is 0 on 0 nodes."""
    answer = site.run(lua, site.case(amending, desc={"tres_per_node": None, "min_nodes": 0, **more}))
    assert (answer["code"], answer["desc"]["min_nodes"], answer["errors"]) == (OK, nodes, [])


def test_an_update_never_writes_the_record(lua: Lua, amending: Path) -> None:
    rec = {"time_limit": 60, "admin_comment": "ak1:lim=3600,src=e"}
    answer = site.run(lua, site.case(amending, desc={"time_limit": 5000}, rec=rec))
    assert "admin_comment" not in answer["desc"]


#: what is asked, of which job; site_factor in job_desc afterwards (None: not touched), code
BONUS: list[tuple[dict[str, Any], dict[str, Any], int | None, int, str]] = [
    ({"min_nodes": 1, "max_nodes": 1}, {"min_nodes": 2, "site_factor": 720}, None, POLICY_BROKEN, "it shrinks"),
    (
        {"min_nodes": 1, "max_nodes": 1},
        {"min_nodes": 2, "site_factor": 720, "array_job_id": 7},
        None,
        POLICY_BROKEN,
        "an array",
    ),
    ({"min_nodes": 2}, {"site_factor": 420, "array_job_id": 7}, None, OK, "an array that grows keeps what it has"),
    ({"min_nodes": 1}, {"min_nodes": 2, "site_factor": 720, "job_state": 1}, None, OK, "a running job"),
    (
        {"tres_per_node": "gres:gpu:1"},
        {"tres_per_node": "gres:gpu:8", "max_nodes": 1, "site_factor": 520},
        None,
        POLICY_BROKEN,
        "fewer GPUs",
    ),
    (
        {"tres_per_node": "gres:gpu:1"},
        {"tres_per_node": "gres:gpu:8", "site_factor": 520},
        None,
        POLICY_BROKEN,
        "its size changed, and nobody knows of which class it is now",
    ),
    ({"min_nodes": 1}, {"min_nodes": 2, "site_factor": 2147483648 + 720}, None, POLICY_BROKEN, "with its offset"),
    ({"time_limit": 100}, {"site_factor": 100}, None, OK, "the table changed since, the job's class did not"),
    ({"partition": "gq-long"}, {"site_factor": 420}, None, OK, "a move that changes nothing"),
]


@pytest.mark.parametrize(("desc", "rec", "points", "code", "why"), BONUS, ids=[case[4] for case in BONUS])
def test_the_bonus_of_a_job_that_changes(
    lua: Lua, amending: Path, desc: dict[str, Any], rec: dict[str, Any], points: int | None, code: int, why: str
) -> None:
    one = {"time_limit": 60, **rec}
    answer = site.run(lua, site.case(amending, desc=desc, rec=one))
    assert (answer["code"], answer["desc"].get("site_factor")) == (code, points), why
    if code == POLICY_BROKEN:
        assert answer["messages"] == ["No update of the points here."]


def test_an_array_update_leaves_job_desc_as_the_next_task_may_see_it(lua: Lua, amending: Path) -> None:
    rec = {"time_limit": 60, "array_job_id": 7, "site_factor": 420}
    answer = site.run(lua, site.case(amending, desc={"time_limit": 5000}, rec=rec, calls=3))
    assert answer["desc"] == {"time_limit": 600}


# the real interpreters

ALIKE: list[dict[str, Any]] = [
    {},
    {"desc": {"time_limit": INFINITE, "partition": "gq-long,gq"}},
    {"desc": {"partition": None, "time_limit": 60, "time_min": 30}},
    {"desc": {"name": "adminkit:generation?"}},
    {"desc": {"name": HOSTILE[5], "comment": HOSTILE[0], "account": HOSTILE[3]}},
    {"uid": OPERATOR},
    {"rec": {"time_limit": 60}, "desc": {"time_limit": 5000}},
    {"rec": {"min_nodes": 2, "site_factor": 720}, "desc": {"min_nodes": 1}},
    {"rec": {"time_limit": 60}, "desc": {"priority": 0}},
]


@pytest.mark.parametrize("interpreter", site.INTERPRETERS)
def test_the_lua_programs_do_the_same_as_lupa(interpreter: str, amending: Path, tmp_path: Path) -> None:
    if not shutil.which(interpreter):
        pytest.skip(f"not run: no {interpreter}")
    cases = [site.case(amending, **more) for more in ALIKE]
    theirs = site.run_by(interpreter, cases, tmp_path)
    ours = [site.run(Lua("lua51"), one) for one in cases]
    for one, other in zip(theirs, ours, strict=True):
        for key in ("code", "desc", "messages", "info", "errors", "load_code"):
            assert (one[key] or []) == (other[key] or []), key
