"""Every command as a user whom nobody has given anything: it works, or says what it could not do and what to do.

The commands are those of the command line itself, so a new one is tried, too.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import pkgutil
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final

import pytest
from rich.cells import cell_len

import adminkit
from adminkit.cli import contents
from adminkit.cli.main import main
from adminkit.demo import generate
from tests.support.builders import job, make_trace
from tests.support.others import GROUP, OUTSIDE, OWNER, as_user, gives_files_away

#: A user without a name and a home, as a process in a container or of a directory service that is away has it.
NAMELESS: Final = 54_321
#: What a command needs to be typed at all, by the name of its parameter.
TYPED: Final = {
    "month": "2026-01", "first": "actual", "second": "estimate", "user": "bob", "address": "a@example.org", "job": "1",
    "file": "{here}/in", "files": "{here}/in", "target": "{here}/out", "older_than": "--older-than 2020-01-01",
    "statement": "SELECT*FROM/**/run", "name": "bob", "source": "{here}/open", "folder": "{here}/open",
}  # fmt: skip
#: Further ways to type a command, each of which reads other files.
MORE: Final[tuple[tuple[str, ...], ...]] = (
    ("my", "--everything"), ("doctor", "-f", "json"), ("incentives", "show", "bob"), ("sync", "--since", "2026-01-01"),
    ("report", "all", "--html", "{here}/page.html"), ("report", "users", "-o", "{here}/users.csv"),
    ("feedback", "prefs", "--no-hints"), ("policy", "install", "--apply"), ("recommend", "walltime", "--backtest"),
    ("policy", "check", "--policy", "{here}/secret.toml"), ("policy", "try", "--policy", "{here}/secret.toml"),
    ("charge", "preview", "--schemes", "{here}/secret.toml"), ("simulate", "run", "--site", "{here}/secret.toml"),
    ("import", "{here}/secret.toml"), ("import", "{here}/secret.toml", "--map", "{here}/secret.toml"),
    ("simulate", "scenarios", "{here}/secret.toml"), ("power", "import", "{here}/secret.toml"),
    ("profiles", "list", "--profiles", "{here}/secret.toml"), ("demo", "--db", "{here}/closed/new.db"),
    ("elastic", "run", "--apply"), ("feedback", "run", "--send"),
    ("export", "{here}/new"), ("metrics", "-o", "{here}/closed/new.prom"),
)  # fmt: skip
#: What surrounds the user -> environment variables, the trace named with --db, and words of the answers of doctor.
PLACES: Final[dict[str, tuple[dict[str, str], str | None]]] = {
    "the folder of the trace is closed": ({}, None),
    "a closed trace is named": ({}, "{here}/closed/trace.db"),
    "a closed trace is named by ADMINKIT_DB": ({"ADMINKIT_DB": "{here}/closed/trace.db"}, None),
    "the folder of a snapshot is closed": ({}, "{here}/closed/deeper/trace.snapshot.db"),
    "the trace is open and its folder is not written": ({}, "{here}/open/trace.db"),
    "a trace's name goes through a file": ({}, "{here}/open/trace.db/trace.db"),
    "the settings are closed": ({"ADMINKIT_CONFIG": "{here}/secret.toml"}, None),
    "the settings are in a closed folder": ({"ADMINKIT_CONFIG": "{here}/closed/adminkit.toml"}, None),
    "settings name folders that are closed": ({"ADMINKIT_CONFIG": "{here}/other.toml"}, None),
    "the home is closed": ({"HOME": "{here}/closed", "ADMINKIT_CONFIG": "{here}/none.toml"}, None),
    "the home is not there": ({"HOME": "/nonexistent", "ADMINKIT_CONFIG": "{here}/none.toml"}, None),
    "no home": ({"HOME": "", "ADMINKIT_CONFIG": "{here}/none.toml"}, None),
}

#: The demo's, which take seconds to make: to a stranger it is the place of its trace that matters.
FEW: Final = [
    job(1, cluster=generate.CLUSTER, node_list="gpu001", gpu_type="p100", mem=1 << 30, req_mem=1 << 30, req_gpus=1)
]


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command, with what it needs to be typed at all."""
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from leaves(below, (*words, name))
        return
    needed = [TYPED[one.name].split() for one in command.params if one.required]
    yield (*words, *(word for one in needed for word in one))


def every_command() -> list[tuple[str, ...]]:
    return [*leaves(contents.command_of()), *MORE]


