"""Who coordinates an account, as slurmdbd has it."""

from __future__ import annotations

from adminkit.slurm.process import ask

_PATIENCE = 10.0


def coordinators(account: str) -> list[str]:
    """The users who coordinate the account itself, in order. AdminkitError where slurmdbd does not answer."""
    words = ["sacctmgr", "-n", "-P", "show", "account", "withcoord", "format=account,coordinators"]
    return parse_coordinators(ask(words, _PATIENCE), account)


def parse_coordinators(text: str, account: str) -> list[str]:
    """`physics|ada,mei`. Trap: the accounts above an account coordinate it too, and are not listed here."""
    for line in text.split("\n"):
        name, bar, people = line.partition("|")
        if bar and name == account:
            return sorted({one.strip() for one in people.split(",") if one.strip()})
    return []
