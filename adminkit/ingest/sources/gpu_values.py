"""SQL over the outputs of sacct's fields: with their places put in, and of GPUs from TRES and GRES together."""

from __future__ import annotations

from typing import Final


def filled(text: str, place: dict[str, str]) -> str | None:
    """`text` with its places put in; None when one of them is not among the columns."""
    if not text:
        return None
    if "{" not in text:
        return place.get(text, text if text.startswith("?") else None)
    names = [part.split("}")[0] for part in text.split("{")[1:]]
    if any(name not in place for name in names):
        return None
    for name in names:
        text = text.replace("{" + name + "}", place[name])
    return text


#: GRES are of each node, or of the job. sacct does not tell the number of tasks and sockets.
_GRES: Final = (
    "CASE {{{0}.per}} WHEN 'job' THEN {{{0}}} WHEN 'node' THEN {{{0}}} * {1} ELSE CASE {{{0}}} WHEN 0 THEN 0 END END",
    "CASE WHEN {{{0}.per}} IN ('task', 'socket')"
    " THEN CASE WHEN {{{0}}} > 0 OR {{{0}.gpu_parts}} IS NOT NULL THEN '?' END"
    " WHEN {{{0}.gpu_parts}} <> '?' AND {{{0}.per}} = 'node' AND {1} > 1 THEN {1} || '*' || {{{0}.gpu_parts}}"
    " ELSE {{{0}.gpu_parts}} END",
)


def gpus_of(place: dict[str, str], which: str, gpus: str, parts: str) -> dict[str, str | None]:
    """Whole GPUs and what is not whole. Trap: TRES name GPUs only where AccountingStorageTRES does, GRES always."""
    nodes = "coalesce({NNodes}, 1)" if "NNodes" in place else "1"
    tres = [filled(f"{which}TRES.{name}", place) for name in ("gpus", "gpu_parts")]
    gres = [filled(text.format(f"{which}GRES", nodes), place) for text in _GRES]
    asked = [filled(text.format("ReqGRES", nodes), place) for text in _GRES]
    if tres[0] is None:
        return {gpus: gres[0], parts: gres[1]}
    if gres[0] is None:
        # What was asked for, and TRES do not name, is not tracked: it is unknown what there was.
        named = (
            f"WHEN {tres[0]} = 0 AND {tres[1]} IS NULL AND coalesce({asked[0]} > 0, {asked[1]} IS NOT NULL) THEN NULL"
        )
        return {gpus: f"CASE {named} ELSE {tres[0]} END" if asked[0] else tres[0], parts: tres[1]}
    # Trap: of a text whose headers differ any of these columns may lack.
    named = f"CASE WHEN {tres[0]} > 0 OR {tres[1]} IS NOT NULL"
    held = f"WHEN ({gres[0]}) IS NOT NULL OR ({gres[1]}) IS NOT NULL"
    if asked[0] is None or which == "Req":
        return {gpus: f"{named} THEN {tres[0]} {held} THEN {gres[0]} ELSE {tres[0]} END",
                parts: f"{named} THEN {tres[1]} {held} THEN {gres[1]} ELSE {tres[1]} END"}  # fmt: skip
    wanted = f"WHEN coalesce(({asked[0]}) > 0, ({asked[1]}) IS NOT NULL) THEN NULL"
    return {gpus: f"{named} THEN {tres[0]} {held} THEN {gres[0]} {wanted} ELSE {tres[0]} END",
            parts: f"{named} THEN {tres[1]} {held} THEN {gres[1]} ELSE {tres[1]} END"}  # fmt: skip
