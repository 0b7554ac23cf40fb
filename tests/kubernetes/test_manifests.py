"""The manifests of etc/kubernetes: what no pod may have, and (by `make soak`) what the schemas of Kubernetes say."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from adminkit.config import load
from tests.ansible.tools import environment, tool
from tools.docs import ROOT

FOLDER = ROOT / "etc/kubernetes"
PODS = [path for path in sorted(FOLDER.glob("*.yaml")) if "containers:" in path.read_text()]


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_every_container_is_without_rights(path: Path) -> None:
    text = path.read_text()
    containers = len(re.findall(r"^ +image: ", text, re.MULTILINE))
    for right in ("readOnlyRootFilesystem: true", "allowPrivilegeEscalation: false", "capabilities: {drop: [ALL]}"):
        assert text.count(right) == containers, right
    assert text.count("automountServiceAccountToken: false") == 1, "no adminkit asks the API"
    assert "runAsNonRoot: true" in text and not re.search(r"runAsUser: 0|privileged|hostPath|subPath", text)


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_every_command_is_one_of_adminkit(path: Path) -> None:
    (words,) = re.findall(r"^ +args: \[(.*)\]$", path.read_text(), re.MULTILINE)
    command = [str(ROOT / ".venv/bin/adminkit"), *(word.strip('"') for word in words.split(", ")), "--help"]
    subprocess.run(command, check=True, capture_output=True)


def test_the_settings_are_ones_that_there_are() -> None:
    assert load({"ADMINKIT_CONFIG": str(FOLDER / "adminkit.toml")}).sync.since == "90d"


def test_what_is_applied_is_what_lies_there() -> None:
    listed = re.findall(r"[\w-]+\.yaml", (FOLDER / "kustomization.yaml").read_text())
    assert sorted({*listed, "kustomization.yaml"}) == sorted(path.name for path in FOLDER.glob("*.yaml"))


@pytest.mark.soak
@pytest.mark.parametrize("release", ["1.29", "1.33", "1.37"])
def test_kubernetes_takes_what_kustomize_makes(release: str, tmp_path: Path) -> None:
    """1.29 is the first that starts sidecars before the others."""
    if not shutil.which("kubectl"):
        pytest.skip("not run: kubectl is not installed")
    made = subprocess.run(["kubectl", "kustomize", str(FOLDER)], check=True, capture_output=True, text=True).stdout
    whole = tmp_path / "all.yaml"
    whole.write_text(made)
    command = [tool("kubernetes-validate"), "--strict", "-k", release, str(whole)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count(" passed ") == 5
