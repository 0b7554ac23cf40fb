"""The registry of the words that adminkit leaves in a job's comment. docs/comment-words.md is made from it.

The grammar is written three times more: in the job_submit script (record.lua), in the checkpoint plugin (note.c) and in
adminkit-ingest (comment_words.c). The cases of tests/data/comment_words.tsv hold all four together. A word that is to
come has its name, its keys and its owner here before anybody writes it. plugin_words.py has the words of plugins.
"""

from __future__ import annotations

from typing import Final

from adminkit.job import CLASSES
from adminkit.trace.plugin_words import FILE_WAITS, FIRST_WHOLE, GPU_USE, NO_ACT, NOTE, NUMBER, PROGRESS, STAGING
from adminkit.trace.word_parts import ADMIN_COMMENT, COMMENT_MAX, FIELDS, Key, Reader, Word

_SCRIPT: Final = "the job_submit script"
_PLUGIN: Final = "the checkpoint plugin"
_ELASTIC: Final = "`adminkit elastic`"
_EXTEND: Final = "`adminkit extend`"
_TEXT: Final = "[A-Za-z0-9_.+-]+"
#: Slurm's longest limit, 4294967293 minutes, in seconds.
_LIMIT_DIGITS: Final = len(str(4_294_967_293 * 60))

