"""adminkit serve: what may be read, by whom, and that it is live, through Datasette's own client."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import stat
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from adminkit.cli.main import main
from adminkit.cli.operators import SERVE
from adminkit.config import Config
from adminkit.errors import AdminkitError
from adminkit.installed import data_file
from adminkit.integrations import datasette_sockets as sockets
from adminkit.integrations.datasette import application
from adminkit.integrations.datasette_gate import LOGIN, Gate
from adminkit.sqlite import sqlite3
from adminkit.stats.saved import saved_queries
from adminkit.trace import sight
from adminkit.trace.connect import writer
from adminkit.trace.exposed import READABLE, exposed
from tests.support.builders import HOUR, MONDAY, add_letters, job, letter, make_trace

httpx = pytest.importorskip("httpx", reason="not run: no datasette (pip install -e '.[serve]')")
pytest.importorskip("datasette", reason="not run: no datasette (pip install -e '.[serve]')")

HOSTILE = "<script>alert(1)</script>"
TOKEN = "a-token-of-many-characters"
JOBS = [job(1, eligible_time=MONDAY), job(2, elapsed=2 * HOUR), job(3, queue=HOSTILE), job(4, queue=None)]
QUERIES = [one.name for one in saved_queries(("COMPLETED",), 60, 85)]

Get = Callable[..., Any]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_trace(tmp_path_factory.mktemp("serve") / "trace.db", JOBS)
    with writer(path):
        pass  # it gets its -wal and -shm
    return add_letters(path, [letter(1)])


def asked(app: Any) -> Get:
    """get(path, **of httpx): the answer of an application, by its ASGI interface."""

    def get(path: str, method: str = "GET", **given: Any) -> Any:
        async def ask() -> Any:
            base = given.pop("base", "http://localhost")
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=base) as client:
                return await client.request(method, path, **given)

        return asyncio.run(ask())

    return get


@pytest.fixture(scope="module")
def served(trace: Path) -> Any:
    return application(trace, Config(), time_limit=1)


@pytest.fixture(scope="module")
def get(served: Any) -> Get:
    return asked(Gate(served))


def test_the_first_page_has_the_queries_and_the_tables_about_jobs_alone(get: Get) -> None:
    page = get("/trace").text
    for name in QUERIES:
        assert f'href="/trace/{name}"' in page
    found = {one["name"] for one in get("/trace.json").json()["tables"]}
    assert found == READABLE - {"run", "trace"}
    assert {one["name"] for one in get("/trace.json").json()["views"]} == {"run", "trace"}


@pytest.mark.parametrize("name", QUERIES)
def test_a_saved_query_has_its_page_its_rows_and_its_chart(get: Get, name: str) -> None:
    page = get(f"/trace/{name}")
    assert page.status_code == 200 and HOSTILE not in page.text
    assert ("svg" in page.text) == bool(re.search(f'<img src="/trace/{name}.svg" alt="', page.text))
    chart = get(f"/trace/{name}.svg")
    assert chart.headers["content-type"].startswith("image/svg+xml") and HOSTILE not in chart.text
    assert ET.fromstring(chart.text).tag.endswith("svg")


def test_what_a_reader_chooses_is_bound_and_reaches_the_chart(get: Get) -> None:
    rows = get("/trace/accuracy.json?_shape=array&queue=gq").json()
    assert [(one["queue"], one["jobs"], one["mean"]) for one in rows] == [("gq", 2, 0.375)]
    assert get("/trace/accuracy.json?_shape=array&queue=gq'--").json() == []
    assert 'src="/trace/accuracy.svg?queue=gq"' in get("/trace/accuracy?queue=gq").text
    assert get("/trace/accuracy.svg?queue=nobody").status_code == 404
    assert "<img" not in get("/trace/accuracy?queue=nobody").text


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("select address from outbox", "addresses"),
        ("select count(*) from main.OUTBOX", "not even how many"),
        ("with job as (select * from outbox) select * from job", "under another name"),
        ("select (select raw from rejected)", "inside an expression"),
        ("select line from action", "who did what"),
        ("select value from fact", "what adminkit notes for itself"),
        ("select * from job_aside", "what an audit took out"),
        ("explain select * from outbox", "its plan"),
        ("select load_extension('/tmp/x.so')", "code"),
        ("select readfile('/etc/passwd')", "files"),
        ("select * from dbstat", "pages"),
        ("select * from pragma_database_list", "a PRAGMA as a table"),
        ("attach '/etc/passwd' as x", "another file"),
        ("insert into job select * from job", "a write"),
        ("with x as (select 1) insert into job select * from job", "a write in disguise"),
        ("pragma query_only = 0", "what keeps it read-only"),
        ("select hex(zeroblob(100000000))", "more memory than an answer may have"),
    ],
)
def test_what_may_not_be_asked(get: Get, trace: Path, sql: str, why: str) -> None:
    answer = get(f"/trace.json?sql={quote(sql)}")
    assert answer.status_code == 400 and not answer.json().get("rows"), why
    with closing(exposed(trace)) as db, pytest.raises(sqlite3.Error):
        db.execute(sql).fetchall()  # without Datasette's own look at the statement


@pytest.mark.parametrize("sql", ["vacuum into '/tmp/x'", "create temp table x (a)", "begin", "pragma user_version=9"])
def test_the_connection_alone_changes_nothing(trace: Path, sql: str) -> None:
    with closing(exposed(trace)) as db, pytest.raises(sqlite3.DatabaseError, match="authoriz"):
        db.execute(sql)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/trace/outbox", 403), ("/trace/outbox.json", 403), ("/trace/rejected.csv", 403), ("/trace/fact/1", 403),
        ("/trace.db", 403), ("/_internal", 403), ("/_memory", 404), ("/trace/run.svg", 404),
        ("/trace/job", 200), ("/trace/run.json", 200), ("/trace?sql=select+count(*)+from+run", 200),
    ],
)  # fmt: skip
def test_a_page_is_there_or_not(get: Get, path: str, status: int) -> None:
    assert get(path).status_code == status


def test_a_query_ends_at_its_limit(get: Get) -> None:
    forever = "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r"
    answer = get(f"/trace.json?sql={quote(forever)}&_timelimit=20")
    assert answer.status_code == 400 and "took too long" in answer.json()["error"]
    assert get("/-/settings.json").json()["sql_time_limit_ms"] == 1000, "a reader may lower it, not raise it"


def test_errors_say_nothing_on_the_terminal_and_nobody_else_may_read(
    get: Get, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = get(f"/trace?sql={quote('select 1 from x' + chr(27) + '[31m')}", headers={"Origin": "http://evil.example"})
    assert answer.status_code == 400
    assert get("/nothing").status_code == 404
    assert capfd.readouterr() == ("", "")
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_what_a_writer_commits_is_there_at_once(trace: Path, get: Get) -> None:
    def many() -> int:
        return int(get("/trace.json?sql=select+count(*)+from+run&_shape=arrays").json()["rows"][0][0])

    before = many()
    with writer(trace) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO job (cluster, job_id_raw, submit_time) VALUES ('other', 1, 1)")
        assert many() == before, "a reader neither waits for an open transaction nor sees it"
        db.execute("COMMIT")
        assert many() == before + 1
        db.execute("DELETE FROM job WHERE cluster = 'other'")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert many() == before


@pytest.mark.parametrize(
    ("base", "status"),
    [("http://localhost:9000", 200), ("http://[::1]:9000", 200), ("http://adminkit.example", 200),
     ("http://rebound.example", 403)],
)  # fmt: skip
def test_a_name_that_nobody_gave_is_refused(served: Any, base: str, status: int) -> None:
    assert asked(Gate(served, ["Adminkit.example"]))("/", base=base).status_code == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("LocalHost:1", 200), ("[::1]", 200), ("[::1]:8001", 200), ("127.0.0.1", 200), ("[::1]evil", 403),
        ("[::1]evil:80", 403), ("[::1]:80.evil", 403), ("localhost:80evil", 403), ("localhost:", 403),
        ("localhost@evil", 403), ("localhost evil", 403), ("[::1", 403), ("", 403),
    ],
)  # fmt: skip
def test_the_host_is_one_name_and_a_port_and_nothing_else(get: Get, host: str, status: int) -> None:
    assert get("/", headers={"Host": host}).status_code == status


def test_a_job_called_like_an_address_is_no_link(trace: Path) -> None:
    page = asked(Gate(application(trace, Config(), time_limit=1)))
    for name in ("https://evil.example/x", "http://evil.example", " https://evil.example/y"):
        shown = page(f"/trace?sql={quote(f'select {name!r} as job_name')}").text
        assert f'href="{name.strip()}"' not in shown and name.strip() in shown


def test_the_cookie_of_another_port_is_nobodys(served: Any) -> None:
    gate = asked(Gate(served, token=TOKEN))
    first, second = "http://localhost:8001", "http://localhost:8002"
    cookie = gate(f"/{LOGIN}", "POST", base=first, data={"token": TOKEN}).headers["set-cookie"].partition(";")[0]
    assert cookie.startswith("ds_actor_8001=")
    assert gate("/trace", base=first, headers={"Cookie": f"a=b; {cookie}"}).status_code == 200
    assert gate("/trace", base=second, headers={"Cookie": cookie}).status_code == 401
    renamed = cookie.replace("ds_actor_8001", "ds_actor")
    assert gate("/trace", base=first, headers={"Cookie": renamed}).status_code == 401


#: Asks for 7 GB with 64 MiB to spare, then for a page.
_GREEDY = """
import sys
from pathlib import Path
from urllib.parse import quote
from adminkit.config import Config
from adminkit.integrations.datasette import application
from adminkit.integrations.datasette_gate import Gate
from adminkit.integrations.datasette_sockets import bound_memory
from tests.integrations.test_datasette import asked

