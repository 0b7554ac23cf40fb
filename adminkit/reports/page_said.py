"""What reports say in a sentence or above a picture, in the languages of the page; page_notes.py has their notes and
the words in pictures. What is in neither stays English."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any, Final

from adminkit.render.report import Bars, Boxes, Curves, Heat, Pictures, Trend
from adminkit.reports.page_notes import COUNTED, FACTS, NOTES, OUR_BARS, PARTS, PICTURED, RULES, SIZES

#: Placeholders by their first letter: a number, one or a range, so many of something (COUNTED), a percentage, a time, a
#: moment, a part of a column's name, what a picture is of, an energy, a list of sentences and a sentence, which are
#: translated, and others' words, which are only where TERMS has them.
_FORMS: Final = {
    "n": r"[0-9][0-9,.]*",
    "r": r"[0-9]+(?:-[0-9]+)?",
    "c": r"[0-9][0-9,]* (?:" + "|".join(COUNTED) + r")s?",
    "m": r"[0-9@][0-9T:@-]*",
    "w": r"[a-z_]+",
    "u": r"[A-Z][A-Za-z-]+(?: [A-Za-z]+){0,2}",
    "e": r"[0-9][0-9,.]* [kMGTP]?Wh",
    "l": r"[^\x00-\x1f]{1,300}?",
    "s": r"[^\x00-\x1f]{1,300}?",
    "p": r"[<>]?[0-9][0-9.,]* %",
    "d": r"[0-9][0-9.,]* (?:s|min|h)",
    "t": r"[^\x00-\x1f]{1,300}?",
}
#: Words that placeholders have, in English -> Japanese.
TERMS: Final[Mapping[str, str]] = {
    **PARTS, **SIZES, "job": "ジョブ", "Jobs": "ジョブ", "submission": "投入", "single-gpu": "単一GPU",
    "multi-gpu": "複数GPU", "multi-node": "複数ノード", "cpu": "CPU", "unknown": "不明", "GPU-hours": "GPU時間",
    "CPU-hours": "CPU時間", "node-hours": "ノード時間", "GPU time": "GPU 時間", "CPU time": "CPU 時間",
    "Memory": "メモリ", "Memory of GPUs": "GPU メモリ", "framework": "フレームワーク", "container": "コンテナ",
    "job name": "ジョブ名", "(none known)": "(不明)", "(no user)": "(利用者なし)", "(no queue)": "(キューなし)",
    "hour of the day": "時間帯", "weekday": "曜日", "day": "日", "week": "週", "month": "月", "limit": "制限時間",
}  # fmt: skip
#: English -> Japanese. A pattern before another one is tried first.
SAID: Final[Mapping[str, str]] = {
    "Half of the jobs use {p} of their time limit or less": "半数のジョブは、使った時間が制限時間の {p} 以下です",
    "{p} of the jobs name a container on their command line": "ジョブの {p} はコマンドラインにコンテナがあります",
    "{p} of the jobs are those of one user": "ジョブの {p} は1人の利用者のものです",
    "{p} of the jobs ended in success": "ジョブの {p} は成功しました",
    "{p} of the jobs are of {t}": "ジョブの {p} は {t} です",
    "{p} of the jobs are {t} jobs": "ジョブの {p} は {t} のジョブです",
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
    "Half of the jobs start within {d}": "半数のジョブは {d} 以内に始まります",
    "Half of the jobs wait {d} or longer": "半数のジョブは {d} 以上待ちます",
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
        "累積ヒストグラム: 実行時間と要求がその長さ以下のジョブの割合。箱ひげ図: 箱は中央の半分、"
        "ひげは10 % 点から90 % 点まで、線は中央値、ひし形は平均です。"
    ),
    "Each cell has the median wait of its jobs and, below it, their number; the darker, the longer. No colour: fewer"
    " than {n} jobs. A dot: none.": (
        "各セルは待ち時間の中央値で、その下がジョブ数です。濃いほど長く、"
        "色がないのは {n} ジョブ未満、点はジョブなしです。"
    ),
    "Each cell has the middle of the bin of the median wait of its jobs and, below it, their number; the darker, the"
    " longer. No colour: fewer than {n} jobs. A dot: none.": (
        "各セルは待ち時間の中央値が入る区間の中央で、その下がジョブ数です。濃いほど長く、"
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
    "{u} by {t}": "{u} ({t}別)",
    "{n} GPU-hours": "{n} GPU時間",
    "{n} CPU-hours": "{n} CPU時間",
    "{n} submissions": "投入 {n} 件",
    "{n} submission": "投入 {n} 件",
    "{n} jobs": "{n} ジョブ",
    "{n} job": "{n} ジョブ",
    "{e} in {c}": "{c} で {e}",
    "The number beside a bar is that of its measured jobs. Nodes with idle GPUs used {p} of the energy.": (
        "棒の横の数は測定されたジョブの数です。GPU の空いているノードが電力量の {p} を使いました。"
    ),
    "The number beside a bar is that of its measured jobs.": "棒の横の数は測定されたジョブの数です。",
    "share of the energy that was measured": "測定された電力量に対する割合",
    "All jobs by container": "全ジョブ (コンテナ別)",
    "Jobs without GPUs by cores": "GPU のないジョブ (コア数別)",
    "{p} of the jobs outlived their soft limit": "ジョブの {p} はソフトリミットを超えて実行されました",
    "Needs and soft limits": "必要な時間とソフトリミット",
    "Need as a share of the soft limit": "ソフトリミットに対する必要な時間の割合",
    "half need at most {d}, half are planned with at most {d2}": (
        "半数に必要な時間は {d} 以下、半数の計画は {d2} 以下です"
    ),
    "Cumulative histogram: the share of jobs that needed, and that were planned with, at most so long.": (
        "累積ヒストグラム: 必要な時間と計画された時間が、その長さ以下のジョブの割合。"
    ),
    # Names within pictures.
    "{r} GPUs": "{r} GPU",
    "{r} CPUs": "{r} CPU",
    "{r} cores": "{r} コア",
    "{r} core": "{r} コア",
    "{r} nodes": "{r} ノード",
    "{n} runs": "{n} 回",
    "{n} run": "{n} 回",
    "{n} others": "ほか {n} 件",
    "+{n} nodes": "ノード +{n}",
    "-{n} nodes": "ノード -{n}",
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
    "no job is left to count; the lines above say why": "数えるジョブがありません",
    "nothing ran in the window": "この期間に実行されたものはありません",
}  # fmt: skip
_PLACE: Final = re.compile(r"\{([a-z])(\d?)\}")
#: An end of what stands in a placeholder, with the space beside it where Japanese letters are on both sides.
_JOINT: Final = re.compile("(?<=[\u3040-\u30ff\u4e00-\u9fff]) ?\0 ?(?=[\u3040-\u30ff\u4e00-\u9fff])|\0")


@cache
def _patterns() -> Sequence[tuple[re.Pattern[str], str]]:
    found = []
    for english, other in chain(NOTES.items(), SAID.items(), FACTS.items()):
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
            values = {name: f"\0{_filled(name[0], value)}\0" for name, value in match.groupdict().items()}
            return _JOINT.sub("", other.format(**values))
    return None


def _filled(form: str, value: str) -> str:
    """What stands in the place of a placeholder."""
    if form == "c":
        number, _, noun = value.partition(" ")
        return COUNTED.get(noun, COUNTED.get(noun.removesuffix("s"), "")).format(number)
    if form == "l":
        return ", ".join(translated(part, "ja") or part for part in value.split(", "))
    if form == "w":
        return value
    return TERMS.get(value) or (translated(value, "ja") if form == "s" else None) or value


def said_in(language: str) -> Callable[[str, str], str | None] | None:
    """What a line of a header says in `language`, by its name and text; None for English."""
    return None if language == "en" else _line


def _line(name: str, text: str) -> str | None:
    if name not in ("left out", "filters") or text in FACTS:
        return translated(text, "ja")
    parts = [_rule(part) for part in text.split("; ")]
    return "; ".join(part for part in parts if part) if all(parts) else None


def _rule(text: str) -> str | None:
    """A filter with what it asks for, or a rule with how many jobs it left out."""
    for name in sorted(RULES, key=len, reverse=True):
        if text.startswith(f"{name} "):
            value = text[len(name) + 1 :]
            return f"{RULES[name]} {translated(value, 'ja') or value}"
    return None


def titled(pictures: Pictures, language: str) -> Pictures:
    """The pictures in `language`, but for what users named."""
    if language == "en":
        return pictures
    caption = translated(pictures.caption, language) or pictures.caption
    panels = [_panel(panel, language) for panel in pictures.panels]
    return Pictures(translated(pictures.title, language) or pictures.title, caption, panels)


def _panel(panel: Any, language: str) -> Any:
    words: dict[str, Any] = {"title": translated(panel.title, language) or panel.title}
    if isinstance(panel, Boxes):
        boxes = [replace(box, name=_word(box.name)) if _OTHERS.fullmatch(box.name) else box for box in panel.boxes]
        return replace(panel, axis=_word(panel.axis), boxes=boxes, **words)
    words["subtitle"] = translated(panel.subtitle, language) or panel.subtitle
    if isinstance(panel, Curves):
        words["lines"] = [replace(line, name=_word(line.name)) for line in panel.lines]
        words["marks"] = [(_word(name), at) for name, at in panel.marks]
    elif isinstance(panel, Trend):
        words["lines"] = [(_word(name), values) for name, values in panel.lines]
        words["marks"] = [(_word(name), at) for name, at in panel.marks]
    elif isinstance(panel, Heat):
        words |= {"row_axis": _word(panel.row_axis), "column_axis": _word(panel.column_axis)}
        words |= {"rows": [*map(_word, panel.rows)], "columns": [*map(_word, panel.columns)]}
    elif isinstance(panel, Bars):
        ours = panel.title in OUR_BARS
        words["bars"] = [
            replace(bar, name=_word(bar.name)) if ours or _OTHERS.fullmatch(bar.name) else bar for bar in panel.bars
        ]
    return replace(panel, **words)


#: The last bar of a panel that has no room for all.
_OTHERS: Final = re.compile(r"(?:[0-9,]+ )?others|\((?:none known|no user|no queue)\)")


def _word(text: str) -> str:
    return PICTURED.get(text) or TERMS.get(text) or translated(text, "ja") or text
