"""Delivery: nothing is lost, nothing is sent twice but what the protocol cannot tell apart, nobody holds up others."""

from __future__ import annotations

import email
import email.policy
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.errors import AdminkitError
from adminkit.feedback.last_sent import mark_of
from adminkit.feedback.letter import Due, Letter
from adminkit.feedback.plan import switched_on
from adminkit.feedback.prefs import Prefs, write
from adminkit.feedback.send import LONGEST_WAIT, Clock, Done, Tools, resend, run, wait_after
from adminkit.feedback.transport.base import Later, Refused, Stopped
from adminkit.feedback.transport.choice import opened
from adminkit.job import Job
from adminkit.trace import outbox
from tests.feedback.server import Postbox, mail_server
from tests.feedback.site import DAY, NOW, Hand, Kept, ended, folder, people, settings, synced, tools
from tests.feedback.site import opened as trace_of
from tests.support.builders import HOUR
from tests.support.others import gives_files_away

#: Three letters, to be told apart by their jobs.
THREE = tuple(ended(n, user=user, uid=uid, ago=n * 60) for n, (uid, user) in enumerate(
    [(1001, "ada"), (1002, "bob"), (1003, "cyd")], start=1
))  # fmt: skip
QUIET = settings(operators=(), digest=False)


def site(path: Path, jobs: Sequence[Job] = THREE) -> tuple[Path, Path]:
    """(a trace of these jobs, an empty folder of choices)."""
    return synced(path / "t.db", jobs), folder(path)


def act(trace: Path, made: Tools, chosen: Config = QUIET) -> Done:
    with trace_of(trace) as db:
        return run(db, chosen, made)


def states(trace: Path) -> dict[str, str]:
    """Job -> the state of its letter."""
    with trace_of(trace) as db:
        return {one.run.partition("@")[0]: one.state for one in outbox.find(db, outbox.STATES)}


def rows(trace: Path) -> list[outbox.Entry]:
    with trace_of(trace) as db:
        return outbox.find(db, outbox.STATES)


def test_every_letter_goes_out_once_however_often_it_runs(tmp_path: Path) -> None:
    (trace, place), kept = site(tmp_path), Kept()
    done = act(trace, tools(place, kept))
    assert done.counts["sent"] == 3
    for _ in range(3):
        assert act(trace, tools(place, kept)).counts == {"expired": 0}
    assert sorted(to for (to,), _ in kept.messages) == ["ada@example.org", "bob@example.org", "cyd@example.org"]
    assert set(states(trace).values()) == {"sent"}


@pytest.mark.parametrize(
    ("failure", "state", "counted", "others", "why"),
    [
        (Later("450 busy"), "due", "later", 2, "tried again; the others went"),
        (Refused("550 no such user"), "refused", "refused", 2, "never again; the others went"),
        (Stopped("connection refused"), "due", None, 0, "nothing goes through: all are kept"),
    ],
)
def test_what_a_failure_means(
    tmp_path: Path, failure: Exception, state: str, counted: str | None, others: int, why: str
) -> None:
    (trace, place), kept = site(tmp_path), Kept([failure])
    done = act(trace, tools(place, kept))
    assert (len(kept.messages), Counter(states(trace).values())["sent"]) == (others, others), why
    assert state in states(trace).values()
    assert counted is None or done.counts[counted] == 1
    assert bool(done.stopped) is isinstance(failure, Stopped)
    later = Hand(NOW + HOUR)
    act(trace, tools(place, kept, later.clock))
    assert len(kept.messages) == (2 if state == "refused" else 3), why


def test_a_letter_waits_longer_each_time_and_then_is_left_to_the_digest(tmp_path: Path) -> None:
    trace, place = site(tmp_path, [ended(1, ago=60)])
    hand, tries = Hand(), []
    for pause in (*[300] * 24, *[1800] * 62):
        kept = Kept([Later("450 busy")])
        act(trace, tools(place, kept, hand.clock))
        if not kept.fails:
            tries.append(int(hand.at) - NOW)
        hand.at += pause
    assert tries[:4] == [0, 300, 900, 2100]
    assert max(b - a for a, b in pairwise(tries)) == LONGEST_WAIT
    assert max(tries) < DAY
    (row,) = rows(trace)
    assert (row.state, row.said) == ("expired", "450 busy; too old: the weekly digest lists it")
    assert wait_after(1) < wait_after(2) < wait_after(50) == LONGEST_WAIT


