"""A letter as a message: whatever a job is called, the headers are ours."""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.config import Feedback
from adminkit.errors import AdminkitError
from adminkit.feedback.letter import Letter
from adminkit.feedback.message import LONGEST_SUBJECT, Envelope, build, message_id, one_line

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
    found = email.message_from_bytes(made.as_bytes(), policy=email.policy.default)
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
    ],
)
def test_a_subject_is_one_line(subject: str, shown: str, why: str) -> None:
    message = sent(Letter(subject, "t\n", "<p>h</p>"))
    assert message["Subject"] == shown, why
    assert set(message.keys()) == HEADERS, why


@settings(deadline=None)
@given(st.text(), st.text(), st.text())
def test_whatever_it_says_the_headers_are_ours_and_lines_are_short(subject: str, text: str, html: str) -> None:
    made = build(Letter(subject, text, html), Envelope(KEY, ("ada@example.org",), 0, 1_796_083_200), SITE).as_bytes()
    found = email.message_from_bytes(made, policy=email.policy.default)
    assert set(found.keys()) == HEADERS
    assert found["To"] == "ada@example.org"
    assert made.isascii() and b"\0" not in made
    assert max(len(line) for line in made.split(b"\r\n")) <= 998


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
        ({"sender": "a@b.c\nBcc: x@y.z"}, "sender is no mail address"),
        ({"reply_to": "Help <a@b.c>"}, "reply_to is no mail address"),
        ({"operators": ("root",)}, "operators is no mail address"),
        ({"unsubscribe": "javascript:alert(1)"}, "unsubscribe is neither"),
        ({"unsubscribe": "https://a.b/>, <mailto:x@y.z"}, "unsubscribe is neither"),
    ],
)
def test_a_setting_that_is_no_header_is_an_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(AdminkitError, match=message):
        sent(Letter("s", "t", "h"), Feedback(**changes))
