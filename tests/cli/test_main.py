"""The funnel: every mistake is one `error:` line and one `hint:` line, and the exit code says of which kind."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import adminkit
from adminkit.cli import contents
from adminkit.cli.main import main
from adminkit.errors import AdminkitError, TooManyRejected
from adminkit.trace import connect
from adminkit.trace.schema import SCHEMA_VERSION

PROGRAM = [sys.executable, "-m", "adminkit.cli.main"]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.db"
    connect.prepare(path)
    with connect.writer(path) as db:
        db.execute(
            "INSERT INTO job (cluster, job_id_raw, submit_time, queue, user, state, end_time, elapsed, time_limit,"
            " limit_kind) VALUES ('alpha', 1, 1500000000, 'gq-short', 'user1', 'COMPLETED', 1500003660, 3600, 7200,"
            " 'finite')"
        )
    return path


@pytest.mark.parametrize(
    ("typed", "error", "hint"),
    [
        ("imprt x", "No such command: imprt", "did you mean import?"),
        ("report accurcy", "No such command: accurcy", "did you mean accuracy?"),
        ("frobnicate", "No such command: frobnicate", "`adminkit --help` lists its options"),
        ("--verison", "No such option: --verison", "did you mean --version?"),
        ("report accuracy --formt json", "No such option: --formt", "did you mean --format?"),
        ("report accuracy --format jsn", "'jsn' is not one of", "did you mean json?"),
        ("report accuracy --class singel-gpu", "'singel-gpu' is not one of", "did you mean single-gpu?"),
        ("report accuracy --since", "Option '--since' requires an argument", "--help` lists"),
        ("report accuracy --since 2026-13-01", "not a date: 2026-13-01", "write 2026-01-31"),
        ("report accuracy --since yestreday", "no such date: yestreday", "did you mean yesterday?"),
        ("report accuracy --queue gq-shrot", "no such queue: gq-shrot", "did you mean gq-short?"),
        ("report accuracy --user usr1", "no such user: usr1", "did you mean user1?"),
        ("report accuracy --states COMPLETD", "COMPLETD", "did you mean COMPLETED?"),
        ("sync --jobs many", "Invalid value for '--jobs'", "`adminkit sync --help` lists its options"),
        ("sync --jobs 0", "Invalid value for '--jobs'", "`adminkit sync --help` lists its options"),
        ("import", "Missing argument 'FILE|FOLDER|-'", "`adminkit import --help` lists its options"),
        ("import a b", "unexpected extra argument", "`adminkit import --help` lists its options"),
    ],
)
def test_what_was_typed_wrong_is_two_lines_and_exit_code_2(
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, error: str, hint: str
) -> None:
    monkeypatch.setenv("ADMINKIT_DB", str(trace))
    assert main(typed.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert len(lines) == 2, lines
    first, second = lines
    assert first.startswith("error: ")
    assert error in first
    assert second.startswith("hint: ")
    assert hint in second


def test_what_failed_is_two_lines_and_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "status", "--db", str(tmp_path / "nosuch.db")]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"error: no trace database at {tmp_path}/nosuch.db",
        "hint: run `adminkit sync`, `adminkit import` or `adminkit demo`",
    ]


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def app(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(contents, "command_of", lambda *_: app)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (AdminkitError("couldn't do it", "do that"), 1, ["error: couldn't do it", "hint: do that"]),
        (AdminkitError("couldn't do it"), 1, ["error: couldn't do it"]),
        (AdminkitError("two\nlines", "and\n\tmore"), 1, ["error: two lines", "hint: and more"]),
        (AdminkitError("a\x1b[31m name"), 1, [r"error: a\x1b[31m name"]),
        (TooManyRejected("2 of 3 rows", "look"), 3, ["error: 2 of 3 rows", "hint: look"]),
        (
            sqlite3.OperationalError("no such table: run"),
            1,
            [
                "error: database: no such table: run",
                "hint: this trace is from before adminkit's first release: name another with --db, or move it away",
            ],
        ),
        (sqlite3.OperationalError("boom"), 1, ["error: database: boom", "hint: run with --debug for the details"]),
    ],
)
def test_errors_are_told_in_one_line_each(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    said: list[str],
) -> None:
    raising(monkeypatch, error)
    assert main(["sync"]) == code
    assert capsys.readouterr().err.splitlines() == said


def test_a_bug_is_not_dressed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError):
        main(["sync"])


@pytest.mark.parametrize("where", [0, 2])
def test_debug_shows_the_traceback_wherever_it_is_typed(tmp_path: Path, where: int) -> None:
    typed = ["trace", "status", "--db", str(tmp_path / "nosuch.db")]
    typed.insert(where, "--debug")
    done = subprocess.run([*PROGRAM, *typed], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "AdminkitError: no trace database" in done.stderr


def test_an_interrupt_says_that_nothing_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("adminkit.doctor.examine.examine", interrupted)
    assert main(["doctor"]) == 130
    error, hint = capsys.readouterr().err.strip().splitlines()
    assert error == "error: interrupted"
    assert "committed is intact" in hint


@pytest.mark.parametrize("typed", [[], ["report"], ["trace"]])
def test_a_group_alone_shows_its_help(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed) == 2
    said = capsys.readouterr()
    assert said.out.startswith("Usage: adminkit")
    assert said.err == ""


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_is_data_and_succeeds(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sync", word]) == 0
    assert "Usage: adminkit sync" in capsys.readouterr().out


def test_the_version_names_the_release_and_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"adminkit {adminkit.__version__} (trace schema {SCHEMA_VERSION})\n"


def test_a_reader_that_went_away_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*PROGRAM, "--help"], stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_under_the_output_is_said() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "error: couldn't write: no space left on device"


def below_bash(*command: str) -> list[str]:
    """A command with bash as its parent: typer takes its parent's shell, and of pytest's there may be none."""
    return ["bash", "-c", '"$@"; exit $?', "bash", *command]


def test_completion_shows_its_script() -> None:
    program = str(Path(sys.executable).with_name("adminkit"))
    script = subprocess.run(below_bash(program, "--show-completion"), capture_output=True, text=True, check=True).stdout
    assert "complete -o default -F _adminkit_completion adminkit" in script


@pytest.mark.parametrize(
    ("words", "expected"),
    [("adminkit rep", ["report"]), ("adminkit report acc", ["accuracy"]), ("adminkit trace ", ["status", "upgrade"])],
)
def test_the_shell_completes_what_is_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, expected: list[str]
) -> None:
    """tests/test_completion.py types in real shells."""
    environ = {"_ADMINKIT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        main([])
    assert set(expected) <= set(capsys.readouterr().out.split())


def test_completion_installs_itself(tmp_path: Path) -> None:
    program = str(Path(sys.executable).with_name("adminkit"))
    env = {**os.environ, "HOME": str(tmp_path), "SHELL": "/bin/bash"}
    command = below_bash(program, "--install-completion")
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "adminkit" in (tmp_path / ".bashrc").read_text()


def words(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*argv, "--help"]) == 0
    return capsys.readouterr().out


def commands(group: object, argv: list[str]) -> list[list[str]]:
    """Every command line there is, groups left out."""
    found = []
    for name, command in getattr(group, "commands", {}).items():
        inner = commands(command, [*argv, name])
        found += inner or [[*argv, name]]
    return found


def test_a_command_loads_no_other() -> None:
    commands = ("report", "trace", "my", "sync")
    code = f"""
import os, sys
from adminkit.cli.main import main
for command in {commands!r}:
    if os.fork() == 0:
        main([command, "--help"])
        print("loaded", command, *sys.modules, flush=True)
        os._exit(0)
    assert os.wait()[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("loaded ")]
    assert [command for command, *_ in lines] == [*commands]
    # sync has the summary of import; report trial has an option of policy install
    shared = {"adminkit.cli.import_", "adminkit.cli.policy_input", "adminkit.cli.policy_install"}
    for command, *loaded in lines:
        places = {place for word, places in contents.COMMANDS.items() for place in places if word != command}
        others = {f"adminkit.cli.{place.split('.')[0]}" for place in places}
        assert (others - shared) & {*loaded} == set(), command


def test_every_command_says_what_it_does_and_every_listing_has_a_format(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in commands(contents.command_of(), []):
        text = words(argv, capsys)
        assert re.search(r"\n\n  [A-Z]\w+", text), f"{argv} has no help"
        if argv[0] in ("report", "doctor") or argv[-1] in ("status", "rejected"):
            assert "--format" in text or "--html" in text, argv
