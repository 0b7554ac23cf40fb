"""Every kind of rule as its users meet it: what they typed, what they read, what the job then has."""

from __future__ import annotations

from datetime import date

import pytest

from tests.cluster.harness.machine import release
from tests.cluster.harness.ruled import Ruled, rule

RULES = """
[exempt]
users = ["www-data"]

[routing]
action = "amend"
order = ["gq-short", "gq", "gq-long"]

""" + "".join(
    (
        rule("gq-max", "gq", max_limit="2-00:00:00"),
        rule("gq-multi-node", "gq", classes=["multi-node"], max_limit="1-00:00:00"),
        rule("gq-chemistry", "gq", accounts=["chemistry"], max_limit="12:00:00"),
        rule("short-max", "gq-short", max_limit="02:00:00", action="amend"),
        rule("middle-one", "gq-middle", gpus=1),
        rule("middle-min", "gq-middle", min_limit="06:00:00", action="amend"),
        rule("long-default", "gq-long", default_limit="1-00:00:00"),
        rule("long-min", "gq-long", min_limit="12:00:00"),
        rule("long-restartable", "gq-long", restartable_above="3-00:00:00", action="amend"),
        rule("long-cpus", "gq-long", cpus="-16", action="warn"),
        rule("debug-limit", "debug", require_limit=True),
        rule("debug-nodes", "debug", nodes="-2"),
        rule("free-gpus", "free", gpus_per_node="-4"),
        rule("free-cpus", "free", cpus="-20"),
        rule("free-later", "free", max_limit="1-00:00:00", from_=date(2099, 1, 1)),
        rule("small-games", "small", users=["games"], max_limit="01:00:00",
             **{"text.en": "Games may play {value} in {queue}."}),
    )
)  # fmt: skip


@pytest.fixture(autouse=True)
def in_force(ruled: Ruled) -> None:
    ruled.rules(RULES)


#: what was typed, words of the one line read ("" for silence), None or what the job then has, why
SUBMISSIONS = {
    "a limit within": ("-p gq -t 24:00:00", "", {"TimeLimit": "1-00:00:00", "Partition": "gq"}),
    "a limit above": ("-p gq -t 48:01:00", "; this one asks for 2-00:01:00. Type: --time=2-00:00:00", None),
    "no limit at all": ("-p gq -t UNLIMITED", "this one asks for UNLIMITED", None),
    "zero means unlimited": ("-p gq -t 0", "this one asks for UNLIMITED", None),
    "more nodes, a shorter maximum": ("-p gq -N2 -t 30:00:00", "at most 1-00:00:00", None),
    "the queue's default counts": ("-p gq", "", {"TimeLimit": "01:00:00"}),
    "--time-min above": ("-p gq -t 24:00:00 --time-min=20:00:00", "", {"TimeMin": "20:00:00"}),
    "lowered": ("-p gq-short -t 03:00:00", "asked for 03:00:00 and got 02:00:00", {"TimeLimit": "02:00:00"}),
    "lowered with --time-min": (
        "-p gq-short -t 03:00:00 --time-min=02:30:00", "02:00:00", {"TimeLimit": "02:00:00", "TimeMin": "02:00:00"}),
    "raised": ("-p gq-middle --gpus=1 -t 60", "asked for 01:00:00 and got 06:00:00", {"TimeLimit": "06:00:00"}),
    "one GPU": ("-p gq-middle --gres=gpu:1 -t 12:00:00", "", {"TimeLimit": "12:00:00"}),
    "two GPUs": ("-p gq-middle --gres=gpu:2 -t 12:00:00", "The number of GPUs must be 1 for a job in gq-middle; this"
        " one"
                                                          " asks for 2", None),
    "two by --gpus": ("-p gq-middle --gpus=2 -t 12:00:00", "this one asks for 2", None),
    "two by --gpus-per-task": ("-p gq-middle -n2 --gpus-per-task=1 -t 12:00:00", "this one asks for 2", None),
    "two by nodes": ("-p gq-middle -N2 --gpus-per-node=1 -t 12:00:00", "this one asks for 2", None),
    "no GPU where one is due": ("-p gq-middle -t 12:00:00", "this one asks for 0", None),
    "given a default": ("-p gq-long", "gave no time limit and got 1-00:00:00", {"TimeLimit": "1-00:00:00"}),
    "below the least": ("-p gq-long -t 60", "must ask for 12:00:00 or more; this one asks for 01:00:00", None),
    "long and not restartable": ("-p gq-long -t 5-0", "got 3-00:00:00", {"TimeLimit": "3-00:00:00"}),
    "only a warning": ("-p gq-long -t 1-0 -n 17", "should be 0-16 for a job in gq-long; this one asks for 17",
                       {"TimeLimit": "1-00:00:00"}),
    "a limit is due": ("-p debug", "must say how long they may run", None),
    "a limit is given": ("-p debug -t 2", "", {"TimeLimit": "00:02:00"}),
    "too many nodes": ("-p debug -t 2 -N3", "The number of nodes must be 0-2 for a job in debug; this one asks for"
                                            " 3", None),
    "GPUs per node": ("-p free -t 60 --gpus-per-node=5", "The number of GPUs per node must be 0-4 for a job in free;"
                                                         " this one asks for 5",
                      None),
    "a rule of next century": ("-p free -t 2-0", "from 2099-01-01: ", {"TimeLimit": "2-00:00:00"}),
    "a text of the rule's own": ("-p small -t 02:00:00", "Games may play 01:00:00 in small.", None),
}  # fmt: skip


