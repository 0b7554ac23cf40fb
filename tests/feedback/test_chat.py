"""Copies of letters in chat services: what is sent, to whom, and that nothing of it delays a letter."""

from __future__ import annotations

import io
import json
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.errors import AdminkitError
from adminkit.feedback.chat import MOST_TEXT, Chat, harmless, of_settings, read_services
from adminkit.feedback.letter import Letter
from adminkit.feedback.prefs import Prefs, write
from adminkit.feedback.send import run
from adminkit.trace.connect import writer
from tests.feedback import site
from tests.feedback.site import Kept, ended, synced, tools

LETTER = Letter("Job @everyone used 5 %", "Your job <!channel> ``` [x](http://evil.example/) *b* _i_\n", "")


@dataclass
class Server:
    """A chat service on loopback that keeps what it gets; `code` is its answer."""

    code: int = 200
    to: str = ""  # of a redirection
    got: list[tuple[str, str]] = field(default_factory=list)  # path, body
    port: int = 0


@pytest.fixture
def server() -> Iterator[Server]:
    kept = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            kept.got.append((self.path, body))
            self.send_response(kept.code)
            if kept.to:
                self.send_header("Location", kept.to)
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *words: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        kept.port = http.server_port
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        try:
            yield kept
        finally:
            http.shutdown()
            thread.join()


@pytest.fixture
def services(tmp_path: Path, server: Server) -> Path:
    path = tmp_path / "webhooks"
    path.write_text(
        f"# chat\nops json://127.0.0.1:{server.port}/ops\n"
        f"me rocket://{'a' * 17}%2F{'b' * 24}@127.0.0.1:{server.port}/@{{user}}\n"
        f"user json://127.0.0.1:{server.port}/to/{{user}}\n"
    )
    path.chmod(0o600)
    return path


def chat(services: Path, **changes: Any) -> Chat:
    return Chat(read_services(services), **{"offered": ("user", "me"), "operators": ("ops",), **changes})


@pytest.mark.parametrize(
    ("text", "not_in", "why"),
    [
        ("@everyone @here <@U1> <!channel>", ["@", "<", ">"], "nobody is called"),
        ("x```\n# y", ["x```"], "the block does not end"),
        ("[a](https://evil.example)", ["://"], "no link"),
        ("\u202egpj\x1b[2J\x07", ["\u202e", "\x1b", "\x07"], "nothing is reordered"),
    ],
)
def test_a_name_of_a_job_is_plain_text_in_a_block(text: str, not_in: list[str], why: str) -> None:
    for said in (harmless(text, "x"), harmless("x", text)):
        assert said.startswith("```\n") and said.endswith("\n```") and said.count("```") == 2
        assert not [one for one in not_in if one in said], why


def test_a_long_letter_is_cut_within_its_block() -> None:
    said = harmless("s", "y" * 9000)
    assert len(said) == MOST_TEXT + 8 and said.endswith("the email has the rest\n```")


def test_whose_service_gets_which_letter(services: Path, server: Server) -> None:
    service = chat(services)
    assert service.copy(LETTER, "ada", "user") == [] and service.copy(LETTER, None, None) == []
    assert service.copy(LETTER, "ada", None) == [], "who chose none gets none"
    assert service.copy(LETTER, "ada", "ops") == [], "users may not choose the operators' channel"
    assert [path for path, _ in server.got] == ["/to/ada", "/ops"]
    body = json.loads(server.got[0][1])
    assert "used 5 %" in body["message"] and "@everyone" not in server.got[0][1]


def test_rocket_chat_gets_it_for_the_user(services: Path, server: Server) -> None:
    assert chat(services).copy(LETTER, "ada", "me") == []
    ((path, body),) = server.got
    assert path == f"/hooks/{'a' * 17}/{'b' * 24}" and json.loads(body)["channel"] == "@ada"
    assert "@everyone" not in body and "://" not in body, "no link, and no picture of another host"


@pytest.mark.parametrize("name", ["../ops", "a/b", "a?b=c", "a#b", "", "\u00e4", "a b", "x" * 80])
def test_a_name_that_could_change_an_address_is_not_put_into_one(name: str, services: Path, server: Server) -> None:
    (note,) = chat(services).copy(LETTER, name, "user")
    assert "no such service, or it is not for users" in note and server.got == []


def test_a_service_that_fails_is_one_note(services: Path, server: Server) -> None:
    server.code = 500
    service = chat(services)
    notes = [note for _ in range(5) for note in service.copy(LETTER, "ada", "user")]
    assert len(notes) == 1 and len(server.got) == 1 and "127.0.0.1" not in notes[0]


