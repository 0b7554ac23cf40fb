"""Letters about running jobs whose GPUs are not used: to whom, about what is measured only, at most one a day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.errors import AdminkitError
from adminkit.feedback import idle_letter
from adminkit.feedback.compose import Composer
from adminkit.feedback.idle_letter import NOBODY, Holding, holding
from adminkit.feedback.letter import Due, IdleLetter, Letter
from adminkit.feedback.planned import PlannedLetter, due_of
from adminkit.messages import LANGUAGES
from adminkit.policy.idle_settings import Idle
from adminkit.recommend.menu import Offer
from adminkit.slurm.gpu_jobs import GpuJob
from adminkit.usage.held import Held, held
from adminkit.usage.ladder import Act
from adminkit.usage.usage import Answer
from tests.feedback.site import DAY, NOW, Hand, Kept, folder, settings, synced, tools
from tests.feedback.site import opened as trace_of
from tests.feedback.test_letters import HOSTILE
from tests.feedback.test_send import act, rows
from tests.support.builders import HOUR
from tests.usage import jobs

ON = Idle(enabled=True, acts=("shrink", "requeue", "cancel"))
#: No pauses, so that only the letters' own rule keeps them apart.
OFTEN = settings(operators=(), digest=False, user_pause=0, name_pause=0)
TO = ("en", "ada@example.org")
AWAY = "couldn't ask http://prom:9090: connection refused"


def job(job_id: int = 11, now: int = NOW, age: int = 6 * HOUR, **more: Any) -> GpuJob:
    """ada's, with two GPUs."""
    given = {"uid": 1001, "user": "ada", "start_time": now - age, "submit_time": NOW - DAY, **more}
    return jobs.job(job_id, **given)