def test_a_template_that_is_broken_holds_up_its_own_letters_only(tmp_path: Path) -> None:
    trace, place = site(tmp_path)
    kept = Kept()

    def compose(*_: Any) -> Callable[[Due], Letter]:
        def one(due: Due) -> Letter:
            if due.user == "ada":
                raise AdminkitError("end.txt.j2, line 3: 'limt' is undefined", "correct it")
            if due.user == "bob":
                raise ZeroDivisionError("a bug")
            return Letter("s", "t\n", "<p>h</p>")

        return one

    done = act(trace, replace(tools(place, kept), compose=compose))
    assert (done.counts["sent"], done.counts["broken"]) == (1, 2)
    named = [note.split()[4] for note in done.notes]
    assert "couldn't be written: end.txt.j2, line 3" in " ".join(done.notes) and len(named) == 2, "each is named"
    said = {one.user: one.said for one in rows(trace)}
    assert said["bob"] == "couldn't be written: ZeroDivisionError: a bug"
    assert act(trace, tools(place, kept, Hand(NOW + 400).clock)).counts["sent"] == 2


@pytest.mark.parametrize(
    "name", ["\r\nBcc: eve@example.org\r\n\r\nx", "\x00\x1b[2J", "x" * 10_000, "<script>", "\udcff"]
)
def test_a_job_name_of_any_kind_is_a_safe_letter(tmp_path: Path, name: str) -> None:
    trace, place = site(tmp_path)

    def compose(*_: Any) -> Callable[[Due], Letter]:
        return lambda due: Letter(f"Job {name}", f"{name}\n", "<p>h</p>")

    kept = Kept()
    assert act(trace, replace(tools(place, kept), compose=compose)).counts["sent"] == 3
    for (to,), text in kept.messages:
        found = email.message_from_bytes(text, policy=email.policy.default)
        assert (found["To"], found["Bcc"], found["Auto-Submitted"]) == (to, None, "auto-generated")


def test_the_rate_is_kept(tmp_path: Path) -> None:
    (trace, place), hand = site(tmp_path), Hand()
    at: list[float] = []

    class Watching(Kept):
        def send(self, *words: Any) -> str:
            at.append(hand.at)
            return super().send(*words)

    act(trace, tools(place, Watching(), hand.clock), settings(operators=(), digest=False, per_minute=4.0))
    assert [b - a for a, b in pairwise(at)] == [15.0, 15.0]


def test_switching_on_is_noted_and_writes_to_nobody_about_the_past(tmp_path: Path) -> None:
    trace = synced(tmp_path / "t.db", THREE, on=None)
    kept = Kept()
    done = act(trace, tools(tmp_path / "prefs", kept))
    assert kept.messages == [] and "letters are switched on for aaic" in " ".join(done.notes)
    assert (tmp_path / "prefs").stat().st_mode & 0o7777 == 0o1733
    with trace_of(trace) as db:
        assert switched_on(db, "aaic") == NOW
        assert [row[0] for row in db.execute("SELECT what FROM action")] == ["feedback on"]
    act(trace, tools(tmp_path / "prefs", kept, Hand(NOW + HOUR).clock))
    with trace_of(trace) as db:
        assert switched_on(db, "aaic") == NOW, "the moment is the first one"


def test_what_was_sent_is_in_the_ledger(tmp_path: Path) -> None:
    trace, place = site(tmp_path)
    act(trace, tools(place, Kept()))
    with trace_of(trace) as db:
        (line,) = [row[0] for row in db.execute("SELECT line FROM action WHERE what = 'feedback run'")]
    assert '"letters": {"sent": 3}' in line


@gives_files_away
def test_who_opts_out_while_a_letter_waits_gets_none(tmp_path: Path) -> None:
    trace, place = site(tmp_path)
    act(trace, tools(place, Kept([Stopped("away")])))
    os.chown(write(place, 1002, Prefs(letters="never")), 1002, -1)
    kept = Kept()
    act(trace, tools(place, kept))
    assert sorted(to for (to,), _ in kept.messages) == ["ada@example.org", "cyd@example.org"]
    assert {one.user: one.said for one in rows(trace)}["bob"] == "its user wants no letters"


