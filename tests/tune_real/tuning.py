"""`adminkit tune` on the records of the six days: its answer, and its pick as the two sides of a trial have it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from adminkit.simulate.scenario import Scenario
from adminkit.slurm.release import parse_release
from adminkit.toml import parse_toml
from adminkit.tune.candidates import Choice
from adminkit.tune.settings import load_tune
from adminkit.tune.space import Space, space_of
from adminkit.tune.typed import typed_of
from tests.cluster.harness.processes import ClusterError
from tests.soft_real.history import CLUSTER
from tests.tune_real.records import DATA, SITE, begin, history
from tests.tune_real.sides import DEFAULTS, PICK
from tests.tune_real.simulated import NOW, imported, sources_in

FILE: Final = Path(__file__).with_name("tune.toml")
ANSWER: Final = DATA / "tune.json"
SEED: Final = 1
EVALUATIONS: Final = 1500


def tune() -> None:
    """Ask `adminkit tune`, and keep what it says. ClusterError where it picks nothing."""
    with tempfile.TemporaryDirectory() as folder:
        trace, policy = Path(folder) / "trace.db", Path(folder) / "policy.toml"
        imported(history(NOW), trace)
        policy.write_text(DEFAULTS.policy)
        words = [sys.executable, "-m", "adminkit", "tune", str(FILE), "--db", str(trace), "--cluster", CLUSTER]
        words += ["--site", str(DATA / SITE), "--policy", str(policy), "--since", str(begin(NOW)), "--force"]
        words += ["--seed", str(SEED), "--evaluations", str(EVALUATIONS), "--keep", f"{folder}/kept"]
        words += ["--format", "json", "--output", str(ANSWER)]
        env = {**os.environ, "ADMINKIT_CONFIG": "", "ADMINKIT_REPORT_MIN_ELAPSED": "0"}
        subprocess.run(words, env=env, check=True)
    PICK.write_text(json.dumps(pick_of(answer()), indent=2) + "\n")


def pick_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """The pick of an answer, as it is put in place: levers, policy.toml and lines of slurm.conf."""
    row = next((row for row in said["rows"] if row["standing"] == "pick"), None)
    if row is None:
        raise ClusterError(f"nothing was picked: {said['meta']['answers']}")
    with space() as levers:
        choice = choice_of(levers, row["settings"].split("; "))
        typed = typed_of(levers, choice, DEFAULTS.policy)
    return {
        "choice": {lever.name: value for lever, value in zip(levers.levers, choice, strict=True) if value is not None},
        "policy": typed.policy or DEFAULTS.policy,
        "slurm": parse_toml(typed.trial)["b"].get("slurm", {}),
    }


def answer() -> dict[str, Any]:
    """What was kept."""
    found: dict[str, Any] = json.loads(ANSWER.read_text())
    return found


def scenario() -> Scenario:
    """The pick, as the simulator is asked."""
    chosen = json.loads(PICK.read_text())["choice"]
    with space() as levers:
        return levers.scenario(tuple(chosen.get(lever.name) for lever in levers.levers))


@contextmanager
def space() -> Iterator[Space]:
    """The levers on this site."""
    with sources_in(history(NOW), begin(NOW)) as sources:
        assert sources.site is not None and sources.site.scheduler.release is not None
        yield space_of(load_tune(FILE), sources, parse_release(sources.site.scheduler.release))


def choice_of(levers: Space, sentences: Sequence[str]) -> Choice:
    """The combination that is said in these sentences."""
    many = len(levers.levers)

    def said(place: int, value: Any) -> bool:
        return levers.words(tuple(value if at == place else None for at in range(many)))[0] in sentences

    found = tuple(
        next((value for value in lever.values if said(place, value)), None) for place, lever in enumerate(levers.levers)
    )
    assert list(levers.words(found)) == list(sentences), sentences
    return found


def told() -> str:
    """The answer in its own words."""
    return "".join(f"- {line}\n" for line in answer()["meta"]["answers"])
