"""The form: profiles as a list of choices, each with what it asks for and when it can start. No script is in it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from adminkit.fit.fair_share import Behind
from adminkit.fit.line import Place
from adminkit.fit.place import Said
from adminkit.fit.profiles import Profile
from adminkit.fit.verdict import Start
from adminkit.jupyter.desk import Offered
from adminkit.jupyter.end_reasons import last_server
from adminkit.messages import Message, catalogue, joined, message, translated
from adminkit.units import show_duration, show_short

_TEMPLATES: Final = Path(__file__).parent / "templates"
NO_ANSWER: Final = message("Slurm is not responding, so nothing was started. Try again in a minute.")
#: The answer to a submission whose outcome is not known.
NO_WORD: Final = message(
    "Slurm did not say whether it accepted the job. If it did, the job is cancelled. Try again in a minute."
)


def rows(offered: Sequence[Offered], language: str, *, hide: bool, limits: bool = False) -> list[dict[str, Any]]:
    """What the form and its refresh show of each profile: {key, title, size, free, when}; with `limits` also
    {limit, learnt}, of those that have a time.

    `free`: it may be chosen. Where Slurm did not answer, nothing is refused here: the click asks again.
    """
    made = [
        {
            "key": one.profile.key,
            "title": one.profile.title(language),
            "size": translated(size(one.profile), language),
            "free": one.said is None or one.said.word == "now",
            "when": translated(when(one.said), language),
            **(_limit(one, language) if limits and one.profile.request.time_limit else {}),
        }
        for one in offered
    ]
    return [one for one in made if one["free"] or not hide]


def size(profile: Profile) -> Message:
    """What a profile asks for, in words, and when it ends unused."""
    request = profile.request
    parts: list[str] = []
    if request.gpus:
        kind = f" ({request.gpu_type})" if request.gpu_type else ""
        parts.append(message("{number} GPU{kind}", number=request.gpus, kind=kind))
    elif request.shares:
        parts.append(f"{request.share}:{request.shares}")
    parts.append(message("{number} CPU", number=request.cpus))
    if request.mem:
        parts.append(f"{request.mem / (1 << 30):g} GiB")
    if request.time_limit:
        parts.append(show_short(request.time_limit))
    asked = joined(", ", parts)
    if profile.idle is None:
        return asked
    return message("{asked}; ends when idle for {idle}", asked=asked, idle=show_short(profile.idle))


def _limit(one: Offered, language: str) -> dict[str, str]:
    """The limit that is proposed, else the profile's own, and where it comes from."""
    own = one.profile.request.time_limit
    assert own is not None
    most = show_duration(own)
    said = message("at most {most}", most=most)
    if one.limit is not None:
        said = message("from your own earlier servers; at most {most}", most=most)
    return {"limit": most if one.limit is None else show_duration(one.limit), "learnt": translated(said, language)}


def when(said: Said | None) -> Message:
    """When it can start, in a few words."""
    if said is None:
        return message("not known")
    why = said.text
    if said.word == "now" and said.why == "wakes":
        return message("now, once a node is awake: {why}", why=why)
    if said.word == "now":
        return message("now")
    if said.word == "never":
        return message("never: {why}", why=why)
    if said.at is None:
        return message("not now: {why}", why=why)
    return message("from {at}: {why}", at=clock(said.at), why=why)


def refusal(start: Start) -> Message:
    """Why a request was refused on the click, and from when it could start."""
    why = start.text or start.why or message("not known")
    if start.verdict == "later" and start.at:
        return message("It cannot start before {at}: {why}.", at=clock(start.at), why=why)
    return cannot_start(why)


def cannot_start(why: str) -> Message:
    return message("It cannot start now: {why}.", why=why)


def withdrawn(patience: float, why: str) -> Message:
    return message(
        "It had not started after {seconds:.0f} s, so it was withdrawn. Slurm's reason: {why}.",
        seconds=patience,
        why=why,
    )


def place(found: Place) -> Message:
    """The place of a job in its queue."""
    return message(
        "It is number {number} of {of} waiting in {queue}.", number=found.number, of=found.of, queue=found.queue
    )


def fair_share(found: Behind) -> Message:
    """How many jobs are before it only for their fair share."""
    return message("It has {why}.", why=found.text)


def clock(at: int, now: datetime | None = None) -> str:
    """An epoch as the hub's clock shows it; with the date on another day."""
    then, today = datetime.fromtimestamp(at), now or datetime.now()
    return then.strftime("%H:%M" if then.date() == today.date() else "%Y-%m-%d %H:%M")


def html(
    offers: Sequence[dict[str, Any]],
    language: str,
    *,
    base: str,
    token: str,
    chosen: str = "",
    typed: str = "",
    problem: bool = False,
    ended: tuple[str, Sequence[str]] | None = None,
    nearest: tuple[str, str] | None = None,
) -> str:
    """Our part of the form. `base`: the hub's path; `token`: for the refresh; `chosen`, `typed`: what was before;
    `ended`: state and log of the last job; `nearest`: key and title of what can start in place of what was refused.
    """
    said, lines = last_server(*ended) if ended else (None, [])
    return str(
        _template(language).render(
            offers=offers,
            base=base,
            token=token,
            chosen=chosen,
            typed=typed,
            problem=problem,
            ended=(translated(said, language), lines) if said else None,
            nearest=nearest,
            language=language,
        )
    )


@cache
def _template(language: str) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        extensions=["jinja2.ext.i18n"],
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.install_gettext_translations(catalogue(language), newstyle=True)  # type: ignore[attr-defined]
    return made.get_template("form.html")
