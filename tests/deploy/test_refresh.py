"""Who passes is looked up again: only that changes, and a rollback goes back as before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adminkit.deploy import refresh as module
from adminkit.deploy.bundle import Bundle
from adminkit.deploy.files import read_text, table_path
from adminkit.deploy.install import Target, apply, roll_back
from adminkit.deploy.program import shipped
from adminkit.deploy.refresh import look, refresh, refreshed
from adminkit.errors import AdminkitError
from adminkit.policy.compile import policy_table, policy_text
from adminkit.slurm.site import Site, SiteQueue
from tests.deploy.test_install import folder, slurm
from tests.support.fakes import Programs
from tests.support.policies import policy as policy_of

__all__ = ["folder", "slurm"]

#: root, SlurmUser, and two operators; grace is exempt by name.
ROOT, SLURM, OPS, BOSS, GRACE = 0, 64030, 2001, 2002, 1002
TEXT = 'version = 1\n[exempt]\nusers = ["grace"]\n[[rules]]\nname = "a"\nqueues = ["gq"]\nmax_limit = "%d:00:00"\n'


def text(*privileged: int, hours: int = 3) -> str:
    site = Site("alpha", (SiteQueue("gq"),), frozenset({ROOT, *privileged}), {"grace": GRACE})
    return policy_text(policy_table(policy_of(TEXT % hours), site, 1))


CASES = {
    "nothing changed": ({SLURM, OPS}, {SLURM, OPS}, (), ()),
    "one is no operator any more": ({SLURM, OPS, BOSS}, {SLURM, OPS}, (BOSS,), ()),
    "one is an operator now": ({SLURM}, {SLURM, OPS}, (), (OPS,)),
    "both at once": ({SLURM, OPS}, {SLURM, BOSS}, (OPS,), (BOSS,)),
    "who is exempt by name stays, an operator or not": ({GRACE}, set(), (), ()),
    "nobody is left but root and whom the file names": ({OPS, BOSS}, set(), (OPS, BOSS), ()),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_policy_that_an_install_would_make_with_todays_operators(case: str) -> None:
    before, after, gone, come = CASES[case]
    found = refreshed(text(*before), {ROOT, *after})
    assert (found.gone, found.come) == (gone, come)
    assert found.text == text(*after)


def test_who_has_no_name_for_a_moment_passes_on_while_an_operators_name_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OPS cannot be looked up, by name or by uid; BOSS can, and is no operator any more."""
    monkeypatch.setattr("adminkit.deploy.refresh.name_of", {BOSS: "boss"}.get)
    found = refreshed(text(SLURM, OPS, BOSS), {ROOT, SLURM}, unsure=True)
    assert (found.gone, found.come, found.text) == ((BOSS,), (), text(SLURM, OPS))
    assert refreshed(text(SLURM, OPS, BOSS), {ROOT, SLURM}).gone == (OPS, BOSS)


BROKEN = {
    "a uid more, by hand": (lambda old: old.replace("[0] = true,\n", "[0] = true,\n    [7] = true,\n", 1), "by hand"),
    "another limit, by hand": (lambda old: old.replace("10800", "99999"), "by hand"),
    "code behind it": (lambda old: old + "x = 1\n", "was not made by this adminkit"),
    "an entry that is not ours": (
        lambda old: old.replace("return {\n", "return {\n x = 1,\n"), "was not made by this adminkit",
    ),
    "without the names that the file has": (
        lambda old: re.sub(r'  \["exempt_named"\] = \{\n.*\n  \},\n', "", old), "was not made by this adminkit",
    ),
    "empty": (lambda old: "", "was not made by this adminkit"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_policy_that_is_not_as_adminkit_wrote_it_is_left_alone(case: str) -> None:
    change, why = BROKEN[case]
    broken = change(text(OPS))
    assert broken != text(OPS)
    with pytest.raises(AdminkitError, match=why):
        refreshed(broken, {ROOT})


def target(folder: Path) -> Target:
    return Target(folder, log=folder.parent / "acts.jsonl", patience=0.0)


def install(folder: Path, content: str) -> None:
    apply(Bundle({"policy": content}, shipped()), target(folder), "policy install")


def there(folder: Path, kind: str = "") -> str | None:
    return read_text(table_path(folder, "policy", kind))


def test_it_is_put_in_place_confirmed_and_on_record(folder: Path, slurm: Programs) -> None:
    install(folder, text(OPS, BOSS))
    found, done = refresh(target(folder), {ROOT, OPS})
    assert found is not None and done is not None
    assert (found.gone, done.confirmed) == ((BOSS,), True)
    assert there(folder) == there(folder, "good") == text(OPS)
    assert there(folder, "previous") is None, "a rollback would let the former operator pass again"
    log = (folder.parent / "acts.jsonl").read_text()
    assert '"what": "policy refresh"' in log.splitlines()[-1]


def test_where_nothing_changed_nothing_is_written(folder: Path, slurm: Programs) -> None:
    install(folder, text(OPS))
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert refresh(target(folder), {ROOT, OPS})[1] is None
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_look_writes_nothing(folder: Path, slurm: Programs) -> None:
    install(folder, text(OPS))
    found = look(target(folder), {ROOT})
    assert found is not None and found.gone == (OPS,)
    assert there(folder) == text(OPS)


def test_a_rollback_goes_back_by_one_install_with_todays_operators(folder: Path, slurm: Programs) -> None:
    install(folder, text(OPS, BOSS, hours=2))
    install(folder, text(OPS, BOSS, hours=3))
    refresh(target(folder), {ROOT, OPS})
    assert there(folder, "previous") == text(OPS, hours=2)
    roll_back(["policy"], target(folder), "policy rollback")
    assert there(folder) == text(OPS, hours=2)


def test_a_previous_policy_that_was_changed_by_hand_stays_as_it_is(folder: Path, slurm: Programs) -> None:
    install(folder, text(OPS, hours=2))
    install(folder, text(OPS, hours=3))
    odd = text(OPS, hours=2).replace("7200", "7260")
    table_path(folder, "policy", "previous").write_text(odd)
    refresh(target(folder), {ROOT})
    assert there(folder, "previous") == odd


def test_without_rules_there_is_nothing_to_do(folder: Path, slurm: Programs) -> None:
    assert refresh(target(folder), {ROOT}) == (None, None)
    assert look(target(folder), {ROOT}) is None
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["", "good"])
def test_a_damaged_policy_and_an_unfinished_install_are_for_a_person(folder: Path, slurm: Programs, kind: str) -> None:
    install(folder, text(OPS))
    table_path(folder, "policy", kind).write_text("return {")
    with pytest.raises(AdminkitError, match="damaged"):
        refresh(target(folder), {ROOT})


def test_what_is_installed_meanwhile_is_not_undone(
    folder: Path, slurm: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody installs twice between the new policy and the care for the previous one."""
    install(folder, text(OPS, hours=2))
    install(folder, text(OPS, hours=3))
    real = module.apply

    def and_then(bundle: Bundle, at: Target, what: str) -> object:
        done = real(bundle, at, what)
        install(folder, text(hours=4))
        install(folder, text(hours=5))
        return done

    monkeypatch.setattr(module, "apply", and_then)
    refresh(target(folder), {ROOT})
    assert (there(folder), there(folder, "previous")) == (text(hours=5), text(hours=4))
