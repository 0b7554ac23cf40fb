"""The names of dots in a picture: each once, and over no dot and no other name while there is room."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from adminkit.render.figure import picture
from adminkit.render.report import Dot, Meta, Pictures, Report, Scatter
from adminkit.render.scatter import Box, Place, offsets

ALONE = [(100.0, 100.0)]
#: A dot where a name usually stands, to the upper right.
NEIGHBOUR = [(100.0, 100.0), (108.0, 106.0)]
ROW = [(100.0 + 9 * nth, 100.0) for nth in range(6)]
CROWD = [(100.0 + 7 * (nth % 4), 100.0 + 7 * (nth // 4)) for nth in range(16)]


def boxes(names: Sequence[tuple[str, Place]], found: Sequence[Place]) -> list[Box]:
    """Where the digits of each name are."""
    return [Box(x + right, y + up, x + right + 4.4 * len(name), y + up + 5)
            for (name, (x, y)), (right, up) in zip(names, found, strict=True)]  # fmt: skip


def covered(names: Sequence[tuple[str, Place]], dots: Sequence[Place]) -> int:
    """Dots and names that a name lies over."""
    found = boxes(names, offsets(names, dots))
    marks = [Box(x - 3, y - 3, x + 3, y + 3) for x, y in dots]
    over = sum(one.meets(mark) for one in found for mark in marks)
    return over + sum(one.meets(other) for nth, one in enumerate(found) for other in found[:nth])


def test_a_name_alone_stands_above_its_dot_to_the_right() -> None:
    ((right, up),) = offsets([("17", ALONE[0])], ALONE)
    assert right > 0 and up > 0


@pytest.mark.parametrize(
    ("dots", "named", "why"),
    [
        (NEIGHBOUR, 1, "another dot is where the name would be"),
        (NEIGHBOUR, 2, "both have a name"),
        (ROW, 6, "dots side by side, nearer than a name is wide"),
        (CROWD, 2, "only two dots of a crowd have a name"),
    ],
)
def test_a_name_covers_no_dot_and_no_other_name(dots: Sequence[Place], named: int, why: str) -> None:
    names = [(f"{100 + nth}", dot) for nth, dot in enumerate(dots[:named])]
    assert covered(names, dots) == 0, why


def test_where_there_is_no_room_each_name_still_has_a_place() -> None:
    names = [(f"{100 + nth}", dot) for nth, dot in enumerate(CROWD)]
    assert len(offsets(names, CROWD)) == len(CROWD)


def test_a_dot_of_two_lines_has_its_name_once() -> None:
    """The pick of a search is one of the combinations that break nothing, too."""
    pick = Dot("471", 0.1, 0.2, edge=True)
    panel = Scatter("", "", "x", "y", [("breaks no constraint", [pick, Dot("8", 0.3, 0.1)]), ("pick", [pick])])
    report = Report(Meta.plain("title", []), (), [], pictures=Pictures("heading", "note", [panel]))
    assert picture(report, "svg").decode().count(">471<") == 1