@pytest.mark.parametrize("case", SUBMISSIONS)
def test_what_a_submission_meets(ruled: Ruled, case: str) -> None:
    words, line, then = SUBMISSIONS[case]
    said = ruled.sbatch(*words.split())
    assert line in said.text, said
    assert said.accepted == (then is not None), said
    if then is None:
        return
    if not line:
        assert said.lines == (f"Submitted batch job {said.job}",)
    job = ruled.job(said.job)
    assert {key: job[key] for key in then} == then


_BROKEN = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-p debug", "Time limit specification required, but not provided"),
        ("-p gq -t 48:01:00", "Requested time limit is invalid (missing or exceeds some limit)"),
        ("-p gq-middle --gres=gpu:2 -t 12:00:00", "Invalid generic resource (gres) specification"),
        ("-p free -t 60 --gpus-per-node=5", "Invalid generic resource (gres) specification"),
        ("-p debug -t 2 -N3", "Node count specification invalid"),
        ("-p free -t 60 -n21", "CPU count specification invalid"),
        ("-p small -N2 -t 30", "Requested node configuration is not available"),
    ],
)
@pytest.mark.parametrize("program", ["sbatch", "srun", "salloc"])
def test_slurm_s_own_words_behind_a_refusal_are_of_what_was_refused(
    ruled: Ruled, words: str, said: str, program: str
) -> None:
    """Releases before 23.02 have no error for GPUs, CPUs and what a queue can never take."""
    sayable = release() >= (23, 2) or said.startswith(("Time", "Requested time", "Node count"))
    refused = ruled.sbatch(*words.split()) if program == "sbatch" else ruled.run(program, *words.split(), "true")
    assert not refused.accepted
    last = [line for line in refused.lines if "failed" in line or "nable to allocate" in line][-1:]
    assert last and last[0].endswith(said if sayable else _BROKEN), refused


@pytest.mark.parametrize(
    ("words", "user", "accepted", "why"),
    [
        ("-p gq -t 20:00:00", "news", False, "a rule of the default account, of chemistry"),
        ("-p gq -t 20:00:00", "backup", True, "learning is not in the rule"),
        ("-p gq -t 20:00:00 -A learning", "backup", True, "nor when it is named"),
        ("-p small -t 02:00:00", "news", True, "a rule for games only"),
        ("-p gq -t 72:00:00", "www-data", True, "exempt by name"),
        ("-p gq -t 72:00:00", None, True, "root"),
        ("-p gq-middle -t 60", None, True, "root needs no GPU either"),
    ],
)
def test_conditions_and_exemptions(ruled: Ruled, words: str, user: str | None, accepted: bool, why: str) -> None:
    assert ruled.sbatch(*words.split(), user=user).accepted == accepted, why


