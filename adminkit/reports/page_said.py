"""What reports say in a sentence or above a picture, in the languages of the page. What is not here stays English."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from adminkit.render.report import Boxes, Pictures

#: Placeholders by their first letter: a number, a percentage, a time, words that are translated where TERMS has them.
_FORMS: Final = {
    "n": r"[0-9][0-9,.]*",
    "p": r"[<>]?[0-9][0-9.,]* %",
    "d": r"[0-9][0-9.,]* (?:s|min|h)",
    "t": r"[^\x00-\x1f]{1,300}?",
}
#: Words that placeholders have, in English -> Japanese.
TERMS: Final[Mapping[str, str]] = {
    "job": "ジョブ", "jobs": "ジョブ", "single-gpu": "単一GPU", "multi-gpu": "複数GPU", "multi-node": "複数ノード",
    "cpu": "CPU", "unknown": "不明", "GPU-hours": "GPU時間", "CPU-hours": "CPU時間", "node-hours": "ノード時間",
    "GPU time": "GPU 時間", "CPU time": "CPU 時間", "Memory": "メモリ", "Memory of GPUs": "GPU メモリ",
    "queue": "キュー", "user": "利用者", "class": "クラス", "framework": "フレームワーク", "container": "コンテナ",
    "job name": "ジョブ名", "(none known)": "(不明)", "hour of the day": "時間帯", "weekday": "曜日", "day": "日",
    "week": "週", "month": "月", "limit": "制限時間", "GPUs": "GPU 数", "nodes": "ノード数", "account": "アカウント",
    "submission": "投入", "submissions": "投入", "Jobs": "ジョブ",
}  # fmt: skip
#: English -> Japanese. A pattern before another one is tried first.
SAID: Final[Mapping[str, str]] = {
    "Half of the jobs use {p} of their time limit or less": "半数のジョブは、使った時間が制限時間の {p} 以下です",
    "{p} of the jobs name a container on their command line": "ジョブの {p} はコマンドラインにコンテナがあります",
    "{p} of the jobs are those of one user": "ジョブの {p} は1人の利用者のものです",
    "{p} of the jobs ended in success": "ジョブの {p} は成功しました",
    "{p} of the jobs are of {t}": "ジョブの {p} は {t} です",
    "{p} of the jobs are {t} jobs": "ジョブの {p} は{t}のジョブです",
    "{p} of the {t} are of {t2}": "{t}の {p} は {t2} です",
    "{p} of the {t} was used": "{t}のうち {p} が使われました",
    "{p} of these jobs' time went into waiting between their pieces and saving": (
        "これらのジョブの時間のうち {p} は、再開までの待ちと保存に使われました"
    ),
    "In use: {p} of the GPUs, {p2} of the CPUs": "使用中: GPU の {p}、CPU の {p2}",
    "In use: {p} of the GPUs": "使用中: GPU の {p}",
    "In use: {p} of the CPUs": "使用中: CPU の {p}",
    "What was in use": "使用された量",
    "What jobs used": "ジョブが使った量",
    "The nodes are known for a part of the window": "ノードの記録は期間の一部だけにあります",
    "The busiest {t} ({t2}) is {t3}: {p} of the submissions": "最も投入の多い{t} ({t2}) は {t3} で、投入の {p} です",
    "The busiest {t} is {t2}: {p} of the submissions": "最も投入の多い{t}は {t2} で、投入の {p} です",
    "Half of the jobs start within {d}, 90 % within {d2}": "半数のジョブは {d} 以内、90 % は {d2} 以内に始まります",
    "{n} GPU-hours were reserved and not used": "{n} GPU時間が予約されて使われませんでした",
    # Captions.
    "A box is the middle half of the jobs, the whiskers are from p10 to p90.": (
        "箱はジョブの中央の半分、ひげは p10 から p90 までです。"
    ),
    "Submissions are counted: an array or a het job is one, however many jobs it has.": (
        "投入の数です。配列ジョブや het ジョブは、含むジョブの数によらず1件です。"
    ),
    "Cumulative histograms: the share of jobs that ran, and that asked, at most so long. Box plots: the box holds"
    " the middle half of the jobs, the whiskers reach from the 10th to the 90th percentile, the line is the median,"
    " the diamond the mean.": (
        "累積ヒストグラム: 実行時間 (ran) と要求時間 (asked) がその長さ以下のジョブの割合。箱ひげ図: 箱は中央の半分、"
        "ひげは10 % 点から90 % 点まで、線は中央値、ひし形は平均です。"
    ),
    "Each cell has the median wait of its jobs and, below it, their number; the darker, the longer. No colour: fewer"
    " than {n} jobs. A dot: none.": (
        "各セルは待ち時間の中央値で、その下がジョブ数です。濃いほど長く、"
        "色がないのは {n} ジョブ未満、点はジョブなしです。"
    ),
    # Pictures and what stands beside their titles.
    "half run at most {d}, half ask at most {d2}": "半数は {d} 以下で終わり、半数の要求は {d2} 以下です",
    "Queue means: {p} to {p2} of the limit": "キューごとの平均: 制限時間の {p} から {p2}",
    "On average jobs use {p} of their limit": "平均で制限時間の {p} が使われています",
    "All jobs by class": "全ジョブ (クラス別)",
    "Multi-GPU jobs by GPUs": "複数GPU のジョブ (GPU 数別)",
    "Multi-node jobs by nodes": "複数ノードのジョブ (ノード数別)",
    "Multi-GPU and multi-node jobs by their steps": "複数GPU・複数ノードのジョブ (ステップ別)",
    "Jobs by how they ended": "ジョブの終わり方",
    "The study counts normal jobs and jobs out of time": "研究が数えるのは正常なジョブと時間切れのジョブです",
    "Jobs by runs": "実行回数別のジョブ",
    "How the last run ended": "最後の実行の終わり方",
    "In use": "使用率",
    "share of the capacity": "容量に対する割合",
    "GPUs in use": "使用中の GPU",
    "CPUs in use": "使用中の CPU",
    "on average": "平均",
    "Reserved and not used": "予約されて使われなかったもの",
    "Free, and not to be used": "空いていて使えなかったもの",
    "GPU-hours, share of all queues'": "GPU時間、全キューに対する割合",
    "GPU-hours, share of these": "GPU時間、これらに対する割合",
    "Median wait by {t} and {t2}": "待ち時間の中央値 ({t}と{t2}別)",
    "{t}: {n} jobs": "{t}: {n} ジョブ",
    "{t}: {n} job": "{t}: {n} ジョブ",
    "Submissions by {t}": "{t}別の投入",
    "{t} by {t2}": "{t} ({t2}別)",
    "{n} GPU-hours": "{n} GPU時間",
    "{n} CPU-hours": "{n} CPU時間",
    "{n} submissions": "投入 {n} 件",
    "{n} submission": "投入 {n} 件",
    "{n} jobs": "{n} ジョブ",
    "{n} job": "{n} ジョブ",
    # Of reports without a row.
    "no job is left to measure: none was requeued or signalled, or the filters left it out": (
        "測るジョブがありません。再投入やシグナルを受けたジョブがないか、条件で除かれました"
    ),
    "no letter has been sent yet, so there is nothing to compare": (
        "まだメールを送っていないため、比べるものがありません"
    ),
    "no user's first letter was sent in the window, so there is nothing to compare": (
        "この期間に最初のメールを受け取った利用者がいないため、比べるものがありません"
    ),
    "no job with a soft limit has ended; adminkit soft-limits status says whether any is given": (
        "ソフトリミットのあるジョブはまだ終了していません。設定の有無は adminkit soft-limits status でわかります"
    ),
    "no job is left to count; the filters above say why": "数えるジョブがありません",
    "nothing ran in the window": "この期間に実行されたものはありません",
}  # fmt: skip
_PLACE: Final = re.compile(r"\{([a-z])(\d?)\}")


@cache
def _patterns() -> Sequence[tuple[re.Pattern[str], str]]:
    found = []
    for english, other in SAID.items():
        pattern, at = "", 0
        for place in _PLACE.finditer(english):
            pattern += re.escape(english[at : place.start()]) + f"(?P<{place[1]}{place[2]}>{_FORMS[place[1]]})"
            at = place.end()
        found.append((re.compile(pattern + re.escape(english[at:])), other))
    return found


def translated(text: str, language: str) -> str | None:
    """The sentence in `language`; None where it is not known there."""
    if language == "en":
        return text
    for pattern, other in _patterns():
        if match := pattern.fullmatch(text):
            return other.format(**{name: TERMS.get(value, value) for name, value in match.groupdict().items()})
    return None


def titled(pictures: Pictures, language: str) -> Pictures:
    """The pictures with the page's own words above and below them; what they draw stays as it is."""
    panels: list[Any] = []
    for panel in pictures.panels:
        words: dict[str, Any] = {"title": translated(panel.title, language) or panel.title}
        if not isinstance(panel, Boxes):
            words["subtitle"] = translated(panel.subtitle, language) or panel.subtitle
        panels.append(replace(panel, **words))
    caption = translated(pictures.caption, language) or pictures.caption
    return Pictures(translated(pictures.title, language) or pictures.title, caption, panels)
