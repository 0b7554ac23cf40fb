"""The words that plugins leave in a job's comment: those of the registry that comment_words.py does not have."""

from __future__ import annotations

from typing import Final

from adminkit.job import CKPT_ENDS
from adminkit.trace.word_parts import ADMIN_COMMENT, Key, Reader, Word

_PLUGIN: Final = "the checkpoint plugin"
_ELASTIC: Final = "`adminkit elastic`"
NO_ACT: Final = (
    "the word is only a record of the past, which is shown and counted; adminkit changes no job because of it"
)
FIRST_WHOLE: Final = "the first complete word"
NUMBER: Final = "[0-9]+"


def _count(name: str, meaning: str, longest: int = 10, *, needed: bool = True) -> Key:
    """A key whose value is a number of at most `longest` digits."""
    return Key(name=name, values=NUMBER, longest=longest, meaning=meaning, needed=needed)


NOTE: Final = Word(
    prefix="ck1",
    meaning="whether the signal before the limit arrived, and how the run ended",
    keys=(
        _count("at", "when the signal was sent, epoch seconds", 19),
        _count("heard", "how many processes got the signal"),
        _count("rq", "how many times adminkit has requeued the job"),
        Key(
            name="end",
            values="|".join(CKPT_ENDS),
            longest=max(map(len, CKPT_ENDS)),
            meaning="how the run ended; absent while it runs",
        ),
    ),
    fields=(ADMIN_COMMENT,),
    place=FIRST_WHOLE,
    writer=_PLUGIN,
    readers=(
        Reader(
            name=_PLUGIN,
            does="counts how many times it has requeued the job",
            since="somebody else may have requeued the job, or Slurm may not have accepted the note",
            so="`rq` only grows; if the note is lost, slurmctld's own count of restarts ends the series",
            files=("spank/ckpt/batch_end.c",),
            test="cluster/test_ckpt.py::test_a_job_is_put_back_as_often_as_it_may_be",
        ),
        Reader(
            name=_ELASTIC,
            does="to carry out an order, releases a job that the plugin requeued in the held state",
            since="the run and the order; or somebody else may have requeued and held the job",
            so="the note must say that the plugin requeued the job, and must be younger than the order",
            files=("adminkit/elastic/words.py",),
            test="elastic/test_resize.py::test_a_job_that_its_order_did_not_put_back_stays_held",
        ),
        Reader(
            name="sync and import",
            does="keep how the run ended",
            since="the run, because a note stays in the job for the next run",
            so="a note belongs to the run that contains `at`; " + NO_ACT,
            files=("adminkit/native/common/comment_words.c",),
            test="native/test_comment_words.py::test_a_comment_says",
        ),
    ),
    longest=69,
)
PROGRESS: Final = Word(
    prefix="pf1",
    meaning="how far the program got",
    keys=(_count("it", "iterations done", 20),),
    fields=(ADMIN_COMMENT,),
    place=FIRST_WHOLE,
    writer=_PLUGIN,
    readers=(
        Reader(
            name=_PLUGIN,
            does="replaces an earlier run's number with that of its own run",
            since="the run; the earlier run's number may be larger",
            so="the plugin does not trust an earlier number, and always writes the number of its own run",
            files=("spank/ckpt/batch_end.c",),
            test="cluster/test_progress.py::test_a_run_that_is_put_back_has_its_own_count",
        ),
        Reader(
            name="the view run",
            does="shows the number as a claim",
            since="the program may have gone back to an earlier checkpoint",
            so=NO_ACT,
            files=("adminkit/trace/run_view.py",),
            test="test_progress.py::test_nothing_that_acts_on_people_reads_the_claim",
        ),
    ),
    longest=27,
    claim="the number comes from a file that the user can write, so it is only a claim; no points, price or rule"
    " depends on it",
)
STAGING: Final = Word(
    prefix="st1",
    meaning="what was copied to one of the job's nodes for it; each of the first eight nodes has a word of its own",
    keys=(
        _count("at", "when the copy began, epoch seconds"),
        _count("node", "the node's place in the step's list, from 0", 1),
        _count("bytes", "bytes read from the shared folder, to copy or to compare them", 19),
        _count("hit", "bytes that the node already had", 19),
        _count("s", "seconds until the node's part was there (`first`), or all of the set (`behind`)"),
        Key(
            name="mode",
            values="first|behind",
            longest=6,
            meaning="`first`: tasks waited for the copy; `behind`: they did not",
            needed=True,
        ),
    ),
    fields=(ADMIN_COMMENT,),
    place="the first complete word of each node",
    writer="the staging plugin",
    readers=(
        Reader(
            name="`adminkit recommend walltime`",
            does="adds the longest copy of similar runs to the limit",
            since="the run, because a word stays in the job for the next run; and what the nodes already have",
            so="a word belongs to the run that began before `at`; " + NO_ACT,
            files=("adminkit/trace/staging_word.py", "adminkit/stats/staged.py"),
            test="trace/test_staging_word.py::test_a_word_counts_for_its_run",
        ),
    ),
    longest=99,
)
GPU_USE: Final = Word(
    prefix="gu1",
    meaning="how busy the job's GPUs on one node were; each node has a word of its own",
    keys=(
        _count("at", "the first reading, epoch seconds"),
        _count("to", "the last reading, epoch seconds"),
        _count("node", "the place of the node in the job's list, from 0", 5),
        _count("gpus", "how many GPUs were measured", 2),
        _count("s", "GPU-seconds that readings stand for"),
        _count("busy", "GPU-seconds of these in use"),
        _count("used", "how many GPUs were in use in the ten minutes before `to`", 2),
        _count("last", "the last reading that saw a GPU in use, epoch seconds; missing if none did", needed=False),
        _count(
            "mem",
            "MiB: the most memory that was in use on each GPU, added up; missing, with `of`, where the driver does not"
            " say",
            8,
            needed=False,
        ),
        _count("of", "MiB: the memory of these GPUs", 8, needed=False),
    ),
    fields=(ADMIN_COMMENT,),
    place="the first complete word of each node",
    writer="the plugin for the use of GPUs",
    readers=(
        Reader(
            name="reports, letters",
            does="give the share of the time that the run's GPUs were in use",
            since="the run, because a word stays in the job for the next run",
            so="a word belongs to the run that began before `at`; " + NO_ACT,
            files=("adminkit/trace/gpu_use_word.py",),
            test="trace/test_gpu_use_word.py::test_a_word_counts_for_its_run",
        ),
    ),
    longest=128,
)
FILE_WAITS: Final = Word(
    prefix="io1",
    meaning="how often the job's tasks on one node waited for files; each node has a word of its own",
    keys=(
        Key(name="at", values=NUMBER, longest=10, meaning="the first sample, epoch seconds", needed=True),
        Key(name="to", values=NUMBER, longest=10, meaning="the last sample, epoch seconds", needed=True),
        Key(
            name="node",
            values=NUMBER,
            longest=5,
            meaning="the place of the node in the job's list, from 0",
            needed=True,
        ),
        Key(name="n", values=NUMBER, longest=10, meaning="samples, each of one task at one moment", needed=True),
        Key(name="wait", values=NUMBER, longest=10, meaning="of these, a thread waited for files", needed=True),
        Key(name="only", values=NUMBER, longest=10, meaning="of these, no thread of the task ran", needed=True),
        Key(
            name="full",
            values=NUMBER,
            longest=10,
            meaning="of `n`, at least as many threads as the task has CPUs ran, or waited for a CPU",
            needed=True,
        ),
        Key(
            name="fs",
            values="[a-z0-9._-]+",
            longest=40,
            meaning="the type and the mount of the file system that threads waited for most; missing where unknown",
        ),
    ),
    fields=(ADMIN_COMMENT,),
    place="the first complete word of each node",
    writer="the plugin for waits for files",
    readers=(
        Reader(
            name="reports, letters",
            does="tell jobs that files keep waiting from others",
            since="the run, because a word stays in the job for the next run",
            so="a word belongs to the run that began before `at`; " + NO_ACT,
            files=("adminkit/trace/io_word.py",),
            test="trace/test_io_word.py::test_a_word_counts_for_its_run",
        ),
    ),
    longest=147,
    claim="`fs` may be the name of a mount that the user made, so it is only a claim; it is shown and nothing else",
)
