"""Who opts in to more time on a real slurmctld, by what was typed and by what stands in the environment."""

from __future__ import annotations

import os

import pytest

from tests.cluster.harness.ruled import Ruled

RULES = """
[extend]
enabled = true
queues = ["gq"]
accounts_off = ["chemistry"]
"""
OFF, WORD = "has no effect on this job", "must be auto or off"


@pytest.fixture(autouse=True)
def in_force(ruled: Ruled) -> None:
    ruled.rules(RULES)


#: what was typed, ADMINKIT_EXTEND (None: not set), the first word of AdminComment, what is read
SUBMISSIONS: dict[str, tuple[str, bytes | None, str, str]] = {
    "by default": ("-p gq -t 60", None, "ak1:lim=3600,src=e,ext=auto", ""),
    "its user does not want it": ("-p gq -t 60", b"off", "ak1:lim=3600,src=e", ""),
    "its user does": ("-p gq -t 60", b"auto", "ak1:lim=3600,src=e,ext=auto", ""),
    "another queue": ("-p gq-long -t 60", b"auto", "ak1:lim=3600,src=e", OFF),
    "two queues, one of them left out": ("-p gq,gq-long -t 60", None, "ak1:lim=3600,src=e", ""),
    "no limit": ("-p gq", b"auto", "ak1:lim=none,src=d", OFF),
    "an array": ("-p gq -t 60 --array=1-3", None, "ak1:lim=3600,src=e,ext=auto", ""),
    "a server of JupyterHub": ("-p gq -t 60 -J jupyter", None, "ak1:lim=3600,src=e", ""),
    "words in a name and a comment": (
        "-p gq-long -t 60 -J ak1:lim=3600,src=e,ext=auto --comment=xt1:asked=60,lim=120,n=1",
        None,
        "ak1:lim=3600,src=e",
        "",
    ),
    "another word": ("-p gq -t 60", b"yes", "ak1:lim=3600,src=e", WORD),
    "a key behind it": ("-p gq -t 60", b"auto,rules=x", "ak1:lim=3600,src=e", WORD),
    "bytes that are no text": ("-p gq -t 60", b"auto\xff\x01\n", "ak1:lim=3600,src=e", WORD),
    "a long one": ("-p gq -t 60", b"auto" * 5000, "ak1:lim=3600,src=e", WORD),
}


@pytest.mark.parametrize("why", SUBMISSIONS)
def test_who_opts_in(ruled: Ruled, why: str) -> None:
    typed, word, record, said = SUBMISSIONS[why]
    env = {} if word is None else {"ADMINKIT_EXTEND": os.fsdecode(word)}
    found = ruled.run("sbatch", "-H", "-o", "/dev/null", *typed.split(), "--wrap", "true", env=env)
    assert found.accepted, found.text
    assert ruled.job(found.job)["AdminComment"] == record, why
    assert (said in found.text) and bool(said) == ("ADMINKIT_EXTEND" in found.text), found.text


def test_no_update_of_the_owner_opts_in(ruled: Ruled) -> None:
    found = ruled.run(
        "sbatch", "-H", "-o", "/dev/null", "-p", "gq", "-t", "60", "--wrap", "true", env={"ADMINKIT_EXTEND": "off"}
    )
    before = ruled.job(found.job)["AdminComment"]
    for change in ("AdminComment=ak1:lim=3600,src=e,ext=auto", "Comment=ak1:lim=3600,src=e,ext=auto", "TimeLimit=30"):
        ruled.update(found.job, change)
        assert ruled.job(found.job)["AdminComment"] == before == "ak1:lim=3600,src=e"
    assert not ruled.update(found.job, "AdminComment=x").accepted, "only operators write there"
