"""adminkit incentives …, as it is typed."""

from __future__ import annotations

import json
import os
import pwd
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from adminkit.cli import incentives
from adminkit.cli.main import main
from adminkit.deploy.program import put_program, shipped
from adminkit.economy.build import read_tables
from adminkit.feedback.prefs import Prefs, make_folder, write
from adminkit.lua.runtime import Lua
from tests.economy.incentive_cases import MENU, NOW, good, run
from tests.slurm.test_priority import config as scontrol_config
from tests.support.builders import HOUR, make_trace
from tests.support.fakes import Programs


@pytest.fixture(autouse=True)
def plain(no_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incentives, "time", SimpleNamespace(time=lambda: NOW))


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """A Slurm on which an hour of ageing is worth 60 points, with two jobs waiting."""
    found = Programs(tmp_path / "bin", monkeypatch)
    found.add("scontrol", f"echo '{scontrol_config(weight='1440', age='1-00:00:00')}'")
    found.add("sprio", "printf '100\\n1300\\n'")
    return found


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(f"version = 1\nmenu = {list(MENU)}\n")
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return make_trace(tmp_path / "t.db", [*good(), *good(50, 12, user="bob", uid=1002, time_limit=3 * HOUR)])


def words(command: str, trace: Path, rules: Path, *more: str) -> list[str]:
    return ["incentives", command, *more, "--db", str(trace), "--policy", str(rules)]


def test_compute_lists_everybody_with_the_preview(
    programs: Programs, trace: Path, rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words("compute", trace, rules, "--format", "json")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(row["user"], row["points"], row["lacking"]) for row in shown["rows"]] == [
        ("ada", 360, None),
        ("bob", 0, "score"),
    ]
    notes = shown["meta"]["notes"]
    assert notes[0] == "the largest bonus is 600 points, 10.0 h of ageing; the cap is 12.0 h"
    assert notes[1] == "that is 50.0 % of the spread that sprio shows now: 100 to 1,300 over 2 waiting jobs"
    assert notes[2].startswith("incentives.lua: 1 user, ")
    assert notes[3].startswith("hints.lua: 0 users, ")


