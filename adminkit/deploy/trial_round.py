"""One round of a trial, by a timer on slurmctld's host once a minute, and the end of its lease, by another timer.

A round says by the calendar which side belongs in place, puts it there where it is not, reads back that it is, and
renews the lease. trial.json is written before each act and after it: a round that was cut off anywhere is completed by
the next. What somebody changed by hand ends the trial, and stays as they made it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from adminkit import actions
from adminkit.deploy import trial_guards, trial_seen
from adminkit.deploy.extend_state import alone_here
from adminkit.deploy.files import SUBFOLDER, changing
from adminkit.deploy.install import Target
from adminkit.deploy.trial import BY_HAND, KEPT, KEPT_AFTER, OVER, STOPPED, TRIAL, Side
from adminkit.deploy.trial_seen import Part, Seen
from adminkit.deploy.trial_sides import Pair, read_pair, read_side
from adminkit.deploy.trial_state import LEASE, LIVE, Whole, is_leased, mark_live, missing, read_whole, record
from adminkit.deploy.trial_switch import Queues, give_back, put_side, queues_of
from adminkit.deploy.trial_work import Round, Work
from adminkit.errors import AdminkitError
from adminkit.slurm import extending

LOCK: Final = ".trial.lock"
DAMAGED: Final = "its file is damaged"
NOT_PUT: Final = "B could not be put in place"


def once(target: Target, now: int, others: Sequence[str] = ()) -> Round:
    """A whole round. AdminkitError when nothing can be recorded, or A cannot be told: then nothing is done.

    `others`: slurmctld's other hosts, on one of which it may be at work; then this round does nothing.
    """
    if not _is_installed(target):
        return Round(now, None)
    with alone_here(target.folder, LOCK):
        work = _begin(target, now)
        if work is None or isinstance(work, Round):
            return work or Round(now, None)
        if others and not extending.is_acting(others):
            work.said.append("another host's slurmctld is in control, so the rounds of this one do nothing")
            return work.ended()
        return _decide(work)


def restore(target: Target, now: int) -> Round:
    """Put A back where the lease has run out; nothing where it holds. Works without slurmctld, as far as files go."""
    if not _is_installed(target):
        return Round(now, None)
    with alone_here(target.folder, LOCK):
        work = _begin(target, now)
        if work is None or isinstance(work, Round):
            return work or Round(now, None)
        machine = work.machine
        if machine.kept or (machine.in_place == "a" and machine.under_way is None):
            work.said.append("A is in place")
        elif is_leased(machine, now):
            work.said.append("the lease has not run out")
        else:
            work.record("lease ran out", until=machine.lease_until)
            seen = work.look()
            hands = seen.by_hand(None if machine.under_way else machine.in_place)
            return _by_hand(work, seen, hands) if hands else switch(work, "a", seen)
        return work.ended()


def stop(target: Target, now: int, why: str, keep: bool = False) -> Round:
    """End the trial: A back, or B stays; B again after its end. AdminkitError where that cannot be."""
    if not _is_installed(target):
        raise missing()
    with alone_here(target.folder, LOCK):
        work = _begin(target, now)
        if isinstance(work, Work) and work.trial.ended is None:
            return _end(work, work.look(), why, keep)
        if isinstance(work, Round) and work.whole is None:
            return work
        refuse_stop(None if work is None else work.whole, keep)
        assert work is not None and work.whole is not None
        return _keep_after(target, now, work.whole)


def _keep_after(target: Target, now: int, whole: Whole) -> Round:
    """Put B in place again, for good, where A still is."""
    pair = _pair(target, whole)
    actions.check(target.log)
    work = Work(target, now, pair, whole, [], [], [], time.monotonic())
    seen = work.look()
    refuse_other(seen)
    with changing(target.folder, target.group):
        mark_live(target.folder, target.group)
    work.record("kept after its end", side="b")
    machine = replace(work.machine, kept=True, under_way="b", under_since=now, before=queues_of(seen.holds))
    trial = replace(work.trial, why=KEPT if work.trial.why == STOPPED else KEPT_AFTER)
    work.keep(Whole(trial, machine))
    return switch(work, "b", seen)


def _pair(target: Target, whole: Whole) -> Pair:
    """Both sides; AdminkitError where they are not those of this trial."""
    pair = read_pair(target.folder)
    if whole.machine.digests != {one.side: one.digest for one in (pair.a, pair.b)}:
        raise AdminkitError(f"{target.folder / TRIAL} is of other configurations", "put A back by hand")
    return pair


def refuse_stop(whole: Whole | None, keep: bool) -> None:
    """AdminkitError where there is nothing to end, and B is not to be put in place again either."""
    hint = "adminkit trial result shows the last one"
    if whole is not None and whole.trial.ended is None:
        return
    if whole is None or not keep:
        raise AdminkitError("no trial is running", hint)
    if whole.machine.kept:
        raise AdminkitError("B was kept already", "adminkit trial status")
    if not whole.trial.may_be_kept:
        raise AdminkitError(
            f"the trial ended before its time: {whole.trial.why}", "start another one, or put B in place by hand"
        )
    if whole.machine.under_way is not None:
        raise AdminkitError("A is not back yet", "adminkit trial run --apply")


def refuse_other(seen: Seen) -> None:
    """AdminkitError where A is not what is in place, as the trial left it."""
    if seen.holds is None:
        raise AdminkitError(f"slurmctld was not asked: {seen.away}", "start it")
    if hands := seen.by_hand("a"):
        words = "; ".join(part.words for part in hands)
        raise AdminkitError(f"A is not in place any more: {words}", "put it back, or start another trial")


def _is_installed(target: Target) -> bool:
    """Whether adminkit has put anything here: there is no trial, and nothing to lock, before that."""
    return os.path.lexists(target.folder / SUBFOLDER)


def _begin(target: Target, now: int) -> Work | Round | None:
    """None without a trial; a Round where it is over, and where its file was damaged, which gives A back."""
    live = target.folder / LIVE
    try:
        whole = read_whole(target.folder)
        if whole is None and not live.exists():
            return None
        if whole is None:
            raise AdminkitError(f"{target.folder / TRIAL} is gone", "look for it in a backup")
        if whole.trial.ended is not None and whole.machine.under_way is None:  # its sides are of no use any more
            live.unlink(missing_ok=True)
            return Round(now, whole)
        actions.check(target.log)
        if not live.exists():  # somebody brought trial.json back
            with changing(target.folder, target.group):
                mark_live(target.folder, target.group)
        pair = _pair(target, whole)
    except AdminkitError as error:
        actions.check(target.log)
        return _lost(target, now, error)
    return Work(target, now, pair, whole, [], [], [], time.monotonic())


def _lost(target: Target, now: int, error: AdminkitError) -> Round:
    """A back by its own folder; then the file is put aside, so that no later round acts on it.

    Not where the trial had ended: then what is in place may be B because somebody kept it. Where it is B's folder that
    is damaged, nobody can tell whose each part is, and all of A is put in place.
    """
    folder, live = target.folder, target.folder / LIVE
    if not live.exists():
        _aside(target)
        return Round(now, None, [], [], [f"{error.message}; no trial was running"])
    a = read_side(folder, "a")
    try:
        pair = read_pair(folder)
    except AdminkitError:
        pair = Pair(a, a)
    record(target.log, "trial ended", why=f"{DAMAGED}: {error.message}")
    seen = trial_seen.look(folder, pair, {}, ask=True)
    notes, queues = [], queues_of(seen.holds)
    if pair.b is not a:
        notes = give_back(pair, target, seen, queues)
    elif not seen.whole("a"):
        notes = put_side(a, target, seen, queues)
    after = trial_seen.look(folder, pair, {})
    if not notes and (after.whole("a") or (pair.b is not a and not any(part.whose == "b" for part in after.parts))):
        _aside(target)
        live.unlink(missing_ok=True)
    return Round(now, None, ["trial ended"], notes, [error.message], after)


def _aside(target: Target) -> None:
    with changing(target.folder, target.group), suppress(FileNotFoundError):
        os.replace(target.folder / TRIAL, target.folder / f"{TRIAL}.damaged")  # noqa: PTH105


def _decide(work: Work) -> Round:
    machine, trial, now = work.machine, work.trial, work.now
    seen = work.look()
    hands = seen.by_hand(None if machine.under_way else machine.in_place)
    if hands:
        return _by_hand(work, seen, hands)
    if seen.holds is None:
        work.notes.append(f"slurmctld was not asked: {seen.away}")
        return work.ended(seen)
    if trial.ended is not None:
        return switch(work, "b" if machine.kept else "a", seen)
    if now >= trial.ends:
        return _end(work, seen, OVER, at=trial.ends)
    wanted = trial.side(now)
    if machine.seen_at and now - machine.seen_at > LEASE:
        work.whole = work.whole.placed(machine.seen_at, "")
    if machine.in_place == wanted and machine.under_way is None and seen.whole(wanted):
        _holds(work, wanted)
        why = trial_guards.guard(work)
        return _end(work, seen, why) if why else work.ended(seen)
    if wanted == "b" and machine.under_way == "b" and now - machine.under_since > LEASE:
        return _end(work, seen, NOT_PUT)
    return switch(work, wanted, seen)


def _holds(work: Work, side: Side) -> None:
    """Renew the lease of what was read back."""
    at = work.at()
    whole = work.whole.placed(at, side)
    work.keep(whole.with_machine(in_place=side, seen_at=at, under_way=None, lease_until=at + LEASE, before={}))


def _before(work: Work, seen: Seen) -> Queues:
    """Queues as they were before this switch: where it was cut off lately, slurmctld may have set them back since."""
    machine = work.machine
    if machine.under_way and machine.before and 0 <= work.now - machine.under_since <= LEASE:
        return machine.before
    return queues_of(seen.holds)


def _are_back(work: Work, seen: Seen, queues: Queues) -> bool:
    """Whether queues are as they were before the switch, but for what the trial itself switches."""
    now, ours = queues_of(seen.holds), work.pair.a.queues
    return all(
        now.get(queue, {}).get(key) == value or key in ours.get(queue, {})
        for queue, keys in queues.items()
        for key, value in keys.items()
    )


def switch(work: Work, side: Side, seen: Seen) -> Round:
    """Put a side in place, and see that it is."""
    before, queues = work.machine, _before(work, seen)
    since = before.under_since if before.under_way == side else work.now
    if before.under_way != side or before.before != queues:
        work.keep(work.whole.with_machine(under_way=side, under_since=since, before=queues))
    try:
        work.notes += put_side(work.pair.of(side), work.target, seen, queues)
    except AdminkitError as error:
        work.notes.append(error.message)
    after = work.look(seen)
    if work.notes or not after.whole(side):
        work.notes += [f"not in place: {part.words}" for part in after.parts if not part.is_of(side)]
        left = {} if _are_back(work, after, queues) else queues  # whoever closes a queue meanwhile is to be seen
        work.keep(work.whole.with_machine(before=left).placed(work.at(), ""))
        work.record("not put", side=side, why="; ".join(work.notes))
        return work.ended(after)
    over = {} if work.trial.ended is None else {"ended": work.trial.why}  # its own line may not have been written
    if before.in_place != side or before.under_way:
        work.record("put", side=side, **over)
    else:
        work.record("put again", side=side, why="; ".join(p.words for p in seen.parts if not p.is_of(side)))
    _holds(work, side)
    return work.ended(after)


def _end(work: Work, seen: Seen, why: str, keep: bool = False, at: int | None = None) -> Round:
    """End the trial, and put the side that stays in place. It is written down first: a kill finds it ended."""
    trial = replace(work.trial, ended=work.now if at is None else at, why=why)
    side: Side = "b" if keep else "a"
    machine = replace(work.machine, kept=keep, under_way=side, under_since=work.now, before=_before(work, seen))
    whole = Whole(trial, machine)
    work.keep(whole)
    work.record("trial ended", why=why, kept=keep)
    hands = seen.by_hand(None)
    return _give_back(work, seen) if hands else switch(work, side, seen)


def _by_hand(work: Work, seen: Seen, hands: Sequence[Part]) -> Round:
    """Somebody changed what the trial had put in place: it ends, and only what is still the trial's is put back.

    While A is in place, nothing is: B's policy, say, was then put in place by hand as well.
    """
    if work.trial.ended is None:
        words = "; ".join(part.words for part in hands)
        trial = replace(work.trial, ended=work.now, why=f"{BY_HAND}: {words}")
        if work.machine.in_place == "a" and work.machine.under_way is None:
            work.keep(Whole(trial, work.machine).placed(work.now, ""))
            work.record("trial ended", why=trial.why)
            return work.ended(seen)
        queues = _before(work, seen)
        machine = replace(work.machine, under_way="a", under_since=work.now, kept=False, before=queues)
        work.keep(Whole(trial, machine).placed(work.now, ""))
        work.record("trial ended", why=trial.why)
    return _give_back(work, seen)


def _give_back(work: Work, seen: Seen) -> Round:
    try:
        work.notes += give_back(work.pair, work.target, seen, _before(work, seen))
    except AdminkitError as error:
        work.notes.append(error.message)
    after = work.look(seen)
    left = [part for part in after.parts if part.whose == "b"]
    work.notes += [f"not given back: {part.words}" for part in left]
    if not work.notes:
        left_there = [part.words for part in after.parts if part.whose == "other"]
        work.record("given back", left=left_there, ended=work.trial.why)
        work.keep(work.whole.with_machine(in_place="a", under_way=None, before={}, kept=False))
    return work.ended(after)
