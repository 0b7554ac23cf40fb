"""Every sentence that fit makes of a request has one in Japanese; what others say stays as it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.fit import licences, limits, place
from adminkit.fit import sentences as said_by
from adminkit.fit.fair_share import Behind
from adminkit.fit.japanese import in_japanese
from adminkit.fit.sentences import REASONS

#: What stands for an expression of a sentence, a number where it is none of these.
WORDS = {
    "queue.name": "gq",
    "holder.name": "QOS high",
    "where[0]": "n1",
    "unit": "gres/gpu:a100 ",
    "kind": "running jobs",
    "request.features": "fast",
    "quote(text)": "fast",
    "text": "fast",
    "name": "tool",
    "what": "node",
    "_nodes(queue.max_nodes)": "7 nodes",
    "_nodes(queue.min_nodes)": "1 node",
}
GIVEN = {"_TOGETHER[name]": " a user", "(_TOGETHER | _ALONE)[name]": " a node"}


def sentences(source: Path) -> Iterator[str]:
    """The fourth argument of each Said in the source, with words in it."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Said" and len(node.args) > 3:
            yield from _texts(node.args[3])


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and node.value:
        yield str(node.value)
    elif isinstance(node, ast.IfExp):
        yield from (*_texts(node.body), *_texts(node.orelse))
    elif isinstance(node, ast.JoinedStr):
        yield "".join(
            (WORDS | GIVEN).get(ast.unparse(one.value), "7") if isinstance(one, ast.FormattedValue) else _word(one)
            for one in node.values
        )


def _word(node: ast.expr) -> str:
    assert isinstance(node, ast.Constant)
    return str(node.value)


MADE = [
    text
    for module in (place, limits, licences)
    for text in sentences(Path(str(module.__file__)))
    if text
    not in (
        "limits of QOS and associations are not enforced here",
        "no limit of QOS and associations holds it",
        "its licences are free",
    )
]  # these say now, and are not shown


def test_the_sentences_are_found() -> None:
    assert len(MADE) >= 15
    assert "gq starts no jobs now" in MADE


@pytest.mark.parametrize("text", MADE)
def test_every_sentence_has_one_in_japanese(text: str) -> None:
    said = in_japanese(text)
    assert re.search(r"[ぁ-んァ-ヶ一-龠]", said), said
    assert sorted(
        re.findall(r"\d+", said.replace("1 ジョブ", "").replace("1 ユーザー", "").replace("1 ノード", ""))
    ) == sorted(re.findall(r"\d+", text)), "the same numbers"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "of 4 nodes large enough: 1 free, which is too few, 3 busy",
            "十分な大きさの 4 ノード: 空きだが不足 1、使用中 3",
        ),
        ("2 nodes have room", "2 ノードに空きがあります"),
        ("nodes have room", "ノードに空きがあります"),
        (
            "1 of the queue's nodes is large enough, and it asks for 2",
            "十分な大きさのノードは 1 で、2 ノードの要求には足りません",
        ),
        (
            "the nodes have no room for 9 tasks, with nothing else on them",
            "他のジョブがなくても、ノードには 9 タスクが入りません",
        ),
        ("of 1 node large enough: 1 busy", "十分な大きさの 1 ノード: 使用中 1"),
        (
            "of 9 nodes large enough: 2 kept for waiting jobs of higher priority (age, fair share, size), 7 drained",
            "十分な大きさの 9 ノード: 優先度の高い待ちジョブのために確保 2、ドレイン中 7",
        ),
        (
            "no node has as much: the most are 8 CPUs, 1024 MiB, 8 GPUs (a100, h100)",
            "それだけの大きさのノードはありません。最大は CPU 8、1024 MiB、GPU 8 (a100, h100) です",
        ),
        (
            Behind(0.125, 7, 3).text,
            "フェアシェア 0.12: フェアシェアの差だけで、3 アカウントの 7 件のジョブが先になっています",
        ),
        (
            Behind(1.0, 1, 1).text,
            "フェアシェア 1.00: フェアシェアの差だけで、1 アカウントの 1 件のジョブが先になっています",
        ),
        (
            "QOS high allows gres/gpu 4 a user; 4 are in use",
            "QOS high の上限 (1 ユーザーあたり)は gres/gpu 4 で、4 が使用中です",
        ),
    ],
)
def test_what_is_said(text: str, said: str) -> None:
    assert in_japanese(text) == said


def test_every_reason_of_a_node_is_known() -> None:
    for word in REASONS:
        text = f"of 3 nodes large enough: 3 {said_by._TEXTS[word]}"
        assert in_japanese(text) != text


@given(st.text(max_size=60))
def test_other_texts_stay(text: str) -> None:
    assert in_japanese(f"sbatch: {text}") == f"sbatch: {text}"


def test_a_name_stays_a_text() -> None:
    assert in_japanese("{0.__class__} starts no jobs now") == "{0.__class__} は今ジョブを開始しません"
