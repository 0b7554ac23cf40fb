"""What fit says of a request in Japanese, by the shape of its English sentence. A sentence of another shape stays.

The English ones are made in place.py, limits.py, licences.py, fair_share.py and ask.py; tests/fit/test_japanese.py
compares.
"""

from __future__ import annotations

import re
from typing import Final

#: What keeps a request from a number of nodes -> the same.
_NODES: Final = {
    "free, which is too few": "空きだが不足",
    "free, which are too few": "空きだが不足",
    "kept for waiting jobs of higher priority (age, fair share, size)": "優先度の高い待ちジョブのために確保",
    "reserved": "予約済み",
    "busy": "使用中",
    "drained": "ドレイン中",
    "down": "停止中",
    "busy until nobody knows when": "終了時刻の分からないジョブが使用中",
    "powering down, to be woken then": "電源を切る途中 (その後起動可能)",
}
_EACH: Final = {
    "": "",
    " a job": "1 ジョブあたり",
    " a user": "1 ユーザーあたり",
    " an account": "1 アカウントあたり",
    " a node": "1 ノードあたり",
}

#: A sentence -> the same. (?P<name>…) is put where the other has {name}.
_SHAPES: Final = [
    (re.compile(shape), said)
    for shape, said in (
        (r"it has an image, which this hub does not start", "イメージが指定されていますが、このハブでは起動できません"),
        (r"there is no such queue", "そのようなキューはありません"),
        (r"no queue is the default one", "既定のキューがありません"),
        (r"the queue has no nodes", "キューにノードがありません"),
        (r"(?P<of>\S+) starts no jobs now", "{of} は今ジョブを開始しません"),
        (
            r"this queue gives (?P<most>\d+) CPUs of a node at most",
            "このキューで使える CPU は 1 ノードあたり {most} までです",
        ),
        (
            r"(?P<of>\S+) allows (?P<most>\d+) MiB of a node at most",
            "{of} で使えるメモリは 1 ノードあたり {most} MiB までです",
        ),
        (r"(?P<of>.+) allows (?P<most>\d+) minutes(?: at most)?", "{of} の制限時間は最長 {most} 分です"),
        (
            r"no node has as much: the most are (?P<cpus>\d+) CPUs, (?P<mem>\d+) MiB, "
            r"(?P<gpus>\d+) GPUs \((?P<kinds>.*)\)",
            "それだけの大きさのノードはありません。最大は CPU {cpus}、{mem} MiB、GPU {gpus} ({kinds}) です",
        ),
        (r"nodes have room", "ノードに空きがあります"),
        (
            r"(?P<many>\d+) nodes of the queue are not shown, as they sleep \(PrivateData\)",
            "キューの {many} ノードは停止中で表示されません (PrivateData)",
        ),
        (r"(?P<nodes>\d+) nodes have room", "{nodes} ノードに空きがあります"),
        (r"(?P<node>\S+) has room", "{node} に空きがあります"),
        (
            r"(?P<node>\S+) has room and sleeps: it is up within (?P<seconds>\d+) s",
            "{node} に空きがありますが停止中で、起動に最長 {seconds} 秒かかります",
        ),
        (
            r"(?P<node>\S+) has room and sleeps: when it is up is not known",
            "{node} に空きがありますが停止中で、起動の時刻は分かりません",
        ),
        (
            r"nodes have room, and some of them sleep: they are up within (?P<seconds>\d+) s",
            "ノードに空きがありますが一部は停止中で、起動に最長 {seconds} 秒かかります",
        ),
        (
            r"nodes have room, and some of them sleep: when they are up is not known",
            "ノードに空きがありますが一部は停止中で、起動の時刻は分かりません",
        ),
        (
            r"(?P<fit>\d+) of the queue's nodes (?:is|are) large enough, and it asks for (?P<nodes>\d+)",
            "十分な大きさのノードは {fit} で、{nodes} ノードの要求には足りません",
        ),
        (
            r"the nodes have no room for (?P<tasks>\d+) tasks, with nothing else on them",
            "他のジョブがなくても、ノードには {tasks} タスクが入りません",
        ),
        (r"(?P<of>\S+) allows (?P<most>\d+) nodes? a job at most", "{of} のノード数の上限は {most} です"),
        (r"(?P<of>\S+) takes (?P<most>\d+) nodes? a job as the least", "{of} のノード数の下限は {most} です"),
        (
            r"(?P<of>\S+) limits the nodes of a job: name their number",
            "{of} にはジョブのノード数の制限があります。ノード数を指定してください",
        ),
        (
            r"whether a task's CPUs may be on two nodes is not known here",
            "タスクの CPU が複数のノードに分かれてよいかどうかは分かりません",
        ),
        (
            r"how tasks share whole nodes is not known: name those of each node",
            "ノードを占有するタスクの配置は分かりません。ノードごとのタスク数を指定してください",
        ),
        (r"what (?P<text>\S+) asks of nodes is not known here", "{text} がノードに求める条件は分かりません"),
        (r"a node may have (?P<text>\S+) after it has been started anew", "再起動すると {text} を持つノードがあります"),
        (r"no node of (?P<of>\S+) has (?P<text>\S+)", "{of} に {text} を持つノードはありません"),
        (r"what (?P<text>\S+) asks of licences is not known here", "{text} が求めるライセンスは分かりません"),
        (r"there is no licence (?P<name>\S+) here", "ライセンス {name} はここにはありません"),
        (r"there are (?P<many>\d+) licences of (?P<name>\S+)", "ライセンス {name} は全部で {many} です"),
        (
            r"of (?P<many>\d+) licences of (?P<name>\S+) (?P<free>\d+) are free",
            "ライセンス {name} は {many} のうち {free} が空いています",
        ),
        (
            r"jobs that wait for the same licences come before it",
            "同じライセンスを待つジョブが先になっています",
        ),
        (
            r"(?P<of>.+) limits (?P<what>\S+), and how much this gets is not known",
            "{of} には {what} の上限がありますが、割り当てられる量が分かりません",
        ),
        (
            r"(?P<of>.+) allows (?P<unit>(?:\S+ )?)(?P<most>\d+)(?P<each>| a job| a user| an account| a node); "
            r"(?P<used>\d+) are in use",
            "{of} の上限{each}は {unit}{most} で、{used} が使用中です",
        ),
        (
            r"(?P<of>.+) allows (?P<unit>(?:\S+ )?)(?P<most>\d+)(?P<each>| a job| a user| an account| a node)",
            "{of} の上限{each}は {unit}{most} です",
        ),
        (r"(?P<of>.+) takes (?P<unit>(?:\S+ )?)(?P<most>\d+) as the least", "{of} の下限は {unit}{most} です"),
        (
            r"(?P<of>.+) allows (?P<unit>(?:\S+ )?)times minutes (?P<most>\d+) a job",
            "{of} の上限は 1 ジョブあたり {unit}× 分で {most} です",
        ),
        (
            r"(?P<of>.+) allows (?P<unit>(?:\S+ )?)times minutes (?P<most>\d+); (?P<used>\d+) are used",
            "{of} の上限は {unit}× 分で {most} で、{used} を使いました",
        ),
        (
            r"(?P<of>.+) allows (?P<most>\d+) running jobs; (?P<used>\d+) are",
            "{of} の実行中ジョブの上限は {most} で、今 {used} です",
        ),
        (
            r"(?P<of>.+) allows (?P<most>\d+) jobs in the queue; (?P<used>\d+) are",
            "{of} のキュー内ジョブの上限は {most} で、今 {used} です",
        ),
        (
            r"(?P<of>.+) allows (?P<most>\d+) minutes in all; (?P<used>\d+) are used",
            "{of} の上限は合計 {most} 分で、{used} 分を使いました",
        ),
        (
            r"(?P<of>.+) limits what is billed, which is not known",
            "{of} には課金の上限がありますが、課金額は分かりません",
        ),
        (
            r"fair share (?P<share>[\d.]+): (?P<jobs>\d+) jobs? of (?P<accounts>\d+) accounts? (?:is|are) before it "
            r"for (?:its|their) fair share alone",
            "フェアシェア {share}: フェアシェアの差だけで、{accounts} アカウントの {jobs} 件のジョブが先になっています",
        ),
        (r"sbatch --test-only expects it later", "sbatch --test-only によると、開始は後になります"),
    )
]  # fmt: skip
_NODES_FREE: Final = re.compile(r"of (?P<fit>\d+) nodes? large enough: (?P<parts>.+)")
_PART: Final = re.compile(rf"(\d+) ({'|'.join(map(re.escape, sorted(_NODES, key=len, reverse=True)))})(?:, |$)")


def in_japanese(text: str) -> str:
    """The sentence in Japanese; as it is where it has another shape, as what Slurm or a site's own rule says."""
    if found := _NODES_FREE.fullmatch(text):
        parts = list(_PART.finditer(found["parts"]))
        if "".join(part[0] for part in parts) == found["parts"]:
            said = "、".join(f"{_NODES[part[2]]} {part[1]}" for part in parts)
            return f"十分な大きさの {found['fit']} ノード: {said}"
    for shape, said in _SHAPES:
        if found := shape.fullmatch(text):
            words = found.groupdict()
            if "kinds" in words:
                words["kinds"] = re.sub(r"(\d+) of ([^,]+)", r"\2 \1", words["kinds"])
            if each := _EACH.get(words.get("each", ""), ""):
                words["each"] = f" ({each})"
            return said.format(**words)
    return text
