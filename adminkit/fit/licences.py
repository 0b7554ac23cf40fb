"""Whether as many licences are free as a request asks for."""

from __future__ import annotations

from adminkit.fit.place import Said
from adminkit.quote import quote
from adminkit.slurm.licences import Licences, parse_asked
from adminkit.slurm.room import Room


def by_licences(text: str, room: Room, known: Licences | None) -> Said:
    """later, at an unknown time, where too few are free; unknown where jobs that wait may have what is free."""
    asked = parse_asked(text)
    # Of a resource of resources.yaml each layer has its own count, and which one counts depends on the node.
    if asked is None or known is None or asked.keys() & known.mode.keys():
        return Said("unknown", None, "licence", f"what {quote(text)} asks of licences is not known here")
    for name, many in asked.items():
        if name not in known.total:
            return Said("never", None, "licence", f"there is no licence {name} here")
        if many > known.total[name]:
            return Said("never", None, "licence", f"there are {known.total[name]} licences of {name}")
    for name, many in asked.items():
        if many > known.free[name]:
            return Said(
                "later", None, "licence", f"of {known.total[name]} licences of {name} {known.free[name]} are free"
            )
    before = (one for one in room.jobs if one.state == "PENDING" and one.reason == "Licenses")
    if known.planned and any(asked.keys() & (parse_asked(one.licences or "") or asked).keys() for one in before):
        return Said("unknown", None, "licence", "jobs that wait for the same licences come before it")
    return Said("now", None, "", "its licences are free")
