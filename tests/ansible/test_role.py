"""The role as far as it is text: its variables are documented, its secrets hidden; its linter finds nothing."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.ansible.tools import ANSIBLE, ROLE, environment, tool
from tools.docs import DOCS

SPECS = (ROLE / "meta/argument_specs.yml").read_text()
DOCUMENTED = set(re.findall(r"^      (adminkit_\w+):$", SPECS, re.MULTILINE))
TASKS = {path.name: path.read_text() for path in sorted((ROLE / "tasks").iterdir())}


def test_every_variable_has_a_meaning_and_a_default() -> None:
    defaults = set(re.findall(r"^(adminkit_\w+):", (ROLE / "defaults/main.yml").read_text(), re.MULTILINE))
    assert defaults | {"adminkit_parts"} == DOCUMENTED, "which part a host is has no default"
    used = set(re.findall(r"\b(?<!_)adminkit_(?!ckpt)\w+", "".join(TASKS.values())))
    assert used == DOCUMENTED


def test_a_default_is_the_one_that_is_documented() -> None:
    for name, value in re.findall(r"^(adminkit_\w+): (.+)$", (ROLE / "defaults/main.yml").read_text(), re.MULTILINE):
        block = re.split(r"\n      (?=adminkit_)", SPECS.partition(f"      {name}:\n")[2])[0]
        assert re.findall(r"^        default: (.+)$", block, re.MULTILINE) == [value], name


def test_the_page_names_no_other_variable() -> None:
    assert set(re.findall(r"(?<!vault_)\badminkit_\w+(?==|:)", (DOCS / "ansible.md").read_text())) <= DOCUMENTED


def test_tasks_with_a_secret_log_nothing() -> None:
    for name, text in TASKS.items():
        for task in re.split(r"^- ", text, flags=re.MULTILINE):
            assert "adminkit_smtp_login" not in task or "no_log: true" in task, name
    assert "no_log: true" in SPECS.partition("password:")[2]


def test_nothing_is_taken_from_a_collection() -> None:
    modules = set(re.findall(r"^  ([a-z_]+\.[a-z_.]+):", "".join(TASKS.values()), re.MULTILINE))
    assert modules and {module.rpartition(".")[0] for module in modules} == {"ansible.builtin"}


@pytest.mark.soak
def test_the_linter_finds_nothing() -> None:
    command = [tool("ansible-lint"), "--profile", "production", "--strict", "--offline"]
    done = subprocess.run(command, cwd=ANSIBLE, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
