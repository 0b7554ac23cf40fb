"""A letter as a message: whatever a job is called, the headers are ours."""

from __future__ import annotations

import email
import email.policy
import re
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.config import Feedback
from adminkit.errors import AdminkitError
from adminkit.feedback.letter import Letter
from adminkit.feedback.mime import LONGEST_SUBJECT, Envelope, build, message_id, one_line

KEY = ("aaic", "4711@1796083200", "end")
SITE = Feedback(sender="adminkit@example.org", reply_to="help@example.org")
HEADERS = {
    "From", "To", "Reply-To", "Subject", "Date", "Message-ID", "Auto-Submitted", "X-Auto-Response-Suppress",
    "List-Unsubscribe", "MIME-Version", "Content-Type",
}  # fmt: skip


def sent(letter: Letter, settings: Feedback = SITE, **envelope: Any) -> EmailMessage:
    """What a mail program sees of it, from the bytes."""
    made = build(
        letter, Envelope(**{"key": KEY, "recipients": ("ada@example.org",), "at": 1_796_083_200, **envelope}), settings
    )
    found = email.message_from_bytes(made, policy=email.policy.default)
    assert isinstance(found, EmailMessage)
    return found


def test_text_and_html_in_one(golden: Any) -> None:
    message = sent(Letter("Job train: 12 % of its limit", "日本語の本文\n", "<p>日本語</p>"))
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    body = message.get_body(("plain",))
    assert body is not None and body.get_content() == "日本語の本文\r\n"
    shown = [f"{name}: {value}" for name, value in message.items() if name != "Content-Type"]
    golden("letter-headers.txt", "\n".join(shown) + "\n")


@pytest.mark.parametrize(
    ("subject", "shown", "why"),
    [
        ("Job train", "Job train", "as it is"),
        ("Job a\r\nBcc: eve@example.org", "Job a Bcc: eve@example.org", "a line break ends no header"),
        ("Job \x00\x1b[31m\x7fred", "Job [31m red", "control characters"),
        ("Job \u2028x\u202egnp.exe", "Job x gnp.exe", "separators and writing backwards"),
        ("Job \udcff", "Job", "bytes that are no text"),
        ("訓練ジョブ", "訓練ジョブ", "any language"),
        ("x" * 10_000, "x" * (LONGEST_SUBJECT - 1) + "…", "10 kB"),
        ("=?utf-8?q?a=0D=0ABcc:_eve?=", "=?utf-8?q?a=0D=0ABcc:_eve?=", "what looks encoded is shown as it is"),
        ("訓練 =?utf-8?b?4oCu?=", "訓練 =?utf-8?b?4oCu?=", "in any language"),
    ],
)
def test_a_subject_is_one_line(subject: str, shown: str, why: str) -> None:
    message = sent(Letter(subject, "t\n", "<p>h</p>"))
    assert message["Subject"] == shown, why
    assert set(message.keys()) == HEADERS, why


@settings(deadline=None)
@given(st.text(), st.text(), st.text())
def test_whatever_it_says_the_headers_are_ours_and_lines_are_short(subject: str, text: str, html: str) -> None:
    made = build(Letter(subject, text, html), Envelope(KEY, ("ada@example.org",), 0, 1_796_083_200), SITE)
    found = email.message_from_bytes(made, policy=email.policy.default)
    assert set(found.keys()) == HEADERS
    assert found["To"] == "ada@example.org"
    assert made.isascii() and b"\0" not in made
    assert made.count(b"\n") == made.count(b"\r") == made.count(b"\r\n")
    assert max(len(line) for line in made.split(b"\r\n")) <= 998
    parts = [part.get_payload(decode=True).decode() for part in found.iter_parts()]  # type: ignore[union-attr]
    assert [_plain(part) for part in parts] == [_plain(text), _plain(html)]


