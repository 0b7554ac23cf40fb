"""Who a user is on this host, and where their letters go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as how
from hypothesis import strategies as st

from adminkit.errors import AdminkitError
from adminkit.feedback.prefs import Prefs, is_address
from adminkit.feedback.recipients import read_addresses
from tests.feedback.site import people, settings


@pytest.mark.parametrize(
    ("chosen", "mapped", "domain", "expected", "why"),
    [
        (None, {}, "example.org", "ada@example.org", "user@domain"),
        (None, {"ada": "lovelace@lab.example"}, "example.org", "lovelace@lab.example", "the map"),
        ("me@home.example", {"ada": "lovelace@lab.example"}, "example.org", "me@home.example", "their own choice"),
        (None, {"bob": "b@lab.example"}, None, None, "none at all"),
        (None, {}, "exa mple.org\r\nBcc: x@y.z", None, "a domain that is none is no address"),
    ],
)
def test_an_address(
    chosen: str | None, mapped: dict[str, str], domain: str | None, expected: str | None, why: str
) -> None:
    assert people(settings(domain=domain), mapped).address("ada", Prefs(address=chosen)) == expected, why


@pytest.mark.parametrize(
    ("address", "mapped", "changes", "allowed", "why"),
    [
        ("ada@example.org", {}, {}, True, "the domain"),
        ("x.y@EXAMPLE.Org", {}, {}, True, "in any case"),
        ("ada@lab.example", {"bob": "b@lab.example"}, {}, True, "one of the map"),
        ("ada@lab.example", {}, {}, False, "anybody's"),
        ("ada@mail.example.org", {}, {}, False, "below it is another"),
        ("ada@evil-example.org", {}, {}, False, "and so is what ends like it"),
        ("ada@example.org.evil.example", {}, {}, False, "or begins so"),
        ("ada@mail.example.org", {}, {"domains": ("example.org", "*.example.org")}, True, "a pattern"),
        ("ada@example.org", {}, {"domains": ("lab.example",)}, False, "what is set counts alone"),
        ("b@lab.example", {"bob": "b@lab.example"}, {"domains": ("example.org",)}, False, "for the map, too"),
        ("ada@example.org", {}, {"domain": None}, False, "none is allowed where none is named"),
    ],
)
def test_a_letter_may_go_to_allowed_domains_only(
    address: str, mapped: dict[str, str], changes: dict[str, Any], allowed: bool, why: str
) -> None:
    assert people(settings(**changes), mapped).allows(address) == allowed, why


def test_a_user_name_that_is_no_address_gets_none() -> None:
    assert people().address("ada\r\nBcc: eve@example.org, x", Prefs()) is None


def test_a_map_of_addresses(tmp_path: Path) -> None:
    file = tmp_path / "addresses"
    file.write_text("# who where\nada  lovelace@lab.example\n\nbob: bob@x.example # as in aliases\n")
    assert read_addresses(file) == {"ada": "lovelace@lab.example", "bob": "bob@x.example"}
    assert read_addresses(None) == {}


@pytest.mark.parametrize(
    "line", ["ada", "ada a@b.c d@e.f", "ada /dev/null", "ada |/bin/sh", "ada: :include:/etc/x", "ada a@b.c,d@e.f"]
)
def test_a_slip_in_the_map_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "addresses"
    file.write_text(f"bob b@c.d\n{line}\n")
    with pytest.raises(AdminkitError, match="line 2: not USER ADDRESS"):
        read_addresses(file)


@how(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from([b"ada a@b.c", b"bob: b@b.c # x", b"#", b""]))))
def test_whatever_a_map_holds_is_addresses_or_a_slip_with_its_line(tmp_path: Path, lines: list[bytes]) -> None:
    file = tmp_path / "addresses"
    file.write_bytes(b"\n".join(lines))
    try:
        found = read_addresses(file)
    except AdminkitError as error:
        assert "line " in error.message and error.hint
    else:
        assert all(is_address(address) and user.split() == [user] for user, address in found.items())


@pytest.mark.parametrize(("place", "why"), [("nothing", "couldn't read"), (".", "is a folder, not a plain file")])
def test_a_map_that_cannot_be_read_is_an_error(tmp_path: Path, place: str, why: str) -> None:
    with pytest.raises(AdminkitError, match=why):
        read_addresses(tmp_path / place)


@pytest.mark.parametrize(
    ("host", "user", "expected", "why"),
    [
        ("u.dot", "u.dot", None, "the same"),
        ("Upper.Case", "Upper.Case", None, "slurmdbd has PreserveCaseUser"),
        ("Upper.Case", "upper.case", None, "slurmdbd keeps names in lower case"),
        ("upper.case", "Upper.Case", "unknown", "which does not make capitals"),
        ("ada@EXAMPLE.ORG", "ada@example.org", None, "the realm too"),
        ("ada@EXAMPLE.ORG", "ada", "unknown", "the name without its realm is another"),
        (None, "u.dot", "unknown", "nobody has the uid"),
    ],
)
def test_a_uid_is_its_users(host: str | None, user: str, expected: str | None, why: str) -> None:
    assert replace(people(), names={1001: host}.get).refused(user, 1001, None) == expected, why


@pytest.mark.parametrize(
    ("user", "mapped", "expected"),
    [
        ("u.dot", {}, "u.dot@example.org"),
        ("1digit", {}, "1digit@example.org"),
        ("a" * 40, {}, f"{'a' * 40}@example.org"),
        ("ada@EXAMPLE.ORG", {}, None),
        ("ada@EXAMPLE.ORG", {"ada@EXAMPLE.ORG": "ada@example.org"}, "ada@example.org"),
    ],
)
def test_a_name_from_a_directory_has_an_address(user: str, mapped: dict[str, str], expected: str | None) -> None:
    assert people(settings(), mapped).address(user, Prefs()) == expected
