"""Who coordinates an account, as slurmdbd has it."""

from __future__ import annotations

from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.slurm.process import ask

_PATIENCE = 30.0


def coordinators(account: str) -> list[str]:
    """The users who coordinate the account itself, in order. AdminkitError where slurmdbd does not tell."""
    words = ["sacctmgr", "-n", "-P", "show", "account", f"name={account}", "withcoord", "format=account,coordinators"]
    return parse_coordinators(ask(words, _PATIENCE), account)


def every_coordinator() -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Account -> the users who coordinate it, and the accounts of which that cannot be read. AdminkitError where
    slurmdbd does not tell.
    """
    words = ["sacctmgr", "-n", "-P", "show", "account", "withcoord", "format=account,coordinators"]
    return parse_every(ask(words, _PATIENCE))


def parse_every(text: str) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """A line for each account. Trap: a name with a line break makes a line of its author's: an account that has two
    lines, or whose line is followed by one without a bar, is doubtful.
    """
    found: dict[str, tuple[str, ...]] = {}
    doubtful, last = set[str](), ""
    for line in text.split("\n"):
        account, bar, people = line.partition("|")
        if not bar:
            doubtful |= {last} if line and last else set()
            continue
        doubtful |= {account} if account in found else set()
        found[account] = tuple(sorted({one.strip() for one in people.split(",") if one.strip()}))
        last = account
    return {name: people for name, people in found.items() if name not in doubtful}, sorted(doubtful)


def parse_coordinators(text: str, account: str) -> list[str]:
    """`physics|ada,mei`, the one line of the answer. AdminkitError where it is not of this account, or has more.

    Traps: sacctmgr escapes nothing, and a coordinator may give a user a name with a line break. The accounts above an
    account coordinate it too, and are not listed here.
    """
    lines = text.removesuffix("\n").split("\n")
    name, bar, people = lines[0].partition("|")
    if len(lines) > 1:
        raise AdminkitError(
            f"couldn't read who coordinates {quote(account)}: slurmdbd says more than one line",
            "look for a name with a line break: sacctmgr show account withcoord",
        )
    if not bar or name != account:
        raise AdminkitError(f"slurmdbd does not list the account {quote(account)}", "sacctmgr show account lists them")
    return sorted({one.strip() for one in people.split(",") if one.strip()})