get = asked(Gate(application(Path(sys.argv[1]), Config(), time_limit=60)))
assert get("/trace").status_code == 200
bound_memory(64 << 20)
rows = "with recursive n(i) as (select 1 union all select i + 1 from n limit 900)"
sql = f"{rows} select hex(zeroblob(4000000 + i)) from n"
answer = get(f"/trace.json?sql={quote(sql)}")
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(answer.status_code, get("/trace").status_code, int(peak.split()[1]) >> 10)
"""


def test_a_select_that_wants_all_memory_is_an_error_and_the_next_is_answered(trace: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _GREEDY, trace], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    greedy, after, peak = map(int, done.stdout.split()[-3:])
    assert greedy in (400, 500) and after == 200 and peak < 700, done.stdout


def test_the_threads_that_answer_are_there_before_memory_is_short(trace: Path) -> None:
    before = threading.active_count()
    served = application(trace, Config(), time_limit=1)
    assert threading.active_count() - before == served.setting("num_sql_threads") > 0


PATHS = ("/", "/trace", "/trace/accuracy.json", "/trace/accuracy.svg", "/-/static/app.css", "/favicon.ico",
         "/-/settings.json", "/nothing", f"/{LOGIN}")  # fmt: skip


@pytest.fixture(scope="module")
def get_by_token(served: Any) -> Get:
    return asked(Gate(served, token=TOKEN))


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_answered(get_by_token: Get, path: str) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer another"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Cookie": "ds_actor=eyJhIjp7ImlkIjoib3BlcmF0b3IifX0.forged"},
    ):
        answer = get_by_token(path, headers=headers)
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.text


def test_with_the_token_all_is(get_by_token: Get) -> None:
    for path in PATHS[:-2]:
        assert get_by_token(path, headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200


def test_a_login_gives_a_cookie_that_lasts_some_hours(get_by_token: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_by_token(f"/{LOGIN}", "POST", data={"token": "wrong"}).status_code == 401
    answer = get_by_token(f"/{LOGIN}", "POST", data={"token": f" {TOKEN} "})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and TOKEN not in cookie
    sent = {"Cookie": cookie.partition(";")[0]}
    assert get_by_token("/trace", headers=sent).status_code == 200
    now = time.time()
    monkeypatch.setattr("datasette.actor_auth_cookie.time.time", lambda: now + 13 * HOUR)
    assert get_by_token("/trace", headers=sent).status_code == 401


def test_below_a_path_links_and_the_login_are_there_too(trace: Path) -> None:
    below = asked(Gate(application(trace, Config(), time_limit=1, base_url="/kit/"), token=TOKEN))
    assert 'action="/kit/-/adminkit-login"' in below("/kit/").text
    assert below(f"/kit/{LOGIN}", "POST", data={"token": TOKEN}).headers["location"] == "/kit/"
    for path in ("/kit/trace/accuracy", "/trace/accuracy"):  # proxies pass it on, or do not
        page = below(path, headers={"Authorization": f"Bearer {TOKEN}"}).text
        assert 'src="/kit/trace/accuracy.svg"' in page and "kit/kit" not in page


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder whose path is short enough for a socket's, and the working directory: paths in it need no folder."""
    here = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(here)


