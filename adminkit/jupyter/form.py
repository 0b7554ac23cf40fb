"""The form: profiles as a list of choices, each with what it asks for and when it can start. No script is in it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from adminkit.fit.fair_share import Behind
from adminkit.fit.japanese import in_japanese
from adminkit.fit.line import Place
from adminkit.fit.place import Said
from adminkit.fit.request import Request
from adminkit.fit.verdict import Start
from adminkit.jupyter.desk import Offered
from adminkit.jupyter.ends import last_server
from adminkit.jupyter.texts import say
from adminkit.units import show_duration, show_short

_TEMPLATES: Final = Path(__file__).parent / "templates"


def rows(offered: Sequence[Offered], language: str, *, hide: bool, limits: bool = False) -> list[dict[str, Any]]:
    """What the form and its refresh show of each profile: {key, title, size, free, when}; with `limits` also
    {limit, learnt}, of those that have a time.

    `free`: it may be chosen. Where Slurm did not answer, nothing is refused here: the click asks again.
    """
    made = [
        {
            "key": one.profile.key,
            "title": one.profile.title(language),
            "size": size(one.profile.request, language) + _idle(one.profile.idle, language),
            "free": one.said is None or one.said.word == "now",
            "when": when(one.said, language),
            **(_limit(one, language) if limits and one.profile.request.time_limit else {}),
        }
        for one in offered
    ]
    return [one for one in made if one["free"] or not hide]


def size(request: Request, language: str) -> str:
    """What a profile asks for, in words."""
    parts = [say("gpus", language, number=request.gpus, kind=f" ({request.gpu_type})" if request.gpu_type else "")]
    parts = parts if request.gpus else [f"{request.share}:{request.shares}"] if request.shares else []
    parts.append(say("cpus", language, number=request.cpus))
    if request.mem:
        parts.append(f"{request.mem / (1 << 30):g} GiB")
    if request.time_limit:
        parts.append(show_short(request.time_limit))
    return ", ".join(parts)


def _limit(one: Offered, language: str) -> dict[str, str]:
    """The limit that is proposed, else the profile's own, and where it comes from."""
    most = one.profile.request.time_limit
    assert most is not None
    said = "limit_own" if one.limit is None else "limit_learnt"
    return {
        "limit": show_duration(most if one.limit is None else one.limit),
        "learnt": say(said, language, most=show_duration(most)),
    }


def _idle(idle: int | None, language: str) -> str:
    return "" if idle is None else say("idle_after", language, idle=show_short(idle))


def when(said: Said | None, language: str) -> str:
    """When it can start, in a few words."""
    if said is None:
        return say("not_known", language)
    why = reason(said.text, language)
    if said.word == "now" and said.why == "wakes":
        return say("wakes", language, why=why)
    if said.word == "now":
        return say("now", language)
    if said.word == "never":
        return say("never", language, why=why)
    if said.at is None:
        return say("later", language, why=why)
    return say("from", language, at=clock(said.at), why=why)


def reason(text: str, language: str) -> str:
    """A sentence of fit's in the language of the page; in Japanese what Slurm or a site's rule says stays as it is."""
    return in_japanese(text) if language == "ja" else text


def refusal(start: Start, language: str) -> str:
    """Why a request was refused at the click, and from when it could start."""
    why = reason(start.text, language) or start.why or say("not_known", language)
    if start.verdict == "later" and start.at:
        return say("refused_until", language, at=clock(start.at), why=why)
    return say("refused", language, why=why)


def place(found: Place, language: str) -> str:
    """The place of a job in its queue: 3rd of 7."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    end = "th" if found.number % 100 in (11, 12, 13) else ends.get(found.number % 10, "th")
    number = str(found.number) if language == "ja" else f"{found.number}{end}"
    return say("place", language, number=number, of=found.of, queue=found.queue)


def fair_share(found: Behind, language: str) -> str:
    """How many jobs are before it for that alone."""
    return say("fair_share", language, why=in_japanese(found.text) if language == "ja" else found.text)


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
    texts = {key: say(key, language) for key in ("legend", "empty", "slurm_silent", "limit")}
    if nearest:
        texts["instead"] = say("nearest", language, title=nearest[1])
    return str(
        _template().render(
            offers=offers,
            base=base,
            token=token,
            chosen=chosen,
            typed=typed,
            problem=problem,
            ended=last_server(*ended, language) if ended else None,
            nearest=nearest,
            language=language,
            **texts,
        )
    )


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(_TEMPLATES)
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return made.get_template("form.html")
