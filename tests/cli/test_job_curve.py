"""adminkit job: the GPUs of a job over time, from a Prometheus that is a table here; tests/web asks a real one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from adminkit import config
from adminkit.cli.main import main
from tests.support.builders import HOUR, MONDAY, job, make_trace

HOSTILE = "GPU-\x1b]0;owned\x07\u202e=cmd|'x'!A1"


@dataclass
class Prometheus:
    """`use`: node -> GPU -> shares, given for every part that is asked for, again and again. `asked`: the forms."""

    use: dict[str, dict[str, list[float | None]]] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)

    def answer(self, form: dict[str, str]) -> dict[str, Any]:
        start, end, step = (int(form[name].removesuffix("s")) for name in ("start", "end", "step"))
        times = range(start, end + 1, step)
        number = form["query"].split('"')[1]
        return {
            "resultType": "matrix",
            "result": [
                {
                    "metric": {"Hostname": node, "UUID": gpu, "hpc_job": number},
                    "values": [[at, str(shares[n % len(shares)])] for n, at in enumerate(times)
                               if shares[n % len(shares)] is not None],
                }
                for node, gpus in self.use.items() for gpu, shares in gpus.items()
            ],
        }  # fmt: skip


@pytest.fixture
def prometheus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Prometheus]:
    made = Prometheus()

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(text).items()}
            made.asked.append({"path": self.path, **form})
            body = json.dumps({"status": "success", "data": made.answer(form)}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            pass

    monkeypatch.setattr(config, "SYSTEM_CONFIG", tmp_path / "none.toml")
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("ADMINKIT_USAGE_PROMETHEUS", f"http://127.0.0.1:{server.server_address[1]}")
        yield made
        server.shutdown()


def ran(number: int, **changes: Any) -> Any:
    """A run of two hours on n1 and n2, with two GPUs."""
    times = {"start_time": MONDAY, "end_time": MONDAY + 2 * HOUR, "elapsed": 2 * HOUR}
    return job(number, **{**times, "gpus": 2, "nodes": 2, "node_list": "n[1-2]", **changes})


def page(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["job", *words, "--db", str(path), "-f", "json"]) == 0
    return json.loads(capsys.readouterr().out)["curve"]


def test_a_jobs_gpus_have_a_row_each_and_their_values(
    prometheus: Prometheus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_trace(tmp_path / "t.db", [ran(7)])
    prometheus.use = {"n1": {"GPU-a": [0, 0.5, 1, None]}, "n2": {"GPU-b": [0]}, "elsewhere": {"GPU-x": [1]}}
    found = page(path, capsys, "7")
    first, second = found["rows"]
    assert (first["node"], first["gpu"], first["source"], first["mean"]) == ("n1", "GPU-a", "dcgm", 0.5)
    assert (first["since"], first["step"], first["use"]) == (MONDAY, 150, "▁▅█·" * 12)
    assert second["mean"] == 0 and second["use"] == "▁" * 48
    assert found["values"][0]["values"] == [0, 0.5, 1, None] * 12
    (asked,) = prometheus.asked
    assert (asked["path"], asked["start"], asked["end"]) == (
        "/api/v1/query_range", str(MONDAY + 150), str(MONDAY + 2 * HOUR)
    )  # fmt: skip
    assert '"7"' in asked["query"] and "=~" not in asked["query"], "only this job"


def test_a_terminal_without_blocks_gets_letters(
    prometheus: Prometheus, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import sys

    path = make_trace(tmp_path / "t.db", [ran(7)])
    prometheus.use = {"n1": {"GPU-a": [0, 0.5, 1, None]}}
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["job", "7", "--db", str(path)]) == 0
    out.flush()
    assert b"_=#?_=#?" in out.buffer.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changes", "note", "asks"),
    [
        ({"gpus": 0, "gpu_type": None}, "no run with GPUs has started", False),
        ({"start_time": None, "end_time": None, "elapsed": None}, "no run with GPUs has started", False),
        ({"gpu_parts": "shard=4", "gpus": 0}, "not known: it had parts of GPUs, and others had the rest", False),
        ({}, "not known: Prometheus has no readings of its GPUs", True),
    ],
)  # fmt: skip
def test_where_there_is_no_curve_a_note_says_why(
    changes: dict[str, Any], note: str, asks: bool, prometheus: Prometheus, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    found = page(make_trace(tmp_path / "t.db", [ran(7, **changes)]), capsys, "7")
    assert (found["rows"], found["meta"]["notes"], bool(prometheus.asked)) == ([], [note], asks)


def test_the_last_runs_are_asked_about_and_many_gpus_are_cut(
    prometheus: Prometheus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [ran(20 + n, array_job=20, array_task=n, job_id=f"20_{n}") for n in range(5)]
    prometheus.use = {"n1": {f"GPU-{n:02}": [0.5] for n in range(30)}}
    found = page(make_trace(tmp_path / "t.db", runs), capsys, "20")
    assert [one["query"].split('"')[1] for one in prometheus.asked] == ["22", "23", "24"]
    assert len(found["rows"]) == 64 and found["meta"]["notes"] == ["the first 64 of 90 GPUs"]


def test_prometheus_away_leaves_the_rest_of_the_page(
    prometheus: Prometheus, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMINKIT_USAGE_PROMETHEUS", "http://127.0.0.1:9")
    runs = [ran(20 + n, array_job=20, array_task=n, job_id=f"20_{n}") for n in range(5)]
    assert main(["job", "20", "--db", str(make_trace(tmp_path / "t.db", runs))]) == 0
    out = capsys.readouterr().out
    assert out.count("couldn't ask http://127.0.0.1:9") == 1 and "How it ran" in out


def test_hostile_labels_steer_nothing(
    prometheus: Prometheus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prometheus.use = {"n1": {HOSTILE: [0.5]}}
    path = make_trace(tmp_path / "t.db", [ran(7)])
    assert main(["job", "7", "--db", str(path)]) == 0
    out = capsys.readouterr().out
    assert "GPU-" in out and not {"\x1b", "\x07", "\u202e"} & set(out)