def test_at_no_moment_is_the_socket_open_to_others(folder: Path, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    chmod = Path.chmod

    def watched(path: Path, mode: int) -> None:
        seen.append(stat.S_IMODE(path.stat().st_mode))
        chmod(path, mode)

    monkeypatch.setattr(Path, "chmod", watched)
    before = os.umask(0)
    try:
        with sockets.unix_socket(Path("s"), trace) as listening:
            assert seen == [0o600], "as it was bound"
            assert stat.S_IMODE(Path("s").stat().st_mode) == 0o660
            assert Path("s").stat().st_gid == trace.stat().st_gid
            with socket.socket(socket.AF_UNIX) as client, pytest.raises(ConnectionRefusedError):
                client.connect("s")  # it listens only when it has its mode
            listening.listen()
            with pytest.raises(AdminkitError, match="another server listens"), sockets.unix_socket(Path("s"), trace):
                pass
    finally:
        os.umask(before)
    assert not Path("s").exists()


def test_a_trace_that_its_group_may_not_read_has_a_socket_of_its_owner(folder: Path, trace: Path) -> None:
    own = folder / "own.db"
    own.touch(0o600)
    with sockets.unix_socket(Path("s"), own):
        assert stat.S_IMODE(Path("s").stat().st_mode) == 0o600


def test_a_dead_socket_is_replaced_and_nothing_else_is(folder: Path, trace: Path) -> None:
    dead = socket.socket(socket.AF_UNIX)
    dead.bind("s")
    dead.close()
    with sockets.unix_socket(Path("s"), trace):
        pass
    Path("s").write_text("mine")
    with pytest.raises(AdminkitError, match="already exists"), sockets.unix_socket(Path("s"), trace):
        pass
    assert Path("s").read_text() == "mine"
    (folder / "open").mkdir()
    (folder / "open").chmod(0o777)
    for place, why in (("open/s", "other users can put a socket"), ("none/s", "no such file"), ("x" * 120, "longer")):
        with pytest.raises(AdminkitError, match=why), sockets.unix_socket(Path(place), trace):
            pass


def test_a_token_is_secret_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    made = sockets.token_of(file)
    assert len(made) >= 32 and stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sockets.token_of(file) == made != sockets.token_of(None) != sockets.token_of(None)
    file.chmod(0o640)
    with pytest.raises(AdminkitError, match="not secret"):
        sockets.token_of(file)
    file.chmod(0o600)
    for text in ("", "short", "two words of a long token", "tokén-of-some-characters"):
        file.write_text(text)
        with pytest.raises(AdminkitError, match="no token"):
            sockets.token_of(file)
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(AdminkitError, match="couldn't read"):
        sockets.token_of(tmp_path / "link")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tcp", "0", "--socket", "x"], "cannot be combined"),
        (["--token-file", "x"], "needs --tcp"),
        (["--time-limit", "0"], "is not a time"),
        (["--base-url", "kit"], "is not a path"),
        (["--base-url", "/a b/"], "is not a path"),
        (["--tcp", "65536"], "65535"),
        (["--db", "/nonexistent/trace.db"], "no trace"),
    ],
)
def test_what_is_typed_wrong_is_said(
    no_settings: None, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["serve", *words]) in (1, 2)
    error = capsys.readouterr().err
    assert said in error and "hint: " in error


def test_without_the_extra_the_line_for_pip_is_said(
    no_settings: None, trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "datasette.app", None)
    assert main(["serve", "--db", str(trace), "--tcp", "0"]) == 1
    assert "pip install 'adminkit[serve]'" in capsys.readouterr().err


def test_only_operators_may_show_the_jobs_of_all(
    no_settings: None, trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sight, "sees_others", lambda path: False)
    assert main(["serve", "--db", str(trace), "--tcp", "0"]) == 2
    assert SERVE[0] in capsys.readouterr().err


def test_the_page_has_every_query_and_every_table() -> None:
    page = data_file("docs", "serve.md").read_text()
    for name in (*QUERIES, *READABLE):
        assert f"`{name}`" in page, name
