"""Other engines that read the months of a trace: Spark with two workers, and ClickHouse's engine in a process.

They get a Python environment of their own below build/, as no part of adminkit needs them.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

PACKAGES: Final = ("pyspark==4.3.0", "chdb==4.4.0")
WORKERS: Final = 2
_FOLDER: Final = Path(__file__).resolve().parents[2] / "build" / "engines"
_SECONDS: Final = 1200.0

_CLICKHOUSE: Final = """
import json, sys
from chdb import session
asked = json.load(sys.stdin)
db = session.Session()
for statement in asked["views"]:
    db.query(statement)
settings = " SETTINGS output_format_json_quote_64bit_integers = 0"
answers = {}
for name, query in asked["queries"].items():
    answers[name] = [json.loads(line) for line in str(db.query(query + settings, "JSONEachRow")).splitlines()]
print(json.dumps(answers))
"""
#: Says besides how many workers ran tasks. Traps: a driver binds to the host's name unless told, and without eager
#: workers a small query runs on the first that there is.
_SPARK: Final = """
import json, sys, time
from pyspark.sql import SparkSession
asked = json.load(sys.stdin)
made = SparkSession.builder.master(asked["master"]).config("spark.sql.session.timeZone", "UTC")
for name, value in asked["settings"].items():
    made = made.config(name, value)
spark = made.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
while executors().size() <= asked["workers"]:
    time.sleep(0.2)
for statement in asked["views"]:
    spark.sql(statement)
answers = {name: [row.asDict() for row in spark.sql(query).collect()] for name, query in asked["queries"].items()}
answers["workers"] = executors().size() - 1
spark.stop()
print(json.dumps(answers, default=float))
"""

Rows = list[dict[str, Any]]


def python() -> Path:
    """The Python of the environment, which is made first. Skips the test where that cannot be."""
    found, done = _FOLDER / "bin" / "python", _FOLDER / " ".join(PACKAGES)
    if not done.exists():
        shutil.rmtree(_FOLDER, ignore_errors=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", _FOLDER], check=True)
            subprocess.run([found, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES], check=True)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"not run: couldn't install {' and '.join(PACKAGES)}: {error}")
        done.touch()
    return found


def clickhouse(views: Sequence[str], queries: Mapping[str, str]) -> dict[str, Rows]:
    return _ask(_CLICKHOUSE, {"views": views, "queries": queries}, os.environ)


def spark(views: Sequence[str], queries: Mapping[str, str], folder: Path) -> dict[str, Rows]:
    """The answers of a cluster that is started for them on loopback, and under "workers" how many took part."""
    if not shutil.which("java"):
        pytest.skip("not run: no java (apt-get install default-jre-headless)")
    with _cluster(folder) as (master, settings, env):
        asked = {"views": views, "queries": queries, "master": master, "settings": settings, "workers": WORKERS}
        return _ask(_SPARK, asked, env)


def _ask(program: str, asked: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Rows]:
    answer = subprocess.run(
        [python(), "-c", program], input=json.dumps(asked), env=dict(env), capture_output=True, text=True,
        timeout=_SECONDS,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-4000:]
    answers: dict[str, Rows] = json.loads(answer.stdout.splitlines()[-1])
    return answers


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    """A master and its workers; others of the host, who could run programs as this user, do not know the secret."""
    home = python().parent.parent / "lib" / f"python3.{sys.version_info[1]}" / "site-packages" / "pyspark"
    settings = {
        "spark.authenticate": "true", "spark.authenticate.secret": secrets.token_hex(16), "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "4", "spark.cores.max": str(WORKERS), "spark.executor.cores": "1",
        "spark.master.rest.enabled": "false",
    }  # fmt: skip
    folder.mkdir(mode=0o700)
    (folder / "spark.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    env = {
        **os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(folder),
        "SPARK_WORKER_DIR": str(folder / "work"), "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": str(python()),
    }  # fmt: skip
    words = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "--properties-file", str(folder / "spark.conf")]
    processes: list[subprocess.Popen[bytes]] = []

    def started(kind: str, name: str, *more: str) -> Path:
        log = folder / f"{name}.log"
        with log.open("wb") as out:
            program = f"org.apache.spark.deploy.{kind.lower()}.{kind}"
            command = [home / "bin" / "spark-class", program, *words, *more]
            processes.append(subprocess.Popen(command, env=env, stdout=out, stderr=out))
        return log

    try:
        log = started("Master", "master")
        master = _said(log, "Starting Spark master at ", processes[0])
        for place in range(WORKERS):
            started("Worker", f"worker{place}", "--cores", "1", "--memory", "700m", master)
        yield master, settings, env
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def _said(log: Path, words: str, process: subprocess.Popen[bytes]) -> str:
    """The word behind `words` in what the process says."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and process.poll() is None:
        _, found, rest = log.read_text(errors="replace").partition(words)
        if found and "\n" in rest:
            return rest.split()[0]
        time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace")[-4000:])
