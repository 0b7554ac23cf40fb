"""The client program of slurmdbd's database: a question as SQL, and its answer as text, in a spool file.

Nothing is escaped in an answer (--raw), as in sacct's; the SQL of a question puts the marks of seal.py into its
records. The program reads one option file, which names the host or socket, the user, the password, the database and
TLS. The password is never in its arguments or environment, which other users can read.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from adminkit.errors import AdminkitError, cause
from adminkit.quote import quote
from adminkit.slurm.process import NoSuchProgram, Refused, SlurmTimeout, spool

#: The client programs, the better one first.
PROGRAMS: Final = ("mariadb", "mysql")
#: Seconds in which a connection has to be made.
CONNECT: Final = 10
#: Characters of what the client says that are shown: the cause stands at the end.
_SHOWN: Final = 300
#: What stands before each question. MariaDB and MySQL have different names for the longest time of a statement, and a
#: comment with a version is read by one of them only. Nothing that is asked can change a row. The tables have numbers
#: without a sign, of which a difference may be negative.
_SESSION: Final = (
    "SET SESSION TRANSACTION READ ONLY;\n"
    "SET SESSION sql_mode = 'NO_UNSIGNED_SUBTRACTION';\n"
    "/*M! SET SESSION max_statement_time = {seconds} */;\n"
    "/*!50708 SET SESSION max_execution_time = {millis} */;\n"
)

#: A pattern in what the client says, and the hint for it. The first match counts.
_HINTS: Final = (
    ("Access denied", "check user and password in {file}; `adminkit doctor` prints the GRANT that is needed"),
    ("command denied", "the database user lacks a right; `adminkit doctor` prints the GRANT that is needed"),
    ("Unknown database", "check `database` in {file}: StorageLoc in slurmdbd.conf names it"),
    ("doesn't exist", "check `database` in {file}, and the name of the cluster: sacctmgr show cluster"),
    ("SSL|TLS|certificate", "check the ssl options in {file}, and that the server offers TLS"),
    ("Can't connect|Unknown .*host|timed? ?out", "check host, port or socket in {file}, and the server"),
    ("Lost connection|gone away|server has gone", "the server ended the connection: the next run asks again"),
    ("max_statement_time|maximum statement execution", "ask for less, or raise timeout in [sync]"),
)
_LOST: Final = re.compile(r"Access denied|Can't connect|Unknown|SSL|TLS|denied|Lost connection|gone away")


class DatabaseFailed(AdminkitError):
    """The database gave no whole answer. `unreachable`: asking for less would not help."""

    def __init__(self, message: str, hint: str, unreachable: bool) -> None:
        super().__init__(message, hint)
        self.unreachable = unreachable


@dataclass(frozen=True, slots=True)
class Database:
    """slurmdbd's database, by the option file of its client. `timeout`: seconds for a question."""

    option_file: Path
    timeout: float

    def ask(self, sql: str) -> list[list[str]]:
        """The rows of a small answer without free text: cells of text. DatabaseFailed where none came."""
        with tempfile.TemporaryFile() as answer:
            self._run(sql, answer)
            answer.seek(0)
            text = answer.read().decode("utf-8", "replace")
        return [line.split("\t") for line in text.splitlines()]

    def spool(self, sql: str, target: Path) -> float:
        """The answer into `target`, one column a row. The seconds it took; DatabaseFailed leaves no file."""
        try:
            with target.open("wb") as answer:
                return self._run(sql, answer)
        except BaseException:
            target.unlink(missing_ok=True)
            raise

    def _run(self, sql: str, answer: IO[bytes]) -> float:
        check_option_file(self.option_file)
        program = next((one for one in PROGRAMS if shutil.which(one)), PROGRAMS[0])
        session = _SESSION.format(seconds=round(self.timeout), millis=round(self.timeout * 1000))
        argv = [
            program,
            f"--defaults-file={self.option_file}",
            "--batch",
            "--raw",
            "--quick",
            "--skip-column-names",
            "--binary-mode",
            "--local-infile=0",
            f"--connect-timeout={CONNECT}",
        ]
        try:
            return spool(argv, answer, self.timeout + CONNECT, typed=f"{session}{sql};\n")
        except NoSuchProgram as error:
            raise DatabaseFailed(
                "neither mariadb nor mysql is on PATH", "install the client of the database: mariadb-client", True
            ) from error
        except SlurmTimeout as error:
            raise DatabaseFailed(
                f"couldn't read slurmdbd's database: no answer within {self.timeout:g} s",
                "ask for less, or raise timeout in [sync]",
                False,
            ) from error
        except Refused as error:
            raise self._failure(error) from error

    def _failure(self, error: Refused) -> DatabaseFailed:
        said = error.output.strip().splitlines()
        message = said[-1] if said else error.message
        hint = next((hint for pattern, hint in _HINTS if re.search(pattern, message)), "look at the server's log")
        return DatabaseFailed(
            f"couldn't read slurmdbd's database: {quote(message, _SHOWN)}",
            hint.format(file=self.option_file),
            bool(_LOST.search(message)),
        )


def check_option_file(path: Path) -> None:
    """AdminkitError for an option file that is missing, that other users can read, or that they could have written."""
    try:
        facts = path.stat()
    except OSError as error:
        raise AdminkitError(
            f"couldn't read {path}: {cause(error)}", "write [client] with host, user, password and database into it"
        ) from error
    if not stat.S_ISREG(facts.st_mode):
        raise AdminkitError(f"{path} is not a file", "name an option file of the database's client")
    if facts.st_uid not in (0, os.geteuid()):
        raise AdminkitError(f"{path} belongs to uid {facts.st_uid}", "it has to belong to root or to this user")
    if facts.st_mode & (stat.S_IWGRP | stat.S_IRWXO):
        raise AdminkitError(f"others can read or change {path}, which has a password", f"chmod 0640 {path}")
