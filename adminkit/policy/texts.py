"""What users read: the default of every text in every language, and the placeholders each may hold.

A text has a name and, where it matters, an outcome: max_limit.reject. A placeholder is a word in braces that decide.lua
replaces: {asked}. Nothing else in a text means anything, and no value from a job is ever looked at for placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from adminkit.policy.kinds import ACTIONS

LANGUAGES: Final = ("en", "ja")

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
    "points": (),
    "part": (),
    "gpu_type": (),
    "whole": (),
    "ending": (),
    "time_min": (),
    "time_min_off": (),
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
    "require_limit.reject": "Jobs {whose} must say how long they may run, like this: --time=02:00:00",
    "require_limit.warn": "Jobs {whose} should say how long they may run, like this: --time=02:00:00",
    "default_limit.amend": "Your job gave no time limit and got {value}. To choose another: --time=HH:MM:SS",
    "default_limit.warn": "Jobs {whose} without a time limit get {value}; this one has none. Type: --time=HH:MM:SS",
    "min_limit.reject": "Jobs {whose} must ask for {value} or more; this one asks for {asked}. Type: --time={value}",
    "min_limit.amend": "Jobs {whose} must ask for {value} or more; this one asked for {asked} and got {value}.",
    "min_limit.warn": "Jobs {whose} should ask for {value} or more; this one asks for {asked}.",
    "max_limit.reject": "Jobs {whose} may ask for {value} at most; this one asks for {asked}. Type: --time={value}",
    "max_limit.amend": "Jobs {whose} may ask for {value} at most; this one asked for {asked} and got {value}.",
    "max_limit.warn": "Jobs {whose} should ask for {value} at most; this one asks for {asked}. Type: --time={value}",
    "restartable_above.reject": (
        "Jobs {whose} of more than {value} must be able to go on from a checkpoint; this one asks for {asked}."
        " Type: --ckpt, if it can, else --time={value}"
    ),
    "restartable_above.amend": (
        "Jobs {whose} of more than {value} must be able to go on from a checkpoint; this one asked for {asked} and"
        " got {value}."
        " If it can, type: --ckpt"
    ),
    "restartable_above.warn": (
        "Jobs {whose} of more than {value} should be able to go on from a checkpoint; this one asks for {asked}."
    ),
    "gpus.reject": "GPUs of a job {whose}: {value}; this one asks for {asked}. Type: --gpus=N",
    "gpus.warn": "GPUs of a job {whose} should be {value}; this one asks for {asked}.",
    "gpus_per_node.reject": (
        "GPUs per node of a job {whose}: {value}; this one asks for {asked}. Type: --gpus-per-node=N"
    ),
    "gpus_per_node.warn": "GPUs per node of a job {whose} should be {value}; this one asks for {asked}.",
    "gpu_slices.reject": (
        "Slices and shards of GPUs of a job {whose}: {value}; this one asks for {asked}. For whole GPUs type:"
        " --gres=gpu:N"
    ),
    "gpu_slices.warn": "Slices and shards of GPUs of a job {whose} should be {value}; this one asks for {asked}.",
    "nodes.reject": "Nodes of a job {whose}: {value}; this one asks for {asked}. Type: --nodes=N",
    "nodes.warn": "Nodes of a job {whose} should be {value}; this one asks for {asked}.",
    "cpus.reject": "CPUs of a job {whose}: {value}; this one asks for {asked}. Ask for another number of CPUs.",
    "cpus.warn": "CPUs of a job {whose} should be {value}; this one asks for {asked}.",
    "batch_only.reject": (
        "Jobs {whose} must be batch jobs; srun and salloc start none. Write a script, with srun in it, and type:"
        " sbatch -p {queue} SCRIPT"
    ),
    "batch_only.warn": "Jobs {whose} should be batch jobs, not of srun and salloc. Type: sbatch -p {queue} SCRIPT",
    "require_account.reject": "Jobs {whose} must name the account that is charged. Type: --account=NAME",
    "require_account.warn": "Jobs {whose} should name the account that is charged. Type: --account=NAME",
    "exclusive.reject": "Jobs {whose} must take whole nodes. Type: --exclusive",
    "exclusive.warn": "Jobs {whose} should take whole nodes. Type: --exclusive",
    "cpus_per_gpu.reject": (
        "CPUs for each GPU of a job {whose}: {value} at most; this one may take {asked}. Type: --cpus-per-gpu={value}"
    ),
    "cpus_per_gpu.warn": "CPUs for each GPU of a job {whose} should be {value} at most; this one may take {asked}.",
    "mem_per_gpu.reject": (
        "Memory for each GPU of a job {whose}: {value} at most; this one may take {asked}. Type: --mem-per-gpu={value}"
    ),
    "mem_per_gpu.warn": "Memory for each GPU of a job {whose} should be {value} at most; this one may take {asked}.",
    "unsure.reject": (
        "How many {check} this job may take cannot be told, and jobs {whose} may take {value}. Type plain numbers,"
        " each option"
        " once: --nodes=N --ntasks=N --gpus-per-node=N"
    ),
    "unsure.warn": (
        "How many {check} this job may take cannot be told; jobs {whose} should take {value}. Type plain numbers,"
        " each option"
        " once: --nodes=N --ntasks=N --gpus-per-node=N"
    ),
    "most.reject": (
        "This job asks for {asked} and may get {most} {check}; jobs {whose} may take {value}. Type plain numbers, each"
        " option once: --nodes=N --ntasks=N --gpus-per-node=N"
    ),
    "most.warn": "This job asks for {asked} and may get {most} {check}; jobs {whose} should take {value}.",
    "later": "Not yet a rule, but from {from} on: {message}",
    "routed.amend": "Your job named no queue and went to {queue}, the shortest that fits. To choose another: -p QUEUE",
    "routed.warn": "Your job names no queue. The shortest that fits it is {queue}. Type: -p {queue}",
    "misfit.reject": "{queue} cannot take this job; {fit} can. Type: -p {fit}",
    "misfit.warn": "{queue} may not be able to take this job; {fit} can. Type: -p {fit}",
    "fit": "A queue that takes this job as it is: {fit}. Type: -p {fit}",
    "hint": (
        "Your last {runs} jobs like this one needed about {expected}, and it asks for {asked}."
        " Shorter jobs start sooner: --time={safe} (risk of running out: {risk} %)"
    ),
    "points": (
        "This change takes away part of the job's priority, which no update does. Cancel it and submit it again."
    ),
    "part": "Slurm may take half of this change, and half of it breaks a rule. Change one thing at a time.",
    "gpu_type": "Slurm would give this job the GPUs of both types. Cancel it and submit it again.",
    "whole": "A job that ran on whole nodes keeps them in any queue. Cancel it and submit it again.",
    "ending": "The last run of this job is still ending: nothing of it can be changed now. Try again in some seconds.",
    "time_min": "--time-min was left out: this site plans jobs by how long jobs like them needed. Your limit stays.",
    "time_min_off": "--time-min was left out: it cannot be used for this job now. Plans go by your limit.",
    "power": (
        "This job may get {gpus} GPUs, which count as {watts} W; all jobs together may draw {budget} W. Ask for fewer."
    ),
    "power_unknown": (
        "How many GPUs this job takes cannot be told, which the power budget needs. Type: --nodes=N --gpus-per-node=N"
    ),
    "power_licences": "--licenses with | cannot be joined with the power budget. Join licences with commas.",
    "power_more": "No change gives a job more watts than it has. Cancel it and submit it again.",
    "help": "More about limits and waiting: {url}",
}

JA: Final[Mapping[str, str]] = {
    "require_limit.reject": "{whose} のジョブには実行時間の上限が必要です。例: --time=02:00:00",
    "require_limit.warn": "{whose} のジョブには実行時間の上限を指定してください。例: --time=02:00:00",
    "default_limit.amend": "実行時間の上限の指定がないため {value} に設定しました。変更するには: --time=HH:MM:SS",
    "default_limit.warn": "{whose} のジョブは、上限の指定がないと {value} になります。指定するには: --time=HH:MM:SS",
    "min_limit.reject": "{whose} の実行時間は {value} 以上を指定してください(指定値 {asked})。例: --time={value}",
    "min_limit.amend": "{whose} の実行時間は {value} 以上のため、指定値 {asked} を {value} に変更しました。",
    "min_limit.warn": "{whose} の実行時間は {value} 以上の指定をお勧めします(指定値 {asked})。",
    "max_limit.reject": "{whose} の実行時間は最長 {value} です(指定値 {asked})。例: --time={value}",
    "max_limit.amend": "{whose} の実行時間は最長 {value} のため、指定値 {asked} を {value} に変更しました。",
    "max_limit.warn": "{whose} の実行時間は {value} 以下の指定をお勧めします(指定値 {asked})。例: --time={value}",
    "restartable_above.reject": (
        "{whose} の {value} を超えるジョブはチェックポイントから再開できる必要があります(指定値 {asked})。"
        "再開できる場合は --ckpt を、できない場合は --time={value} を指定してください。"
    ),
    "restartable_above.amend": (
        "{whose} のジョブは、チェックポイントから再開できない場合は最長 {value} のため、指定値 {asked} を {value}"
        " に変更しました。"
        "再開できる場合は --ckpt を指定してください。"
    ),
    "restartable_above.warn": (
        "{whose} の {value} を超えるジョブは、チェックポイントから再開できるようにしてください(指定値 {asked})。"
    ),
    "gpus.reject": "{whose} のジョブが使える GPU 数は {value} です(指定値 {asked})。例: --gpus=N",
    "gpus.warn": "{whose} のジョブの GPU 数は {value} の指定をお勧めします(指定値 {asked})。",
    "gpus_per_node.reject": (
        "{whose} のジョブが使える GPU 数はノードあたり {value} です(指定値 {asked})。例: --gpus-per-node=N"
    ),
    "gpus_per_node.warn": "{whose} のジョブの GPU 数はノードあたり {value} の指定をお勧めします(指定値 {asked})。",
    "gpu_slices.reject": (
        "{whose} のジョブが使える GPU のスライスとシャードの数は {value} です(指定値 {asked})。"
        "GPU 全体を使うには: --gres=gpu:N"
    ),
    "gpu_slices.warn": (
        "{whose} のジョブの GPU のスライスとシャードの数は {value} の指定をお勧めします(指定値 {asked})。"
    ),
    "nodes.reject": "{whose} のジョブが使えるノード数は {value} です(指定値 {asked})。例: --nodes=N",
    "nodes.warn": "{whose} のノード数は {value} の指定をお勧めします(指定値 {asked})。",
    "cpus.reject": "{whose} のジョブが使える CPU 数は {value} です(指定値 {asked})。CPU 数を変更してください。",
    "cpus.warn": "{whose} のジョブの CPU 数は {value} の指定をお勧めします(指定値 {asked})。",
    "batch_only.reject": (
        "{whose} のジョブはバッチジョブに限られ、srun や salloc では始められません。srun はスクリプトの中に書き、"
        "次のように投入してください: sbatch -p {queue} スクリプト名"
    ),
    "batch_only.warn": (
        "{whose} のジョブはバッチジョブにしてください。srun や salloc の代わりに、次のように投入してください:"
        " sbatch -p {queue} スクリプト名"
    ),
    "require_account.reject": ("{whose} のジョブには課金先アカウントの指定が必要です。例: --account=アカウント名"),
    "require_account.warn": "{whose} のジョブには課金先アカウントを指定してください。例: --account=アカウント名",
    "exclusive.reject": "{whose} のジョブはノードを占有する必要があります。例: --exclusive",
    "exclusive.warn": "{whose} のジョブはノードを占有するようにしてください。例: --exclusive",
    "cpus_per_gpu.reject": (
        "{whose} のジョブが使える CPU 数は GPU あたり最大 {value} です(このジョブでは最大 {asked})。例:"
        " --cpus-per-gpu={value}"
    ),
    "cpus_per_gpu.warn": (
        "{whose} のジョブの CPU 数は GPU あたり {value} 以下をお勧めします(このジョブでは最大 {asked})。"
    ),
    "mem_per_gpu.reject": (
        "{whose} のジョブが使えるメモリは GPU あたり最大 {value} です(このジョブでは最大 {asked})。例:"
        " --mem-per-gpu={value}"
    ),
    "mem_per_gpu.warn": "{whose} のメモリは GPU あたり {value} 以下をお勧めします(このジョブでは最大 {asked})。",
    "unsure.reject": (
        "このジョブが使う {check} の数を確定できません({whose} のジョブの許容値は {value})。"
        "各オプションを一度だけ、数字のみで指定してください: --nodes=N --ntasks=N --gpus-per-node=N"
    ),
    "unsure.warn": (
        "このジョブが使う {check} の数を確定できません({whose} のジョブの推奨値は {value})。"
        "各オプションを一度だけ、数字のみで指定してください: --nodes=N --ntasks=N --gpus-per-node=N"
    ),
    "most.reject": (
        "このジョブの指定は {asked} ですが、{check} は最大 {most} になり得ます({whose} のジョブの許容値は {value})。"
        "各オプションを一度だけ、数字のみで指定してください: --nodes=N --ntasks=N --gpus-per-node=N"
    ),
    "most.warn": (
        "このジョブの指定は {asked} ですが、{check} は最大 {most} になり得ます({whose} のジョブの推奨値は {value})。"
    ),
    "later": "まだ適用前ですが、{from} から次の規則が適用されます: {message}",
    "routed.amend": "キューの指定がないため、最も短いキュー {queue} に入れました。別のキューにするには: -p キュー名",
    "routed.warn": "キューの指定がありません。実行できる最も短いキューは {queue} です。例: -p {queue}",
    "misfit.reject": "このジョブは {queue} では実行できません。{fit} なら実行できます。例: -p {fit}",
    "misfit.warn": "このジョブは {queue} では実行できない可能性があります。{fit} なら実行できます。例: -p {fit}",
    "fit": "このままの指定で実行できるキューは {fit} です。例: -p {fit}",
    "hint": (
        "このジョブに似た最近の {runs} 件は {expected} ほどで終わっています(今回の指定値 {asked})。"
        "短いジョブほど早く始まります: --time={safe}(時間切れの見込み {risk} %)"
    ),
    "points": "この変更を行うとジョブの優先度が下がるため、変更できません。取り消してから、もう一度投入してください。",
    "part": "この変更は一部だけが適用されることがあり、その場合は規則に反します。一項目ずつ変更してください。",
    "gpu_type": "この変更では両方の種類の GPU が割り当てられてしまいます。取り消してから、もう一度投入してください。",
    "whole": "ノードを占有して動いたジョブは、どのキューでも占有します。取り消してから、もう一度投入してください。",
    "ending": "前回の実行の終了処理中のため、このジョブはまだ変更できません。数秒後にもう一度実行してください。",
    "time_min": "--time-min は外しました。ジョブは過去の同様のジョブの所要時間で計画されます。制限時間は変わりません。",
    "time_min_off": "--time-min は外しました。今は使えないため、制限時間で計画されます。制限時間は変わりません。",
    "power": (
        "このジョブが使う GPU は最大 {gpus} 基で、{watts} W と数えられますが、全ジョブの合計は {budget} W までです。"
        "GPU を減らしてください。"
    ),
    "power_unknown": "このジョブが使う GPU の数を確定できません(電力の上限に必要です)。例: --nodes=N --gpus-per-node=N",
    "power_licences": "--licenses の | は電力の上限と併用できません。ライセンスはコンマで区切ってください。",
    "power_more": "ジョブの電力を後から増やすことはできません。取り消してから、もう一度投入してください。",
    "help": "制限時間と待ち時間について詳しくは: {url}",
}

DEFAULTS: Final[Mapping[str, Mapping[str, str]]] = {"en": EN, "ja": JA}

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


assert list(EN) == list(JA) == list(names())
