"""The same answers whatever the locale, the time zone, the umask and the folders of the process are."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.builders import HOUR, job, make_trace
from tests.support.locales import make_locales

#: What is asked in each of them, in one process: {out} is a folder of its own.
COMMANDS: Final = (
    "report accuracy --format json",
    "report states --by month --format json",
    "report users --format json",
    "report wait --by hour --format json",
    "findings --since 2026-01-01 --severity good --format json",
    "recommend walltime --user ABCİıi --format json",
    "policy check --format json",
    "policy try --user alice -p gq -t 100:00:00 --gpus 1",
    "feedback preview --sample --text --as-of 2026-02-10",
    "trace status --format json",
    "export {out}/csv",
    "export {out}/trace.swf",
    "import {sacct} --db {out}/again.db --cluster aaic",
    "report accuracy --db {out}/again.db --format json",
)
#: In each zone, each prints its exit code, and what is written goes on.
PROGRAM: Final = """
import json, os, sys, time
from adminkit.cli.main import main
for zone, argvs in json.loads(sys.argv[1]).items():
    os.environ["TZ"] = zone
    time.tzset()
    print("zone")
    for argv in argvs:
        print("exit", main(argv))
"""
#: Locales of glibc, with their character maps; Turkish has another i, German another decimal point.
LOCALES: Final = ("tr_TR.UTF-8", "de_DE.UTF-8", "ja_JP.UTF-8", "ja_JP.EUC-JP")
SETTINGS: Final = '[feedback]\nclusters = ["aaic"]\ndomain = "example.org"\noperators = ["ops@example.org"]\n'
SACCT: Final = (
    "JobID|JobIDRaw|User|Partition|Submit|Start|End|State|Elapsed|Timelimit|AllocCPUS|NNodes|JobName\n"
    "7|7|ABCİıi|GQ|1770000000|1770000010|1770003610|COMPLETED|01:00:00|1-00:00:00|4|1|TRAİN-0.5,5\n"
)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace with names that Turkish folds in its own way, settings, and sacct's text."""
    folder = tmp_path_factory.mktemp("ground")
    names = ("TRAİN-0.5", "train-ı", "Titan I", "1,5")
    jobs = [job(i, job_name=names[i % 4], user="ABCİıi", elapsed=HOUR + 60 * i) for i in range(1, 25)]
    make_trace(folder / "trace.db", jobs, [("aaic", "gq", 0, HOUR, 4 * HOUR)])
    (folder / "adminkit.toml").write_text(SETTINGS)
    (folder / "sacct.txt").write_text(SACCT)
    return folder


@pytest.fixture(scope="module")
def locales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_locales(tmp_path_factory.mktemp("locales"), LOCALES)