RECORD: Final = Word(
    prefix="ak1",
    meaning="what was asked for before the policy changed it",
    keys=(
        Key(
            name="lim",
            values="[0-9]+|none|inf",
            longest=_LIMIT_DIGITS,
            meaning="the limit in seconds; `none` if it was not given, `inf` if it was unlimited",
            needed=True,
        ),
        Key(
            name="src",
            values="[ed]",
            longest=1,
            meaning="`d` with `lim=none`, otherwise `e` (given by the user)",
            needed=True,
        ),
        Key(name="cls", values=_TEXT, longest=max(map(len, CLASSES)), meaning="the class for which points were given"),
        Key(name="own", values="node", longest=4, meaning="the job takes whole nodes"),
        Key(
            name="min",
            values=NUMBER,
            longest=_LIMIT_DIGITS,
            meaning="the user's own `--time-min` in seconds, whether or not it is used",
        ),
        Key(
            name="keep",
            values=NUMBER,
            longest=_LIMIT_DIGITS,
            meaning="the user's own `--time-min` in seconds, if backfill plans with it; at least the site's `least`",
        ),
        Key(
            name="soft",
            values=NUMBER,
            longest=_LIMIT_DIGITS,
            meaning="the soft limit that the policy set for backfill, in seconds; never the user's own value",
        ),
        Key(
            name="el",
            values="[0-9]+-[0-9]+",
            longest=11,
            meaning="the fewest and the most GPUs that an elastic job may get, if the record is in AdminComment",
        ),
        Key(
            name="ext",
            values="auto",
            longest=4,
            meaning="the job may run past its limit, if the record is in AdminComment; without this key it never does",
        ),
        Key(
            name="rules",
            values=_TEXT,
            longest=COMMENT_MAX,
            meaning="the rules that changed the job or warned, joined with `+`; left out if the word would be too long",
        ),
    ),
    fields=FIELDS,
    place="the first word of the field",
    writer=_SCRIPT,
    readers=(
        Reader(
            name=f"{_SCRIPT} (at submission)",
            does="treats a record that was submitted with the job as an earlier decision on the same job",
            since="the record may come from a different job, because copying a job's options copies the job's record",
            so="the record's rules must exist and be able to change the limit, and include the rules that fire now",
            files=("job_submit/adminkit/recording.lua", "job_submit/adminkit/soft.lua"),
            test="job_submit/test_record.py::test_a_typed_record_counts_only_where_the_policy_could_have_made_it",
        ),
        Reader(
            name=f"{_SCRIPT} (at an update)",
            does="counts whole nodes if the record has `own=node`",
            since="the job may no longer take whole nodes",
            so="the job still counts as taking whole nodes, which is the most that it can take",
            files=("job_submit/adminkit/resulting.lua",),
            test="job_submit/test_update_sizes.py::test_a_job_of_which_nobody_knows_whether_it_takes_whole_nodes",
        ),
        Reader(
            name="sync and import",
            does="keep the limit that was asked for, and who chose it",
            since="the limit, through an update",
            so=NO_ACT,
            files=("adminkit/trace/runs.py", "adminkit/trace/as_of.py"),
            test="ingest/test_sync_records.py::test_what_the_policy_recorded_in_an_open_job_outlives_its_end",
        ),
        Reader(
            name="the view run, `policy replay`",
            does="show the soft limit and the user's own `--time-min`",
            since="the limit, the queue and the size of the job",
            so=NO_ACT,
            files=("adminkit/trace/run_view.py", "adminkit/stats/replay.py"),
            test="trace/test_record.py::test_a_record_says_what_backfill_plans_with",
        ),
        Reader(
            name="incentives",
            does="compare the class for which points were given with the class of the run",
            since="the size of the job, and so its class",
            so="the class is computed from accounting; a run that got points for another class earns nothing",
            files=("adminkit/stats/incentives.py",),
            test="stats/test_incentives.py::test_points_for_a_class_are_compared_with_what_the_run_was_allocated",
        ),
        Reader(
            name=_ELASTIC,
            does="gives the job a different number of GPUs, within the range in `el`",
            since="the queue, account, QOS and size of the job, and the rules",
            so="the rules in force must accept the job as it is: before the order, before the change and after it",
            files=("adminkit/elastic/words.py",),
            test="deploy/test_in_force.py::test_the_rules_are_asked_of_the_job_as_it_is",
        ),
        Reader(
            name="`adminkit soft-limits`",
            does="restores the limit `lim` if Slurm lowered the job's limit to plan with `soft` or `keep`",
            since="the limit, queue, account, QOS and size of the job, and the rules",
            so="TimeMin must be the record's value, and the rules in force must accept that limit for the job as it is",
            files=("adminkit/deploy/soft_guard_plan.py",),
            test="deploy/test_soft_guard.py::test_a_limit_is_given_back_where_the_rules_of_now_take_it",
        ),
        Reader(
            name=_EXTEND,
            does="gives the job more time when it reaches its limit, if the record has `ext=auto`",
            since="the queue, account, QOS and size of the job, the rules and `[extend]`",
            so="`[extend]` in force must take the job, and the rules in force must accept the longer limit for the job"
            " as it is",
            files=("adminkit/extend/words.py",),
            test="extend/test_plan.py::test_who_is_refused",
        ),
    ),
    longest=COMMENT_MAX,
)
ORDER: Final = Word(
    prefix="el1",
    meaning="an order to continue the job with a different number of GPUs, or to put it back because it uses none",
    keys=(
        Key(
            name="gpus",
            values=NUMBER,
            longest=4,
            meaning="how many of its node's GPUs the job gets; 0: as many as it has, when it is released",
            needed=True,
        ),
        Key(
            name="until",
            values=NUMBER,
            longest=12,
            meaning="the time after which the order is void, epoch seconds",
            needed=True,
        ),
    ),
    fields=(ADMIN_COMMENT,),
    place=FIRST_WHOLE,
    writer=f"{_ELASTIC}, `adminkit idle`",
    readers=(
        Reader(
            name=_PLUGIN,
            does="signals the program, and requeues the job in the held state",
            since="the GPUs, restarts and age of the job",
            so="the job must have opted in to this number of GPUs and must have a different number now, unless it is"
            " only put back; and it must be one that will be requeued",
            files=("spank/ckpt/watch.c", "spank/ckpt/batch_end.c"),
            test="cluster/test_elastic.py::test_what_keeps_a_job_as_it_is",
        ),
        Reader(
            name=_ELASTIC,
            does="gives the held job its GPUs, and releases it",
            since="everything that the job's owner may change while the job waits; who holds the job",
            so="the rules in force must accept the job again, and the note must say that the plugin requeued the job",
            files=("adminkit/elastic/words.py",),
            test="elastic/test_resize.py::test_the_rules_are_asked_again_of_the_job_as_it_is",
        ),
        Reader(
            name="`adminkit idle`",
            does="takes the order off a job that the plugin put back, and releases it if the policy says so",
            since="the run and the order; or somebody else may have requeued and held the job",
            so="the order must be the one that was left, and the note of a requeue must be younger than it",
            files=("adminkit/elastic/words.py",),
            test="usage/test_orders.py::test_what_becomes_of_an_order",
        ),
    ),
    longest=32,
)
EXTENDED: Final = Word(
    prefix="xt1",
    meaning="how much more time a running job was given",
    keys=(
        Key(
            name="asked",
            values=NUMBER,
            longest=_LIMIT_DIGITS,
            meaning="the limit before the first extension, in seconds",
            needed=True,
        ),
        Key(
            name="lim",
            values=NUMBER,
            longest=_LIMIT_DIGITS,
            meaning="the limit that was set last, in seconds; any other limit of the job is somebody else's",
            needed=True,
        ),
        Key(name="n", values=NUMBER, longest=4, meaning="how many raises stand; 0: all were taken back", needed=True),
    ),
    fields=(ADMIN_COMMENT,),
    place=FIRST_WHOLE,
    writer=_EXTEND,
    readers=(
        Reader(
            name=_EXTEND,
            does="adds to what the job was given, and takes it back",
            since="the job's limit, through an update; and the run, as the word stays in the job",
            so="the job's limit must be `lim`; a job that waits again gets the limit `asked`",
            files=("adminkit/extend/words.py",),
            test="extend/test_plan.py::test_a_job_that_was_put_back",
        ),
        Reader(
            name=_PLUGIN,
            does="asks more often when the job will end, while the limit may be lowered again",
            since="the job's limit, through an update",
            so="the plugin signals only by the end that slurmctld names",
            files=("spank/ckpt/watch.c", "spank/ckpt/batch_end.c"),
            test="cluster/test_ckpt_limits.py::test_the_signal_comes_once_before_the_last_end",
        ),
        Reader(
            name="sync and import",
            does="keep the limit that was asked for, and how much more time was given",
            since="somebody else may have changed the limit; and the word stays in the job for its next run",
            so="a limit above `lim` counts as asked for; " + NO_ACT,
            files=("adminkit/native/common/comment_words.c", "adminkit/trace/extension_word.py"),
            test="ingest/sources/test_extensions.py::test_a_run_has_the_word_that_was_left_in_it",
        ),
    ),
    longest=46,
)
WORDS: Final = (RECORD, NOTE, PROGRESS, ORDER, STAGING, EXTENDED, GPU_USE, FILE_WAITS)
