"""One desk for each file of profiles of a hub: what is offered, who is let in, what is promised and not yet Slurm's.

All forms share one snapshot of the nodes. Slurm's own test is asked only at the click. A spawn that was let in is
booked in the snapshot until slurmctld knows its job, so that two users of the hub are not given the same GPU.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from adminkit.errors import AdminkitError
from adminkit.fit.ask import answer_on, forget_of
from adminkit.fit.fair_share import Behind, behind
from adminkit.fit.line import Place, place_in_line
from adminkit.fit.place import Board, Said, board, by_vectors, take
from adminkit.fit.profiles import Profile, load_profiles, smaller_profiles
from adminkit.fit.request import Request
from adminkit.fit.verdict import OFFERED, Answer, Start
from adminkit.jupyter.limits import with_limit
from adminkit.messages import message
from adminkit.slurm.fair_share import Shares, fair_shares
from adminkit.slurm.room import Room, room
from adminkit.slurm.will_run import user_of

T = TypeVar("T")

#: Seconds for which a snapshot serves the forms. A click is judged by one that was begun after it.
FORM: Final = 10.0
#: Seconds that a form waits for its first snapshot, before it is shown without one.
SOON: Final = 0.2
#: Seconds after which a click is told that Slurm does not answer.
LONG: Final = 5.0
#: Programs of Slurm's that run at a time. The hub's own threads serve its logins.
_WORKERS: Final = 8
#: The answer for a profile with a container image: a job without it is not what its user chose.
_IMAGE: Final = Said("never", None, "image", message("it asks for a container image, and this hub starts none"))


@dataclass(frozen=True, slots=True)
class Offered:
    """A profile as a form shows it; `said` None: not known."""

    profile: Profile
    said: Said | None
    limit: int | None = None  # seconds, proposed to this user; `said` is of it


@dataclass(frozen=True, slots=True)
class No:
    """Why a profile was refused, and the nearest smaller one that has room, None without."""

    answer: Answer
    instead: Profile | None


@dataclass(frozen=True, slots=True)
class _Shot:
    asked: float  # when the question began, time.monotonic()
    board: Board


@dataclass(slots=True)
class _Booking:
    request: Request
    given_up: float | None = None  # from then on slurmctld knows the job, or there is none


class Desk:
    """`look` asks slurmctld for its nodes and jobs; `judge` is fit's verdict. Both block, and run in threads."""

    def __init__(
        self,
        path: str,
        look: Callable[[int], Room] = room,
        judge: Callable[..., Answer] = answer_on,
        shares: Callable[[], Shares] = fair_shares,
        images: bool = False,
    ) -> None:
        """`images`: the hub starts servers in containers."""
        self._path = path
        self._images = images
        self._look = look
        self._judge = judge
        self._ask_shares = shares
        self._shares: Shares = {}
        self._shares_asked = -FORM
        self._threads = ThreadPoolExecutor(_WORKERS, thread_name_prefix="adminkit")
        self._shot: _Shot | None = None
        self._asking: asyncio.Task[_Shot] | None = None
        self._began = 0.0
        self._bookings: dict[Hashable, _Booking] = {}
        self._taken: tuple[Board | None, tuple[Request, ...], Board | None] = None, (), None
        self._known: tuple[Board | None, dict[Request, Said]] = None, {}
        self.problem: str | None = None  # why there is no snapshot
        self.questions = 0  # snapshots that were taken
        self.tests = 0  # requests that Slurm was asked of

    def profiles(self) -> Mapping[str, Profile]:
        """The profiles by key, as the file has them now. AdminkitError for a file that cannot be read."""
        return {one.key: one for one in load_profiles(Path(self._path))}

    @property
    def cluster(self) -> str:
        """Its name; "" as long as slurmctld has not said it."""
        return self._shot.board.room.cluster if self._shot else ""

    async def offers(self, limits: Mapping[str, int] = MappingProxyType({})) -> list[Offered]:
        """What a form shows: each profile with what the nodes say, from a snapshot of ten seconds ago at most.

        `limits`: by profile, what is proposed in place of its time. Where slurmctld is not responding soon, it is not
        known what can start, and `problem` says why.
        """
        shot = await self._lately()
        now = None if shot is None else self._with_bookings(shot)
        return [self._offered(now, one, limits.get(one.key)) for one in self.profiles().values()]

    def _offered(self, now: Board | None, profile: Profile, limit: int | None) -> Offered:
        if self._cannot(profile):
            return Offered(profile, _IMAGE)
        said = None if now is None else self._said(now, with_limit(profile, limit).request)
        return Offered(profile, said, limit)

    def _cannot(self, profile: Profile) -> bool:
        """Whether it has an image, and this hub starts none."""
        return bool(profile.image) and not self._images

    async def place(self, job_id: str) -> Place | None:
        """Return a waiting job's place in its queue, at most ten seconds old; None where it is unknown."""
        shot = await self._lately()
        return place_in_line(shot.board.room, int(job_id)) if shot and job_id.isdigit() else None

    async def behind(self, job_id: str) -> Behind | None:
        """What fair share has to do with its wait, lately; None where it cannot be told, or is not known yet."""
        shot = await self._lately()
        jobs = shot.board.room.jobs if shot else ()
        job = next((one for one in jobs if str(one.job_id) == job_id), None)
        if shot is None or job is None:
            return None
        if time.monotonic() - self._shares_asked > FORM:
            self._shares_asked = time.monotonic()
            asked = asyncio.get_running_loop().run_in_executor(self._threads, self._ask_shares)
            asked.add_done_callback(self._keep_shares)  # nobody waits for it: the next look has it
        return behind(shot.board.room, job, self._shares)

    def _keep_shares(self, asked: asyncio.Future[Shares]) -> None:
        self._shares = {} if asked.cancelled() or asked.exception() else asked.result()

    async def _lately(self) -> _Shot | None:
        """The snapshot that all forms share; None where slurmctld is not responding soon."""
        shot = self._shot
        if shot is None or time.monotonic() - shot.asked > FORM:
            task = self._question()
            done, _ = await asyncio.wait({task}, timeout=SOON)
            shot = task.result() if done and task.exception() is None else None
        return shot

    def _said(self, now: Board, request: Request) -> Said:
        """What the nodes say, once for each board: hundreds of forms and clicks ask for the same."""
        if self._known[0] is not now:
            self._known = now, {}
        found = self._known[1].get(request)
        if found is None:
            found = self._known[1][request] = by_vectors(now, request)
        return found

    async def admit(self, who: Hashable, user: str, profile: Profile) -> No | None:
        """None: it can start, and is booked for `who` until `done`. AdminkitError where slurmctld is not responding."""
        if self._cannot(profile):
            return No(Answer(profile.request, Start("never", why=_IMAGE.why, text=_IMAGE.text)), None)
        shot = await self._fresh()
        now = self._with_bookings(shot)
        # Nothing else runs between these two lines, so that nobody is let in twice.
        room_left = self._said(now, profile.request).word == "now"
        if room_left:
            self._bookings[who] = _Booking(profile.request)
        try:
            answer = await self._in_thread(lambda: self._verdict(now, profile.request, user))
        except BaseException:  # the hub gives up a start by cancelling it
            self._bookings.pop(who, None)
            raise
        if room_left and answer.start.verdict in OFFERED:
            return None
        self._bookings.pop(who, None)
        return No(answer, self._instead(now, profile))

    def done(self, who: Hashable) -> None:
        """Its job is slurmctld's now, or there is none. It counts in snapshots that were begun before."""
        if (booking := self._bookings.get(who)) and booking.given_up is None:
            booking.given_up = time.monotonic()

    def _verdict(self, now: Board, request: Request, user: str) -> Answer:
        self.tests += 1
        who = user_of(user)
        forget_of(who)  # what Slurm said seconds ago
        return self._judge(now, request, who, instead=False)

    def _instead(self, now: Board, profile: Profile) -> Profile | None:
        """The nearest smaller profile that has room."""
        smaller = smaller_profiles(list(self.profiles().values()), profile)
        return next(
            (one for one in smaller if not self._cannot(one) and self._said(now, one.request).word == "now"), None
        )

    def _with_bookings(self, shot: _Shot) -> Board:
        """The snapshot with what was promised and is not in it."""
        counted = []
        for who, one in list(self._bookings.items()):
            if one.given_up is None or one.given_up > shot.asked:
                counted.append(one.request)
            elif self._asking is None or self._asking.done():
                del self._bookings[who]  # no question that was begun before is under way
        before, requests, now = self._taken
        if now is None or before is not shot.board or requests != tuple(counted):
            now = shot.board
            for request in counted:
                now = take(now, request) or now
            self._taken = shot.board, tuple(counted), now
        return now

    async def _fresh(self) -> _Shot:
        """A snapshot that begins after this call; clicks that wait for one share the next."""
        try:
            if self._asking is not None and not self._asking.done():
                await asyncio.wait({self._asking}, timeout=LONG)
            return await asyncio.wait_for(asyncio.shield(self._question()), LONG)
        except TimeoutError:
            raise AdminkitError("couldn't ask slurmctld for its nodes: no answer", "scontrol ping") from None

    def _question(self) -> asyncio.Task[_Shot]:
        """The question that is under way, or a new one."""
        if self._asking is None or self._asking.done():
            self._began = time.monotonic()
            self._asking = asyncio.create_task(self._ask(self._began))
            self._asking.add_done_callback(lambda task: task.cancelled() or task.exception())  # seen by who waits
        return self._asking

    async def _ask(self, began: float) -> _Shot:
        self.questions += 1
        try:
            found = await self._in_thread(lambda: board(self._look(int(time.time()))))
        except AdminkitError as error:
            self.problem = error.message
            self._shot = None
            raise
        self.problem = None
        self._shot = _Shot(began, found)
        return self._shot

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)
