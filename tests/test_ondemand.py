"""The widget for Open OnDemand's dashboard, run by Ruby's ERB with a program in the place of `adminkit my`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from adminkit.reports.my import JOBS

WIDGET = Path(__file__).parents[1] / "etc/ondemand/_adminkit.html.erb"
HOSTILE = "<script>alert(1)</script>&\"'"
RUN = {"job_id": "7", "job_name": "train", "state": "COMPLETED", "elapsed": 5400, "limit": 36000, "cpu": 0.5,
       "mem_share": None, "gpu": 0.25}  # fmt: skip


def shown(folder: Path, answer: str | None, code: int = 0) -> str:
    """The widget's HTML where `adminkit my` prints that answer; None: there is no adminkit."""
    if answer is not None:
        (folder / "answer").write_text(answer)
        program = folder / "adminkit"
        program.write_text(f"#!/bin/sh\n/bin/cat {folder}/answer\nexit {code}\n")
        program.chmod(0o755)
    ruby = shutil.which("ruby")
    if ruby is None:
        pytest.skip("not run: no ruby (apt-get install ruby)")
    render = "require 'erb'; print ERB.new(File.read(ARGV[0]), trim_mode: '-').result"
    env = {**os.environ, "PATH": str(folder), "LANG": "C.UTF-8"}
    return subprocess.run([ruby, "-e", render, WIDGET], env=env, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("answer", "code", "has", "why"),
    [
        (json.dumps({"jobs": {"rows": [RUN]}}), 0, ["<td>train</td>", "<td>1.5 h</td>", "<td>10.0 h</td>",
         "<td>50 %</td>", "<td>–</td>", "<td>25 %</td>"], "a run; what was not measured is not 0"),
        (json.dumps({"jobs": {"rows": [RUN | {"job_name": HOSTILE}]}}), 0,
         ["<td>&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;</td>"], "a hostile name"),
        (json.dumps({"jobs": {"rows": []}}), 0, ["No job of yours ended"], "no run"),
        (json.dumps({"jobs": {"rows": "x"}}), 0, ["not known"], "another shape"),
        ("adminkit: no trace", 1, ["not known"], "it fails"),
        ("no JSON", 0, ["not known"], "another text"),
        (None, 0, ["not known"], "it is not installed"),
    ],
)  # fmt: skip
def test_what_the_widget_shows(tmp_path: Path, answer: str | None, code: int, has: list[str], why: str) -> None:
    html = shown(tmp_path, answer, code)
    assert all(one in html for one in has), why
    assert "<script>" not in html


def test_the_command_answers_what_the_widget_shows() -> None:
    asked = set(re.findall(r'run\["(\w+)"\]', WIDGET.read_text()))
    assert asked == set(RUN)
    assert asked <= {field.name for field in JOBS}