def test_behind_a_server_that_was_away_no_run_sends_more_than_it_may(tmp_path: Path) -> None:
    trace, place = site(tmp_path)
    chosen = settings(operators=(), digest=False, max_letters=2)
    act(trace, tools(place, Kept([Stopped("away")])))
    kept = Kept()
    assert act(trace, tools(place, kept), chosen).counts["sent"] == 2
    assert act(trace, tools(place, kept), chosen).counts["sent"] == 1


def test_a_flood_sends_nothing_but_a_word_to_the_operators_once(tmp_path: Path) -> None:
    trace, place = site(tmp_path)
    chosen, kept = settings(digest=False, max_letters=2), Kept()
    for _ in range(3):
        assert act(trace, tools(place, kept), chosen).planned.flood
    assert [to for to, _ in kept.messages] == [("ops@example.org",)]


def test_nothing_goes_out_on_a_quiet_day_and_what_waits_goes_the_next(tmp_path: Path) -> None:
    trace, place = site(tmp_path)
    act(trace, tools(place, Kept([Stopped("away")])))
    kept = Kept()
    act(trace, tools(place, kept), settings(operators=(), digest=False, quiet_days=("wed",)))
    assert kept.messages == []
    act(trace, tools(place, kept, Hand(NOW + 13 * HOUR).clock))
    assert len(kept.messages) == 3


def test_resend_makes_another_copy_of_what_was_sent_and_tries_what_was_refused(tmp_path: Path) -> None:
    (trace, place), kept = site(tmp_path), Kept([Refused("550 full")])
    act(trace, tools(place, kept))
    with trace_of(trace) as db:
        done = resend(db, QUIET, tools(place, kept, Hand(NOW + 9 * DAY).clock), outbox.find(db, ["sent", "refused"]))
    assert done.counts["sent"] == 3
    ids = Counter(email.message_from_bytes(text)["Message-ID"] for _, text in kept.messages)
    assert len(kept.messages) == 5 and max(ids.values()) == 1, "a copy by hand is no duplicate to be swallowed"


def test_a_letter_that_is_sent_again_by_hand_has_no_age_but_is_given_up_some_day(tmp_path: Path) -> None:
    trace, place = site(tmp_path, THREE[:1])
    act(trace, tools(place, Kept([Refused("550 full")])))
    hand = Hand(NOW + 9 * DAY)
    with trace_of(trace) as db:
        resend(db, QUIET, tools(place, Kept([Later("450 busy")]), hand.clock), outbox.find(db, ["refused"]))
    act(trace, tools(place, Kept([Later("450 busy")]), Hand(NOW + 9 * DAY + HOUR).clock))
    assert states(trace) == {"1": "due"}
    for _ in range(40):
        hand.at += LONGEST_WAIT
        act(trace, tools(place, Kept([Later("450 busy")]), hand.clock))
    assert states(trace) == {"1": "expired"}


def test_a_server_that_is_away_for_two_days_costs_no_letter_that_is_still_of_use(tmp_path: Path) -> None:
    """A run every hour: far more tries than a letter that fails by itself would get."""
    place = folder(tmp_path)
    chosen, hand = settings(digest=True, digest_day="wed", quiet_days=()), Hand()
    synced(tmp_path / "w.db", [ended(1, ago=6 * DAY)])
    for _ in range(2 * 24):
        act(tmp_path / "w.db", tools(place, Kept([Stopped("away")]), hand.clock), chosen)
        hand.at += HOUR
    kept = Kept()
    act(tmp_path / "w.db", tools(place, kept, hand.clock), chosen)
    assert sorted(to for (to,), _ in kept.messages) == ["ada@example.org", "ops@example.org"]


