"""docs/away.md says what each command of a user does while slurmdbd, slurmctld or both are away: each is tried."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from adminkit.installed import data_file
from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.ruled import Ruled, rule, ruling
from tests.cluster.test_my import USER, run

#: The columns of the page's table behind the first, and the daemons that are stopped.
AWAY: Final = {"slurmdbd": ("dbd",), "slurmctld": ("ctld",), "both": ("dbd", "ctld")}
#: What the page's words need besides.
MORE: Final = {
    "adminkit fit": ("-p", "gq"),
    "adminkit incentives show": (USER,),
    "adminkit charge statement": ("--all",),
}


@pytest.fixture(scope="module")
def ruled(outside: Listing) -> Iterator[Ruled]:
    """With a rule, and a user whose job has ended, who has a copy of it in one home and none in another, and a file of
    their own. A program of Slurm's waits MessageTimeout for slurmctld.
    """
    with private_slurm(nodes=2, MessageTimeout="4") as booted, ruling(booted) as made:
        made.rules(rule("gq-max", "gq", max_limit="01:00:00"))
        for name in ("with", "without", "root"):
            (booted.work / name).mkdir(mode=0o755)
        job = booted.submit("true", "-t", "5", "-p", "gq", user=USER)
        booted.wait(job, "COMPLETED")
        (booted.work / "job").write_text(str(job))
        booted.settle()
        time.sleep(1)  # the second of its end is over
        for asked in (("my",), ("recommend", "walltime")):
            assert run(booted, booted.work / "with", USER, *asked).code == 0
        (booted.work / "own").mkdir(mode=0o711)
        (booted.work / "closed").mkdir(mode=0o700)
        (booted.work / "prefs").mkdir()
        (booted.work / "prefs").chmod(0o1733)
        file = settings(booted)
        file.write_text(
            f'db = "{booted.work}/closed/trace.db"\nown = "{booted.work}/own"\n'
            f'[feedback]\nprefs = "{booted.work}/prefs"\n'
        )
        for words in (("sync", "--since", "1d"), ("trace", "own", "--apply")):
            said = run(booted, booted.work / "root", "root", *words, settings=file)
            assert said.code == 0, said.err
        yield made


def settings(cluster: Cluster) -> Path:
    return cluster.work / "adminkit.toml"


@contextmanager
def stopped(cluster: Cluster, daemons: tuple[str, ...]) -> Iterator[None]:
    for name in daemons:
        getattr(cluster, f"stop_{name}")()
    try:
        yield
    finally:
        for name in daemons:
            getattr(cluster, f"start_{name}")()


def rows() -> dict[str, dict[str, str]]:
    """The first cell -> column -> the word before its colon."""
    page = data_file("docs", "away.md").read_text()
    found = re.findall(r"^\| (`[^`]+`[^|]*) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    return {typed: dict(zip(AWAY, (one.partition(":")[0] for one in cells), strict=True)) for typed, *cells in found}


def done(ruled: Ruled, typed: str, home: Path) -> str:
    """What a command does, in the words of the page. `home` is made for it."""
    words, rest = typed.split("`")[1:3]
    if words == "sbatch":
        said = ruled.sbatch("-p", "gq", "-t", "2:00:00" if "refuses" in rest else "10")
        return "refused" if "may ask for" in said.text else "works" if said.accepted else "error"
    shutil.copytree(ruled.cluster.work / ("without" if "without" in rest else "with"), home)
    for path in home.rglob("*"):
        shutil.chown(path, USER)
    fresh = ("--fresh",) if "older" in rest else ()  # asks, however young the copy is
    more = ((ruled.cluster.work / "job").read_text(),) if words == "adminkit job" else MORE.get(words, ())
    found = run(ruled.cluster, home, USER, *words.split()[1:], *fresh, *more, settings=settings(ruled.cluster))
    err = found.err.decode()
    if found.code:
        assert "error: " in err and "hint: " in err and "Traceback" not in err, f"{typed}: {err}"
        return "error"
    unknown = ("not known: ", "this shows what", "couldn't run")
    return "partly" if any(word in found.text + err for word in unknown) else "works"


def test_each_command_does_what_the_page_says(ruled: Ruled) -> None:
    """Side by side: what is away is waited for."""
    table = rows()
    assert len(table) == 12
    seen: dict[str, dict[str, str]] = {}
    for away, daemons in AWAY.items():
        homes = [ruled.cluster.work / f"{away}-{number}" for number in range(len(table))]
        with stopped(ruled.cluster, daemons), ThreadPoolExecutor(4) as pool:
            seen[away] = dict(
                zip(table, pool.map(lambda typed, home: done(ruled, typed, home), table, homes), strict=True)
            )
    wrong = [
        (away, typed, word, seen[away][typed])
        for typed, cells in table.items()
        for away, word in cells.items()
        if seen[away][typed] != word
    ]
    assert not wrong, f"which is away, what is typed, by the page, seen: {wrong}"
