"""policy.toml as a checked model: what may stand in it, in base units, and its defaults.

What one value says by itself is checked here; what two of them say together is checked in check.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from adminkit.job import CLASSES
from adminkit.messages import Language
from adminkit.policy.durations import seconds
from adminkit.policy.extend_settings import Extend
from adminkit.policy.idle_settings import Idle
from adminkit.policy.incentive_settings import Hints, Incentives
from adminkit.policy.kinds import ACTIONS, CHECKS, Action
from adminkit.policy.memory_size import Memory
from adminkit.policy.power_settings import Power
from adminkit.policy.soft_settings import SoftLimits
from adminkit.policy.texts import OUTCOMES, PLACEHOLDERS, defaults
from adminkit.recommend.menu import LEAST_RISK, MENU, MOST_RISK, RISK, Offer

JobClass = Literal["cpu", "single-gpu", "multi-gpu", "multi-node"]
assert get_args(JobClass) == CLASSES

#: What a record can hold of a rule's name; a record names several.
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,40}", re.ASCII)
_RANGE: Final = re.compile(r"([0-9]{1,9})|([0-9]{1,9})?\s*-\s*([0-9]{1,9})?", re.ASCII)
#: A page of the web: nothing in it ends a line, a quote, a tag or a text with placeholders, and nobody logs in by it.
_PAGE: Final = re.compile(
    r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9/._~%!$&()*+,;=:@-]*)?([?#][A-Za-z0-9/._~%!$&()*+,;=:@?#-]*)?"
)
_LONGEST_PAGE: Final = 200
#: Seconds; about ten years. A longer limit is a slip of the pen.
_LONGEST: Final = 3660 * 86_400


@dataclass(frozen=True, slots=True)
class Range:
    """A range from `min` to `max`, both included; None where open."""

    min: int | None = None
    max: int | None = None

    def __str__(self) -> str:
        if self.min == self.max:
            return str(self.min)
        return f"{'' if self.min is None else self.min}-{'' if self.max is None else self.max}"


def _version(value: Any) -> int:
    if type(value) is not int or value != 1:
        raise ValueError("this release of adminkit knows version 1")
    return value


def _limit(value: Any) -> int:
    """A time limit, seconds."""
    limit = seconds(value)
    if not 0 < limit <= _LONGEST:
        raise ValueError("a limit is more than nothing and at most 3,660 days")
    if limit % 60:
        raise ValueError("Slurm keeps limits in whole minutes")
    return limit


def _range(value: Any) -> Range:
    """1, "1-8", "2-", "-4" or [1, 8]."""
    low, high = None, None
    if isinstance(value, int) and not isinstance(value, bool):
        low = high = value
    elif isinstance(value, list) and len(value) == 2 and all(type(one) is int for one in value):
        low, high = value
    elif isinstance(value, str) and (match := _RANGE.fullmatch(value.strip())):
        low, high = (None if part is None else int(part) for part in (match[1] or match[2], match[1] or match[3]))
    if (low is None and high is None) or (low or 0) < 0 or (high or 0) < 0:
        raise ValueError('write a number, "1-8", "2-" or [1, 8]')
    if low is not None and high is not None and low > high:
        raise ValueError(f"{low} is above {high}")
    return Range(low, high)


def _moment(value: Any, info: ValidationInfo) -> int:
    """A TOML date or time -> epoch seconds; a local one is in the context's `tz`, None for the host's own."""
    tz: tzinfo | None = (info.context or {}).get("tz")
    if isinstance(value, str):
        raise ValueError("write a date without quotes: from = 2027-01-01")
    try:
        if isinstance(value, datetime):
            return int((value if value.tzinfo else value.replace(tzinfo=tz)).timestamp())
        if isinstance(value, date):
            return int(datetime(value.year, value.month, value.day, tzinfo=tz).timestamp())
    except (OverflowError, OSError, ValueError) as error:
        raise ValueError("there is no such time") from error
    raise ValueError("write a date or a date with a time: from = 2027-01-01, from = 2027-01-01T08:00:00+09:00")


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("a name is 1 to 40 letters, digits, dots, dashes or underlines")
    return value


def _word(value: str) -> str:
    """A name that Slurm or the system gave: no blank or comma can stand in one."""
    if not value or any(c.isspace() or c == "," or not c.isprintable() for c in value) or len(value) > 255:
        raise ValueError(f"not the name of a queue, an account, a QOS or a user: {value!r}")
    return value


def _distinct(value: tuple[str, ...]) -> tuple[str, ...]:
    for word in value:
        if value.count(word) > 1:
            raise ValueError(f"{word} appears twice")
    return value


def _some(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        raise ValueError("an empty list would fit no job; leave the condition out to fit every job")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("write a text in quotes")
    if not value.strip():
        raise ValueError("an empty text tells nobody anything")
    if len(value) > 1000:
        raise ValueError("longer than 1000 characters")
    if any(not c.isprintable() for c in value):
        raise ValueError("a text is one line without control characters")
    return value


def _page(value: Any) -> str:
    if not isinstance(value, str) or not _PAGE.fullmatch(value):
        raise ValueError("write the address of a page, without blanks: https://hpc.example.org/limits")
    if len(value) > _LONGEST_PAGE:
        raise ValueError(f"longer than {_LONGEST_PAGE} characters")
    return value


def _words(value: Any) -> str | dict[str, str]:
    """One text for all outcomes, or one each. Trap: in a union pydantic would name its own branches in the place."""
    if isinstance(value, dict):
        return {outcome: _text(text) for outcome, text in value.items()}
    return _text(value)


Duration = Annotated[int, BeforeValidator(_limit)]
Numbers = Annotated[Range, BeforeValidator(_range)]
Moment = Annotated[int, BeforeValidator(_moment)]
Name = Annotated[str, AfterValidator(_name)]
Word = Annotated[str, AfterValidator(_word)]
Words = Annotated[tuple[Word, ...], AfterValidator(_distinct)]
SomeWords = Annotated[Words, AfterValidator(_some)]
Text = Annotated[str, BeforeValidator(_text)]
Page = Annotated[str, BeforeValidator(_page)]


class _Table(BaseModel):
    """Trap: TOML has lists, and strict mode takes no list for a tuple; so only the leaves are strict."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=False)


