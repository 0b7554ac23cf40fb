"""Every option that takes a file to read: what is no plain file of a fitting size is an error with a hint, at once.

Nothing waits for a pipe: a command that did would come to the bound of its test.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from adminkit.cli import contents
from adminkit.cli.main import main
from tests.support.builders import job, make_trace
from tests.support.others import OWNER, gives_files_away

SECRET: Final = "root-only-line"
#: Option or argument, with its metavar -> a command that reads it: {file} is the file, {here} a folder with a trace.
READ: Final = {
    "--curves FILE": "simulate elastic --jobs {here}/jobs.csv --curves {file}",
    "--db FILE": "trace status --db {file}",
    "--fit TRACE": "demo --db {here}/new.db --fit {file}",
    "--from FILE": "trial result --from {file} --db {here}/trace.db",
    "--jobs FILE|trace": "simulate elastic --jobs {file}",
    "--key FILE": "export {here}/new --anonymise --key {file} --db {here}/trace.db",
    "--labels FILE": "data pack {here}/set {here}/new --labels {file}",
    "--large FILE": "data probe {here} --large {file}",
    "--map MAP": "import {here}/jobs.csv --map {file} --db {here}/new.db",
    "--map-names FILE": "simulate elastic --jobs {here}/jobs.csv --map-names {file}",
    "--policy FILE": "policy check --policy {file}",
    "--profiles FILE": "profiles list --profiles {file}",
    "--replay FILE": "idle --replay {file}",
    "--schemes FILE": "charge preview --schemes {file} --db {here}/trace.db",
    "--site FILE": "policy try --site {file} --time 60",
    "--token-file FILE": "serve --token-file {file} --db {here}/trace.db",
    "file FILE": "simulate scenarios {file} --db {here}/trace.db",
    "file FILE|FOLDER|-": "import {file} --db {here}/new.db",
    "files FILE...": "power import {file} --db {here}/new.db",
    "$ADMINKIT_CONFIG": "trace status",
}
#: What is written, not read; --snapshot and --installed are traces and tables of adminkit's own.
WRITTEN: Final = frozenset("--html --out --output --page --picture --rules --schedule --snapshot --text target".split())
#: Those that no TOML is read from, or whose size has no bound as they are read row by row.
TOML: Final = ("--policy FILE", "--profiles FILE", "--schemes FILE", "--site FILE", "file FILE", "--map MAP")
UNBOUNDED: Final = ("--db FILE", "--fit TRACE", "--large FILE", "file FILE|FOLDER|-")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_trace(tmp_path / "trace.db", [job(1, user="bob", uid=1002)])
    (tmp_path / "jobs.csv").write_text("submit,gpus,seconds,name\n0,1,60,a\n")
    (tmp_path / "adminkit.toml").write_text("")
    monkeypatch.setenv("ADMINKIT_CONFIG", str(tmp_path / "adminkit.toml"))
    return tmp_path


def told(option: str, file: Path, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> tuple[int, str]:
    """The exit code and all that the command said."""
    if option.startswith("$"):
        monkeypatch.setenv(option.removeprefix("$"), str(file))
    words = READ[option].format(file=file, here=here).split()
    try:
        code = main(words)
    except SystemExit as error:
        code = int(error.code or 0)
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    return code, out + err


def sock(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def device(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero


def large(path: Path) -> None:
    path.touch(0o600)
    os.truncate(path, 1 << 29)


STRANGE: Final[dict[str, Callable[[Path], None]]] = {
    "a pipe": os.mkfifo, "a folder": Path.mkdir, "a socket": sock, "a device": device, "a large file": large,
    "a file that is missing": lambda path: None, "a link to itself": lambda path: path.symlink_to(path),
}  # fmt: skip
#: For which these are fitting: a folder may be an export, and a new key or token is made.
FITTING: Final = {
    ("file FILE|FOLDER|-", "a folder"), ("--key FILE", "a file that is missing"),
    ("--token-file FILE", "a file that is missing"), *((option, "a large file") for option in UNBOUNDED),
}  # fmt: skip


@pytest.mark.parametrize("what", STRANGE)
@pytest.mark.parametrize("option", READ)
def test_what_is_no_plain_file_is_an_error(
    option: str, what: str, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    if what == "a device" and os.geteuid() != 0:
        pytest.skip("not run: only root makes devices")
    if (option, what) in FITTING:
        pytest.skip("fitting there")
    monkeypatch.chdir(here)
    STRANGE[what](file := here / "x.toml")
    code, said = told(option, file, here, monkeypatch, capfd)
    assert code in (1, 2) and "error: " in said and "hint: " in said, said


@pytest.mark.parametrize("text", ["a." * 20_000 + "b = 1\n", "a = " + "[" * 20_000, "a = " + "9" * 5_000, "{" * 20_000])
@pytest.mark.parametrize("option", [*TOML, "$ADMINKIT_CONFIG"])
def test_a_text_that_is_deep_or_long_is_refused_before_it_is_parsed(
    option: str, text: str, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    (file := here / "x.toml").write_text(text)
    code, said = told(option, file, here, monkeypatch, capfd)
    assert code in (1, 2) and "error: " in said and len(said) < 1000, said


@gives_files_away
@pytest.mark.parametrize("option", READ)
def test_a_link_in_the_folder_of_somebody_else_leads_root_nowhere(
    option: str, here: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    (secret := here / "secret").write_text(f"{SECRET} = {SECRET}\n")
    secret.chmod(0o600)
    (theirs := open_folder / "theirs").mkdir()
    (link := theirs / "x.toml").symlink_to(secret)
    for one in (theirs, link):
        os.chown(one, OWNER, OWNER, follow_symlinks=False)
    code, said = told(option, link, here, monkeypatch, capfd)
    assert code in (1, 2) and "error: " in said, said
    assert SECRET not in said


@gives_files_away
def test_root_takes_no_key_and_no_names_that_another_user_put_there(
    here: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    (key := open_folder / "x.toml").write_text("0" * 64 + "\n")
    key.chmod(0o600)
    os.chown(key, OWNER, OWNER)
    code, said = told("--key FILE", key, here, monkeypatch, capfd)
    assert code == 1 and "belongs to uid" in said, said
    assert not (here / "new").exists()


def swf(here: Path) -> Path:
    assert main(["export", str(here / "trace.swf"), "--db", str(here / "trace.db")]) == 0
    return here / "trace.swf.names.csv"


@gives_files_away
@pytest.mark.parametrize("what", ["a symbolic link", "a pipe", "of another user"])
def test_the_names_beside_a_trace_are_a_plain_file_of_its_owner(what: str, here: Path, capfd: Any) -> None:
    beside, secret = swf(here), here / "secret"
    if what == "of another user":
        os.chown(beside, OWNER, OWNER)
    else:
        beside.unlink()
        secret.write_text(f"{SECRET}\n")
        beside.symlink_to(secret) if what == "a symbolic link" else os.mkfifo(beside)
    code = main(["import", str(here / "trace.swf"), "--cluster", "aaic", "--db", str(here / "new.db")])
    out, err = capfd.readouterr()
    assert code == 1 and (what in err or "does not belong to the owner" in err) and "hint: " in err, err
    assert SECRET not in out + err


def options(command: Any) -> Iterator[str]:
    for below in getattr(command, "commands", {}).values():
        yield from options(below)
    for one in getattr(command, "params", ()):
        if any(word in (one.metavar or "") for word in ("FILE", "MAP", "TRACE")):
            yield f"{one.opts[0]} {one.metavar}"


def test_every_option_that_takes_a_file_is_here() -> None:
    found = {one for one in options(contents.command_of()) if one.split()[0] not in WRITTEN}
    assert found == {one for one in READ if not one.startswith("$")}
