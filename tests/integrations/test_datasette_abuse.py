"""adminkit serve: what a page elsewhere, a form or a SELECT may not do to its readers."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="not run: no datasette (pip install -e '.[serve]')")
pytest.importorskip("datasette", reason="not run: no datasette (pip install -e '.[serve]')")

from adminkit.config import Config
from adminkit.integrations.datasette import application
from adminkit.integrations.datasette_gate import LOGIN, LOGOUT, Gate
from adminkit.integrations.datasette_watch import Watch
from tests.integrations.test_datasette import JOBS, TOKEN, asked
from tests.support.builders import make_trace


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_trace(tmp_path_factory.mktemp("abuse") / "trace.db", JOBS)


@pytest.fixture(scope="module")
def served(trace: Path) -> Any:
    return application(trace, Config(), time_limit=1)


@pytest.mark.parametrize(
    ("site", "mode", "dest", "method", "status"),
    [
        (None, None, None, "GET", 200),  # no browser
        ("none", "navigate", "document", "GET", 200),  # typed
        ("same-origin", "no-cors", "image", "GET", 200),
        ("cross-site", "navigate", "document", "GET", 200),  # a link in a wiki
        ("cross-site", "no-cors", "image", "GET", 403),  # whether it has a size says whether there are rows
        ("cross-site", "no-cors", "script", "GET", 403),
        ("cross-site", "cors", "empty", "GET", 403),
        ("cross-site", "navigate", "iframe", "GET", 403),
        ("same-site", "no-cors", "image", "GET", 403),  # another port of this host
        ("cross-site", "navigate", "document", "POST", 403),
    ],
)
def test_a_page_of_another_site_may_only_link(
    served: Any, site: str | None, mode: str, dest: str, method: str, status: int
) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest} if site else {}
    answer = asked(Gate(served))("/trace/accuracy.svg", method, headers=headers)
    assert answer.status_code == status
    for kind in ("resource", "opener"):
        assert answer.headers[f"cross-origin-{kind}-policy"] == "same-origin"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
@pytest.mark.parametrize("path", ["/", "/trace", "/-/messages", f"/{LOGOUT}", f"/{LOGIN}"])
def test_what_is_no_question_is_refused_before_its_body_is_read(served: Any, method: str, path: str) -> None:
    def body() -> Any:
        raise AssertionError("the body is read")
        yield b""

    async def never() -> Any:
        for part in body():
            yield part

    answer = asked(Gate(served))(path, method, content=never(), headers={"Content-Length": "1000000000"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


def test_who_logs_out_is_out(served: Any) -> None:
    gate = asked(Gate(served, token=TOKEN))
    base = "http://localhost:8001"
    given = gate(f"/{LOGIN}", "POST", base=base, data={"token": TOKEN}).headers["set-cookie"]
    taken = gate(f"/{LOGOUT}", "POST", base=base, headers={"Cookie": given.partition(";")[0]})
    assert (taken.status_code, taken.headers["location"]) == (303, "/")
    name, _, rest = taken.headers["set-cookie"].partition("=")
    assert name == given.partition("=")[0] and rest.startswith(";") and "Max-Age=0" in rest


def test_what_a_filter_may_not_ask_is_the_readers_mistake_and_no_error_of_the_server(served: Any) -> None:
    answer = asked(Gate(served))("/trace/job.json?_where=1+in+(select+address+from+outbox)")
    assert (answer.status_code, answer.json()["title"]) == (400, "Invalid SQL")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("ro\u200bot", r"ro\u200bot"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("a\n<b>", r"a\n&lt;b&gt;"),
        ("x" * 5000, "x" * 2047 + "…"),
        ("日本 é", "日本 é"),
    ],
)
def test_a_name_on_a_page_looks_like_no_others(served: Any, name: str, shown: str) -> None:
    page = asked(Gate(served))("/trace", params={"sql": "select :name as job_name", "name": name}).text
    cell = page.partition('<td class="col-job_name">')[2].partition("</td>")[0]
    assert cell.strip() == shown
    rows = asked(Gate(served))("/trace.json", params={"sql": "select :name as job_name", "name": name}).json()["rows"]
    assert rows == [[name]], "the data is whole"


#: One step of SQLite that takes hours: it asks nobody meanwhile.
_ENDLESS = "select instr(zeroblob(16000000), zeroblob(8000000) || x'01')"

_HELD = f"""
import sys
from pathlib import Path
from urllib.parse import quote
from adminkit.config import Config
from adminkit.integrations.datasette import application
from adminkit.integrations.datasette_gate import Gate
from adminkit.integrations.datasette_watch import Watch
from tests.integrations.test_datasette import asked

watch = Watch(2)
get = asked(Gate(application(Path(sys.argv[1]), Config(), time_limit=1, watch=watch)))
watch.start()
print(get("/trace").status_code, flush=True)
get("/trace.json?sql=" + quote("{_ENDLESS}"))
"""


def test_a_server_that_a_select_would_hold_for_hours_ends_for_its_unit_to_start_it_again(trace: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _HELD, trace], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "200\n")
    assert done.stderr == (
        "a query did not end at its time limit, because one function takes too long: the server is shutting down\n"
    )


def test_what_ends_in_time_is_not_held_against_later_ones() -> None:
    ended = threading.Event()
    watch = Watch(0.0, ended.set, every=0.01)
    for _ in range(3):
        with watch.over():
            pass
    watch.start()
    assert not ended.is_set(), "nothing has begun"
    with watch.over():
        assert ended.wait(60)


_SORTED = """
import sys
from contextlib import closing
from pathlib import Path
from adminkit.integrations.datasette_sockets import bound_memory
from adminkit.trace.exposed import exposed

bound_memory(file=4 << 20)
rows = "with recursive n(i) as (select 1 union all select i + 1 from n limit 2000)"
sql = f"{rows} select i, randomblob(10000) as r from n order by r"
with closing(exposed(Path(sys.argv[1]))) as db:
    try:
        print(db.execute(sql).fetchone())
    except Exception as error:
        print(type(error).__name__, db.execute("select 1").fetchone())
"""


def test_a_sort_writes_no_file_above_its_bound_and_the_next_question_is_answered(trace: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _SORTED, trace], capture_output=True, text=True, check=False)
    assert done.stdout == "OperationalError (1,)\n", done
