"""One verdict of four sources."""

from __future__ import annotations

import pytest

from adminkit.fit.place import Said
from adminkit.fit.verdict import SOURCES, verdict

NOW, LATER = Said("now", 1000), Said("later", 5000, "busy", "busy")
UNSAID, NEVER = Said("unknown", None, "", "not asked"), Said("never", None, "size", "too large")
REFUSED, HELD = Said("never", None, "rule", "no"), Said("later", None, "qos", "the QOS")
DRAINED = Said("later", None, "drained", "drained")


@pytest.mark.parametrize(
    ("said", "expected", "why"),
    [
        ((NOW, NOW, NOW, NOW), ("now", 1000, None, None, ""), "all agree"),
        (
            (NOW, NOW, NOW, UNSAID),
            ("room", 1000, None, None, ""),
            "Slurm itself was not asked: sbatch --test-only was not run as the user",
        ),
        ((NOW, NOW, UNSAID, NOW), ("room", 1000, None, None, ""), "limits are not known"),
        ((NOW, NOW, HELD, NOW), ("later", None, None, None, "qos"), "a QOS holds it whatever test-only says"),
        ((NOW, LATER, NOW, NOW), ("later", 5000, "simulation", None, "busy"), "a waiting job comes first"),
        ((NOW, NOW, NOW, LATER), ("later", 5000, "slurm", None, "busy"), "test-only alone may say no"),
        ((LATER, LATER, NOW, NOW), ("later", 5000, "simulation", None, "busy"), "and never yes"),
        ((LATER, LATER, NOW, Said("later", 5600)), ("later", 5600, "slurm", 600, "busy"), "both: the later one"),
        ((NEVER, NEVER, NOW, REFUSED), ("never", None, None, None, "size"), "our reason is the better one"),
        ((NOW, NOW, NOW, REFUSED), ("never", None, None, None, "rule"), "a rule"),
        ((DRAINED, DRAINED, NOW, REFUSED), ("later", None, None, None, "drained"), "Slurm refuses what is drained"),
        ((NOW, NOW, HELD, REFUSED), ("later", None, None, None, "qos"), "Slurm refuses for a limit of the moment"),
    ],
)
def test_now_is_said_where_all_say_so(said: tuple[Said, ...], expected: tuple[object, ...], why: str) -> None:
    found = verdict(dict(zip(SOURCES, said, strict=True)))
    assert (found.verdict, found.at, found.method, found.error, found.why) == expected, why


@pytest.mark.parametrize(
    ("waiting", "slurm", "count"),
    [(NOW, NOW, 0), (NOW, LATER, 1), (LATER, NOW, 1), (LATER, Said("later", 5060), 0), (LATER, Said("later", 5061), 1),
     (NEVER, REFUSED, 0), (NOW, REFUSED, 1), (NOW, UNSAID, 0)],
)  # fmt: skip
def test_disagreements_are_counted(waiting: Said, slurm: Said, count: int) -> None:
    found = verdict({"vectors": NOW, "waiting": waiting, "limits": NOW, "test_only": slurm})
    assert len(found.disagree) == count
