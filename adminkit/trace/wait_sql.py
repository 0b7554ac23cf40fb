"""Who made a job wait, and the buckets of limits and sizes by which waits are compared: for measures and rollups."""

from __future__ import annotations

from collections.abc import Mapping
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