def test_no_log_has_the_password_of_a_service(services: Path, server: Server) -> None:
    """Whatever apprise and what it uses write, to whoever listens to everything."""
    secret, written = ("a" * 17, "b" * 24), io.StringIO()
    handler, root = logging.StreamHandler(written), logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        notes = []
        for server.code in (200, 302, 500):
            notes += chat(services).copy(LETTER, "ada", "me")
        away = {"me": f"rocket://{'%2F'.join(secret)}@127.0.0.1:9/@{{user}}"}
        notes += Chat(away, ("me",), ()).copy(LETTER, "ada", "me")
        root.info("this is written")
    finally:
        root.setLevel(before)
        root.removeHandler(handler)
    assert len(notes) == 3 and "this is written" in written.getvalue()
    assert not [one for one in secret if one in written.getvalue() + " ".join(notes)], written.getvalue()


def test_a_service_is_not_followed_elsewhere(services: Path, server: Server) -> None:
    """Such as to an address inside: only the operators' file has addresses."""
    server.code, server.to = 302, f"http://127.0.0.1:{server.port}/inside"
    assert len(chat(services).copy(LETTER, "ada", "user")) == 1
    assert [path for path, _ in server.got] == ["/to/ada"]


def test_letters_go_whatever_the_service_does(services: Path, server: Server, tmp_path: Path) -> None:
    server.code = 503
    place, kept = site.folder(tmp_path), Kept()
    path = write(place, 1001, Prefs(chat="user"))
    os.chown(path, 1001, -1)
    with writer(synced(tmp_path / "t.db", [ended(1)])) as db:
        done = run(db, site.SETTINGS, tools(place, kept, chat=chat(services)))
    assert done.counts["sent"] == len(kept.messages) >= 1 and done.stopped == ""
    assert sum("chat user: it did not take a message" in note for note in done.notes) == 1


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("ops json://h/\n", 0o640, "is not secret"),
        ("ops\n", 0o600, "line 1: not NAME URL"),
        ("ops json://h/\nops json://g/\n", 0o600, "line 2: not NAME URL"),
        ("OPS json://secret.example/\n", 0o600, "line 1: not NAME URL"),
    ],
)
def test_a_mistake_in_the_file_is_named_without_its_addresses(
    text: str, mode: int, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "webhooks"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(AdminkitError, match=message) as error:
        read_services(path)
    assert "secret.example" not in error.value.message + error.value.hint


def test_a_name_that_the_file_lacks(services: Path) -> None:
    with pytest.raises(AdminkitError, match="opps"):
        of_settings(site.settings(webhook=services, operators_chat=("opps",)).feedback)
    assert of_settings(site.settings().feedback) is None


def test_a_user_chooses_one_that_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site.folder(tmp_path)
    (tmp_path / "c.toml").write_text(f'[feedback]\nprefs = "{tmp_path}/prefs"\nchat = ["mattermost"]\n')
    monkeypatch.setenv("ADMINKIT_CONFIG", str(tmp_path / "c.toml"))
    for name, code in (("ops", 2), ("http://10.0.0.1/", 2), ("mattermost", 0)):
        assert main(["feedback", "prefs", "--chat", name]) == code
    said = capsys.readouterr()
    assert "it offers: mattermost" in said.err and "mattermost" in said.out
    (tmp_path / "c.toml").write_text(f'[feedback]\nprefs = "{tmp_path}/prefs"\n')
    assert main(["feedback", "prefs"]) == 0 and "no longer offers" in capsys.readouterr().out
    assert main(["feedback", "prefs", "--chat", ""]) == 0
    assert "chat" not in (tmp_path / "prefs" / f"{os.getuid()}.toml").read_text()


def test_a_trial_message(
    services: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.toml").write_text(f'[feedback]\nwebhook = "{services}"\n')
    monkeypatch.setenv("ADMINKIT_CONFIG", str(tmp_path / "c.toml"))
    assert main(["feedback", "chat", "ops"]) == 0 and server.got == []
    assert main(["feedback", "chat", "user", "--user", "ada", "--send"]) == 0
    assert [path for path, _ in server.got] == ["/to/ada"]
    server.code = 500
    assert main(["feedback", "chat", "ops", "--send"]) == 1
    assert "couldn't send the message: chat ops: it did not take" in capsys.readouterr().err
    assert main(["feedback", "chat", "nope", "--send"]) == 2