def _plain(text: str) -> str:
    """As it arrives: any line end as one, no NUL, a question mark for what is no character."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return lines.encode("utf-8", "replace").decode()


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("plain English\n.\nFrom here on\n", "7bit"),
        ("a line of 80 characters " + "x" * 56 + "\n", "quoted-printable"),
        ("mostly English, 3 h …\n", "quoted-printable"),
        ("日本語の本文\n" * 3, "base64"),
    ],
)
def test_a_text_goes_the_shortest_way_that_every_server_takes(text: str, way: str) -> None:
    body = sent(Letter("s", text, "h")).get_body(("plain",))
    assert body is not None
    assert (body["Content-Transfer-Encoding"], body.get_content()) == (way, text.replace("\n", "\r\n"))


def test_many_recipients_are_a_header_of_short_lines() -> None:
    many = tuple(f"operator{number}@example.org" for number in range(60))
    made = build(Letter("s", "t\n", "h"), Envelope(KEY, many, 0, 1_796_083_200), SITE)
    assert max(len(line) for line in made.split(b"\r\n")) <= 78
    assert sent(Letter("s", "t\n", "h"), recipients=many)["To"] == ", ".join(many)


def test_a_recipient_that_is_no_address_is_an_error() -> None:
    with pytest.raises(AdminkitError, match="is not an email address"):
        sent(Letter("s", "t\n", "h"), recipients=("ada@example.org\nBcc: eve@example.org",))


@settings(deadline=None)
@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert one_line(text).splitlines() in ([], [one_line(text)])
    assert one_line(text).isprintable() or any(not c.isprintable() for c in text)


@pytest.mark.parametrize(
    ("other", "same", "why"),
    [
        ((KEY, 0), True, "the same letter"),
        ((KEY, 1), False, "sent again by hand"),
        ((("aaic", "4711@1796083201", "end"), 0), False, "the same job's next run"),
        ((("aaic", "4711@1796083200", "digest"), 0), False, "another kind"),
        ((("aaid", "4711@1796083200", "end"), 0), False, "another cluster"),
    ],
)
def test_a_message_id_comes_from_the_key(other: tuple[tuple[str, str, str], int], same: bool, why: str) -> None:
    first = message_id(KEY, 0, SITE.sender)
    assert (first == message_id(*other, SITE.sender)) is same, why
    assert first.endswith("@example.org>") and first.startswith("<end.4711-1796083200.aaic.")


@pytest.mark.parametrize("cluster", ["", "大", "-", ".."])
def test_a_cluster_of_no_letters_leaves_no_gap_in_a_message_id(cluster: str) -> None:
    assert re.fullmatch(
        r"<end\.4711-1\.[0-9a-f]{16}@example\.org>", message_id((cluster, "4711@1", "end"), 0, "a@example.org")
    )


@pytest.mark.parametrize(
    ("changes", "header"),
    [
        ({}, "<mailto:help@example.org?subject=unsubscribe>"),
        ({"reply_to": None}, "<mailto:adminkit@example.org?subject=unsubscribe>"),
        ({"unsubscribe": "https://example.org/letters"}, "<https://example.org/letters>"),
    ],
)
def test_how_to_unsubscribe(changes: dict[str, Any], header: str) -> None:
    from dataclasses import replace

    assert sent(Letter("s", "t", "h"), replace(SITE, **changes))["List-Unsubscribe"] == header


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sender": "a@b.c\nBcc: x@y.z"}, "sender is not an email address"),
        ({"reply_to": "Help <a@b.c>"}, "reply_to is not an email address"),
        ({"operators": ("root",)}, "operators is not an email address"),
        ({"unsubscribe": "javascript:alert(1)"}, "unsubscribe is neither"),
        ({"unsubscribe": "https://a.b/>, <mailto:x@y.z"}, "unsubscribe is neither"),
    ],
)
def test_a_setting_that_is_no_header_is_an_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(AdminkitError, match=message):
        sent(Letter("s", "t", "h"), Feedback(**changes))
