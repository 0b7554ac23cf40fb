"""What install plans, does, doubts and writes down, with Slurm's programs replaced."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from adminkit import actions
from adminkit.deploy import program
from adminkit.deploy.bundle import Bundle
from adminkit.deploy.files import (
    SUMS,
    changed_since,
    checksums,
    generation_of,
    parse_sums,
    read_text,
    table_path,
    write_sums,
)
from adminkit.deploy.hosts import steps
from adminkit.deploy.install import Done, Target, apply, confirm, installed, preview, roll_back, rule_changes
from adminkit.errors import AdminkitError, UsageError
from adminkit.slurm.reload import Running
from tests.deploy.test_put import DAMAGED, table
from tests.support.fakes import Programs

HERE = socket.gethostname().partition(".")[0]
#: Answers as the script in the folder would, once slurmctld has loaded it.
ANSWER = """g=$(sed -n 's/.*generation"\\] = "\\([0-9a-z]*\\)".*/\\1/p' {folder}/adminkit/policy.lua | head -1)
echo "sbatch: error: adminkit generation $g incentives none hints none" >&2; exit 1"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    return tmp_path / "etc"


@pytest.fixture
def slurm(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    programs = Programs(tmp_path / "bin", monkeypatch)
    programs.add("sbatch", ANSWER.format(folder=folder))
    return programs


def bundle(generation: str = "one") -> Bundle:
    return Bundle({"policy": table(generation)}, program.shipped())


def target(folder: Path, **more: object) -> Target:
    log = folder.parent / "log" / "acts.jsonl"
    return Target(folder, log=log, patience=0.0, **more)  # type: ignore[arg-type]


def put(folder: Path, generation: str = "one", **more: object) -> Done:
    return apply(bundle(generation), target(folder, **more), "policy install")


def test_a_preview_lists_every_file_and_writes_none(folder: Path) -> None:
    changes = {change.file: change.kind for change in preview(bundle(), target(folder))}
    assert set(changes) == {*program.shipped(), "adminkit/policy.lua"}
    assert set(changes.values()) == {"new"}
    assert list(folder.iterdir()) == []


def test_what_is_there_already_is_the_same(folder: Path, slurm: Programs) -> None:
    put(folder)
    changes = {change.file: change.kind for change in preview(bundle("two"), target(folder))}
    assert changes.pop("adminkit/policy.lua") == "changed"
    assert set(changes.values()) == {"same"}
    assert [one.place for one in rule_changes(bundle("two"), target(folder))] == ["rules.two", "rules.one"]


def test_an_install_is_confirmed_and_on_record(folder: Path, slurm: Programs) -> None:
    done = put(folder)
    assert (done.confirmed, done.ok, done.entry, done.running) == (True, True, "ours", Running("one", None, None))
    (record,) = actions.read(folder.parent / "log" / "acts.jsonl")
    assert record["what"] == "policy install"
    assert (record["generation"], record["before"], record["hosts"]) == ("one", None, {HERE: "confirmed"})
    checked = subprocess.run(["/usr/bin/sha256sum", "-c", "--quiet", SUMS], cwd=folder, check=False)
    assert checked.returncode == 0
    assert changed_since(folder) == []


def test_every_wrong_file_of_ours_is_put_right_and_the_entry_grows_newer(folder: Path, slurm: Programs) -> None:
    put(folder)
    entry = folder / "job_submit.lua"
    future = int(entry.stat().st_mtime) + 5000
    entry.write_bytes(entry.read_bytes() + b"-- older\n")
    os.utime(entry, (future, future))
    (folder / "adminkit" / "rules.lua").write_text("oops")
    done = put(folder)
    assert set(done.changed) == {"adminkit/rules.lua", "job_submit.lua"}
    assert entry.read_bytes() == program.shipped()["job_submit.lua"]
    assert entry.stat().st_mtime > future


def test_rollback_brings_the_previous_one_back_and_logs_it(folder: Path, slurm: Programs) -> None:
    put(folder, "one")
    put(folder, "two")
    done = roll_back(["policy"], target(folder), "policy rollback")
    assert (done.confirmed, done.puts[0].generation, done.puts[0].before) == (True, "one", "two")
    assert installed(folder)["policy"] == {"": "one", "good": "one", "previous": "two"}
    assert [record["what"] for record in actions.read(folder.parent / "log" / "acts.jsonl")][-1] == "policy rollback"


def test_a_rollback_without_adminkits_data_files_changes_nothing(
    folder: Path, slurm: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the policy would go back with no line in the log."""
    put(folder, "one")
    put(folder, "two")
    before, log = installed(folder), folder.parent / "log" / "acts.jsonl"
    lines = log.read_text()

    def missing(*_: str) -> Path:
        raise AdminkitError("there is no job_submit.lua", "install adminkit again")

    monkeypatch.setattr(program, "data_file", missing)
    with pytest.raises(AdminkitError, match="no job_submit"):
        roll_back(["policy"], target(folder), "policy rollback")
    assert (installed(folder), log.read_text()) == (before, lines)


@pytest.mark.parametrize(
    ("script", "inactive", "doubt"),
    [
        ("echo 'Job 7 to start' >&2", "", "runs without adminkit's script"),
        (
            "echo 'adminkit generation zero incentives none hints none' >&2; exit 1",
            "",
            "uses policy zero, not",
        ),
        ("echo 'Unable to contact slurm controller' >&2; exit 1", "", "was not asked"),
        ("exit 0", "slurmctld runs without it", "slurmctld runs without it"),
    ],
)
def test_an_install_that_is_not_seen_to_be_in_use_says_so(
    folder: Path, slurm: Programs, script: str, inactive: str, doubt: str
) -> None:
    slurm.add("sbatch", script)
    done = put(folder, inactive=inactive)
    assert not done.confirmed
    assert doubt in done.doubt
    (record,) = actions.read(folder.parent / "log" / "acts.jsonl")
    assert doubt in record["hosts"][HERE]
    assert installed(folder)["policy"][""] == "one", "the files are in place all the same"


def test_slurmctld_is_asked_again_until_it_has_loaded(folder: Path) -> None:
    entry = folder / "job_submit.lua"
    entry.touch()
    answers = iter([None, Running("old", None, None), Running("new", None, None)])
    times = []

    def ask() -> Running | None:
        times.append(entry.stat().st_mtime)
        return next(answers)

    running, doubt = confirm(entry, {"policy": "new"}, 30.0, ask)
    assert (running, doubt) == (Running("new", None, None), "")
    assert times == sorted(set(times)), "the file is newer each time"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (None, "absent"),
        (b"-- ours, another release", "foreign"),
        (b"function slurm_job_submit() end", "foreign"),
        (b'-- dofile("/etc/slurm/adminkit/start.lua") .around(', "foreign"),
        (
            b'local ok, adminkit = pcall(dofile, "/x/adminkit/start.lua")\nif ok then adminkit.around(1, 2) end',
            "calls us",
        ),
    ],
)
def test_whose_entry_it_is(folder: Path, text: bytes | None, state: str) -> None:
    if text is not None:
        (folder / "job_submit.lua").write_bytes(text)
    assert program.entry_state(folder, program.shipped()["job_submit.lua"]) == state


def test_an_older_entry_of_ours_is_replaced_and_the_sites_own_never(folder: Path, slurm: Programs) -> None:
    ours = program.shipped()["job_submit.lua"]
    entry = folder / "job_submit.lua"
    entry.write_bytes(ours.partition(b"\n")[0] + b"\nreturn 0\n")
    put(folder)
    assert entry.read_bytes() == ours
    entry.write_text("return slurm.SUCCESS\n")
    done = put(folder)
    assert (done.entry, done.confirmed, entry.read_text()) == ("foreign", False, "return slurm.SUCCESS\n")
    assert "does not call adminkit" in done.doubt
    assert changed_since(folder) == [], "it is not ours to answer for"


def test_a_policy_that_is_damaged_or_a_log_that_cannot_be_written_stops_before_anything_is(
    folder: Path, slurm: Programs
) -> None:
    with pytest.raises(AdminkitError, match="did not load policy"):
        apply(Bundle({"policy": DAMAGED}, program.shipped()), target(folder), "policy install")
    with pytest.raises(AdminkitError, match="couldn't record actions"):
        apply(bundle(), Target(folder, log=Path("/proc/nosuch/acts")), "policy install")
    with pytest.raises(UsageError, match=r"does not contain \{host\}"):
        put(folder, push="rsync {files} somewhere", others=("second",))
    assert list(folder.iterdir()) == []


# other hosts


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """Another host, as a folder; `push` copies there as the operator's command would."""
    (tmp_path / "second").mkdir()
    return tmp_path / "second"


def pushing(second: Path) -> dict[str, object]:
    return {
        "others": (second.name,),
        "push": f"cp -a {{files}} {second.parent}/{{host}}/",
        "fetch": f"sh -c 'cd {second.parent}/{{host}} && sha256sum job_submit.lua adminkit/*.lua'",
    }


def path_with_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/bin:/bin")


def test_the_other_host_gets_the_same_files_the_entry_last(
    folder: Path, second: Path, slurm: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    path_with_tools(monkeypatch)
    done = put(folder, **pushing(second))
    (host,) = done.hosts
    assert (host.pushed, host.differs, host.state, done.ok) == (True, (), "the same", True)
    assert checksums(second) == checksums(folder)
    (record,) = actions.read(folder.parent / "log" / "acts.jsonl")
    assert record["hosts"] == {HERE: "confirmed", "second": "the same"}
    log = second.parent / "order"
    slurm.add("carry", f'echo "$2" >> {log}')
    put(folder, "two", others=("second",), push="carry {host} {files}")
    assert [Path(line).name for line in log.read_text().split()] == ["adminkit", "job_submit.lua"]


def test_a_host_that_differs_or_cannot_be_reached_is_an_error(
    folder: Path, second: Path, slurm: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    path_with_tools(monkeypatch)
    put(folder, **pushing(second))
    (second / "adminkit" / "policy.lua").write_text(table("other"))
    done = put(folder, "two", **{**pushing(second), "push": "true {host} {files}"})
    assert done.hosts[0].state == "differs: adminkit/policy.good.lua, adminkit/policy.lua"
    assert not done.ok
    done = put(folder, "three", **{**pushing(second), "push": "sh -c 'echo no route to {host} >&2; exit 255'"})
    assert "no route to second" in done.hosts[0].problem
    assert (done.confirmed, done.ok) == (True, False)


def test_without_a_command_the_steps_are_printed_the_entry_last(folder: Path, slurm: Programs) -> None:
    done = put(folder, others=("second",))
    assert list(done.steps) == [
        f"rsync -as {folder}/adminkit root@second:{folder}/",
        f"rsync -as {folder}/job_submit.lua root@second:{folder}/",
        f"ssh root@second 'cd {folder} && sha256sum -c --quiet adminkit/SHA256SUMS'",
    ]
    assert actions.read(folder.parent / "log" / "acts.jsonl")[0]["hosts"]["second"] == "by hand"


def test_the_steps_may_be_pasted_whatever_the_folder_is_called() -> None:
    folder = Path("/etc/slurm; true $(id) it's")
    for entry in (True, False):
        *_, compare = lines = [shlex.split(line) for line in steps(["b"], folder, entry)]
        assert lines[0][-2:] == [f"{folder}/adminkit", f"root@b:{folder}/"]
        assert shlex.split(compare[-1])[:3] == ["cd", str(folder), "&&"], "ssh's words go through a second shell"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a" * 64 + "  adminkit/policy.lua\n", {"adminkit/policy.lua": "a" * 64}),
        ("b" * 64 + " */etc/slurm/job_submit.lua\n", {"job_submit.lua": "b" * 64}),
        ("c" * 64 + "  ./adminkit/x.previous.lua\nnonsense\n", {}),
        ("", {}),
    ],
)
def test_sha256sums_lines(text: str, found: dict[str, str]) -> None:
    assert parse_sums(text, Path("/etc/slurm")) == found


def test_a_later_install_of_points_does_not_bless_a_policy_changed_by_hand(folder: Path, slurm: Programs) -> None:
    put(folder)
    path = table_path(folder, "policy")
    path.write_text((read_text(path) or "") + "-- by hand\n")
    assert changed_since(folder) == ["adminkit/policy.lua"]
    write_sums(folder, ["adminkit/decide.lua"])
    assert changed_since(folder) == ["adminkit/policy.lua"]


# the action log


def test_acts_are_appended_whole_and_lines_that_are_none_are_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "var" / "acts.jsonl"
    actions.append(log, actions.act("policy install", "one", None, {"head": "confirmed"}, table="policy"))
    with log.open("ab") as file:
        file.write(b"{ damaged\n[1]\n")
    actions.append(log, actions.act("policy rollback", "zero", "one", {"head": "学\n"}))
    assert [one["what"] for one in actions.read(log)] == ["policy install", "policy rollback"]
    assert len(log.read_text().splitlines()) == 4
    assert json.loads(log.read_text().splitlines()[0])["table"] == "policy"
    assert log.stat().st_mode & 0o777 == 0o640
    assert actions.read(tmp_path / "nosuch") == []


def test_who_is_behind_root_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "alice")
    found = actions.act("policy install", "one", None, {})
    assert found["for"] == "alice"
    monkeypatch.delenv("SUDO_USER")
    assert "for" not in actions.act("policy install", "one", None, {})


def test_many_at_once_lose_no_line(tmp_path: Path) -> None:
    log = tmp_path / "acts.jsonl"
    children = []
    for number in range(8):
        child = os.fork()
        if child == 0:
            try:
                for _ in range(20):
                    actions.append(log, actions.act("policy install", str(number), None, {"host": "x" * 500}))
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    assert len(actions.read(log)) == 160


def test_a_generation_that_was_rolled_back_is_named(folder: Path, slurm: Programs) -> None:
    put(folder, "one")
    with pytest.raises(AdminkitError, match="to roll back to"):
        roll_back(["policy"], target(folder), "policy rollback")
    assert generation_of(read_text(table_path(folder, "policy")) or "") == "one"
