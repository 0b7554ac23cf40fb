"""`adminkit demo`, as it is typed."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.demo.test_demo import STUDY
from tests.support.typed import OF_PAGES
from tests.support.typed import typed_for_a_page as run

ADMINKIT = Path(sys.executable).with_name("adminkit")
README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of the demo, and what the installed program printed; its hashes are not those of this process."""
    folder = tmp_path_factory.mktemp("demo")
    env = {**os.environ, **OF_PAGES, "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}
    command = [ADMINKIT, "demo", "--db", "demo.db", "--no-plot", "--text", "sacct.txt"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_order_of_python_hashes_plays_no_part(made: tuple[Path, str]) -> None:
    assert hashlib.sha256((made[0] / "sacct.txt").read_bytes()).hexdigest() == STUDY


def test_it_says_that_it_is_synthetic(made: tuple[Path, str]) -> None:
    assert made[1].startswith("This trace is synthetic: no job in it ever ran.")


def test_its_page_shows_what_it_prints(made: tuple[Path, str]) -> None:
    report = made[1][made[1].index("Accuracy of time limits") :].rstrip()
    assert report in (README.parent / "docs" / "demo.md").read_text()


def test_the_readme_shows_its_accuracy(made: tuple[Path, str]) -> None:
    typed, _, shown = README.read_text().partition("$ adminkit -q ")[2].partition("```")[0].partition("\n")
    assert run(made[0], "-q", *typed.split()).stdout == shown


SHOWN: list[tuple[str, str]] = [
    (page.name, block)
    for page in (README, *sorted((README.parent / "docs").glob("*.md")))
    for block in re.findall(r"^```\n\$ adminkit (.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    if "--as-of" in block.partition("\n")[0] and "story.db" not in block.partition("\n")[0]
]


@pytest.mark.parametrize(("page", "block"), SHOWN, ids=[f"{page} {block[:30]}" for page, block in SHOWN])
def test_the_pages_show_what_a_newcomer_reads_of_a_day_of_the_demo(
    made: tuple[Path, str], page: str, block: str
) -> None:
    """Points, letters and a report, by a policy that the page makes; a long answer is shown to where it gets dull."""
    typed, _, shown = block.partition("\n")
    (line,) = re.findall(r"^printf .*$", (README.parent / "docs" / "demo.md").read_text(), re.MULTILINE)
    subprocess.run(["sh", "-c", line], cwd=made[0], check=True)
    assert run(made[0], *typed.split()).stdout.startswith(shown)
    assert len(shown.splitlines()) >= 3


def test_the_pages_show_points_letters_and_a_report() -> None:
    assert {block.split()[0] for _, block in SHOWN} == {"incentives", "feedback", "report"}


def test_its_rows_are_never_taken_for_slurmdbds(made: tuple[Path, str]) -> None:
    with closing(sqlite3.connect(made[0] / "demo.db")) as trace:
        assert trace.execute("SELECT count(*), sum(source = 'demo') FROM job").fetchone() == (55127, 55127)
        assert trace.execute("SELECT count(*) FROM queue").fetchone() == (4,)


def test_its_text_imports_to_the_same_rows(made: tuple[Path, str]) -> None:
    said = run(made[0], "import", "sacct.txt", "--db", "again.db").stdout
    assert said == "read 110597, new 55127, changed 0, unchanged 0, rejected 0, 55470 steps\n"
    columns = (
        "job_id_raw, submit_time, start_time, end_time, elapsed, time_limit, queue, gpus, nodes, node_list, job_name"
    )
    with closing(sqlite3.connect(made[0] / "again.db")) as trace:
        trace.execute("ATTACH ? AS demo", (str(made[0] / "demo.db"),))
        differing = f"SELECT count(*) FROM (SELECT {columns} FROM job EXCEPT SELECT {columns} FROM demo.job)"
        assert trace.execute(differing).fetchone() == (0,)


def test_a_trace_of_real_jobs_is_left_alone(made: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "sacct.txt").write_text("JobID|JobIDRaw|Cluster|Submit\n1|1|alpha|5\n")
    run(tmp_path, "import", "sacct.txt", "--db", "trace.db")
    assert "holds 1 jobs that are not the demo" in run(tmp_path, "demo", "--db", "trace.db", code=1).stderr


def test_the_readme_shows_what_a_refused_user_reads(tmp_path: Path) -> None:
    typed = "policy try --user alice -p gq -t 100:00:00 --gpus 1"
    assert f"$ adminkit {typed}\n{run(tmp_path, *typed.split()).stdout}```" in README.read_text()