@pytest.mark.parametrize(
    ("changes", "said", "why"),
    [
        ({"clusters": ("other",)}, "[feedback] clusters no longer names its cluster", "switched off"),
        ({"exclude_users": ("ada", "bob", "cyd")}, "its user is excluded", "excluded since"),
    ],
)
def test_what_the_operators_stop_while_it_waits_does_not_go_out(
    tmp_path: Path, changes: dict[str, Any], said: str, why: str
) -> None:
    trace, place = site(tmp_path)
    act(trace, tools(place, Kept([Stopped("away")])))
    chosen, kept = settings(operators=(), digest=False, **changes), Kept()
    act(trace, tools(place, kept, chosen=chosen), chosen)
    assert kept.messages == [], why
    assert {one.said for one in rows(trace)} == {said}


@gives_files_away
def test_a_letter_that_waits_goes_where_its_user_wants_it_by_then(tmp_path: Path) -> None:
    trace, place = site(tmp_path, THREE[:1])
    act(trace, tools(place, Kept([Stopped("away")])))
    os.chown(write(place, 1001, Prefs(address="home@example.net")), 1001, -1)
    kept, chosen = Kept(), settings(operators=(), digest=False, domains=("example.net",))
    act(trace, tools(place, kept, people=people(chosen)), chosen)
    assert [to for to, _ in kept.messages] == [("home@example.net",)]


@gives_files_away
@pytest.mark.parametrize(
    ("prefs", "changes", "why"),
    [
        (Prefs(address="eve@stranger.example"), {}, "its user chose a stranger since"),
        (Prefs(), {"domains": ("lab.example",)}, "the operators changed what is allowed"),
        (Prefs(), {"domain": None}, "nothing is allowed any more"),
    ],
)
def test_a_letter_that_waits_goes_to_no_stranger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prefs: Prefs, changes: dict[str, Any], why: str
) -> None:
    trace, place = site(tmp_path, THREE[:1])
    act(trace, tools(place, Kept([Stopped("away")])))
    os.chown(write(place, 1001, prefs), 1001, -1)
    kept, chosen = Kept(), settings(operators=(), digest=False, **changes)
    act(trace, tools(place, kept, people=people(chosen)), chosen)
    assert (kept.messages, states(trace)) == ([], {"1": "refused"}), why
    assert [one.said for one in rows(trace)] == ["its address is not in an allowed domain"]
    assert "refused addresses: " in capsys.readouterr().err


@gives_files_away
def test_a_letter_that_waits_does_not_go_to_who_has_the_uid_by_then(tmp_path: Path) -> None:
    trace, place = site(tmp_path)
    act(trace, tools(place, Kept([Stopped("away")])))
    os.chown(write(place, 1001, Prefs(address="eve@example.net")), 1001, -1)
    by_then = {1001: "eve", 1002: "bob"}  # and whoever knows 1003 is away
    kept = Kept()
    there = people(settings(domains=("example.org", "example.net")))
    act(trace, tools(place, kept, people=replace(there, names=by_then.get)))
    assert sorted(to for (to,), _ in kept.messages) == ["bob@example.org", "cyd@example.org"]
    assert {one.user: one.said for one in rows(trace)}["ada"] == "its uid now belongs to somebody else"


def test_a_clock_that_is_set_back_holds_up_nothing(tmp_path: Path) -> None:
    trace, place = site(tmp_path)
    hand, slept = Hand(), []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        hand.at += seconds

    class Back(Kept):
        def send(self, *given: Any) -> str:
            hand.at -= 5 * HOUR
            return super().send(*given)

    kept = Back()
    chosen = settings(operators=(), digest=False, per_minute=6.0)
    act(trace, tools(place, kept, Clock(hand.now, sleep)), chosen)
    assert len(kept.messages) == 3
    assert max(slept) <= 10


def test_an_older_copy_of_the_trace_sends_nothing_again(tmp_path: Path) -> None:
    trace, place = site(tmp_path)
    copy, first = tmp_path / "copy.db", Kept()
    note = mark_of(trace)
    act(trace, tools(place, Kept([Stopped("away")]), mark=note))
    with trace_of(trace) as old, trace_of(copy) as new:
        old.backup(new)
    act(trace, tools(place, first, Hand(NOW + 60).clock, mark=note))
    assert len(first.messages) == 3
    copy.replace(trace)
    with trace_of(trace) as db, pytest.raises(AdminkitError, match="older than the last letters"):
        resend(db, QUIET, tools(place, Kept(), mark=note), outbox.find(db, ["due"]))
    for minutes in (5, 10, 15):
        kept = Kept()
        done = act(trace, tools(place, kept, Hand(NOW + minutes * 60).clock, mark=note))
        assert kept.messages == []
        assert any("older than the last letters" in one for one in done.notes) is (minutes == 5), "told once"


