"""adminkit policy check, explain, try, replay, diff on the command line: what goes where, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.load import load_policy
from adminkit.slurm.site import Site, SiteQueue
from adminkit.slurm.site_file import site_text
from tests.support.builders import HOUR, job, make_trace
from tests.support.policies import STRICT, rules

SITE = Site("alpha", (SiteQueue("gq", 3600, 259200, is_default=True, node_gpus=8), SiteQueue("gq-short", node_gpus=8)))


@pytest.fixture(autouse=True)
def no_slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A host without Slurm's programs and without settings of its own."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("ADMINKIT_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


@pytest.fixture
def strict(tmp_path: Path) -> str:
    return write(tmp_path / "policy.toml", STRICT)


@pytest.fixture
def site(tmp_path: Path) -> str:
    return write(tmp_path / "site.json", site_text(SITE))


def test_check_says_that_queues_were_not_looked_at(strict: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "check", "--policy", strict]) == 0
    said = capsys.readouterr().out
    assert "the names of queues were not checked: scontrol is not on PATH" in said
    assert f"{strict}: 6 rules, nothing wrong" in said


def test_check_compares_with_queues_from_a_file(
    strict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = write(tmp_path / "two.json", site_text(SITE))
    assert main(["policy", "check", "--policy", strict, "--site", described]) == 1
    out = capsys.readouterr().out
    assert "error  rules[4].queues (gq-middle-one-gpu) and the cluster's queues: no such queue: gq-middle\n" in out
    assert "1 to correct" in out


def test_check_lists_everything_as_json_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = write(tmp_path / "wrong.toml", rules("a: min_limit = '2h'", "b: max_limit = '1h'", "b: cpus = 1"))
    assert main(["policy", "check", "--policy", wrong, "--format", "json"]) == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["places"] for row in rows] == [
        "rules[2].name (b); rules[3].name (b)",
        "rules[1].min_limit (a); rules[2].max_limit (b)",
    ]
    assert {row["kind"] for row in rows} == {"error"}


def test_a_wrong_policy_stops_every_other_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = write(tmp_path / "wrong.toml", rules("a: max_limt = '2h'"))
    for words in (["explain"], ["try"], ["replay"], ["diff"]):
        assert main(["policy", *words, "--policy", wrong]) == 1
        caught = capsys.readouterr()
        assert caught.out == ""
        assert "rules[1].max_limt (a): no such key" in caught.err
        assert "did you mean max_limit?" in caught.err


def test_the_example_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "explain"]) == 0
    caught = capsys.readouterr()
    assert "this is the example that came with adminkit" in caught.err
    assert caught.out.startswith("gq-default ")


def test_try_needs_no_slurm(strict: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["try", "--policy", strict, "--user", "alice", "-p", "gq", "-t", "100:00:00", "--gpus", "2", "--lua", "5.4"]
    assert main(["policy", *words]) == 0
    caught = capsys.readouterr()
    assert caught.out.splitlines()[0] == "verdict      reject"
    assert "sbatch: error: Jobs in gq may ask for at most 3-00:00:00" in caught.out
    assert "the queues are those that the policy names: scontrol is not on PATH" in caught.err


@pytest.mark.parametrize(
    ("more", "is_said", "why"),
    [
        (("-G", "2"), True, "Slurm gives every GPU of more nodes than that"),
        (("-G", "2", "-N", "2"), False, "it says how many it takes"),
        (("--gres", "gpu:2"), False, "GPUs of a node"),
        ((), False, "no GPUs"),
    ],
)
def test_try_says_that_a_job_is_held_to_as_many_nodes_as_gpus(
    strict: str, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], is_said: bool, why: str
) -> None:
    assert main(["policy", "try", "--policy", strict, "-p", "gq", "-t", "60", *more]) == 0
    assert ("limits this job to 2 nodes, and" in capsys.readouterr().err) == is_said, why


def test_try_says_which_queue_there_is_none_of(strict: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "try", "--policy", strict, "-p", "gq-shrot", "-t", "60"]) == 0
    assert "note: no such queue: gq-shrot; did you mean gq-short?" in capsys.readouterr().err


def test_try_takes_the_cluster_from_a_file(strict: str, site: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["try", "--policy", strict, "--site", site, "-t", "60", "-G", "2", "--format", "json"]
    assert main(["policy", *words]) == 0
    caught = capsys.readouterr()
    assert caught.err.startswith("note: where a rule") and caught.err.count("\n") == 1
    (row,) = json.loads(caught.out)["rows"]
    assert (row["verdict"], row["queue"], row["rules"]) == ("amend", "gq-short", "routing=amend")


@pytest.mark.parametrize(("at", "verdict"), [("2027-03-31", "accept"), ("2027-04-01", "reject")])
def test_try_can_look_ahead(strict: str, at: str, verdict: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["try", "--policy", strict, "-u", "ada", "-p", "gq-short", "-t", "3:00:00", "-G", "2", "--at", at]
    assert main(["policy", *words, "-f", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith(verdict)


def test_replay_reports_the_trace(strict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = make_trace(tmp_path / "t.db", [job(1, time_limit=72 * HOUR), job(2), job(3, user="bob")])
    assert main(["policy", "replay", "--policy", strict, "--db", str(db), "--user", "ada", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["meta"]["jobs"] == 2
    assert found["meta"]["excluded"]["user"] == 1
    total = found["rows"][-1]
    assert (total["amended"], total["freed_hours"]) == (1, 48.0)
    rows = {(row["part"], row["value"]): row for row in found["rows"]}
    assert rows["rule", "single-day"]["amended"] == 1
    assert rows["user", "ada"]["jobs"] == 2


def test_replay_of_an_unknown_word_names_the_nearest(
    strict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = make_trace(tmp_path / "t.db", [job(1)])
    assert main(["policy", "replay", "--policy", strict, "--db", str(db), "--queue", "gqq"]) == 2
    assert "did you mean gq?" in capsys.readouterr().err


def test_diff_reads_what_is_installed(
    strict: str, site: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = policy_table(load_policy(Path(strict)), SITE, 1)
    write(tmp_path / "policy.lua", policy_text(table))
    words = ["policy", "diff", "--policy", strict, "--site", site, "--installed", str(tmp_path)]
    assert main(words) == 0
    assert capsys.readouterr().out == "no difference\n"
    write(tmp_path / "policy.toml", STRICT.replace("3-00:00:00", "4-00:00:00"))
    assert main(words) == 0
    assert capsys.readouterr().out == (
        "~ rules.gq-max\n    is       max_limit 3-00:00:00\n    becomes  max_limit 4-00:00:00\n"
    )
    assert main([*words, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["place"] == "rules.gq-max"


def test_diff_of_a_damaged_file_says_so(
    strict: str, site: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "policy.lua", "return os.exit(1)")
    assert main(["policy", "diff", "--policy", strict, "--site", site, "--installed", str(tmp_path)]) == 1
    assert "policy.lua: it holds something other than texts" in capsys.readouterr().err
