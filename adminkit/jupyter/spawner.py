"""A server of JupyterHub as a Slurm job: refused at once where it cannot start, watched until it ends.

On batchspawner's SlurmSpawner. What differs: no shell is started; what runs as the user gets none of the hub's secrets;
the sizes come only from the operator's profiles; the job is watched after it runs, too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, ClassVar

from traitlets import default

from adminkit.errors import AdminkitError, UsageError
from adminkit.fit.fair_share import Behind
from adminkit.fit.line import Place
from adminkit.fit.profiles import Profile
from adminkit.jupyter import form, handlers, port, progress, recover
from adminkit.jupyter.desk import Desk
from adminkit.jupyter.end_reasons import ended_early
from adminkit.jupyter.idle import variables
from adminkit.jupyter.job_log import last_lines
from adminkit.jupyter.jobs import Jobs
from adminkit.jupyter.limits import Limits, typed_limit, with_limit
from adminkit.jupyter.lost import Lost
from adminkit.jupyter.programs import Answer, run
from adminkit.jupyter.refused import Refused
from adminkit.jupyter.script import container_words, kernel_words, log_of, options, script
from adminkit.jupyter.settings import Settings
from adminkit.messages import Message, message, preferred, translated
from adminkit.quote import quote
from adminkit.slurm.server_job import Seen, cancellation, job_id_of, may_have_come, submission, why_of

port.take_over()
handlers.put()
recover.begin()


class Spawner(Settings):
    """A user's server. `user_options` is {"profile": KEY, "time": LIMIT}, and nothing else of it is read."""

    #: One of each for all servers of the hub.
    jobs: ClassVar[Jobs] = Jobs()
    desks: ClassVar[dict[str, Desk]] = {}
    limits: ClassVar[dict[str, Limits]] = {}
    lost: ClassVar[Lost] = Lost()
    #: User and server -> state and log of a job that ended by itself. The hub makes a new spawner when one has ended.
    last_words: ClassVar[dict[tuple[str, str], tuple[str, tuple[str, ...]]]] = {}

    _seen: Seen | None = None
    _nearest: Profile | None = None  # what has room in place of what was refused
    _place: Place | None = None  # in its queue, while it waits
    _behind: Behind | None = None  # others, only for their fair share
    _stopping = False

    @property
    def desk(self) -> Desk:
        """What is offered, of this file of profiles."""
        return self.desks.setdefault(self.profiles, Desk(self.profiles, images=bool(self.container)))

    @property
    def _mine(self) -> tuple[str, str]:
        return self.user.name, self.name

    @property
    def language(self) -> str:
        """The page's language: that of the browser, else English."""
        handler = getattr(self, "handler", None)
        return preferred(handler.request.headers.get("Accept-Language", "")) if handler else "en"

    @property
    def home(self) -> str:
        """The folder of the job and of its log."""
        return self.folder.replace("{username}", self.user.name) or str(self.req_homedir)

    def before(self) -> list[str]:
        """The words that change to the user."""
        return [word.replace("{username}", self.user.name) for word in self.as_user]

    async def as_them(self, argv: list[str], given: str = "", env: dict[str, str] | None = None) -> Answer:
        """A program of Slurm's as the user."""
        return await run(argv, before=self.before(), given=given, env=env or {})

    # --- the form

    async def offers(self) -> dict[str, Any]:
        """What the form's refresh shows: {problem, offers}."""
        try:
            offered = await self.desk.offers(await self._limits())
        except AdminkitError as error:
            self.log.error("couldn't offer profiles: %s", error)
            return {"problem": True, "offers": []}
        return {
            "problem": any(one.said is None for one in offered),
            "offers": form.rows(offered, self.language, hide=self.hide, limits=bool(self.trace)),
        }

    async def _limits(self) -> Mapping[str, int]:
        """The limits that are proposed to this user, by profile."""
        if not self.trace:
            return {}
        asked = self.limits.setdefault(self.trace, Limits(self.trace))
        return await asked.of(self.user.name, self.desk.profiles().values(), self.desk.cluster)

    async def _form(self, _: Any) -> str:
        found = await self.offers()
        asked, typed = self._asked("profile"), self._asked("time")
        return form.html(
            found["offers"],
            self.language,
            base=self.hub.base_url,
            token=self._token(),
            chosen=asked if isinstance(asked, str) else "",
            typed=typed if isinstance(typed, str) else "",
            problem=found["problem"],
            ended=self.last_words.get(self._mine),
            nearest=(self._nearest.key, self._nearest.title(self.language)) if self._nearest else None,
        )

    def _token(self) -> str:
        token = getattr(getattr(self, "handler", None), "xsrf_token", b"")
        return token.decode() if isinstance(token, bytes) else str(token)

    @default("options_form")
    def _own_form(self) -> Any:
        return self._form

    @default("options_from_form")
    def _own_options(self) -> Any:
        def read(sent: Mapping[str, list[str]]) -> dict[str, str]:
            key = next(iter(sent.get("profile", [])), "")
            typed = next(iter(sent.get(f"time-{key}", [])), "")
            return {"profile": key, "time": typed} if typed else {"profile": key}

        return read

    @default("apply_user_options")
    def _nothing_else(self) -> Any:
        return lambda spawner, options: None  # `start` reads the profile and the time, and nothing else of them

    def _asked(self, key: str) -> Any:
        """What a user asked for: any JSON."""
        return self.user_options.get(key) if isinstance(self.user_options, dict) else None

    # --- starting

    async def start(self) -> tuple[str, int]:
        """Ask, submit, and wait until the server has told its port. Refused says why it did not come so far."""
        self.ip, self.port = self.traits()["ip"].default_value, 0
        if self.server:
            self.server.port = 0
        self._seen, self._place, self._behind, self._nearest, self._stopping = None, None, None, None, False
        self.last_words.pop(self._mine, None)
        profile = await self._admitted()
        try:
            await self._submit(profile)
        finally:
            self.desk.done(self)
        try:
            await self._wait_for_start()
            self.ip = self.address or (self._seen.host if self._seen else None) or ""
            while not (self.port and await _listens(self.ip, self.port)):
                await self._look_on()
                await asyncio.sleep(self.startup_poll_interval)
        except Refused:
            self.jobs.forget(self.job_id)
            self.clear_state()
            raise
        self.db.commit()
        return self.ip, self.port

    async def _admitted(self) -> Profile:
        asked = self._asked("profile")
        try:
            profile = self.desk.profiles().get(asked) if isinstance(asked, str) else None
            if profile is None:
                raise self._refused(message("There is no profile {name}.", name=quote(str(asked))), status=400)
            profile = self._for_as_long_as_asked(profile)
            refused = await self.desk.admit(self, self.user.name, profile)
        except AdminkitError as error:
            self.log.error("couldn't ask Slurm for %s: %s", self._log_name, error)
            raise self._refused(form.NO_ANSWER, status=503) from error
        if refused is None:
            return profile
        self._nearest = refused.instead
        raise self._refused(form.refusal(refused.answer.start))

    def _for_as_long_as_asked(self, profile: Profile) -> Profile:
        """The profile with the limit that the user typed, which they may shorten where the form has a field for it."""
        if not self.trace:
            return profile
        try:
            return with_limit(profile, typed_limit(profile, self._asked("time")))
        except UsageError as error:
            raise self._refused(message("No such time limit: {why}.", why=error.message), status=400) from error

    def _refused(self, said: Message, lines: Sequence[str] = (), status: int = 409) -> Refused:
        return Refused(translated(said, self.language), lines, status=status)

    async def _submit(self, profile: Profile) -> None:
        mark = self.lost.begin(self._mine)
        self._save()
        try:
            answer = await self._sbatch(profile, mark)
        except BaseException:  # the hub gives up a start by cancelling it
            self.lost.search(self._mine, mark, self.as_them)
            raise
        job_id = job_id_of(answer.said)
        if job_id is None and may_have_come(answer.complained):
            self.lost.search(self._mine, mark, self.as_them)
            self.log.error("couldn't submit %s: %s", self._log_name, answer.complained.strip())
            raise self._refused(form.NO_WORD, status=503)
        self.lost.settle(self._mine, mark)
        if answer.code or job_id is None:
            raise self._refused(form.cannot_start(why_of(answer.complained)))
        self.job_id = job_id
        self._save()
        self.log.info("%s is job %s", self._log_name, job_id)

    async def _sbatch(self, profile: Profile, mark: str) -> Answer:
        env = {**self.get_env(), **variables(profile.idle, profile.warn)}
        words = submission(options(self.home, mark, sorted(env), profile.request.words()))
        server = [self.batchspawner_singleuser_cmd, *self.cmd, *self.get_args(), *kernel_words(profile.kernel)]
        command = [*container_words(self.container, profile.image), *server]
        try:
            return await self.as_them(words, script(command, profile.modules), env)
        except AdminkitError as error:
            self.log.error("couldn't submit %s: %s", self._log_name, error)
            raise self._refused(form.NO_WORD, status=503) from error

    # --- what outlives the hub

    def get_state(self) -> dict[str, Any]:
        """Add to batchspawner's the marks of submissions whose outcome is not known."""
        state = dict(super().get_state())
        if marks := self.lost.marks(self._mine):
            state[recover.KEY] = marks
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Load batchspawner's; what the hub had submitted when it went away is searched."""
        super().load_state(state)
        self.lost.take_up(self._mine, state.get(recover.KEY), self.as_them)

    def _save(self) -> None:
        """Into the hub's database. The hub does so only when a start has ended."""
        if self.orm_spawner is not None:
            self.orm_spawner.state = self.get_state()
            self.db.commit()

    async def _wait_for_start(self) -> None:
        since = time.monotonic()
        while True:
            await self._look_on()
            if self._seen is not None and self._seen.runs:
                return
            self._place = await self.desk.place(self.job_id)
            self._behind = await self.desk.behind(self.job_id)
            if time.monotonic() - since > self.patience:
                why = progress.why(self._seen)
                await self._cancel()
                raise self._refused(form.withdrawn(self.patience, why))
            await asyncio.sleep(self.startup_poll_interval)

    async def _look_on(self) -> None:
        """The job as it is; Refused, with its last words, where it has ended. Silence of slurmctld is not an end."""
        try:
            self._seen = await self.jobs.look(self.job_id)
        except AdminkitError as error:
            self.log.warning("couldn't look at job %s: %s", self.job_id, error)
            self._seen = None
            return
        if not (self._seen.waits or self._seen.runs):
            state, lines = await self._end_of(self.job_id, self._seen.state)
            raise self._refused(ended_early(state, lines), lines)

    def take_port(self, number: int) -> bool:
        """The port that the server listens at; False where it has told one before."""
        if self.port:
            return False
        self.port = number
        return True

    # --- while it runs

    async def poll(self) -> int | None:
        """None while the job waits or runs, or slurmctld is not responding; 1 when it has ended."""
        if not self.job_id:
            return 1
        try:
            seen = await self.jobs.look(self.job_id)
        except AdminkitError as error:
            self.log.warning("couldn't look at job %s: %s", self.job_id, error)
            return None
        if seen.waits or seen.runs:
            return None
        if not self._stopping:
            self.last_words[self._mine] = await self._end_of(self.job_id, seen.state)
        self.jobs.forget(self.job_id)
        self.clear_state()
        return 1

    async def _end_of(self, job_id: str, state: str) -> tuple[str, tuple[str, ...]]:
        return state, tuple(await last_lines(log_of(self.home, job_id), self.before()))

    async def stop(self, now: bool = False) -> None:
        """Cancel the job, and wait up to ten seconds until Slurm has ended it."""
        self._stopping = True
        await self._cancel()
        for _ in range(0 if now else 10):
            if await self.poll() is not None:
                return
            await asyncio.sleep(1)

    async def _cancel(self) -> None:
        if not self.job_id:
            return
        try:
            answer = await self.as_them(cancellation(self.job_id))
        except AdminkitError as error:
            self.log.error("couldn't cancel job %s: %s", self.job_id, error)
            return
        if answer.code:
            self.log.error("couldn't cancel job %s: %s", self.job_id, answer.complained.strip())

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """What the page says while the server starts: each sentence once."""
        last = None
        while True:
            said = self.job_id and progress.said(self.job_id, self._seen, self._place, self._behind)
            if said and said != last:
                shown = translated(said, self.language)
                yield {"message": shown, "progress": 60 if self._seen and self._seen.runs else 20}
                last = said
            await asyncio.sleep(self.startup_poll_interval)


async def _listens(host: str, port: int) -> bool:
    """Whether somebody takes a connection there: from then on the hub waits for the page, and not for the job."""
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), 1.0)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