@pytest.fixture
def here(open_install: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site's settings, which all may read, and a trace whose folder is its owner's and group's; no Slurm."""
    (place := open_install / "site").mkdir()
    place.chmod(0o777)
    for name in ("closed", "open"):
        (place / name).mkdir()
        make_trace(place / name / "trace.db", [job(1, user="bob", uid=1002)])
    (place / "in").write_text("x\n")
    (place / "secret.toml").write_text('db = "/nowhere"\n')
    (place / "secret.toml").chmod(0)
    (place / "none.toml").write_text("")
    (place / "adminkit.toml").write_text(f'db = "{place}/closed/trace.db"\n[feedback]\nclusters = ["aaic"]\n')
    (place / "other.toml").write_text(
        f'db = "{place}/closed/trace.db"\nacts = "{place}/closed/acts.jsonl"\ncharge = "{place}/closed/charge.toml"\n'
        f'[feedback]\nclusters = ["aaic"]\nprefs = "{place}/closed/prefs"\ntemplates = "{place}/closed/letters"\n'
        f'login = "{place}/closed/login"\naddresses = "{place}/closed/addresses"\n[policy]\nfolder = "{place}/closed"\n'
    )
    for name in ("open/trace.db", "open"):
        (place / name).chmod(0o755 if name == "open" else 0o644)
    if os.geteuid() == 0:
        for one in (place / "closed", *(place / "closed").iterdir(), place / "open", *(place / "open").iterdir()):
            os.chown(one, OWNER, GROUP)
    (place / "closed").chmod(0o750)
    monkeypatch.chdir("/")
    return place


def told(words: tuple[str, ...], here: Path, more: dict[str, str], db: str | None) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a command; a traceback where it raises."""
    environ = {"ADMINKIT_CONFIG": "{here}/adminkit.toml", **more}
    os.environ.update({name: text.format(here=here) for name, text in environ.items()})
    if not os.environ.get("HOME"):
        os.environ.pop("HOME", None)
    typed = [word.format(here=here) for word in words]
    if db is not None:
        typed += ["--db", db.format(here=here)]
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            code = main(typed)
        except SystemExit as error:
            code = int(error.code or 0)
        except BaseException:
            traceback.print_exc()
            code = 99
    return code, out.getvalue(), err.getvalue()


def complaint(code: int, out: str, err: str) -> str | None:
    """What is wrong with an answer; None where nothing is."""
    if "Traceback" in err or "Traceback" in out:
        return err
    if code and not out and not ("error: " in err and "hint: " in err):
        return f"exit {code} without an error and a hint: {err}"
    return None


def load_everything() -> None:
    """Load what another user may not read of this Python and this clone."""
    import encodings.utf_8_sig
    import resource
    import statistics

    import lupa
    import pydantic

    assert encodings.utf_8_sig and resource and statistics and lupa and pydantic
    for module in pkgutil.walk_packages(adminkit.__path__, "adminkit."):
        if "jupyter" not in module.name and "data" not in module.name:
            importlib.import_module(module.name)
    main(["feedback", "prefs"])
    cell_len("\u3042")  # rich reads its table at the first such character


@gives_files_away
def test_doctor_goes_on_where_the_trace_is_closed_and_each_line_that_is_not_ok_has_a_hint(here: Path) -> None:
    def stranger() -> tuple[int, str, str]:
        return told(("doctor", "-f", "json"), here, {}, None)

    load_everything()
    code, out, err = as_user(NAMELESS, OUTSIDE, stranger)
    checks = {row["check"]: row for row in json.loads(out)["rows"]}
    assert (code, err) == (1, "")
    assert checks["database"]["status"] == "missing"
    assert f"couldn't read {here}/closed/trace.db: permission denied" in checks["database"]["found"]
    assert {"helper", "disk", "sacct", "choices", "outbox", "plots"} <= set(checks)
    assert [name for name, row in checks.items() if row["status"] != "ok" and not row["hint"]] == []


@gives_files_away
@pytest.mark.parametrize("place", PLACES)
def test_no_command_leaves_a_stranger_with_a_traceback_or_without_a_hint(
    here: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    environ, db = PLACES[place]

    def stranger() -> dict[str, str]:
        found = {}
        for words in every_command():
            if words[:1] == ("serve",):
                continue  # it would wait for a browser
            wrong = complaint(*told(words, here, environ, db))
            if wrong is not None:
                found[" ".join(words)] = wrong
        return found

    load_everything()
    monkeypatch.setattr(generate, "jobs", lambda seed=0: FEW)
    found = as_user(NAMELESS, OUTSIDE, stranger)
    assert not found, "\n".join(f"{words}: {wrong}" for words, wrong in found.items())