def test_compute_writes_tables_that_load(programs: Programs, trace: Path, rules: Path, tmp_path: Path) -> None:
    assert main(words("compute", trace, rules, "--out", str(tmp_path / "out"))) == 0
    (points, hints) = read_tables(tmp_path / "out")
    assert points.data["users"] == {1001: {"points": 360, "class": True}}
    assert (hints.name, hints.rows) == ("hints", 0)
    lua = Lua()
    assert lua.out(lua.table(points.text.encode(), "incentives.lua"))["users"] == points.data["users"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["hints.json", "incentives.json"]


@pytest.mark.skipif(os.geteuid() != 0, reason="as root only: files of two users")
@pytest.mark.parametrize(("who", "given"), [(None, {1001, 1002}), (1001, {1002}), (1002, {1001})])
def test_who_wants_no_hints_is_in_no_table(
    site: Path, rules: Path, tmp_path: Path, who: int | None, given: set[int]
) -> None:
    """Both asked for nine hours where one was needed; the file is the one that `adminkit feedback prefs` writes."""
    wasteful = [
        run(100 * uid + n, n % 20, user=user, uid=uid, time_limit=9 * HOUR)
        for uid, user in ((1001, "ada"), (1002, "bob"))
        for n in range(40)
    ]
    trace = make_trace(tmp_path / "t.db", wasteful)
    make_folder(tmp_path / "prefs")
    if who is not None:
        os.chown(write(tmp_path / "prefs", who, Prefs(hints=False)), who, -1)
    assert main(words("compute", trace, rules, "--out", str(tmp_path / "out"))) == 0
    assert main(words("install", trace, rules, "--apply")) == 0
    assert set(read_tables(tmp_path / "out")[1].data["users"]) == given
    lua = Lua()
    text = (site / "adminkit" / "hints.lua").read_bytes()
    assert set(lua.out(lua.table(text, "hints.lua"))["users"]) == given


@pytest.mark.parametrize("format", ["table", "json", "csv", "markdown", "html"])
def test_one_users_points_are_explained_in_every_format(
    programs: Programs, trace: Path, rules: Path, capsys: pytest.CaptureFixture[str], format: str
) -> None:
    assert main(words("show", trace, rules, "ada", "--runs", "3", "-f", format)) == 0
    out = capsys.readouterr().out
    assert "360 of at most 360: 6.0 h of ageing" in out
    assert "(lighter ones)" in out


@pytest.mark.parametrize(
    ("scontrol", "options", "error", "hint", "why"),
    [
        ("exit 1", [], "couldn't learn what an hour of ageing is worth", "--points-per-hour", "slurmctld is away"),
        (
            f"echo '{scontrol_config(kind='priority/basic')}'",
            ["--points-per-hour", "60"],
            "PriorityType is priority/basic",
            "PriorityType=priority/multifactor",
            "nothing would come of it",
        ),
        (
            f"echo '{scontrol_config(plugin='site_factor/own')}'",
            [],
            "PrioritySiteFactorPlugin is site_factor/own",
            "accept_foreign_site_factor = true",
            "it would be overwritten",
        ),
        (f"echo '{scontrol_config(weight='0')}'", [], "age does not count", "points_per_hour", "no unit"),
    ],
)
@pytest.mark.parametrize("command", ["compute", "install"])
def test_a_bonus_that_would_do_nothing_is_refused(
    programs: Programs,
    trace: Path,
    rules: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    scontrol: str,
    options: list[str],
    error: str,
    hint: str,
    why: str,
) -> None:
    programs.add("scontrol", scontrol)
    assert main(words(command, trace, rules, *options)) == 1, why
    out, err = capsys.readouterr()
    assert out == ""
    assert error in err.splitlines()[0]
    assert hint in err.splitlines()[1]


def test_where_slurm_cannot_be_asked_its_worth_can_be_given(
    programs: Programs, trace: Path, rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.add("scontrol", "exit 1")
    assert main(words("compute", trace, rules, "--points-per-hour", "30", "-f", "json")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"][0]["points"] == 180
    assert any(note.startswith("Slurm was not asked how it ranks jobs") for note in shown["meta"]["notes"])


def test_a_foreign_plugin_may_be_accepted(
    programs: Programs, trace: Path, rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.add("scontrol", f"echo '{scontrol_config(plugin='site_factor/own')}'")
    rules.write_text(rules.read_text() + "[incentives]\naccept_foreign_site_factor = true\n")
    assert main(words("compute", trace, rules)) == 0
    assert "site_factor/own may overwrite what is set at submission" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("spread", "note", "why"),
    [
        ("exit 1", "the spread of priorities is unknown", "sprio is away"),
        ("true", "no job is pending", "an empty queue"),
    ],
)
def test_a_spread_that_is_not_there_is_a_note(
    programs: Programs, trace: Path, rules: Path, capsys: pytest.CaptureFixture[str], spread: str, note: str, why: str
) -> None:
    programs.add("sprio", spread)
    assert main(words("compute", trace, rules)) == 0
    assert note in capsys.readouterr().out, why


@pytest.mark.parametrize(
    ("more", "code", "error", "hint"),
    [
        (["--points-per-hour", "0"], 2, "--points-per-hour 0 is not a number above 0", "PriorityWeightAge"),
        (["--cluster", "beta"], 1, "no such cluster: beta", "aaic"),
        (["--polcy", "x"], 2, "--polcy", ""),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_a_hint(
    programs: Programs,
    trace: Path,
    rules: Path,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    code: int,
    error: str,
    hint: str,
) -> None:
    assert main(words("compute", trace, rules, *more)) == code
    lines = capsys.readouterr().err.splitlines()
    assert error in lines[0]
    assert hint in lines[1]


def test_of_several_clusters_one_has_to_be_named(
    programs: Programs, tmp_path: Path, rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = make_trace(tmp_path / "b.db", [*good(), *(replace(job, cluster="beta") for job in good())])
    assert main(words("compute", both, rules)) == 1
    assert "several clusters: aaic, beta" in capsys.readouterr().err
    assert main(words("compute", both, rules, "-M", "beta")) == 0


def test_a_user_the_window_does_not_have_is_an_error(
    programs: Programs, trace: Path, rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words("show", trace, rules, "carol")) == 1
    assert "no run of carol ended on aaic in the last 180 days" in capsys.readouterr().err


def test_an_install_without_a_trace_says_how(
    programs: Programs, tmp_path: Path, rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words("install", tmp_path / "none.db", rules)) == 1
    assert "compute --out DIR" in capsys.readouterr().err
    assert main(words("install", tmp_path / "none.db", rules, "--from", str(tmp_path))) == 1
    assert "there is no " in capsys.readouterr().err


#: Answers the probe as adminkit's script in slurmctld does, by the files in $1.
SBATCH = """
gen() {{ sed -n 's/.*"generation"\\] = "\\(.*\\)",$/\\1/p' {folder}/adminkit/$1.lua; }}
echo "sbatch: error: adminkit generation none incentives $(gen incentives) hints $(gen hints)" >&2
exit 1
"""


@pytest.fixture
def site(tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of slurm.conf on a slurmctld host that has adminkit's Lua."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    put_program(folder, shipped())
    me = f"{pwd.getpwuid(os.geteuid()).pw_name}({os.geteuid()})"  # whose group the files get
    where = f"ClusterName = aaic\nJobSubmitPlugins = lua\nSLURM_CONF = {folder}/slurm.conf\nSlurmUser = {me}\n"
    programs.add("scontrol", f"echo '{scontrol_config(weight='1440', age='1-00:00:00')}{where}'")
    programs.add("sbatch", SBATCH.format(folder=folder))
    monkeypatch.setenv("ADMINKIT_ACTS", str(tmp_path / "acts.jsonl"))
    return folder


def test_an_install_shows_what_it_would_do_and_writes_nothing(
    site: Path, trace: Path, rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words("install", trace, rules, "-f", "json")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(row["file"], row["change"]) for row in shown["rows"]] == [
        ("adminkit/incentives.lua", "new"),
        ("adminkit/hints.lua", "new"),
    ]
    assert "the largest bonus is 600 points, 10.0 h of ageing; the cap is 12.0 h" in shown["meta"]["notes"]
    assert any("loaded by Lua 5.1 in" in note for note in shown["meta"]["notes"])
    assert not (site / "adminkit" / "incentives.lua").exists()
    assert main(words("install", trace, rules, "--print-files")) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(site / "adminkit" / f"{n}.lua") for n in ("incentives", "hints")
    ]


@pytest.mark.parametrize("built", [False, True], ids=["from the trace", "from built tables"])
def test_an_install_is_in_use_and_on_record(
    site: Path, trace: Path, rules: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], built: bool
) -> None:
    more: list[str] = []
    if built:
        assert main(words("compute", trace, rules, "--out", str(tmp_path / "out"))) == 0
        more = ["--from", str(tmp_path / "out")]
        trace = tmp_path / "none.db"
    capsys.readouterr()
    assert main(words("install", trace, rules, *more, "--apply", "-f", "json")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(row["table"], row["state"]) for row in shown["rows"]] == [
        ("incentives", "confirmed"),
        ("hints", "confirmed"),
    ]
    for name in ("incentives", "incentives.good", "hints", "hints.good"):
        assert (site / "adminkit" / f"{name}.lua").stat().st_mode & 0o777 == 0o640
    lines = [json.loads(line) for line in (tmp_path / "acts.jsonl").read_text().splitlines()]
    assert [(line["what"], line["table"]) for line in lines] == [
        ("incentives install", "incentives"),
        ("incentives install", "hints"),
    ]


def test_built_tables_that_are_damaged_are_not_installed(
    site: Path, trace: Path, rules: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words("compute", trace, rules, "--out", str(tmp_path / "out"))) == 0
    table = tmp_path / "out" / "incentives.json"
    table.write_bytes(table.read_bytes()[:-2])
    assert main(words("install", trace, rules, "--from", str(tmp_path / "out"), "--apply")) == 1
    assert "incentives.json: not valid JSON: line 3" in capsys.readouterr().err
    assert not (site / "adminkit" / "incentives.lua").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_whoever_is_no_operator_is_told_their_own_points_only(
    programs: Programs, tmp_path: Path, rules: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = make_trace(tmp_path / "o.db", [*good(user="nobody", uid=65534), *good(50, 12, user="bob", uid=1002)])
    trace.chmod(0o644)
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    monkeypatch.setattr(os, "getegid", lambda: 65534)
    monkeypatch.setattr(os, "getgroups", lambda: [65534])
    assert main(words("show", trace, rules, "bob")) == 2
    assert "only bob and the operators may see the jobs of bob" in capsys.readouterr().err
    assert main(words("show", trace, rules)) == 0
    out = capsys.readouterr().out
    assert "Incentives of nobody" in out
    assert "bob" not in out
    for command in ("compute", "install"):
        assert main(words(command, trace, rules)) == 2
        assert "only operators may see" in capsys.readouterr().err


def test_a_job_name_that_steers_a_terminal_is_shown_harmless(
    programs: Programs, trace: Path, rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(trace)) as db, db:
        db.execute("UPDATE job SET job_name = ?", ("\x1b]0;x\x07%s{0}",))
    assert main(words("show", trace, rules, "ada")) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "%s{0}" in out


@pytest.mark.parametrize(
    ("words_more", "code", "why"),
    [
        (("compute",), 0, "a preview shows what the demo's users would have"),
        (("compute", "--out", "{out}"), 1, "the tables that install would take"),
        (("install",), 1, "an install"),
        (("install", "--apply"), 1, "the same, in earnest"),
    ],
)
def test_the_demos_points_are_shown_and_never_installed(
    programs: Programs,
    trace: Path,
    rules: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words_more: tuple[str, ...],
    code: int,
    why: str,
) -> None:
    with closing(sqlite3.connect(trace)) as db, db:
        db.execute("UPDATE job SET source = 'demo'")
    command, *more = (word.format(out=tmp_path / "out") for word in words_more)
    assert main(words(command, trace, rules, *more)) == code, why
    said = capsys.readouterr()
    assert ("has rows of `adminkit demo`" in said.err) == bool(code), why
    assert ("ada" in said.out) == (not code), why
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("code", "left_out"), [(None, 0), (99, 1)])
def test_the_site_says_with_which_code_a_checkpoint_leaves(
    programs: Programs,
    rules: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    code: int | None,
    left_out: int,
) -> None:
    if code is not None:
        (tmp_path / "adminkit.toml").write_text(f"[checkpoint]\ncode = {code}\n")
        monkeypatch.setenv("ADMINKIT_CONFIG", str(tmp_path / "adminkit.toml"))
    trace = make_trace(tmp_path / "c.db", [*good(), run(50, exit_code=99, state="FAILED")])
    for asked in (words("compute", trace, rules), words("show", trace, rules), words("show", trace, rules, "ada")):
        assert main([*asked, "--format", "json"]) == 0
        excluded = json.loads(capsys.readouterr().out)["meta"]["excluded"]
        assert (excluded.get("checkpoint", 0), excluded.get("state", 0)) == (left_out, 1 - left_out), asked
