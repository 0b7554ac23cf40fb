"""Who made a job wait, and the buckets of limits and sizes by which waits are compared: for measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

#: Who made a job wait -> SQL that holds for its reason. The first that holds counts; OTHER is for the rest.
CAUSES: Final[Mapping[str, str]] = {
    # Trap: of more than two values SQLite makes a table, and looks into it for each row.
    "queue": "reason IS NULL OR reason = 'None' OR reason = 'Priority' OR reason = 'Resources'",
    "array": "reason = 'JobArrayTaskLimit'",
    "dependency": "reason GLOB 'Dependency*'",
    "qos": "reason GLOB 'QOS*' OR reason GLOB 'Max*PerAccount' OR reason GLOB 'Max*PerUser' OR reason = 'InvalidQOS'",
    "association": "reason GLOB 'Assoc*' OR reason IN ('AccountingPolicy', 'AccountNotAllowed', 'InvalidAccount')",
    "held": "reason GLOB 'JobHeld*' OR reason = 'JobHoldMaxRequeue'",
    "begin": "reason = 'BeginTime'",
}
OTHER: Final = "other"
#: SQL: the place of the cause in CAUSES, or the one after the last.
CAUSE: Final = (
    f"CASE {' '.join(f'WHEN {sql} THEN {k}' for k, sql in enumerate(CAUSES.values()))} ELSE {len(CAUSES)} END"
)
#: The upper ends of the buckets of limits, in seconds. The one after the last is for longer ones.
LIMITS: Final = (900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 72 * 3600, 168 * 3600)
LONGER: Final = len(LIMITS)
#: Buckets of what has no finite limit: unlimited, the queue's own, unknown.
UNLIMITED, QUEUES_OWN, LIMIT_UNKNOWN = range(LONGER + 1, LONGER + 4)
#: The upper ends of the buckets of sizes; bucket 0 is for unknown and none, the one after the last for more.
SIZES: Final = tuple(1 << power for power in range(11))


def halved(value: str, edges: Sequence[int], found: Sequence[int]) -> str:
    """SQL: of `found` the one at the place of the first of `edges` that is not below the value, searched in halves;
    above all of them the last.
    """
    if len(found) == 1:
        return str(found[0])
    middle = len(found) // 2
    below, above = (halved(value, edges[half], found[half]) for half in (slice(middle), slice(middle, None)))
    return f"CASE WHEN {value} <= {edges[middle - 1]} THEN {below} ELSE {above} END"


def bucket_of_size(size: str) -> str:
    """SQL: the bucket of a number of GPUs, nodes or CPUs."""
    return f"CASE WHEN {size} > 0 THEN {halved(size, SIZES, range(1, len(SIZES) + 2))} ELSE 0 END"


#: SQL over the view run: the bucket of the limit.
LIMIT_BUCKET: Final = (
    f"CASE WHEN req_limit > 0 THEN {halved('req_limit', LIMITS, range(LONGER + 1))}"
    f" WHEN limit_kind = 'unlimited' THEN {UNLIMITED} WHEN limit_kind = 'partition' THEN {QUEUES_OWN}"
    f" ELSE {LIMIT_UNKNOWN} END"
)