ROUTES = {
    "the shortest that takes it": ("-t 60", "gq-short"),
    "longer": ("-t 05:00:00", "gq"),
    "longer still": ("-t 60:00:00", "gq-long"),
    "neither queue nor limit: the default queue": ("", "gq"),
    "in doubt about a node list: the default queue": ("-t 60 -w n2", "gq"),
    "one queue named": ("-t 60 -p gq-long --exclusive -t 20:00:00", "gq-long"),
    "--test-only is told, too": ("--test-only -t 60", "gq-short"),
}


@pytest.mark.parametrize("case", ROUTES)
def test_where_a_job_goes_that_names_no_queue(ruled: Ruled, case: str) -> None:
    words, queue = ROUTES[case]
    said = ruled.sbatch(*words.split())
    assert said.accepted, said
    if "--test-only" in words:
        assert f"in partition {queue}" in said.text
        return
    assert ruled.job(said.job)["Partition"] == queue
    routed = ("-p" not in words and queue != "gq") or case == "longer"
    assert ("went to" in said.text) == routed, said


def test_a_job_in_a_queue_that_cannot_take_it_is_sent_to_one_that_can(ruled: Ruled) -> None:
    said = ruled.sbatch("-p", "gq-short", "-t", "20:00:00")
    assert said.accepted, "short-max lowers it"
    said = ruled.sbatch("-p", "small", "-N2", "-t", "30")
    assert not said.accepted
    assert "Type: -p gq-short" in said.text


def test_queues_that_are_down_or_closed_to_the_user_are_not_routed_to(ruled: Ruled) -> None:
    ruled.rules(RULES.replace('order = ["gq-short"', 'order = ["down", "closed", "gq-short"'))
    assert ruled.job(ruled.sbatch("-t", "20", user="games").job)["Partition"] == "gq-short"
    assert ruled.job(ruled.sbatch("-t", "20", user="news").job)["Partition"] == "closed"


@pytest.mark.parametrize(
    ("words", "accepted", "says"),
    [
        ("-p gq,gq-long -t 20:00:00", True, ""),
        ("-p gq,gq-long -t 60", False, "in gq-long must ask for 12:00:00"),
        ("-p gq-long,gq -t 60:00:00", False, "in gq may ask for at most 2-00:00:00"),
        ("-p gq-short,gq-long -t 14:00:00", False, "gq-"),
    ],
)
def test_of_several_queues_in_one_request_each_is_checked(ruled: Ruled, words: str, accepted: bool, says: str) -> None:
    said = ruled.sbatch(*words.split())
    assert (said.accepted, says in said.text) == (accepted, True), said


def test_srun_and_salloc_are_held_to_the_same_rules(ruled: Ruled) -> None:
    for program in ("srun", "salloc"):
        refused = ruled.run(program, "-p", "gq", "-t", "60:00:00", "true")
        assert refused.code != 0
        assert refused.lines[0] == (
            "Jobs in gq may ask for at most 2-00:00:00; this one asks for 2-12:00:00. Type: --time=2-00:00:00"
        )
    amended = ruled.run("salloc", "--no-shell", "-p", "gq-short", "-t", "03:00:00")
    assert "got 02:00:00" in amended.text
    assert ruled.job(amended.job)["TimeLimit"] == "02:00:00"
    ran = ruled.run("srun", "-p", "gq-short", "-t", "03:00:00", "sh", "-c", "squeue -h -j $SLURM_JOB_ID -o %l")
    assert ran.lines[-1] == "2:00:00"
    assert "got 02:00:00" in ran.text


def test_whether_srun_is_restartable_cannot_be_told_so_it_is_not_lowered(ruled: Ruled) -> None:
    said = ruled.run("salloc", "--no-shell", "-p", "gq-long", "-t", "4-0")
    assert ruled.job(said.job)["TimeLimit"] == "4-00:00:00"


