"""Who is let in: profiles against a snapshot, what was promised before, and what Slurm says at the click."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.fit.fair_share import Behind
from adminkit.fit.line import Place
from adminkit.fit.place import Board, Said, by_vectors
from adminkit.fit.request import Request
from adminkit.fit.verdict import Answer, Start
from adminkit.jupyter import desk
from adminkit.jupyter.desk import Desk, No
from adminkit.slurm.fair_share import Share, Shares
from adminkit.slurm.room import Room, RoomJob
from tests.fit.rooms import job, make, node, taken

PROFILES = """
[one]
gpus = "1"
time = "60"
[two]
gpus = "2"
time = "60"
[eight]
gpus = "8"
time = "60"
[nine]
gpus = "9"
time = "60"
"""
SEVEN = job(1, "n1", gpus=7)
ONE_LEFT = make([node("n1", taken(SEVEN))], SEVEN)


def waits(number: int, priority: int, account: str) -> RoomJob:
    return job(number, state="PENDING", priority=priority, account=account)


def says(verdict: str) -> Callable[..., Answer]:
    """A judge of one word."""
    return lambda board, request, user, instead: Answer(request, Start(verdict, text="it said so"))  # type: ignore[arg-type]


def agrees(board: Board, request: Request, user: Any, instead: bool) -> Answer:
    return Answer(request, Start("now"))


@pytest.fixture
def make_desk(tmp_path: Path) -> Callable[..., Desk]:
    path = tmp_path / "profiles.toml"
    path.write_text(PROFILES)

    def made(room: Room | Callable[[int], Room] = ONE_LEFT, judge: Callable[..., Answer] = agrees) -> Desk:
        return Desk(str(path), room if callable(room) else lambda _: room, judge)

    return made


def test_a_form_shows_what_nodes_have_room_for(make_desk: Callable[..., Desk]) -> None:
    found = asyncio.run(make_desk().offers())
    assert [(one.profile.key, one.said and one.said.word) for one in found] == [
        ("one", "now"), ("two", "later"), ("eight", "later"), ("nine", "never"),
    ]  # fmt: skip


def test_a_profile_with_an_image_is_refused_and_offered_to_nobody(
    make_desk: Callable[..., Desk], tmp_path: Path
) -> None:
    """What ran without the image would not be what was chosen."""
    at = make_desk()
    with (tmp_path / "profiles.toml").open("a") as to:
        to.write("[image]\nimage = 'docker://a'\n[large]\ngpus = '2'\ncpus = 2\n")
    offers = {one.profile.key: one.said for one in asyncio.run(at.offers())}
    assert offers["image"] is not None
    assert offers["image"].word == "never"
    refused = asyncio.run(at.admit("ada", "root", at.profiles()["image"]))
    assert refused is not None
    assert refused.answer.start.text == "it asks for a container image, and this hub starts none"
    starts = Desk(str(tmp_path / "profiles.toml"), lambda _: ONE_LEFT, agrees, images=True)
    assert asyncio.run(starts.admit("ada", "root", starts.profiles()["image"])) is None
    larger = asyncio.run(at.admit("ada", "root", at.profiles()["two"]))
    assert larger is not None
    assert larger.instead is not None
    assert larger.instead.key == "one"


def test_all_jobs_that_wait_are_told_their_places_by_one_question(make_desk: Callable[..., Desk]) -> None:
    at = make_desk(make([node("n1", taken(SEVEN))], SEVEN, job(8, state="PENDING"), job(9, state="PENDING")))

    async def places() -> list[Place | None]:
        return [await at.place(one) for one in ("8", "9", "10", "")]

    assert asyncio.run(places()) == [Place(1, 2, "gq"), Place(2, 2, "gq"), None, None]
    assert at.questions == 1


def test_fair_share_is_asked_for_all_jobs_at_once_and_nobody_waits_for_it(tmp_path: Path) -> None:
    room = make(
        [node("n1", taken(SEVEN))], SEVEN, waits(8, 900, "vision"), waits(9, 20, "speech"), waits(10, 10, "speech")
    )
    shares = {(8, "gq"): Share(0.9, 890, 10), (9, "gq"): Share(0.1, 10, 10), (10, "gq"): Share(0.1, 0, 10)}
    asked: list[int] = []

    def ask() -> Shares:
        asked.append(1)
        if len(asked) > 1:
            raise AdminkitError("no answer")
        return shares

    at = Desk(str(tmp_path / "profiles.toml"), lambda _: room, agrees, ask)

    async def looks() -> list[Behind | None]:
        first = await at.behind("9")
        while not at._shares:
            await asyncio.sleep(0.01)
        return [first, *[await at.behind(one) for one in ("9", "10", "8", "11", "1", "")]]

    found = asyncio.run(looks())
    assert found == [None, Behind(0.1, 0, 0), Behind(0.1, 0, 0), Behind(0.9, 0, 0), None, None, None]
    assert len(asked) == 1


def test_where_slurmctld_is_away_nobody_has_a_place(make_desk: Callable[..., Desk]) -> None:
    def away(_: int) -> Room:
        raise AdminkitError("no answer")

    assert asyncio.run(make_desk(away).place("8")) is None


def test_two_users_are_not_given_the_last_gpu(make_desk: Callable[..., Desk]) -> None:
    at = make_desk()

    async def both() -> list[No | None]:
        one = at.profiles()["one"]
        return list(await asyncio.gather(at.admit("ada", "root", one), at.admit("bob", "root", one)))

    found = asyncio.run(both())
    assert sorted(one is None for one in found) == [False, True]


def test_what_was_given_up_is_free_in_the_next_snapshot(make_desk: Callable[..., Desk]) -> None:
    """Until then it counts: the snapshot may be of before slurmctld knew the job."""
    at = make_desk()

    async def told() -> list[bool]:
        one = at.profiles()["one"]
        found = [await at.admit("ada", "root", one) is None]
        at.done("ada")
        found.append(await at.admit("bob", "root", one) is None)
        return found

    assert asyncio.run(told()) == [True, True], "this room never changes, so only the booking could refuse it"


@pytest.mark.parametrize(
    ("verdict", "let_in"),
    [("now", True), ("room", True), ("later", False), ("never", False), ("unknown", False)],
)
def test_slurm_may_say_no_to_what_nodes_have_room_for(
    make_desk: Callable[..., Desk], verdict: str, let_in: bool
) -> None:
    at = make_desk(judge=says(verdict))

    async def told() -> list[No | None]:
        one = at.profiles()["one"]
        return [await at.admit("ada", "root", one), await at.admit("bob", "root", one)]

    first, second = asyncio.run(told())
    assert (first is None) is let_in
    assert isinstance(second, No), "booked for the first, or refused as the first was"
    if first is not None:
        assert first.answer.start.text == "it said so"
    assert not let_in or at.profiles()["one"].request in [one.request for one in at._bookings.values()]


def test_a_question_that_fails_or_is_given_up_leaves_no_booking(make_desk: Callable[..., Desk]) -> None:
    going = threading.Event()

    def fails(*_: Any, **__: Any) -> Answer:
        going.wait(30)
        raise AdminkitError("no answer")

    at = make_desk(judge=fails)

    async def told() -> list[str]:
        one = at.profiles()["one"]
        given_up = asyncio.create_task(at.admit("ada", "root", one))
        while not at._bookings:
            await asyncio.sleep(0.01)
        given_up.cancel()
        found = [type((await asyncio.gather(given_up, return_exceptions=True))[0]).__name__]
        going.set()
        found.append(type((await asyncio.gather(at.admit("bob", "root", one), return_exceptions=True))[0]).__name__)
        return found

    assert asyncio.run(told()) == ["CancelledError", "AdminkitError"]
    assert not at._bookings


def test_nodes_without_room_outvote_slurm(make_desk: Callable[..., Desk]) -> None:
    at = make_desk()
    refused = asyncio.run(at.admit("ada", "root", at.profiles()["eight"]))
    assert refused is not None
    assert refused.instead is not None
    assert refused.instead.key == "one", "the largest with room that asks for no more"


def test_nothing_smaller_has_room(make_desk: Callable[..., Desk]) -> None:
    full = job(1, "n1", gpus=8)
    at = make_desk(make([node("n1", taken(full))], full))
    refused = asyncio.run(at.admit("ada", "root", at.profiles()["two"]))
    assert refused is not None
    assert refused.instead is None


def test_many_forms_are_one_question(make_desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch) -> None:
    """And each profile is placed once, as long as nobody was let in."""
    at = make_desk()
    placed: list[Request] = []

    def counted(board: Board, request: Request) -> Said:
        placed.append(request)
        return by_vectors(board, request)

    monkeypatch.setattr(desk, "by_vectors", counted)

    async def forms() -> None:
        for _ in range(5):
            await asyncio.gather(*(at.offers() for _ in range(200)))

    asyncio.run(forms())
    assert (at.questions, at.tests) == (1, 0)
    assert len(placed) == 4


def test_a_form_is_shown_while_slurmctld_hangs(make_desk: Callable[..., Desk]) -> None:
    going = threading.Event()

    def hangs(_: int) -> Room:
        going.wait(30)
        return ONE_LEFT

    at = make_desk(hangs)

    async def shown() -> tuple[list[Said | None], list[str]]:
        before = [one.said for one in await at.offers()]
        going.set()
        await asyncio.wait({at._question()})
        return before, [one.said.word for one in await at.offers() if one.said]

    before, after = asyncio.run(shown())
    assert before == [None] * 4
    assert after == ["now", "later", "later", "never"]


def test_a_click_is_told_that_slurmctld_does_not_answer(
    make_desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "LONG", 0.1)
    going = threading.Event()

    def hangs(_: int) -> Room:
        going.wait(30)
        raise AdminkitError("too late")

    at = make_desk(hangs)

    async def told() -> None:
        try:
            with pytest.raises(AdminkitError, match="no answer"):
                await at.admit("ada", "root", at.profiles()["one"])
        finally:
            going.set()

    asyncio.run(told())
    assert not at._bookings


def test_a_form_says_that_slurmctld_is_away(make_desk: Callable[..., Desk]) -> None:
    def away(_: int) -> Room:
        raise AdminkitError("slurmctld is away", "scontrol ping")

    at = make_desk(away)
    assert [one.said for one in asyncio.run(at.offers())] == [None] * 4
    assert at.problem == "slurmctld is away"


def test_a_snapshot_that_was_begun_before_the_click_is_not_taken(make_desk: Callable[..., Desk]) -> None:
    """Somebody else may have been faster in between."""
    rooms = [make([node("n1")]), ONE_LEFT]
    slow = threading.Event()

    def look(_: int) -> Room:
        first = len(rooms) == 2
        if first:
            slow.wait(30)
        return rooms.pop(0)

    at = make_desk(look)

    async def told() -> No | None:
        at._question()
        await asyncio.sleep(0.1)
        threading.Timer(0.05, slow.set).start()
        return await at.admit("ada", "root", at.profiles()["two"])

    assert asyncio.run(told()) is not None
