"""Interactive environments as listings: which can start for somebody, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.fit.profiles import Problem, Profile
from adminkit.fit.verdict import OFFERED, Answer
from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report

CHECK_FIELDS: Final = (
    Field("profile", help="its name in the file"),
    Field("severity", help="error: it never starts; warning: it may use more than it asks for; ok"),
    Field("text", help="what is wrong"),
)
LIST_FIELDS: Final = (
    Field("profile", help="its name in the file"),
    Field("title_en", help="what people read"),
    Field("title_ja", help="the same in Japanese", data=True),
    Field("verdict", help="now, wakes, room, later, never, unknown, as in adminkit fit"),
    Field("offered", help="yes if it can start now, according to the sources that were asked"),
    Field("at", "time", "when it can start, if that is known"),
    Field("why", help="the reason in one word"),
    Field("text", help="the reason", below=True),
    Field("nearest", help="the nearest smaller profile that is offered"),
    Field("partition", help="the queue", data=True),
    Field("cpus", "count", "CPUs that it asks for", data=True),
    Field("mem", "bytes", "memory that it asks for", data=True),
    Field("gpus", "count", "GPUs that it asks for", data=True),
    Field("gpu_type", help="their type", data=True),
    Field("limit", "duration", "the time that it asks for", data=True),
    Field("image", help="the container image", data=True),
    Field("modules", help="modules to load, separated by blanks", data=True),
    Field("kernel", help="the kernel", data=True),
)


def check_report(profiles: Sequence[Profile], problems: Sequence[Problem], source: str) -> Report:
    """A row for each problem, and for each profile without one."""
    rows: list[list[Cell]] = []
    for one in profiles:
        mine = [problem for problem in problems if problem.profile == one.key]
        rows += [[one.key, problem.severity, problem.text] for problem in mine] or [[one.key, "ok", None]]
    errors = sum(problem.severity == "error" for problem in problems)
    notes = [
        f"{plural(len(profiles), 'profile')}, {plural(errors, 'error')}, {plural(len(problems) - errors, 'warning')}"
    ]
    return Report(Meta.plain("Profiles", notes, filters={"profiles": source}), CHECK_FIELDS, rows)


def list_report(
    answers: Sequence[tuple[Profile, Answer]],
    nearest: Sequence[str | None],
    user: str,
    now: int,
    notes: Sequence[str] = (),
) -> Report:
    """What each can do now; `now`: when Slurm was asked, epoch seconds."""
    rows: list[list[Cell]] = []
    for (one, answer), other in zip(answers, nearest, strict=True):
        asked, start = one.request, answer.start
        rows.append(
            [
                one.key, one.title("en"), one.title("ja"), start.verdict, "yes" if offered(answer) else "no", start.at,
                start.why or None, start.text or None, other, asked.queue, asked.cpus, asked.mem, asked.gpus,
                asked.gpu_type, asked.time_limit, one.image, " ".join(one.modules) or None, one.kernel,
            ]
        )  # fmt: skip
    meta = Meta.plain("What can start", [f"asked at {now}", *notes], filters={"user": user, "asked_at": str(now)})
    return Report(meta, LIST_FIELDS, rows)


def offered(answer: Answer) -> bool:
    return answer.start.verdict in OFFERED
