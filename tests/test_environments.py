"""The same answers whatever the locale, the time zone, the umask and the folders of the process are."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping
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
#: Each prints its exit code, and what is written goes on.
PROGRAM: Final = """
import json, sys
from adminkit.cli.main import main
for argv in json.loads(sys.argv[1]):
    print("exit", main(argv))
"""
#: Locales of glibc, with their character maps; Turkish has another i, German another decimal point.
LOCALES: Final = ("tr_TR.UTF-8", "de_DE.UTF-8", "ja_JP.UTF-8", "ja_JP.EUC-JP")
ZONES: Final = ("Asia/Tokyo", "America/New_York", "Pacific/Apia", "Asia/Kolkata")
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


def answers(ground: Path, out: Path, env: Mapping[str, str], prefix: tuple[str, ...] = ()) -> dict[str, Any]:
    """What each of COMMANDS printed; without times, which differ from run to run."""
    out.mkdir()
    words = {"out": str(out), "sacct": str(ground / "sacct.txt")}
    argvs = [[word.format(**words) for word in command.split()] for command in COMMANDS]
    done = subprocess.run(
        [*prefix, sys.executable, "-c", PROGRAM, json.dumps(argvs)],
        env={"PATH": os.environ["PATH"], "ADMINKIT_DB": str(ground / "trace.db"),
             "ADMINKIT_CONFIG": str(ground / "adminkit.toml"), "COLUMNS": "100", "TZ": "UTC", **env},
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    encoding = "euc-jp" if "EUC" in env.get("LC_ALL", "") else "utf-8"
    text = done.stdout.decode(encoding).replace(str(out), "OUT")
    found: dict[str, Any] = {}
    for command, part in zip(COMMANDS, text.split("exit ")[1:], strict=True):
        found[command] = part[0]
    found["printed"] = [_plain(part) for part in text.split("exit ")]
    found["csv"] = (out / "csv/job.csv").read_bytes()
    found["swf"] = [line for line in (out / "trace.swf").read_text().splitlines() if not line.startswith(";")]
    return found


def _plain(part: str) -> Any:
    """JSON's rows, else the text."""
    body = part[1:].lstrip() if part[:1].isdigit() else part
    return json.loads(body)["rows"] if body.startswith("{") else body


@pytest.fixture(scope="module")
def expected(ground: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found = answers(ground, tmp_path_factory.mktemp("utc") / "out", {"LC_ALL": "C.UTF-8"})
    assert {found[command] for command in COMMANDS} <= {"0", "1"}
    return found


@pytest.mark.parametrize("name", LOCALES)
def test_in_every_locale(ground: Path, locales: Path, expected: dict[str, Any], tmp_path: Path, name: str) -> None:
    found = answers(ground, tmp_path / "out", {"LC_ALL": name, "LOCPATH": str(locales)})
    if "EUC" in name:  # which lacks some letters: they are escaped there
        found.pop("printed")
    assert found == {key: value for key, value in expected.items() if key in found}


@pytest.mark.parametrize("name", ["C", "POSIX", "xx_XX.nowhere"])
def test_in_a_locale_without_letters(ground: Path, expected: dict[str, Any], tmp_path: Path, name: str) -> None:
    assert answers(ground, tmp_path / "out", {"LC_ALL": name}) == expected


@pytest.mark.parametrize("zone", ZONES)
def test_in_every_time_zone_the_numbers_are_the_same(
    ground: Path, expected: dict[str, Any], tmp_path: Path, zone: str
) -> None:
    """Texts say their times in the host's zone."""
    found = answers(ground, tmp_path / "out", {"LC_ALL": "C.UTF-8", "TZ": zone})
    told, wanted = ([part for part in one.pop("printed") if isinstance(part, list)] for one in (found, {**expected}))
    assert (found, told) == ({key: expected[key] for key in found}, wanted)


FOLDERS: Final = [
    ({}, (), "no HOME"),
    ({"HOME": "/nonexistent"}, (), "a HOME that is not there"),
    ({"HOME": "/proc"}, (), "a HOME that cannot be written to"),
    ({"HOME": "/"}, ("sh", "-c", 'd=$(mktemp -d) && cd "$d" && rmdir "$d" && exec "$@"', "sh"), "no working folder"),
    ({"TMPDIR": "/nonexistent"}, (), "a TMPDIR that is not there"),
]


@pytest.mark.parametrize(("env", "prefix", "why"), FOLDERS, ids=[case[-1] for case in FOLDERS])
def test_wherever_it_runs(
    ground: Path, expected: dict[str, Any], tmp_path: Path, env: dict[str, str], prefix: tuple[str, ...], why: str
) -> None:
    assert answers(ground, tmp_path / "out", {"LC_ALL": "C.UTF-8", **env}, prefix) == expected, why


def test_where_nothing_below_tmp_may_be_executed(ground: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    noexec = 'mount -t tmpfs -o noexec,mode=1777 none "$TMPDIR" && exec "$@"'
    away = tmp_path / "tmp"
    away.mkdir()
    probe = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("not run: this user may make no mount namespace")
    env = {"LC_ALL": "C.UTF-8", "TMPDIR": str(away)}
    assert answers(ground, tmp_path / "out", env, ("unshare", "-m", "sh", "-ec", noexec, "sh")) == expected


#: What is made -> its mode under every umask; None: that of the umask. A trace is its group's to read.
MODES: Final[Mapping[str, int | None]] = {"again.db": 0o640, "csv/job.csv": None, "trace.swf": None}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o027, 0o077], ids="{:03o}".format)
def test_a_umask_opens_no_trace(ground: Path, tmp_path: Path, umask: int) -> None:
    out = tmp_path / "out"
    prefix = ("sh", "-c", f'umask {umask:03o}; exec "$@"', "sh")
    answers(ground, out, {"LC_ALL": "C.UTF-8"}, prefix)
    for name, mode in MODES.items():
        found = stat.S_IMODE((out / name).stat().st_mode)
        assert found == mode if mode else found & ~(0o666 & ~umask) == 0, f"{name} has mode {found:04o}"
        assert found & 0o600 == 0o600, f"{name} has mode {found:04o}"