STEPS = ("planned", "queued", "claimed", "composed", "handed", "sent")


@pytest.mark.parametrize(
    ("step", "which"), [(step, which) for step in STEPS for which in ((1,) if step in STEPS[:2] else (1, 2, 3))]
)
def test_kill_9_between_any_two_steps(tmp_path: Path, step: str, which: int) -> None:
    """Killed at the `which`th time it gets there; afterwards every letter has arrived, one of them perhaps twice."""
    trace, place = site(tmp_path)
    box = Postbox()
    with mail_server(box) as port:
        chosen = settings(operators=(), digest=False, host="localhost", port=port)
        killed_at(trace, place, chosen, step, which)
        with opened(chosen.feedback) as way:
            act(trace, tools(place, way, chosen=chosen), chosen)
            act(trace, tools(place, way, chosen=chosen), chosen)
    arrived = Counter(email.message_from_bytes(text)["Message-ID"] for _, text in box.letters)
    assert len(arrived) == 3, "nothing is lost"
    twice = sum(arrived.values()) - 3
    assert twice == (1 if step == "handed" else 0), "only what was handed over and not yet written down"
    assert set(states(trace).values()) == {"sent"}


def test_kill_9_while_the_server_takes_the_text(tmp_path: Path) -> None:
    """The server has it and its answer never arrives: nobody can tell, so it goes again under the same Message-ID."""
    trace, place = site(tmp_path, THREE[:1])
    child: list[int] = []
    box = Postbox(taken=lambda: os.kill(child[0], signal.SIGKILL) if len(box.letters) == 1 else None)
    with mail_server(box) as port:
        chosen = settings(operators=(), digest=False, host="localhost", port=port)
        child.append(forked(lambda: _run_there(trace, place, chosen, lambda step: None)))
        os.waitpid(child[0], 0)
        assert set(states(trace).values()) == {"claimed"}
        with opened(chosen.feedback) as way:
            done = act(trace, tools(place, way, chosen=chosen), chosen)
    assert "was being sent when the last run was killed" in " ".join(done.notes)
    assert [email.message_from_bytes(text)["Message-ID"] for _, text in box.letters] == [
        email.message_from_bytes(box.letters[0][1])["Message-ID"]
    ] * 2


def killed_at(trace: Path, place: Path, chosen: Config, step: str, which: int) -> None:
    """A run in a process of its own that dies by SIGKILL when it gets to `step` for the `which`th time."""
    seen: Counter[str] = Counter()

    def at(name: str) -> None:
        seen[name] += 1
        if (name, seen[name]) == (step, which):
            os.kill(os.getpid(), signal.SIGKILL)

    child = forked(lambda: _run_there(trace, place, chosen, at))
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, "it got past that step"


def _run_there(trace: Path, place: Path, chosen: Config, at: Callable[[str], None]) -> None:
    with opened(chosen.feedback) as way:
        act(trace, tools(place, way, chosen=chosen, at=at), chosen)


def forked(do: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            do()
        finally:
            os._exit(1)
    return child


def test_of_the_demos_jobs_no_letter_is_sent(tmp_path: Path) -> None:
    trace, place = site(tmp_path, [replace(one, source="demo") for one in THREE])
    kept = Kept()
    with pytest.raises(AdminkitError, match="has rows of `adminkit demo`, whose jobs never ran: no letter is sent"):
        act(trace, tools(place, kept))
    assert rows(trace) == [] and kept.messages == []


def test_nor_is_one_sent_again(tmp_path: Path) -> None:
    (trace, place), kept = site(tmp_path), Kept([Refused("550 full")])
    act(trace, tools(place, kept))
    before = len(kept.messages)
    with trace_of(trace) as db:
        db.execute("UPDATE job SET source = 'demo'")
        with pytest.raises(AdminkitError, match="has rows of `adminkit demo`, whose jobs never ran: no letter is sent"):
            resend(db, QUIET, tools(place, kept), outbox.find(db, ["sent", "refused"]))
    assert len(kept.messages) == before
