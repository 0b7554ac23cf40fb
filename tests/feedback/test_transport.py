"""How letters leave: by SMTP, by sendmail, into a folder; and what each failure means for this letter and the next."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from adminkit.config import Feedback
from adminkit.errors import AdminkitError
from adminkit.feedback.transport.base import Later, Refused, Stopped
from adminkit.feedback.transport.choice import described, opened
from adminkit.feedback.transport.maildir import Maildir
from adminkit.feedback.transport.smtp import Smtp, login
from adminkit.feedback.trial_letter import send_trial, trial
from tests.feedback.server import LOGIN, Postbox, certificate, mail_server, scripted

TEXT = b"Subject: s\r\n\r\n.a line that begins with a dot\r\n"


def site(port: int, **changes: object) -> Feedback:
    return replace(Feedback(host="localhost", port=port, timeout=1.0), **changes)  # type: ignore[arg-type]


def outcome(send: Callable[[], str]) -> str:
    """What became of a letter, in a word."""
    try:
        send()
    except (Later, Refused, Stopped) as error:
        return type(error).__name__
    return "sent"


@pytest.mark.parametrize(
    ("faults", "outcomes", "kept", "why"),
    [
        ([], ["sent", "sent", "sent"], 3, "all is well"),
        ([("RCPT", "450 mailbox busy")], ["Later", "sent", "sent"], 2, "a 4xx for one is for later"),
        ([("RCPT", "550 no such user")], ["Refused", "sent", "sent"], 2, "a 5xx for one is for good"),
        ([("DATA", "452 spool full")], ["Later", "sent", "sent"], 2, "a full spool"),
        ([("DATA", "554 spam")], ["Refused", "sent", "sent"], 2, "not wanted"),
        ([("MAIL", "550 not you")], ["Stopped", "sent", "sent"], 2, "the sender is nobody's letter's fault"),
        ([("MAIL", "451 try later")], ["Stopped", "sent", "sent"], 2, "the server is tired"),
        ([("RCPT", "421 going down")], ["Stopped", "sent", "sent"], 2, "it says so itself"),
        ([("RCPT", "drop")], ["Later", "sent", "sent"], 2, "cut off before the text"),
        ([("DATA", "drop")], ["Later", "sent", "sent"], 2, "cut off in the text"),
        ([("DATA", "drop after")], ["Later", "sent", "sent"], 3, "cut off after it: nobody knows, so it goes again"),
        ([("DATA", "slow")], ["Later", "sent", "sent"], 2, "slower than the time limit"),
        ([("RCPT", "drop")] * 3, ["Later", "Later", "Stopped"], 0, "three times in a row is no accident"),
    ],
)
def test_over_smtp(faults: list[tuple[str, str]], outcomes: list[str], kept: int, why: str) -> None:
    box = Postbox(faults)
    with mail_server(box) as port, opened(site(port)) as way:
        found = [outcome(lambda n=n: way.send("a@b.c", [f"u{n}@b.c"], TEXT, f"k{n}")) for n in range(3)]  # type: ignore[misc]
    assert found == outcomes, why
    if ("DATA", "slow") not in faults:
        assert len(box.letters) == kept, why
    assert all(text.endswith(b"\r\n.a line that begins with a dot\r\n") for _, text in box.letters)


@pytest.mark.parametrize(
    ("verb", "answer", "outcomes", "why"),
    [
        ("", "421 too busy", "Stopped sent", "no session"),
        ("", "554 not for you", "Stopped sent", "no session"),
        ("", "drop", "Stopped sent", "no session"),
        ("EHLO", "502 what?", "Stopped sent", "HELO knows no login"),
        ("EHLO", "drop", "Stopped sent", "no session"),
        ("AUTH", "454 later", "Stopped sent", "no letter's fault"),
        ("AUTH", "535 wrong", "Stopped sent", "no letter's fault"),
        ("AUTH", "drop", "Stopped sent", "no letter's fault"),
        ("MAIL", "452 full", "Stopped sent", "nor this"),
        ("MAIL", "drop", "Later sent", "cut off"),
        ("RCPT", "450 busy", "Later sent", "this letter's"),
        ("RCPT", "550 gone", "Refused sent", "this letter's"),
        ("RCPT", "421 closing", "Stopped sent", "it says so itself"),
        ("RCPT", "drop", "Later sent", "cut off"),
        ("DATA", "451 later", "Later sent", "it does not want to hear it now"),
        ("DATA", "554 no", "Refused sent", "nor ever"),
        ("DATA", "421 closing", "Stopped sent", "it says so itself"),
        ("DATA", "drop", "Later sent", "cut off"),
        (".", "451 later", "Later sent", "it has heard it"),
        (".", "552 too large", "Refused sent", "it has heard it"),
        (".", "421 closing", "Stopped sent", "it says so itself"),
        (".", "drop", "Later sent", "nobody knows, so it goes again"),
        ("QUIT", "drop", "sent sent", "they are there already"),
    ],
)
def test_whatever_a_server_says_at_any_verb(verb: str, answer: str, outcomes: str, why: str) -> None:
    with scripted({verb: answer}) as (port, heard):
        with Smtp(site(port), LOGIN) as way:
            found = [outcome(lambda n=n: way.send("a@b.c", [f"u{n}@b.c"], TEXT, f"k{n}")) for n in range(2)]  # type: ignore[misc]
        assert " ".join(found) == outcomes, why
        assert verb in heard


def test_where_a_server_cannot_begin_anew_the_next_letter_goes_by_another_session() -> None:
    with scripted({"RCPT": "550 gone", "RSET": "drop"}) as (port, heard), Smtp(site(port), None) as way:
        assert [outcome(lambda: way.send("a@b.c", ["u@b.c"], TEXT, "k")) for _ in range(2)] == ["Refused", "sent"]
    assert heard.count("") == 2


@pytest.mark.parametrize("answer", ["454 not now", "502 no such thing", "drop"])
def test_a_server_that_refuses_starttls_hears_of_no_letter(answer: str) -> None:
    with scripted({"STARTTLS": answer}) as (port, heard), Smtp(site(port, tls="starttls"), LOGIN) as way:
        assert outcome(lambda: way.send("a@b.c", ["u@b.c"], TEXT, "k")) == "Stopped"
    assert not {"AUTH", "MAIL"} & set(heard)


def test_many_letters_are_one_session() -> None:
    box = Postbox()
    with mail_server(box) as port, opened(site(port)) as way:
        for n in range(5):
            assert way.send("a@b.c", [f"u{n}@b.c"], TEXT, "k") == "250 taken"
    assert (box.sessions, len(box.letters)) == (1, 5)


def test_a_server_that_takes_a_few_letters_a_connection_gets_another_connection() -> None:
    box = Postbox(most=2)
    with mail_server(box) as port, opened(site(port)) as way:
        assert [outcome(lambda: way.send("a@b.c", ["u@b.c"], TEXT, "k")) for _ in range(5)] == ["sent"] * 5
    assert (box.sessions, len(box.letters)) == (3, 5)
    with mail_server(Postbox(most=0)) as port, opened(site(port)) as way:
        assert outcome(lambda: way.send("a@b.c", ["u@b.c"], TEXT, "k")) == "Stopped", "one that takes none is away"


def test_a_host_that_is_no_name_stops_the_run() -> None:
    with opened(replace(site(25), host="x" * 70)) as way:
        assert outcome(lambda: way.send("a@b.c", ["u@b.c"], TEXT, "k")) == "Stopped"


def test_several_recipients_of_whom_one_is_not_taken() -> None:
    box = Postbox([("RCPT", "550 no such user")])
    with mail_server(box) as port, opened(site(port)) as way:
        said = way.send("a@b.c", ["gone@b.c", "ops@b.c"], TEXT, "k")
    assert (said, box.letters[0][0]) == ("250 taken; not accepted for gone@b.c", ["ops@b.c"])


def test_a_server_that_is_away_stops_the_run() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with opened(site(held.getsockname()[1])) as way, pytest.raises(Stopped, match="refused"):
            way.send("a@b.c", ["u@b.c"], TEXT, "k")


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_with_tls_and_a_login(tmp_path: Path, tls: str) -> None:
    pem, box = certificate(tmp_path), Postbox()
    secret = tmp_path / "login"
    secret.write_text("\n".join(LOGIN))
    secret.chmod(0o600)
    with mail_server(box, tls, pem, auth=True) as port:
        with opened(site(port, tls=tls, ca=pem[0], login=secret)) as way:
            assert way.send("a@b.c", ["u@b.c"], TEXT, "k") == "250 taken"
        with opened(site(port, tls=tls)) as way, pytest.raises(Stopped, match="certificate is not trusted"):
            way.send("a@b.c", ["u@b.c"], TEXT, "k")
        secret.write_text("letters\nwrong")
        with (
            opened(site(port, tls=tls, ca=pem[0], login=secret)) as way,
            pytest.raises(Stopped, match="the login: 535"),
        ):
            way.send("a@b.c", ["u@b.c"], TEXT, "k")
    assert len(box.letters) == 1


def test_a_server_without_starttls_gets_nothing_in_the_clear() -> None:
    box = Postbox()
    with mail_server(box) as port, opened(site(port, tls="starttls")) as way, pytest.raises(Stopped, match="STARTTLS"):
        way.send("a@b.c", ["u@b.c"], TEXT, "k")
    assert box.letters == []


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("u\np\n", 0o600, None),
        ("u\np\n", 0o400, None),
        ("u\np\n", 0o640, "mode 0640"),
        ("u\np\n", 0o604, "mode 0604"),
        ("u", 0o600, "does not have the two lines"),
        ("u\np\nx", 0o600, "does not have the two lines"),
    ],
)
def test_the_file_of_a_login(tmp_path: Path, text: str, mode: int, message: str | None) -> None:
    file = tmp_path / "login"
    file.write_text(text)
    file.chmod(mode)
    if message is None:
        assert login(file) == ("u", "p")
        return
    with pytest.raises(AdminkitError, match=message) as caught:
        login(file)
    assert "chmod 600" in caught.value.hint


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"login": Path("/etc/hostname")}, "would be sent unencrypted"),
        ({"tls": "tls", "login": Path("/nonexistent")}, "couldn't read /nonexistent"),
        ({"via": "directory"}, "needs a folder"),
    ],
)
def test_a_configuration_that_cannot_work_is_an_error_at_once(changes: dict[str, object], message: str) -> None:
    with pytest.raises(AdminkitError, match=message):
        opened(site(25, **changes))


@pytest.mark.parametrize(
    ("script", "expected", "why"),
    [
        ("exit 0", "sent", "taken"),
        ("exit 67", "Refused", "EX_NOUSER"),
        ("exit 75", "Later", "EX_TEMPFAIL"),
        ("exit 78", "Stopped", "EX_CONFIG"),
        ("exit 1", "Later", "whatever that was"),
        ("exec sleep 5", "Later", "too slow"),
    ],
)
def test_by_sendmail(tmp_path: Path, script: str, expected: str, why: str) -> None:
    program = tmp_path / "sendmail"
    program.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/args\ncat >{tmp_path}/text\n{script}\n')
    program.chmod(0o755)
    with opened(Feedback(via="sendmail", sendmail=program, timeout=2.0)) as way:
        assert outcome(lambda: way.send("a@b.c", ["u@b.c", "-x@b.c"], TEXT, "k")) == expected, why
    assert (tmp_path / "args").read_text() == "-i -f a@b.c -- u@b.c -x@b.c\n"
    assert (tmp_path / "text").read_bytes() == TEXT.replace(b"\r\n", b"\n")


@pytest.mark.parametrize(
    ("scripts", "expected", "why"),
    [
        (["exit 1"] * 3, ["Later", "Later", "Stopped"], "three times in a row is no accident"),
        (["exec sleep 5"] * 3, ["Later", "Later", "Stopped"], "nor to hang so often"),
        (["exit 1", "exec sleep 5", "exit 0", "exit 1"], ["Later", "Later", "sent", "Later"], "one went"),
        (["exit 75"] * 4, ["Later"] * 4, "four mailboxes are full"),
        (["exit 1", "exit 1", "exit 67", "exit 1"], ["Later", "Later", "Refused", "Later"], "it knows a recipient"),
    ],
)
def test_a_sendmail_that_is_broken_stops_the_run(
    tmp_path: Path, scripts: list[str], expected: list[str], why: str
) -> None:
    program, found = tmp_path / "sendmail", []
    with opened(Feedback(via="sendmail", sendmail=program, timeout=2.0)) as way:
        for script in scripts:
            program.write_text(f"#!/bin/sh\ncat >/dev/null\n{script}\n")
            program.chmod(0o755)
            found.append(outcome(lambda: way.send("a@b.c", ["u@b.c"], TEXT, "k")))
    assert found == expected, why


def test_without_sendmail_nothing_goes_through() -> None:
    with opened(Feedback(via="sendmail", sendmail=Path("/nonexistent/sendmail"))) as way, pytest.raises(Stopped):
        way.send("a@b.c", ["u@b.c"], TEXT, "k")


def test_into_a_folder_once_however_often_it_is_tried(tmp_path: Path) -> None:
    with opened(Feedback(via="directory", directory=tmp_path / "box")) as way:
        name = way.send("a@b.c", ["u@b.c"], TEXT, "k1")
        assert way.send("a@b.c", ["u@b.c"], TEXT, "k1") == f"{name} was there already"
        (tmp_path / "box" / "new" / name).rename(tmp_path / "box" / "cur" / f"{name}:2,S")
        assert way.send("a@b.c", ["u@b.c"], TEXT, "k1") == f"{name} was there already"
        way.send("a@b.c", ["u@b.c"], TEXT, "k2")
    assert len(list((tmp_path / "box" / "new").iterdir())) == 1
    assert list((tmp_path / "box" / "tmp").iterdir()) == []
    first = (tmp_path / "box" / "cur" / f"{name}:2,S").read_bytes()
    assert first.startswith(b"Return-Path: <a@b.c>\r\nDelivered-To: u@b.c\r\nSubject: s\r\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_a_full_disk_stops_the_run_and_leaves_no_half_of_a_letter(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], capture_output=True).returncode:
        pytest.skip("may not mount here")
    try:
        with pytest.raises(Stopped, match="no space left"):
            Maildir(small).send("a@b.c", ["u@b.c"], bytes(100_000), "k")
        assert list((small / "new").iterdir()) == []
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_trial_letter_arrives() -> None:
    box = Postbox()
    with mail_server(box) as port:
        settings = site(port, sender="adminkit@example.org")
        assert send_trial(settings, "ada@example.org", trial(settings, "ada@example.org")) == "250 taken"
        assert described(settings).encode() in box.letters[0][1]
    with pytest.raises(AdminkitError, match="couldn't send the letter"):
        send_trial(settings, "ada@example.org", trial(settings, "ada@example.org"))
    with pytest.raises(AdminkitError, match="is not an email address"):
        trial(settings, "ada@example.org\nBcc: eve@example.org")
