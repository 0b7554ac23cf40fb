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
