"""What the page says of a job while its server starts."""

from __future__ import annotations

from datetime import datetime

from adminkit.fit.fair_share import Behind
from adminkit.fit.line import Place
from adminkit.jupyter import form
from adminkit.messages import Message, joined, message
from adminkit.slurm.reasons import meaning
from adminkit.slurm.server_job import Seen


def said(job_id: str, seen: Seen | None, place: Place | None, behind: Behind | None) -> Message:
    """Whether it waits or runs, why, and what is expected. `seen` None: slurmctld is not responding."""
    if seen is None:
        return message("Slurm is not responding; waiting.")
    if seen.runs:
        return message("Job {job} runs on {host}; the server is starting.", job=job_id, host=seen.host)
    parts = [message("Job {job} waits: {why}", job=job_id, why=why(seen))]
    if place:
        parts.append(form.place(place))
    if behind and behind.jobs:
        parts.append(form.fair_share(behind))
    if seen.start_time:
        at = datetime.fromtimestamp(seen.start_time).strftime("%H:%M")
        parts.append(message("Slurm expects it to start at {at}.", at=at))
    return joined(" ", parts)


def why(seen: Seen | None) -> Message:
    """Slurm's code and what it means."""
    code = seen.reason if seen else None
    return joined(": ", (code, meaning(code))) if code else form.NO_ANSWER
