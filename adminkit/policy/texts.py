"""What users read: the default of every text in every language, and the placeholders each may hold.

A placeholder is a word in braces that decide.lua replaces: {limit}. Nothing else in a text means anything, and no value
from a job is ever looked at for placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

LANGUAGES: Final = ("en", "ja")

#: Of a rule that looks at the limit. {limit} is one that would do, {asked} what was asked for.
_LIMIT: Final = ("queue", "asked", "limit", "value", "account", "user")
#: Of a rule that looks at a number. {range} is "1-8", "at least 2", …; {other} a queue that would do, else "-".
_NUMBER: Final = ("queue", "asked", "range", "min", "max", "other", "account", "user")

#: Text -> the placeholders it may hold. The first nine are the checks.
PLACEHOLDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "require_limit": ("queue", "menu", "account", "user"),
    "default_limit": ("queue", "limit", "value", "account", "user"),
    "min_limit": _LIMIT,
    "max_limit": _LIMIT,
    "restartable_above": _LIMIT,
    "gpus": _NUMBER,
    "gpus_per_node": _NUMBER,
    "nodes": _NUMBER,
    "cpus": _NUMBER,
    "amended": ("limit", "queue"),  # follows a text of the nine when the limit was changed
    "warned": (),  # follows one when the rule only warns
    "upcoming": ("date",),  # follows one when the rule has yet to bite
    "time_min": ("time_min", "limit", "queue"),
    "routed": ("queue", "limit"),
    "route_warned": ("queue", "limit"),
    "no_queue": ("queue", "other"),
    "hint": ("runs", "expected", "limit", "risk", "asked"),
    "failed": (),  # of ours, where fail = "closed"
}

EN: Final[Mapping[str, str]] = {
    "require_limit": "Jobs in {queue} must say how long they may run. Add one, such as {menu}: --time=HH:MM:SS",
    "default_limit": (
        "Your job gives no time limit, so it gets {limit}. If that is too short or too long: --time=HH:MM:SS"
    ),
    "min_limit": "Jobs in {queue} ask for at least {value}; yours asks for {asked}. Type: --time={limit}",
    "max_limit": "Jobs in {queue} may ask for at most {value}; yours asks for {asked}. Type: --time={limit}",
    "restartable_above": (
        "Jobs of more than {value} must be able to continue from a checkpoint; yours asks for {asked}."
        " Type: --ckpt, if it can, else --time={limit}"
    ),
    "gpus": "{queue} takes jobs of {range} GPUs; yours asks for {asked}. A queue that fits: {other}",
    "gpus_per_node": "{queue} takes jobs of {range} GPUs per node; yours asks for {asked}. A queue that fits: {other}",
    "nodes": "{queue} takes jobs of {range} nodes; yours asks for {asked}. A queue that fits: {other}",
    "cpus": "{queue} takes jobs of {range} CPUs; yours asks for {asked}. A queue that fits: {other}",
    "amended": "Its limit was set to {limit}.",
    "warned": "This is advice; the job was taken as it is.",
    "upcoming": "From {date} on this rule holds; until then the job is taken as it is.",
    "time_min": "--time-min was set to {time_min}, to go with the limit of {limit}.",
    "routed": "Your job names no queue; it goes to {queue}, the shortest that fits it. To choose another: -p QUEUE",
    "route_warned": "Your job names no queue. {queue} is the shortest that fits it: -p {queue}",
    "no_queue": "{queue} does not fit this job; {other} does. Type: -p {other}",
    "hint": "{runs} similar jobs of yours needed {expected} or so, and you ask for {asked}. Try --time={limit}"
    " (risk of running out: {risk} %); shorter jobs start sooner.",
    "failed": "The site's rules could not be checked, so the job was not taken. Please tell the operators.",
}

JA: Final[Mapping[str, str]] = {
    "require_limit": (
        "{queue} のジョブには実行時間の上限の指定が必要です。例({menu})を参考に指定してください: --time=HH:MM:SS"
    ),
    "default_limit": "実行時間の上限が指定されていないため、{limit} に設定しました。変更するには: --time=HH:MM:SS",
    "min_limit": (
        "{queue} で指定できる実行時間は {value} 以上です(指定値: {asked})。次のように指定してください: --time={limit}"
    ),
    "max_limit": (
        "{queue} で指定できる実行時間は最長 {value} です(指定値: {asked})。次のように指定してください: --time={limit}"
    ),
    "restartable_above": (
        "{value} を超えるジョブは、チェックポイントから再開できる必要があります(指定値: {asked})。"
        "再開できる場合は --ckpt を、できない場合は --time={limit} を指定してください"
    ),
    "gpus": "{queue} で使える GPU 数は {range} です(指定値: {asked})。このジョブに合うキュー: {other}",
    "gpus_per_node": (
        "{queue} で使えるノードあたりの GPU 数は {range} です(指定値: {asked})。このジョブに合うキュー: {other}"
    ),
    "nodes": "{queue} で使えるノード数は {range} です(指定値: {asked})。このジョブに合うキュー: {other}",
    "cpus": "{queue} で使える CPU 数は {range} です(指定値: {asked})。このジョブに合うキュー: {other}",
    "amended": "実行時間の上限を {limit} に変更しました。",
    "warned": "これはお知らせです。ジョブはそのまま受け付けました。",
    "upcoming": "この規則は {date} から適用されます。それまではジョブをそのまま受け付けます。",
    "time_min": "上限 {limit} に合わせて、--time-min を {time_min} に変更しました。",
    "routed": (
        "キューの指定がないため、このジョブに合う最も短いキュー {queue} に入れました。別のキューを使うには: -p キュー名"
    ),
    "route_warned": "キューが指定されていません。このジョブに合う最も短いキューは {queue} です: -p {queue}",
    "no_queue": "このジョブは {queue} では実行できません。{other} なら実行できます: -p {other}",
    "hint": "よく似たあなたのジョブ {runs} 件の実行時間は {expected} 程度でした(今回の指定値: {asked})。"
    "--time={limit} を試してください(時間切れの見込み: {risk} %)。短いジョブほど早く始まります。",
    "failed": "サイトの規則を確認できなかったため、ジョブを受け付けませんでした。管理者に連絡してください。",
}

DEFAULTS: Final[Mapping[str, Mapping[str, str]]] = {"en": EN, "ja": JA}

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


def placeholders(text: str) -> Iterator[str]:
    """Every word in braces, in order."""
    yield from _PLACEHOLDER.findall(text)
