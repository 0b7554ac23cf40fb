"""What the page says of a job while its server starts."""

from __future__ import annotations

from datetime import datetime

from adminkit.fit.fair_share import Behind
from adminkit.fit.line import Place
from adminkit.jupyter import form
from adminkit.jupyter.texts import say
from adminkit.slurm.reasons import meaning
from adminkit.slurm.server_job import Seen


def message(job_id: str, seen: Seen | None, place: Place | None, behind: Behind | None, language: str) -> str:
    """Whether it waits or runs, why, and what is expected. `seen` None: slurmctld does not answer."""
    if seen is None:
        return say("unknown", language)
    if seen.runs:
        return say("running", language, job=job_id, host=seen.host)
    text = say("waiting", language, job=job_id, why=why(seen, language))
    if place:
        text += " " + form.place(place, language)
    if behind and behind.jobs:
        text += " " + form.fair_share(behind, language)
    if seen.start_time:
        at = datetime.fromtimestamp(seen.start_time).strftime("%H:%M")
        text += " " + say("expected", language, at=at)
    return text


def why(seen: Seen | None, language: str) -> str:
    """Slurm's code and what it means."""
    code = seen.reason if seen else None
    return f"{code}: {meaning(code, language)}" if code else say("no_answer", language)