def answers(
    ground: Path, out: Path, env: Mapping[str, str], prefix: tuple[str, ...] = (), zones: Sequence[str] = ("UTC",)
) -> dict[str, dict[str, Any]]:
    """By zone, what each of COMMANDS printed; without times, which differ from run to run. {out}/ZONE has its files."""
    folders = {zone: out / zone.replace("/", "-") for zone in zones}
    argvs = {}
    for zone, folder in folders.items():
        folder.mkdir(parents=True)
        words = {"out": str(folder), "sacct": str(ground / "sacct.txt")}
        argvs[zone] = [[word.format(**words) for word in command.split()] for command in COMMANDS]
    done = subprocess.run(
        [*prefix, sys.executable, "-c", PROGRAM, json.dumps(argvs)],
        env={"PATH": os.environ["PATH"], "ADMINKIT_DB": str(ground / "trace.db"),
             "ADMINKIT_CONFIG": str(ground / "adminkit.toml"), "COLUMNS": "100", "TZ": zones[0], **env},
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    encoding = "euc-jp" if "EUC" in env.get("LC_ALL", "") else "utf-8"
    texts = done.stdout.decode(encoding).split("zone\n")[1:]
    return {zone: _answer(text, folders[zone]) for zone, text in zip(zones, texts, strict=True)}


def _answer(text: str, out: Path) -> dict[str, Any]:
    parts = text.replace(str(out), "OUT").split("exit ")
    found: dict[str, Any] = {command: part[0] for command, part in zip(COMMANDS, parts[1:], strict=True)}
    found["printed"] = [_plain(part) for part in parts]
    found["csv"] = (out / "csv/job.csv").read_bytes()
    found["swf"] = [line for line in (out / "trace.swf").read_text().splitlines() if not line.startswith(";")]
    return found


def _plain(part: str) -> Any:
    """JSON's rows, else the text."""
    body = part[1:].lstrip() if part[:1].isdigit() else part
    return json.loads(body)["rows"] if body.startswith("{") else body


@pytest.fixture(scope="module")
def expected(ground: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    (found,) = answers(ground, tmp_path_factory.mktemp("utc") / "out", {"LC_ALL": "C.UTF-8"}).values()
    assert {found[command] for command in COMMANDS} <= {"0", "1"}
    return found


NO_FOLDER: Final = 'd=$(mktemp -d) && cd "$d" && rmdir "$d" && exec "$@"'
NO_EXEC: Final = 'mount -t tmpfs -o noexec,mode=1777 none "$TMPDIR" && exec "$@"'


@dataclass(frozen=True, slots=True)
class Case:
    """Where the commands run: a locale, zones, folders and a umask are tried in one run. {tmp} is an empty folder."""

    why: str
    locale: str = "C.UTF-8"
    zones: Sequence[str] = ("UTC",)
    env: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    umask: int = 0o022


ZONES: Final = ("Asia/Tokyo", "Asia/Kolkata", "America/New_York", "Pacific/Apia")
# Texts say their times in the host's zone: where a zone is tried, only numbers are compared.
CASES: Final = (
    Case("tr_TR, umask 000, no HOME", locale="tr_TR.UTF-8", umask=0o000),
    Case("de_DE, umask 077, HOME is not there", locale="de_DE.UTF-8", umask=0o077, env={"HOME": "/nonexistent"}),
    Case("ja_JP, umask 027, HOME cannot be written to", locale="ja_JP.UTF-8", umask=0o027, env={"HOME": "/proc"}),
    Case("EUC-JP, no working folder", locale="ja_JP.EUC-JP", env={"HOME": "/"}, prefix=("sh", "-c", NO_FOLDER, "sh")),
    Case("POSIX, a TMPDIR that is not there", locale="POSIX", env={"TMPDIR": "/nonexistent"}),
    Case("an unknown locale, from east to west", locale="xx_XX.nowhere", zones=ZONES),
    Case(
        "a TMPDIR where nothing may be executed",
        env={"TMPDIR": "{tmp}"},
        prefix=("unshare", "-m", "sh", "-ec", NO_EXEC, "sh"),
    ),
)
#: What is made -> its mode under every umask; None: that of the umask. A trace is its group's to read.
MODES: Final[Mapping[str, int | None]] = {"again.db": 0o640, "csv/job.csv": None, "trace.swf": None}


@pytest.mark.parametrize("case", CASES, ids=[case.why for case in CASES])
def test_wherever_it_runs(ground: Path, locales: Path, expected: dict[str, Any], tmp_path: Path, case: Case) -> None:
    if (
        "unshare" in case.prefix
        and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("not run: this user may make no mount namespace")
    (tmp_path / "tmp").mkdir()
    env = {"LC_ALL": case.locale, "LOCPATH": str(locales)}
    env |= {name: value.format(tmp=tmp_path / "tmp") for name, value in case.env.items()}
    umask = ("sh", "-c", f'umask {case.umask:03o}; exec "$@"', "sh")
    made = answers(ground, tmp_path / "out", env, (*umask, *case.prefix), case.zones)
    for zone, found in made.items():
        wanted = dict(expected)
        if "EUC" in case.locale:  # it lacks some letters: they are escaped there
            del found["printed"], wanted["printed"]
        elif zone != "UTC":
            for one in (found, wanted):
                one["printed"] = [part for part in one["printed"] if isinstance(part, list)]
        assert found == wanted, zone
    for name, wanted_mode in MODES.items():
        mode = stat.S_IMODE((tmp_path / "out" / case.zones[0].replace("/", "-") / name).stat().st_mode)
        assert mode == wanted_mode if wanted_mode else mode & ~(0o666 & ~case.umask) == 0, f"{name} has mode {mode:04o}"
        assert mode & 0o600 == 0o600, f"{name} has mode {mode:04o}"
