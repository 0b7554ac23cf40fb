"""help_url of policy.toml: what may stand there, and that it reaches the table and the Offer that letters are given."""

from __future__ import annotations

import pytest

from adminkit.deploy.rehearse import check_table
from adminkit.lua.runtime import Lua
from adminkit.policy.explain import explain
from adminkit.policy.load import load_offer
from adminkit.policy.model import Policy
from tests.support.policies import compiled, parsed, policy


@pytest.mark.parametrize(
    "url",
    [
        "https://hpc.example.org/limits",
        "http://wiki/",
        "https://hpc.example.org",
        "https://hpc.example.org:8443/a/b.html?lang=ja&x=%E5%BE%85#why",
        "https://example.org/~hpc/it_is_(here)",
        "https://example.org/" + "a" * 180,
    ],
)
def test_an_address_of_a_page_is_taken(url: str) -> None:
    assert policy(f'version = 1\nhelp_url = "{url}"').help_url == url


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('""', "https://"),
        ('"hpc.example.org/limits"', "https://"),
        ('"ftp://example.org/"', "https://"),
        ('"javascript:alert(1)"', "https://"),
        ('"https://"', "https://"),
        ('"https:///limits"', "https://"),
        ('"https://user:secret@example.org/"', "https://"),
        ('"https://example.org/a b"', "https://"),
        ('"https://example.org/a\\nb"', "https://"),
        ('"https://example.org/\\u001b[31m"', "https://"),
        ('"https://example.org/\\u202e"', "https://"),
        ('"https://example.org/<b>"', "https://"),
        ("'https://example.org/\"'", "https://"),
        ('"https://example.org/\'"', "https://"),
        ('"https://example.org/{user}"', "https://"),
        ('"https://待.example.org/"', "https://"),
        (f'"https://example.org/{"a" * 181}"', "200 characters"),
        ("3", "https://"),
        ('["https://example.org/"]', "https://"),
    ],
)
def test_anything_else_is_refused_with_its_place(value: str, said: str) -> None:
    found, problems = parsed(f"version = 1\nhelp_url = {value}")
    assert found is None
    assert [one.places for one in problems] == [("help_url",)]
    assert said in problems[0].message


def test_it_is_unset_by_default_and_the_table_is_then_without_it() -> None:
    plain = policy("version = 1")
    assert (plain.help_url, plain.offer.help_url) == (None, None)
    assert "help_url" not in compiled(plain)
    assert all(name != "help_url" for name, _ in explain(plain))


def test_slurmctld_takes_the_table_with_it() -> None:
    text = compiled(with_url())
    check_table("policy", text)
    lua = Lua("lua51")
    assert lua.out(lua.table(text.encode(), "policy.lua"))["help_url"] == "https://example.org/"


def test_operators_read_of_it_and_letters_are_given_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("policy") / "policy.toml"
    path.write_text('version = 1\nhelp_url = "https://example.org/"\n')
    assert load_offer(path).help_url == "https://example.org/"
    assert "https://example.org/" in dict(explain(with_url()))["help_url"]


def with_url() -> Policy:
    return policy('version = 1\nhelp_url = "https://example.org/"')