class RuleText(_Table):
    """A rule's own words, in place of those of its check."""

    en: Text | None = None
    ja: Text | None = None


class Rule(_Table):
    """One rule: one check, the conditions under which it looks, what it does and since when."""

    name: Name
    require_limit: Literal[True] | None = None
    default_limit: Duration | None = None
    min_limit: Duration | None = None
    max_limit: Duration | None = None
    restartable_above: Duration | None = None
    gpus: Numbers | None = None
    gpus_per_node: Numbers | None = None
    gpu_slices: Numbers | None = None
    nodes: Numbers | None = None
    cpus: Numbers | None = None
    batch_only: Literal[True] | None = None
    require_account: Literal[True] | None = None
    exclusive: Literal[True] | None = None
    cpus_per_gpu: Annotated[int, Field(ge=1, le=100_000)] | None = None
    mem_per_gpu: Memory | None = None
    queues: SomeWords | None = None
    classes: Annotated[tuple[JobClass, ...], AfterValidator(_distinct), AfterValidator(_some)] | None = None
    accounts: SomeWords | None = None
    qos: SomeWords | None = None
    users: SomeWords | None = None
    except_users: SomeWords | None = None
    except_accounts: SomeWords | None = None
    action: Action | None = None  # None: the first of ACTIONS
    from_: Moment | None = Field(default=None, alias="from")
    text: RuleText | None = None

    @property
    def check(self) -> str:
        """The one key of CHECKS that this rule has."""
        return next(check for check in CHECKS if getattr(self, check) is not None)

    @property
    def value(self) -> bool | int | Range:
        """What stands beside it."""
        value: bool | int | Range = getattr(self, self.check)
        return value

    @property
    def does(self) -> Action:
        """What it does to a job that breaks it, once its date has come."""
        return self.action or ACTIONS[self.check][0]

    @model_validator(mode="after")
    def _one_check(self) -> Rule:
        given = [check for check in CHECKS if getattr(self, check) is not None]
        if not given:
            raise ValueError(f"a rule checks one thing; give it one of {', '.join(CHECKS)}")
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are {len(given)} rules; a rule checks one thing")
        return self


