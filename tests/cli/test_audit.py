"""`adminkit trace audit` and `restore`, as they are typed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adminkit import config
from adminkit.cli.main import main
from adminkit.units import show_time
from tests.ingest.fake_slurm import FakeSlurm, job
from tests.support.builders import add_letters, letter, make_trace
from tests.support.builders import job as row

SUBMIT = 1_767_571_230


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    monkeypatch.setattr(config, "SYSTEM_CONFIG", tmp_path / "none.toml")
    monkeypatch.setenv("ADMINKIT_SYNC_STEPS", "false")
    monkeypatch.delenv("COLUMNS", raising=False)
    made = FakeSlurm(tmp_path / "slurm", monkeypatch)
    made.fields += ["UID", "Account"]
    honest = {"Submit": str(SUBMIT), "Start": str(SUBMIT + 30), "End": str(SUBMIT + 3630), "ElapsedRaw": "3600"}
    honest |= {"User": "ada", "UID": "1001", "Account": "vision", "TimelimitRaw": "240", "JobName": "train"}
    honest["AllocTRES"] = "cpu=8,node=1,gres/gpu=1"
    made.jobs = [job(1, SUBMIT + 3630, **honest), job(90, SUBMIT - 86400), job(91, SUBMIT + 86400)]
    made.write()
    return made


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """The honest run, a forged one that letters are about, and one over which somebody wrote."""
    rows = [
        row(1, cluster="alpha", uid=1001, submit_time=SUBMIT, job_name="train", gpus=8),
        row(2, cluster="alpha", uid=9, user="news\x1b[2J", job_name="evil"),
    ]
    path = make_trace(tmp_path / "trace.db", rows)
    about = {"cluster": "alpha", "job_id_raw": 2, "submit_time": rows[1].submit_time}
    run = f"2@{rows[1].submit_time}"
    return add_letters(path, [letter(9, run=run, state="sent", user="news\x1b[2J", **about)])


def test_a_look_names_examples_and_letters_and_writes_nothing(
    slurm: FakeSlurm, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = db.read_bytes()
    assert main(["trace", "audit", "--db", str(db)]) == 0
    said = capsys.readouterr().out
    ended = show_time(1767574860)
    assert f"contradicted: 1@1767571230 of ada, COMPLETED, ended {ended}; differs in gpus" in said
    assert "unknown: 2@" in said and "\x1b" not in said, "a name of somebody's choice"
    assert "a letter about 2@" in said
    assert "nothing was written; --apply sets aside what slurmdbd contradicts or never had" in said
    assert db.read_bytes() == before


def test_applied_it_is_on_record_with_what_was_found(
    slurm: FakeSlurm, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "audit", "--apply", "--format", "json", "--db", str(db)]) == 0
    shown = capsys.readouterr()
    assert [(one["verdict"], one["runs"], one["users"]) for one in json.loads(shown.out)["rows"]] == [
        ("contradicted", 1, 1),
        ("unknown", 1, 1),
    ]
    lines = [line for line in shown.err.splitlines() if line.startswith("refused runs: ")]
    assert len(lines) == 2 and lines[0].startswith("refused runs: job 1 of ada: slurmdbd contradicts it")
    with closing(sqlite3.connect(db)) as trace:
        kind, rows, changed, rejected = trace.execute("SELECT kind, rows, changed, rejected FROM load").fetchone()
        (act,) = trace.execute("SELECT line FROM action WHERE what = 'trace audit'").fetchone()
        (note,) = trace.execute("SELECT value FROM fact WHERE key = 'audited'").fetchone()
    assert (kind, rows, changed, rejected) == ("audit", 2, 1, 1)
    assert json.loads(act)["runs"] == {"contradicted": 1, "unknown": 1}
    assert note == "contradicted 1, unknown 1"
    assert main(["trace", "audit", "--db", str(db)]) == 0
    assert "1 run confirmed by an earlier audit" in capsys.readouterr().out


def test_restore_lists_and_puts_back_by_name(slurm: FakeSlurm, db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["trace", "audit", "--apply", "--db", str(db)])
    capsys.readouterr()
    assert main(["trace", "restore", "--format", "json", "--db", str(db)]) == 0
    listed = {one["why"]: one["run"] for one in json.loads(capsys.readouterr().out)["rows"]}
    assert main(["trace", "restore", listed["unknown"], "--db", str(db)]) == 0
    assert "nothing was written" in capsys.readouterr().out
    assert main(["trace", "restore", listed["unknown"], listed["contradicted"], "--apply", "--db", str(db)]) == 0
    assert "1 put back as trusted" in capsys.readouterr().out
    with closing(sqlite3.connect(db)) as trace:
        assert trace.execute("SELECT source FROM job WHERE job_id_raw = 2").fetchall() == [("trusted",)]
        assert trace.execute("SELECT what FROM action ORDER BY rowid").fetchall()[-1] == ("trace restore",)
    assert main(["trace", "restore", "2@5", "--db", str(db)]) == 2


def test_an_unknown_cluster_gets_the_nearest_name(
    slurm: FakeSlurm, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "audit", "-M", "alfa", "--db", str(db)]) == 2
    assert "did you mean alpha?" in capsys.readouterr().err


def test_what_slurmdbd_does_not_say_of_its_purges_the_operator_does(
    slurm: FakeSlurm, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.purge = None
    slurm.write()
    assert main(["trace", "audit", "--db", str(db)]) == 0
    assert "1 run not judged: slurmdbd does not say after what time it purges jobs" in capsys.readouterr().out
    assert main(["trace", "audit", "--purge-after", "none", "--db", str(db)]) == 0
    assert "unknown: 2@" in capsys.readouterr().out
    assert main(["trace", "audit", "--purge-after", "soon", "--db", str(db)]) == 2


def test_a_run_of_two_clusters_is_put_back_in_the_one_that_is_named(
    slurm: FakeSlurm, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["trace", "audit", "--apply", "--db", str(db)])
    with closing(sqlite3.connect(db)) as trace, trace:
        trace.execute("CREATE TEMP TABLE other AS SELECT * FROM job_aside WHERE job_id_raw = 2")
        trace.execute("UPDATE other SET cluster = 'beta'")
        trace.execute("INSERT INTO job_aside SELECT * FROM other")
        ((submit,),) = trace.execute("SELECT submit_time FROM other").fetchall()
    run = f"2@{submit}"
    capsys.readouterr()
    assert main(["trace", "restore", run, "--apply", "--db", str(db)]) == 2
    assert f"{run} is a run on alpha and on beta" in capsys.readouterr().err
    assert main(["trace", "restore", run, "-M", "gamma", "--apply", "--db", str(db)]) == 2
    assert main(["trace", "restore", run, "-M", "beta", "--apply", "--db", str(db)]) == 0
    with closing(sqlite3.connect(db)) as trace:
        assert trace.execute("SELECT cluster FROM job WHERE job_id_raw = 2").fetchall() == [("beta",)]
        assert trace.execute("SELECT cluster FROM job_aside WHERE job_id_raw = 2").fetchall() == [("alpha",)]