def test_a_batch_job_that_says_it_can_checkpoint_keeps_its_limit(ruled: Ruled) -> None:
    assert ruled.job(ruled.sbatch("-p", "gq-long", "-t", "5-0").job)["TimeLimit"] == "3-00:00:00"
    for value, limit in (("TERM@60", "5-00:00:00"), ("on", "5-00:00:00"), ("off", "3-00:00:00"), ("60", "3-00:00:00")):
        options = ("-H", "-o", "/dev/null", "-p", "gq-long", "-t", "5-0", "--wrap", "true")
        said = ruled.run("sbatch", *options, env={"ADMINKIT_CKPT": value})
        assert ruled.job(said.job)["TimeLimit"] == limit, value


def test_an_array_is_one_request(ruled: Ruled) -> None:
    said = ruled.sbatch("--array=1-40%4", "-p", "gq-short", "-t", "03:00:00")
    assert said.text.count("got 02:00:00") == 1
    assert ruled.job(said.job)["TimeLimit"] == "02:00:00"
    assert not ruled.sbatch("--array=1-4", "-p", "gq", "-t", "60:00:00").accepted


def test_each_component_of_a_het_job_is_held_and_one_refusal_refuses_all(ruled: Ruled) -> None:
    good = ruled.run(
        "sbatch", "-H", "-o", "/dev/null", "-p", "gq", "-t", "60", ":", "-p", "gq-short", "-t", "03:00:00",
        "--wrap", "true",
    )  # fmt: skip
    assert good.accepted, good
    assert "got 02:00:00" in good.text
    limits = ruled.cluster.ask("squeue", "-h", "-j", str(good.job), "-o", "%P %l").splitlines()
    assert sorted(limits) == ["gq 1:00:00", "gq-short 2:00:00"]
    bad = ruled.run(
        "sbatch", "-H", "-o", "/dev/null", "-p", "gq", "-t", "60", ":", "-p", "gq", "-t", "60:00:00", "--wrap", "true"
    )
    assert not bad.accepted
    assert "this one asks for 2-12:00:00" in bad.text


def test_test_only_reads_the_same_and_leaves_nothing_behind(ruled: Ruled) -> None:
    before = ruled.cluster.ask("squeue", "-h", "-a", "-o", "%i")
    said = ruled.sbatch("--test-only", "-p", "gq-short", "-t", "03:00:00")
    assert said.accepted
    assert "got 02:00:00" in said.text
    refused = ruled.sbatch("--test-only", "-p", "gq", "-t", "60:00:00")
    assert not refused.accepted
    assert "; this one asks for 2-12:00:00" in refused.text
    assert ruled.cluster.ask("squeue", "-h", "-a", "-o", "%i") == before


def test_two_languages_are_read_in_their_order(ruled: Ruled) -> None:
    ruled.rules('version = 1\nlanguages = ["ja", "en"]\n' + RULES)
    said = ruled.sbatch("-p", "gq-short", "-t", "03:00:00")
    assert said.lines[0].startswith("gq-short の実行時間は最長 02:00:00 のため、指定値 03:00:00 を")
    assert said.lines[1].startswith("Jobs in gq-short may ask for at most 02:00:00")


UPDATES = {
    "raised within": ("-p gq -t 60", "TimeLimit=10:00:00", True),
    "raised above": ("-p gq -t 60", "TimeLimit=60:00:00", False),
    "to unlimited": ("-p free -t 60", "TimeLimit=UNLIMITED", True),
    "lowered": ("-p gq -t 60", "TimeLimit=10", True),
    "moved where it may not be": ("-p free -t 60:00:00", "Partition=gq", False),
    "moved where it may be": ("-p free -t 20:00:00", "Partition=gq", True),
    "moved and shortened at once": ("-p free -t 60:00:00", "Partition=gq TimeLimit=10:00:00", True),
    "more nodes than the limit allows": ("-p gq -t 30:00:00", "NumNodes=2-2", False),
    "its name": ("-p gq -t 60", "JobName=other", True),
    "held": ("-p gq -t 60", "Priority=0", True),
}


