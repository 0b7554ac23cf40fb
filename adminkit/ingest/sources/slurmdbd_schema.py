"""The shape of slurmdbd's tables: what a question needs of them, looked at before the first one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.ingest.sources.slurmdbd_fields import ASSOCIATIONS
from adminkit.quote import quote
from adminkit.slurm.database import Database

#: What a cluster may be called, as slurm.conf takes it: its tables have the name, and no quotes go into SQL.
_CLUSTER: Final = re.compile(r"[a-z0-9_.-]{1,40}")
#: Columns that every supported release has, 22.05 to 26.05, and on which the questions are built.
JOB: Final = frozenset(
    """job_db_inx mod_time account admin_comment array_task_str array_max_tasks cpus_req derived_ec derived_es exit_code
    flags job_name id_assoc id_array_job id_array_task id_job id_qos id_user id_group het_job_id het_job_offset
    kill_requid state_reason_prev nodelist nodes_alloc partition priority state timelimit time_submit time_eligible
    time_start time_end time_suspended submit_line system_comment tres_alloc tres_req""".split()
)
STEP: Final = frozenset(
    """job_db_inx exit_code id_step step_het_comp kill_requid nodes_alloc state step_name task_cnt time_start time_end
    time_suspended user_sec user_usec sys_sec sys_usec consumed_energy tres_alloc tres_usage_in_max tres_usage_in_tot
    tres_usage_out_tot""".split()
)
ASSOCIATION: Final = frozenset(("id_assoc", "user", "acct"))
TRES: Final = frozenset(("id", "type", "name"))
#: What the user of the option file needs, for the database's administrator.
GRANT: Final = "as the database's administrator: GRANT SELECT ON slurm_acct_db.* TO 'USER'@'THIS HOST'"
#: The first id of a TRES of a site's own, and how many of them adminkit-ingest takes.
_OWN: Final = 1000
_MOST: Final = 4096
#: Where slurmdbd keeps the version of its tables.
_VERSION: Final = "convert_version_table"
_HINT: Final = 'this release of adminkit does not know these tables: write source = "sacct" in [sync]'


@dataclass(frozen=True, slots=True)
class Schema:
    """A cluster's tables: the columns of jobs, and the names of TRES by id, as sacct prints them.

    `version`: slurmdbd's own number for the shape of its tables, which an upgrade raises; None: unknown.
    """

    columns: frozenset[str]
    tres: Mapping[int, str]
    version: int | None = None

    @property
    def numbers(self) -> str:
        """The names of a site's own TRES, for Statement.tres; of one that is not a GRES, only that it has a name."""
        named = sorted(self.tres.items())
        own = [(number, name) for number, name in named if number >= _OWN]
        return ",".join(f"{number}:{_gres(name)}" for number, name in own[:_MOST])


def schema_of(database: Database, cluster: str) -> Schema:
    """AdminkitError for tables that are missing, that this user may not read, or whose shape is not known."""
    if not _CLUSTER.fullmatch(cluster):
        raise AdminkitError(f"{quote(cluster)} cannot be the name of a cluster's tables", _HINT)
    wanted = {
        f"{cluster}_job_table": JOB,
        f"{cluster}_step_table": STEP,
        f"{cluster}_assoc_table": ASSOCIATION,
        "tres_table": TRES,
    }
    there: dict[str, set[str]] = {name: set() for name in wanted}
    listed = ", ".join(f"'{name}'" for name in (*wanted, _VERSION))
    for row in database.ask(
        "SELECT table_name, column_name FROM information_schema.columns"
        f" WHERE table_schema = DATABASE() AND table_name IN ({listed})"
    ):
        there.setdefault(row[0], set()).add(row[1])
    for name, columns in wanted.items():
        if not there[name]:
            raise AdminkitError(
                f"slurmdbd's database has no table {name} that this user may read",
                "`adminkit doctor` prints the GRANT; sacctmgr show cluster lists the clusters",
            )
        if missing := sorted(columns - there[name]):
            raise AdminkitError(f"the table {name} has no column {missing[0]}", _HINT)
    version = _version(database) if "version" in there.get(_VERSION, ()) else None
    return Schema(frozenset(there[f"{cluster}_job_table"]), _tres(database), version)


def _version(database: Database) -> int | None:
    [(number,)] = database.ask(f"SELECT MAX(version) FROM {_VERSION}")
    return int(number) if number.isdigit() else None


def _gres(name: str) -> str:
    return f"{name}=" if name.startswith("gres/") and "," not in name else ""


def associations_of(database: Database, cluster: str) -> dict[str, dict[int, str]] | None:
    """User and Account by the number of an association, which spares the server a look at another table for each row.

    None where there are too many to write into a question.
    """
    found: dict[str, dict[int, str]] = {"User": {}, "Account": {}}
    rows = database.ask(f"SELECT id_assoc, user, acct FROM `{cluster}_assoc_table` LIMIT {ASSOCIATIONS}")
    for row in rows:
        if (
            len(rows) == ASSOCIATIONS
            or len(row) != len(found) + 1
            or not row[0].isdigit()
            or int(row[0]) >= ASSOCIATIONS
        ):
            return None
        found["User"][int(row[0])] = row[1]
        if row[2]:
            found["Account"][int(row[0])] = row[2]
    return found


def version_of(database: Database) -> str:
    """What the server calls itself. DatabaseFailed where it does not answer."""
    [(text,)] = database.ask("SELECT VERSION()")
    return text


def _tres(database: Database) -> dict[int, str]:
    names = {}
    for number, kind, name in database.ask("SELECT id, type, name FROM tres_table WHERE deleted = 0"):
        if not number.isdigit():
            raise AdminkitError("tres_table has an id that is not a number", _HINT)
        names[int(number)] = f"{kind}/{name}" if name else kind
    return names