def measured(of: Sequence[GpuJob], now: int = NOW, quiet: int | None = None) -> list[Held]:
    """Of each job both GPUs were in use until `quiet` seconds ago; None: never, for six hours."""
    made = [jobs.use(gpu, quiet) for gpu in range(2 * len(of))]
    moved = [
        replace(one, since=one.since - jobs.NOW + now, until=now,
                last_used=None if quiet is None else now - quiet) for one in made
    ]  # fmt: skip
    uses = {one.job_id: moved[2 * nth : 2 * nth + 2] for nth, one in enumerate(of)}
    return held(of, [Answer(source="dcgm", at=now, uses=uses)], now, 300)


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `holding` sees: the cluster, jobs as they are measured at `now`, and notes of sources."""
    seen: dict[str, Any] = {"cluster": "aaic", "found": measured([job()]), "notes": []}

    def local_cluster() -> str:
        if seen["cluster"] is None:
            raise AdminkitError("couldn't reach slurmctld")
        return str(seen["cluster"])

    monkeypatch.setattr(idle_letter, "local_cluster", local_cluster)
    monkeypatch.setattr(idle_letter, "gpu_jobs", list)
    monkeypatch.setattr(idle_letter, "measure", lambda usage, of, now: (seen["found"], seen["notes"]))
    return seen


@pytest.mark.parametrize(
    ("changes", "idle", "due", "notes", "reason"),
    [
        ({}, ON, [11], [], "nobody used them for six hours"),
        ({}, Idle(enabled=False), [], [], "[idle] is off"),
        ({"cluster": "other"}, ON, [], [], "letters are off for this host's cluster"),
        ({"cluster": None}, ON, [], ["no letters about idle GPUs: couldn't reach slurmctld"], "slurmctld is away"),
        ({"notes": [AWAY]}, ON, [], [f"no letters about idle GPUs: {AWAY}"], "a source is away"),
        ({"found": held([job()], [], NOW, 300)}, ON, [], [], "what is not measured is not idle"),
        ({"found": measured([job()], quiet=600)}, ON, [], [], "in use ten minutes ago"),
        ({"found": measured([job(age=1000)])}, ON, [], [], "it has only begun"),
        ({"found": measured([job(batch=False)])}, ON, [], [], "salloc"),
        ({}, ON.model_copy(update={"users_off": ("ada",)}), [], [], "a user who is left out"),
        ({"found": measured([job(n) for n in range(1, 6)])}, ON, [], [], "five jobs, and nobody uses a GPU"),
    ],
)  # fmt: skip
def test_who_is_due_a_letter(
    slurm: dict[str, Any], changes: dict[str, Any], idle: Idle, due: list[int], notes: list[str], reason: str
) -> None:
    slurm.update(changes)
    found = holding(OFTEN, idle, NOW)
    assert ([one.held.job.job_id for one in found.acts], list(found.notes)) == (due, notes), reason


def test_a_letter_is_sent_once_a_day_however_often_it_runs(tmp_path: Path, slurm: dict[str, Any]) -> None:
    trace, place, kept = synced(tmp_path / "t.db"), folder(tmp_path), Kept()
    for hours in (0, 1, 11, 13, 14, 36):
        now = NOW + hours * HOUR
        slurm["found"] = measured([job(now=now)], now)
        act(trace, tools(place, kept, Hand(now).clock, holding=lambda at: holding(OFTEN, ON, at)), OFTEN)
    days = sorted((one.run, one.sent_at) for one in rows(trace))
    first = NOW // DAY
    assert days == [
        (f"11@{NOW - DAY}/idle/{first}", NOW),
        (f"11@{NOW - DAY}/idle/{first + 1}", NOW + 13 * HOUR),
        (f"11@{NOW - DAY}/idle/{first + 2}", NOW + 36 * HOUR),
    ]
    assert [to for (to,), _ in kept.messages] == ["ada@example.org"] * 3


def test_the_pauses_between_letters_to_a_user_count_too(tmp_path: Path, slurm: dict[str, Any]) -> None:
    trace, place, kept = synced(tmp_path / "t.db"), folder(tmp_path), Kept()
    chosen = settings(operators=(), digest=False)
    for hours in (0, 36):
        now = NOW + hours * HOUR
        slurm["found"] = measured([job(now=now), job(12, now=now)], now)
        act(trace, tools(place, kept, Hand(now).clock, holding=lambda at: holding(chosen, ON, at)), chosen)
    assert len(kept.messages) == 1


def test_a_source_that_is_away_means_no_letter_and_a_note(tmp_path: Path, slurm: dict[str, Any]) -> None:
    trace, place, kept = synced(tmp_path / "t.db"), folder(tmp_path), Kept()
    slurm["notes"] = [AWAY]
    done = act(trace, tools(place, kept, holding=lambda at: holding(OFTEN, ON, at)), OFTEN)
    assert not kept.messages and f"no letters about idle GPUs: {AWAY}" in done.notes


def written(due: Due, path: Path) -> Letter:
    with trace_of(synced(path / "t.db")) as db:
        return Composer(db, Config(), Offer(), NOW, [due], UTC).letter(due)


def due_about(of: GpuJob, idle: Idle = ON, language: str = "en") -> IdleLetter:
    (found,) = measured([of])
    return idle_letter.letter(
        Holding("aaic", (), idle), Act("warned", found, "idle", 2), 1001, "ada", (language, "ada@x.org"), NOW
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_letter_reads_as_it_did(tmp_path: Path, golden: Callable[[str, str], None], language: str) -> None:
    letter = written(due_about(job(), language=language), tmp_path)
    golden(f"letters/idle-{language}.txt", f"Subject: {letter.subject}\n\n{letter.text}")
    golden(f"letters/idle-{language}.html", letter.html)


@pytest.mark.parametrize(
    ("acts", "said", "not_said"),
    [
        ((), [], ["take them back", "cancelled", "elastic"]),
        (("requeue",), ["may take them back after 2 h", "checkpoint"], ["cancelled", "elastic"]),
        (("shrink", "cancel"), ["elastic", "cancelled"], ["checkpoint"]),
    ],
)
def test_a_letter_says_what_this_site_does(
    tmp_path: Path, acts: tuple[Any, ...], said: list[str], not_said: list[str]
) -> None:
    text = " ".join(written(due_about(job(), Idle(enabled=True, acts=acts)), tmp_path).text.split())
    assert [word for word in said if word not in text] == []
    assert [word for word in not_said if word in text] == []
    assert "scancel 11" in text and "idle for 12 h" in text


def test_a_letter_about_one_gpu_speaks_of_one(tmp_path: Path) -> None:
    uses = measured([job()])[0].uses[:1]
    (found,) = held([replace(job(), gpus=1)], [Answer(source="dcgm", at=NOW, uses={11: uses})], NOW, 300)
    due = idle_letter.letter(Holding("aaic", (), ON), Act("warned", found, "idle", 1), 1001, "ada", TO, NOW)
    letter = written(due, tmp_path)
    assert letter.subject == "The GPU of job 11 is not used: train"
    assert "has 1 GPU. As measured until 7 Jan 12:00, it has not been used" in " ".join(letter.text.split())


def test_a_letter_is_in_the_outbox_as_it_was_due() -> None:
    due = due_about(job())
    assert due_of(PlannedLetter(due).entry(NOW)) == due


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_of_a_job_does_anything_in_a_letter(tmp_path: Path, name: str) -> None:
    letter = written(due_about(job(job_name=name)), tmp_path)
    assert "\n" not in letter.subject and "<script" not in letter.html and "\x1b" not in letter.text


def test_nobody_is_due_where_letters_are_off(slurm: dict[str, Any]) -> None:
    assert holding(settings(clusters=()), ON, NOW) == NOBODY