class Exempt(_Table):
    """Who passes, besides root, SlurmUser, operators and administrators."""

    users: Words = ()


class Routing(_Table):
    """Where a job goes that names no queue: to the first of `order` that fits it, never to one of `avoid`."""

    action: Literal["amend", "warn", "off"] = "off"
    order: Words = ()  # empty: every queue, the one of the shortest maximum first
    avoid: Words = ()
    from_: Moment | None = Field(default=None, alias="from")  # before: as "warn"


#: [texts.en]: by name, or by name and outcome; a text that is left out keeps its default.
Texts = dict[str, Annotated[str | dict[str, str], BeforeValidator(_words)]]


class Policy(_Table):
    """The whole file."""

    version: Annotated[int, BeforeValidator(_version)]
    fail: Literal["open", "closed"] = "open"
    record: Literal["admin_comment", "extra", "comment", "none"] = "admin_comment"
    languages: Annotated[tuple[Language, ...], AfterValidator(_distinct), AfterValidator(_some)] = ("en",)
    menu: Annotated[tuple[Duration, ...], AfterValidator(lambda menu: tuple(sorted(set(menu))))] = MENU
    risk: Annotated[float, Field(ge=LEAST_RISK, le=MOST_RISK)] = RISK
    help_url: Page | None = None  # for users; None: no page is named
    exempt: Exempt = Exempt()
    routing: Routing = Routing()
    gpus_per_user: dict[Word, Annotated[int, Field(ge=1, le=1_000_000)]] = Field(default_factory=dict)  # by queue
    rules: tuple[Rule, ...] = ()
    texts: dict[Language, Texts] = Field(default_factory=dict)
    incentives: Incentives = Incentives()
    hints: Hints = Hints()
    soft_limits: SoftLimits = SoftLimits()
    extend: Extend = Extend()
    idle: Idle = Idle()
    power: Power = Power()

    @property
    def offer(self) -> Offer:
        """What limits are recommended here, and where their users can read on."""
        return Offer(self.menu, self.risk, self.help_url)

    def words(self, language: str) -> dict[str, str]:
        """Every text of one language, by name and outcome. One that the file gives for all outcomes counts for each."""
        texts = dict(defaults(language))
        own = next((texts for name, texts in self.texts.items() if name == language), {})
        for name, given in own.items():
            if isinstance(given, str):
                texts.update(dict.fromkeys((f"{name}.{outcome}" for outcome in OUTCOMES[name]), given)
                             if name in OUTCOMES else {name: given})  # fmt: skip
            else:
                texts.update({f"{name}.{outcome}": text for outcome, text in given.items()})
        return texts

    def queues(self) -> tuple[str, ...]:
        """Every queue it names, those of the rules first."""
        named = [queue for rule in self.rules for queue in rule.queues or ()]
        routed = [*self.routing.order, *self.routing.avoid]
        others = [*self.soft_limits.queues, *self.extend.queues, *self.idle.queues, *self.gpus_per_user]
        return tuple(dict.fromkeys([*named, *routed, *others]))

    def users(self) -> tuple[str, ...]:
        """Every user it names: those whose uids the compiled table holds."""
        named = [user for rule in self.rules for user in (*(rule.users or ()), *(rule.except_users or ()))]
        left_out = [*self.soft_limits.users_off, *self.extend.users_off, *self.idle.users_off]
        return tuple(dict.fromkeys([*self.exempt.users, *named, *left_out]))


assert tuple(PLACEHOLDERS)[: len(CHECKS)] == CHECKS
