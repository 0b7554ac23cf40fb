"""A server of JupyterHub as a Slurm job: refused at once where it cannot start, watched until it ends.

On batchspawner's SlurmSpawner. What differs: no shell is started; what runs as the user gets none of the hub's secrets;
the sizes come from the operator's profiles alone; the job is watched after it runs, too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, ClassVar

from batchspawner import SlurmSpawner
from traitlets import Bool, Float, List, Unicode, default

from adminkit.errors import AdminkitError
from adminkit.fit.fair_share import Behind
from adminkit.fit.line import Place
from adminkit.fit.profiles import Profile
from adminkit.jupyter import form, handlers, port
from adminkit.jupyter.desk import Desk
from adminkit.jupyter.idle import variables
from adminkit.jupyter.job_log import last_lines
from adminkit.jupyter.jobs import Jobs
from adminkit.jupyter.programs import Answer, run
from adminkit.jupyter.refused import Refused
from adminkit.jupyter.script import container_words, kernel_words, log_of, options, script
from adminkit.jupyter.texts import say
from adminkit.quote import quote
from adminkit.slurm.reasons import meaning
from adminkit.slurm.server_job import Seen, cancellation, job_id_of, submission, why_of

port.take_over()
handlers.put()


class Spawner(SlurmSpawner):
    """A user's server. `user_options` is {"profile": KEY}, and nothing else of it is read."""

    profiles = Unicode("/etc/adminkit/profiles.toml", help="The file of profiles (docs/profiles.md).").tag(config=True)
    as_user = List(
        Unicode(),
        ["runuser", "-u", "{username}", "--"],
        help="Words before a command that is run as the user; {username} is theirs. There is no shell.",
    ).tag(config=True)
    patience = Float(300.0, help="Seconds after which a job that still waits is withdrawn, with Slurm's reason.").tag(
        config=True
    )
    hide = Bool(
        False, help="Leave out what cannot start now; else it is shown with the time, and cannot be chosen."
    ).tag(config=True)
    address = Unicode("", help="Where servers are reached, for a cluster on one host; empty: by the node's name.").tag(
        config=True
    )

    folder = Unicode(
        "", help="Where a server begins and its log lies, {username} is the user's name; empty: their home."
    ).tag(config=True)

    container = List(
        Unicode(),
        help='Words before the server of a profile with an image, such as ["apptainer", "exec", "{image}"]. There is no'
        " shell. Empty: such a profile is refused.",
    ).tag(config=True)

    #: One of each for all servers of the hub.
    jobs: ClassVar[Jobs] = Jobs()
    desks: ClassVar[dict[str, Desk]] = {}
    #: User and server -> state and log of a job that ended by itself. The hub makes a new spawner when one has ended.
    last_words: ClassVar[dict[tuple[str, str], tuple[str, tuple[str, ...]]]] = {}

    _seen: Seen | None = None
    _nearest: Profile | None = None  # what has room in place of what was refused
    _place: Place | None = None  # in its queue, while it waits
    _behind: Behind | None = None  # others, for their fair share alone
    _stopping = False

    @default("poll_interval")
    def _often(self) -> int:
        return 2

    @default("start_timeout")
    def _longer_than_patience(self) -> int:
        return int(self.patience) + 60

    @property
    def desk(self) -> Desk:
        """What is offered, of this file of profiles."""
        return self.desks.setdefault(self.profiles, Desk(self.profiles, images=bool(self.container)))

    @property
    def _mine(self) -> tuple[str, str]:
        return self.user.name, self.name

    @property
    def language(self) -> str:
        """Of the page: that of the browser, else English."""
        handler = getattr(self, "handler", None)
        asked = handler.request.headers.get("Accept-Language", "") if handler else ""
        return "ja" if asked.lower().lstrip().startswith("ja") else "en"

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
            offered = await self.desk.offers()
        except AdminkitError as error:
            self.log.error("couldn't offer profiles: %s", error)
            return {"problem": True, "offers": []}
        return {
            "problem": any(one.said is None for one in offered),
            "offers": form.rows(offered, self.language, hide=self.hide),
        }

    async def _form(self, _: Any) -> str:
        found = await self.offers()
        asked = self.user_options.get("profile") if isinstance(self.user_options, dict) else None
        return form.html(
            found["offers"],
            self.language,
            base=self.hub.base_url,
            token=self._token(),
            chosen=asked if isinstance(asked, str) else "",
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
        return lambda sent: {"profile": next(iter(sent.get("profile", [])), "")}

    @default("apply_user_options")
    def _nothing_else(self) -> Any:
        return lambda spawner, options: None  # `start` reads the profile, and nothing else of them

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
        asked = self.user_options.get("profile") if isinstance(self.user_options, dict) else None
        try:
            profile = self.desk.profiles().get(asked) if isinstance(asked, str) else None
            if profile is None:
                raise Refused(say("no_profile", self.language, name=quote(str(asked))), status=400)
            refused = await self.desk.admit(self, self.user.name, profile)
        except AdminkitError as error:
            self.log.error("couldn't ask Slurm for %s: %s", self._log_name, error)
            raise Refused(say("no_answer", self.language), status=503) from error
        if refused is None:
            return profile
        self._nearest = refused.instead
        raise Refused(form.refusal(refused.answer.start, self.language))

    async def _submit(self, profile: Profile) -> None:
        env = {**self.get_env(), **variables(profile.idle, profile.warn)}
        words = submission(options("jupyter", self.home, sorted(env), profile.request.words()))
        server = [self.batchspawner_singleuser_cmd, *self.cmd, *self.get_args(), *kernel_words(profile.kernel)]
        command = [*container_words(self.container, profile.image), *server]
        try:
            answer = await self.as_them(words, script(command, profile.modules), env)
        except AdminkitError as error:
            self.log.error("couldn't submit %s: %s", self._log_name, error)
            raise Refused(say("no_answer", self.language), status=503) from error
        job_id = job_id_of(answer.said)
        if answer.code or job_id is None:
            raise Refused(say("refused", self.language, why=why_of(answer.complained)))
        self.job_id = job_id
        self.log.info("%s is job %s", self._log_name, job_id)

    async def _wait_for_start(self) -> None:
        since = time.monotonic()
        while True:
            await self._look_on()
            if self._seen is not None and self._seen.runs:
                return
            self._place = await self.desk.place(self.job_id)
            self._behind = await self.desk.behind(self.job_id)
            if time.monotonic() - since > self.patience:
                why = self._why()
                await self._cancel()
                raise Refused(say("withdrawn", self.language, seconds=self.patience, why=why))
            await asyncio.sleep(self.startup_poll_interval)

    async def _look_on(self) -> None:
        """The job as it is; Refused, with its last words, where it has ended. No answer of slurmctld's is no end."""
        try:
            self._seen = await self.jobs.look(self.job_id)
        except AdminkitError as error:
            self.log.warning("couldn't look at job %s: %s", self.job_id, error)
            self._seen = None
            return
        if not (self._seen.waits or self._seen.runs):
            state, lines = await self._end_of(self.job_id, self._seen.state)
            raise Refused(say("ended" if lines else "ended_silent", self.language, state=state), lines)

    def _why(self) -> str:
        code = self._seen.reason if self._seen else None
        return f"{code}: {meaning(code, self.language)}" if code else say("no_answer", self.language)

    def take_port(self, number: int) -> bool:
        """The port that the server listens at; False where it has told one before."""
        if self.port:
            return False
        self.port = number
        return True

    # --- while it runs

    async def poll(self) -> int | None:
        """None while the job waits or runs, or slurmctld does not answer; 1 when it has ended."""
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
            message = self._message()
            if message and message != last:
                yield {"message": message, "progress": 60 if self._seen and self._seen.runs else 20}
                last = message
            await asyncio.sleep(self.startup_poll_interval)

    def _message(self) -> str | None:
        if not self.job_id:
            return None
        seen = self._seen
        if seen is None:
            return say("unknown", self.language)
        if seen.runs:
            return say("running", self.language, job=self.job_id, host=seen.host)
        text = say("waiting", self.language, job=self.job_id, why=self._why())
        if self._place:
            text += " " + form.place(self._place, self.language)
        if self._behind and self._behind.jobs:
            text += " " + form.fair_share(self._behind, self.language)
        if seen.start_time:
            at = datetime.fromtimestamp(seen.start_time).strftime("%H:%M")
            text += " " + say("expected", self.language, at=at)
        return text


async def _listens(host: str, port: int) -> bool:
    """Whether somebody takes a connection there: from then on the hub waits for the page, and not for the job."""
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), 1.0)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
