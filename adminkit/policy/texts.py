"""What users read: the default of every text, and the placeholders each may hold.

A text has a name and, where it matters, an outcome: max_limit.reject. A placeholder is a word in braces that decide.lua
replaces: {asked}. Nothing else in a text means anything, and no value from a job is ever looked at for placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from adminkit.messages import template, texts_in
from adminkit.policy.kinds import ACTIONS

_RULE: Final = (
    "rule",
    "check",
    "whose",
    "queue",
    "class",
    "account",
    "qos",
    "asked",
    "value",
    "min",
    "max",
    "limit",
    "time_min",
    "default",
    "from",
)
_ROUTE: Final = ("queue", "fit", "asked", "class", "gpus", "nodes")

#: Name -> the placeholders it may hold. {fit}, a queue that takes the job or "-", is known to refusals only.
PLACEHOLDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "require_limit": _RULE,
    "default_limit": _RULE,
    "min_limit": _RULE,
    "max_limit": _RULE,
    "restartable_above": _RULE,
    "gpus": _RULE,
    "gpus_per_node": _RULE,
    "gpu_slices": _RULE,
    "nodes": _RULE,
    "cpus": _RULE,
    "batch_only": _RULE,
    "require_account": _RULE,
    "exclusive": _RULE,
    "cpus_per_gpu": _RULE,
    "mem_per_gpu": _RULE,
    "unsure": _RULE,
    "most": (*_RULE, "most"),
    "later": ("from", "message", *(name for name in _RULE if name != "from")),
    "routed": _ROUTE,
    "misfit": _ROUTE,
    "fit": ("fit",),
    "hint": ("queue", "asked", "expected", "safe", "risk", "runs"),
    "memory_hint": ("queue", "asked", "option", "used", "safe", "risk", "runs", "enough"),
    "points": (),
    "part": (),
    "gpu_type": (),
    "whole": (),
    "ending": (),
    "time_min": (),
    "time_min_off": (),
    "extend_off": (),
    "extend_word": (),
    "power": ("gpus", "watts", "budget"),
    "power_unknown": (),
    "power_licences": (),
    "power_more": (),
    "help": ("url",),
}

#: Name -> the outcomes that may have words of their own. A name that is not here has one text.
OUTCOMES: Final[Mapping[str, tuple[str, ...]]] = {
    **{check: tuple(dict.fromkeys((*actions, "warn"))) for check, actions in ACTIONS.items()},  # warn: before its date
    "unsure": ("reject", "warn"),
    "most": ("reject", "warn"),
    "routed": ("amend", "warn"),
    "misfit": ("reject", "warn"),
}

EN: Final[Mapping[str, str]] = {
    "require_limit.reject": template("Jobs {whose} must say how long they may run, like this: --time=02:00:00"),
    "require_limit.warn": template("Jobs {whose} should say how long they may run, like this: --time=02:00:00"),
    "default_limit.amend": template("Your job gave no time limit and got {value}. To choose another: --time=HH:MM:SS"),
    "default_limit.warn": template(
        "Jobs {whose} without a time limit get {value}; this one has none. Type: --time=HH:MM:SS"
    ),
    "min_limit.reject": template(
        "Jobs {whose} must ask for {value} or more; this one asks for {asked}. Type: --time={value}"
    ),
    "min_limit.amend": template(
        "Jobs {whose} must ask for {value} or more; this one asked for {asked} and got {value}."
    ),
    "min_limit.warn": template("Jobs {whose} should ask for {value} or more; this one asks for {asked}."),
    "max_limit.reject": template(
        "Jobs {whose} may ask for at most {value}; this one asks for {asked}. Type: --time={value}"
    ),
    "max_limit.amend": template(
        "Jobs {whose} may ask for at most {value}; this one asked for {asked} and got {value}."
    ),
    "max_limit.warn": template(
        "Jobs {whose} should ask for at most {value}; this one asks for {asked}. Type: --time={value}"
    ),
    "restartable_above.reject": template(
        "Jobs {whose} that ask for more than {value} must be able to resume from a checkpoint; this one asks for"
        " {asked}."
        " Type: --ckpt if it can, otherwise --time={value}"
    ),
    "restartable_above.amend": template(
        "Jobs {whose} that ask for more than {value} must be able to resume from a checkpoint; this one asked for"
        " {asked}"
        " and got {value}. If it can, type: --ckpt"
    ),
    "restartable_above.warn": template(
        "Jobs {whose} that ask for more than {value} should be able to resume from a checkpoint; this one asks for"
        " {asked}."
    ),
    "gpus.reject": template(
        "The number of GPUs must be {value} for a job {whose}; this one asks for {asked}. Type: --gpus=N"
    ),
    "gpus.warn": template("The number of GPUs should be {value} for a job {whose}; this one asks for {asked}."),
    "gpus_per_node.reject": template(
        "The number of GPUs per node must be {value} for a job {whose}; this one asks for {asked}. Type:"
        " --gpus-per-node=N"
    ),
    "gpus_per_node.warn": template(
        "The number of GPUs per node should be {value} for a job {whose}; this one asks for {asked}."
    ),
    "gpu_slices.reject": template(
        "The number of GPU slices and shards must be {value} for a job {whose}; this one asks for {asked}. For whole"
        " GPUs, type:"
        " --gres=gpu:N"
    ),
    "gpu_slices.warn": template(
        "The number of GPU slices and shards should be {value} for a job {whose}; this one asks for {asked}."
    ),
    "nodes.reject": template(
        "The number of nodes must be {value} for a job {whose}; this one asks for {asked}. Type: --nodes=N"
    ),
    "nodes.warn": template("The number of nodes should be {value} for a job {whose}; this one asks for {asked}."),
    "cpus.reject": template(
        "The number of CPUs must be {value} for a job {whose}; this one asks for {asked}. Ask for another number of"
        " CPUs."
    ),
    "cpus.warn": template("The number of CPUs should be {value} for a job {whose}; this one asks for {asked}."),
    "batch_only.reject": template(
        "Jobs {whose} must be batch jobs; they cannot be started with srun or salloc. Write a script with srun"
        " in it, and type: sbatch -p {queue} SCRIPT"
    ),
    "batch_only.warn": template(
        "Jobs {whose} should be batch jobs, not jobs started with srun or salloc. Type: sbatch -p {queue} SCRIPT"
    ),
    "require_account.reject": template("Jobs {whose} must name the account that is charged. Type: --account=NAME"),
    "require_account.warn": template("Jobs {whose} should name the account that is charged. Type: --account=NAME"),
    "exclusive.reject": template("Jobs {whose} must take whole nodes. Type: --exclusive"),
    "exclusive.warn": template("Jobs {whose} should take whole nodes. Type: --exclusive"),
    "cpus_per_gpu.reject": template(
        "Jobs {whose} may take at most {value} CPUs per GPU; this one could get {asked}. Type: --cpus-per-gpu={value}"
    ),
    "cpus_per_gpu.warn": template("Jobs {whose} should take at most {value} CPUs per GPU; this one could get {asked}."),
    "mem_per_gpu.reject": template(
        "Jobs {whose} may take at most {value} of memory per GPU; this one could get {asked}. Type:"
        " --mem-per-gpu={value}"
    ),
    "mem_per_gpu.warn": template(
        "Jobs {whose} should take at most {value} of memory per GPU; this one could get {asked}."
    ),
    "unsure.reject": template(
        "It is unclear how many {check} this job could get; jobs {whose} may take {value}. Type plain numbers,"
        " each option"
        " once: --nodes=N --ntasks=N --gpus-per-node=N"
    ),
    "unsure.warn": template(
        "It is unclear how many {check} this job could get; jobs {whose} should take {value}. Type plain numbers,"
        " each option"
        " once: --nodes=N --ntasks=N --gpus-per-node=N"
    ),
    "most.reject": template(
        "This job asks for {asked} but could get {most} {check}; jobs {whose} may take {value}. Type plain numbers,"
        " each"
        " option once: --nodes=N --ntasks=N --gpus-per-node=N"
    ),
    "most.warn": template("This job asks for {asked} but could get {most} {check}; jobs {whose} should take {value}."),
    "later": template("Not yet a rule, but from {from}: {message}"),
    "routed.amend": template(
        "Your job named no queue and went to {queue}, the shortest that fits. To choose another: -p QUEUE"
    ),
    "routed.warn": template("Your job names no queue. The shortest that fits it is {queue}. Type: -p {queue}"),
    "misfit.reject": template("{queue} cannot run this job; {fit} can. Type: -p {fit}"),
    "misfit.warn": template("{queue} may not be able to run this job; {fit} can. Type: -p {fit}"),
    "fit": template("A queue that accepts this job as it is: {fit}. Type: -p {fit}"),
    "hint": template(
        "Your last {runs} jobs like this one needed about {expected}; this one asks for {asked}."
        " Shorter jobs start sooner: --time={safe} (risk of running out: {risk} %)"
    ),
    "memory_hint": template(
        "Your last {runs} jobs like this one used at most {used} of memory on a node; this one asks for {asked}"
        " ({option}). --mem={safe} instead would have been enough for {enough} of them (risk of running out: {risk} %)"
    ),
    "points": template(
        "This change would take away part of the job's priority, and an update cannot do that. Cancel it and submit"
        " it again."
    ),
    "part": template("Slurm may apply only part of this change, which would break a rule. Change one thing at a time."),
    "gpu_type": template("Slurm would give this job the GPUs of both types. Cancel it and submit it again."),
    "whole": template("A job that ran on whole nodes keeps them in any queue. Cancel it and submit it again."),
    "ending": template(
        "The last run of this job is still ending, so the job cannot be changed now. Try again in a few seconds."
    ),
    "time_min": template(
        "--time-min was left out: this site plans jobs according to how long similar jobs took. Your limit stays."
    ),
    "time_min_off": template(
        "--time-min was left out: it cannot be used for this job now. The job is planned according to its limit."
    ),
    "extend_off": template("ADMINKIT_EXTEND=auto has no effect on this job: it ends at its time limit."),
    "extend_word": template("ADMINKIT_EXTEND must be auto or off. This job ends at its time limit."),
    "power": template(
        "This job could get up to {gpus} GPUs, which count as {watts} W, but all jobs together may draw only"
        " {budget} W. Ask for fewer GPUs."
    ),
    "power_unknown": template(
        "It is unclear how many GPUs this job takes, so the power budget cannot be checked. Type: --nodes=N"
        " --gpus-per-node=N"
    ),
    "power_licences": template(
        "--licenses with | cannot be combined with the power budget. Separate licences with commas."
    ),
    "power_more": template("An update cannot give a job more watts than it has. Cancel it and submit it again."),
    "help": template("More about limits and waiting: {url}"),
}


@cache
def defaults(language: str) -> Mapping[str, str]:
    """Every text in that language, as rules are compiled with it."""
    return texts_in(EN, language)


_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


def names() -> Iterator[str]:
    """Every text there is: max_limit.reject, …, hint."""
    for name in PLACEHOLDERS:
        outcomes = OUTCOMES.get(name, ())
        yield from (f"{name}.{outcome}" for outcome in outcomes)
        if not outcomes:
            yield name


def placeholders(text: str) -> Iterator[str]:
    """Every word in braces, in order."""
    yield from _PLACEHOLDER.findall(text)


def known_placeholders(name: str) -> tuple[str, ...]:
    """What a text may hold: max_limit.reject, or max_limit for all of its outcomes."""
    base, _, outcome = name.partition(".")
    names = PLACEHOLDERS[base]
    return (*names, "fit") if outcome == "reject" and base not in ("misfit",) else names


assert list(EN) == list(names())