@pytest.mark.parametrize("case", UPDATES)
def test_what_an_owner_may_change(ruled: Ruled, case: str) -> None:
    words, changes, allowed = UPDATES[case]
    job = ruled.sbatch(*words.split()).job
    before = ruled.job(job)
    said = ruled.update(job, *changes.split())
    assert (said.code == 0) == allowed, said
    if not allowed:
        after = ruled.job(job)
        assert {k: after[k] for k in ("TimeLimit", "Partition", "NumNodes")} == {
            k: before[k] for k in ("TimeLimit", "Partition", "NumNodes")
        }
    ruled_by_root = ruled.update(job, *changes.split(), user=None)
    assert ruled_by_root.code == 0, "root passes"


def test_hold_and_release_are_left_alone(ruled: Ruled) -> None:
    job = ruled.sbatch("-p", "gq", "-t", "24:00:00", "--begin=now+1hour").job
    ruled.rules(RULES.replace('max_limit = "2-00:00:00"', 'max_limit = "01:00:00"'))
    for word in ("release", "hold", "uhold", "release"):
        done = ruled.cluster.run("scontrol", word, str(job), user="games")
        assert done.code == 0, (word, done.err)
    assert ruled.job(job)["TimeLimit"] == "1-00:00:00"


def test_a_running_job_that_gives_time_back_is_not_refused_but_cannot_look_more_accurate(ruled: Ruled) -> None:
    """Lowering the limit in the last minutes: the record keeps what was asked for."""
    job = ruled.cluster.submit("sleep 60", "-p", "gq", "-t", "600", user="games")
    ruled.cluster.wait(job, "RUNNING")
    record = ruled.job(job)["AdminComment"]
    assert record == "ak1:lim=36000,src=e"
    assert ruled.update(job, "TimeLimit=5").code == 0
    assert ruled.job(job)["AdminComment"] == record
    assert ruled.job(job)["TimeLimit"] == "00:05:00"


RECORDS = {
    "given": ("-p gq -t 60", "ak1:lim=3600,src=e"),
    "not given": ("-p gq", "ak1:lim=none,src=d"),
    "unlimited": ("-p free -t UNLIMITED", "ak1:lim=inf,src=e,rules=free-later"),
    "lowered": ("-p gq-short -t 03:00:00", "ak1:lim=10800,src=e,rules=short-max"),
    "given a default": ("-p gq-long", "ak1:lim=none,src=d,rules=long-default"),
    "routed": ("-t 60", "ak1:lim=3600,src=e,rules=routing"),
}


@pytest.mark.parametrize("case", RECORDS)
def test_the_record_holds_what_was_asked_for(ruled: Ruled, case: str) -> None:
    words, record = RECORDS[case]
    assert ruled.job(ruled.sbatch(*words.split()).job)["AdminComment"] == record


def test_the_record_can_be_kept_in_the_comment_or_nowhere(ruled: Ruled) -> None:
    ruled.rules('version = 1\nrecord = "comment"\n' + RULES)
    job = ruled.job(ruled.sbatch("-p", "gq", "-t", "60", "--comment", "my own words").job)
    assert (job["Comment"], job.get("AdminComment")) == ("ak1:lim=3600,src=e my own words", None)
    ruled.rules('version = 1\nrecord = "none"\n' + RULES)
    job = ruled.job(ruled.sbatch("-p", "gq", "-t", "60", "--comment", "my own words").job)
    assert (job["Comment"], job.get("AdminComment")) == ("my own words", None)


def test_the_record_can_be_kept_in_extra_where_the_release_has_it(ruled: Ruled) -> None:
    ruled.rules('version = 1\nrecord = "extra"\n' + RULES)
    job = ruled.job(ruled.sbatch("-p", "gq", "-t", "60").job)
    expected = "ak1:lim=3600,src=e" if release() >= (23, 2) else None
    assert (job.get("Extra"), job.get("AdminComment")) == (expected, None)


def test_a_record_of_the_users_own_making_is_not_believed(ruled: Ruled) -> None:
    ruled.rules('version = 1\nrecord = "comment"\n' + RULES)
    job = ruled.job(ruled.sbatch("-p", "gq", "-t", "60", "--comment", "ak1:lim=60,src=e").job)
    assert job["Comment"].split()[0] == "ak1:lim=3600,src=e"
