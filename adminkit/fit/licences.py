"""Whether as many licences are free as a request asks for."""

from __future__ import annotations

from adminkit.fit.place import Said
from adminkit.messages import message
from adminkit.quote import quote
from adminkit.slurm.licences import Licences, parse_asked
from adminkit.slurm.room import Room


def by_licences(text: str, room: Room, known: Licences | None) -> Said:
    """later, at an unknown time, where too few are free; unknown where jobs that wait may have what is free."""
    asked = parse_asked(text)
    # Each layer of a resource of resources.yaml has its own count, and which one counts depends on the node.
    if asked is None or known is None or asked.keys() & known.mode.keys():
        unsure = message("adminkit cannot tell which licences {text} asks for", text=quote(text))
        return Said("unknown", None, "licence", unsure)
    for name, many in asked.items():
        if name not in known.total:
            return Said("never", None, "licence", message("there is no licence {name} here", name=name))
        if many > known.total[name]:
            few = message("there are {many} licences of {name}", many=known.total[name], name=name)
            return Said("never", None, "licence", few)
    for name, many in asked.items():
        if many > known.free[name]:
            total, free = known.total[name], known.free[name]
            taken = message("{free} of {many} licences of {name} are free", many=total, name=name, free=free)
            return Said("later", None, "licence", taken)
    before = (one for one in room.jobs if one.state == "PENDING" and one.reason == "Licenses")
    if known.planned and any(asked.keys() & (parse_asked(one.licences or "") or asked).keys() for one in before):
        return Said("unknown", None, "licence", message("jobs that wait for the same licences are ahead of it"))
    return Said("now", None, "", message("its licences are free"))
