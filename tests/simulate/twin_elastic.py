"""The model elastic once more, slowly and plainly: docs/simulate-elastic.md in Python.

It keeps a list of GPUs with their owners, looks at every second in which something may happen, and counts joules
GPU by GPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

NONE = -1
FIFO, LAS, SRTF, ELASTIC = range(4)
LEVELS = (3600, 36000)

Gpu = tuple[int, int]


@dataclass(frozen=True)
class Curve:
    """Rates and milliwatts by the number of GPUs."""

    rate: dict[int, int]
    watts: dict[int, int]


@dataclass(frozen=True)
class Job:
    submit: int
    run: int
    gpus: int
    curve: int = NONE
    priority: int = 0

    @property
    def fixed(self) -> bool:
        return self.curve == NONE or self.priority > 0


@dataclass(frozen=True)
class Rules:
    policy: int
    nodes: int = 2
    gpus: int = 4
    restart: int = 0
    hold: int = 1
    look: int = 1
    efficiency: int = 0
    idle_watts: int = 0
    sleep_watts: int = 0
    sleep_after: int = NONE


@dataclass
class State:
    """What becomes of a job. `has`: the GPUs that it holds."""

    job: Job
    number: int
    start: int = NONE
    end: int = NONE
    energy: int = NONE
    resizes: int = 0
    left: int = 0
    at: int = 0
    ready: int = 0
    changed: int = -(2**60)
    served: int = 0
    held: bool = False
    has: list[Gpu] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.has)


def up(work: int, rate: int) -> int:
    return -(-work // rate)


class Machine:
    """GPUs and who has them. A node sleeps once nobody has had any of its GPUs for a while."""

    def __init__(self, rules: Rules, now: int) -> None:
        self.rules = rules
        self.owner: list[list[State | None]] = [[None] * rules.gpus for _ in range(rules.nodes)]
        self.touched = [now] * rules.nodes
        self.idle = self.asleep = 0

    def settle(self, node: int, now: int) -> None:
        """Nobody came or left since it was touched last."""
        free = self.owner[node].count(None)
        seconds, sleeps = now - self.touched[node], 0
        if free == self.rules.gpus and self.rules.sleep_after != NONE:
            sleeps = max(0, seconds - self.rules.sleep_after)
        self.idle += free * self.rules.idle_watts * (seconds - sleeps)
        self.asleep += free * self.rules.sleep_watts * sleeps
        self.touched[node] = now

    def put(self, gpus: Sequence[Gpu], who: State | None, now: int) -> None:
        for node in {node for node, _ in gpus}:
            self.settle(node, now)
        for node, gpu in gpus:
            self.owner[node][gpu] = who

    def find(self, count: int) -> list[Gpu] | None:
        """The first free block on the fullest node that has one; above a node, the first aligned run of free nodes."""
        size = self.rules.gpus
        if count > size:
            many = math.ceil(count / size)
            step = many if many & (many - 1) == 0 else 1
            for at in range(0, self.rules.nodes - many + 1, step):
                nodes = range(at, at + many)
                if all(owner is None for node in nodes for owner in self.owner[node]):
                    return [(node, gpu) for node in nodes for gpu in range(size)]
            return None
        block = 1
        while block < count:
            block *= 2
        places = [
            (self.owner[node].count(None), node, at)
            for node in range(self.rules.nodes)
            for at in range(0, size, block)
            if all(owner is None for owner in self.owner[node][at : at + block])
        ]
        if not places:
            return None
        _, node, at = min(places)
        return [(node, gpu) for gpu in range(at, at + block)]


class Twin:
    def __init__(self, rules: Rules, curves: Sequence[Curve], jobs: Sequence[Job]) -> None:
        self.rules, self.curves = rules, curves
        self.states = [State(job, number) for number, job in enumerate(jobs)]
        for state in self.states:
            state.energy = NONE if state.job.curve == NONE else 0
        self.idle = self.asleep = 0

    def simulate(self) -> list[State]:
        turn = sorted((s for s in self.states if s.job.run > 0), key=lambda s: (s.job.submit, s.number))
        if not turn:
            return self.states
        first = turn[0].job.submit
        self.machine = Machine(self.rules, first)
        blocks = self.fifo(turn)
        if self.rules.policy != FIFO:
            self.machine = Machine(self.rules, first)
            self.share(turn, blocks)
        last = max([first, *(state.end for state in self.states)])
        for node in range(self.rules.nodes):
            self.machine.settle(node, last)
        self.idle, self.asleep = self.machine.idle, self.machine.asleep
        return self.states

    def fifo(self, turn: Sequence[State]) -> dict[int, list[Gpu]]:
        """Each job's block."""
        blocks: dict[int, list[Gpu]] = {}
        waiting = [s for s in turn if 0 < s.job.gpus <= self.rules.nodes * self.rules.gpus]
        running: list[State] = []
        while waiting:
            now = self.now_of(waiting, running)
            for state in [s for s in running if s.end <= now]:
                self.machine.put(blocks[state.number], None, state.end)
                running.remove(state)
            here = [s for s in waiting if s.job.submit <= now]
            here.sort(key=lambda s: s.job.priority <= 0)  # stable: high priority first
            for state in here:
                found = self.machine.find(state.job.gpus)
                if found is None:
                    break
                self.machine.put(found, state, now)
                blocks[state.number] = found
                state.start, state.end = now, now + state.job.run
                if state.job.curve != NONE:
                    state.energy = self.curves[state.job.curve].watts[state.job.gpus] * state.job.run
                waiting.remove(state)
                running.append(state)
            self.seen = now
        for state in sorted(running, key=lambda s: s.end):
            self.machine.put(blocks[state.number], None, state.end)
        return blocks

    seen = -(2**62)

    def now_of(self, waiting: Sequence[State], running: Sequence[State]) -> int:
        """The next second in which a job comes or ends."""
        times = [s.job.submit for s in waiting if s.job.submit > self.seen] + [s.end for s in running]
        return min(times)

    def share(self, turn: Sequence[State], blocks: dict[int, list[Gpu]]) -> None:
        """Everything but fifo."""
        fixed = sorted((s for s in turn if s.start != NONE and s.job.fixed), key=lambda s: s.start)
        coming = [s for s in turn if s.start != NONE and not s.job.fixed]
        for state in coming:
            state.left = state.job.run * self.curve(state).rate[state.job.gpus]
            state.start = state.end = NONE
            state.energy, state.at = 0, state.job.submit
        self.active: list[State] = []
        self.last, self.look = -(2**60), math.inf
        running: list[State] = []
        while True:
            times: list[float] = [s.job.submit for s in coming[:1]] + [s.start for s in fixed[:1]]
            times += [s.end for s in running] + [s.end for s in self.active if s.has]
            times += [self.look] if self.active else []
            if not times or min(times) == math.inf:
                return
            now = int(min(times))
            for state in [s for s in self.active if s.has and s.end == now]:
                self.progress(state, now)
                self.drop(state, now)
                self.active.remove(state)
                self.soon(now)
            for state in [s for s in running if s.end == now]:
                self.drop(state, now)
                running.remove(state)
                self.soon(now)
            while coming and coming[0].job.submit == now:
                self.active.append(coming.pop(0))
                self.soon(now)
            while fixed and fixed[0].start == now:
                state = fixed.pop(0)
                for other in self.active:
                    if set(other.has) & set(blocks[state.number]):
                        self.progress(other, now)
                        self.drop(other, now)
                        self.look = now
                state.has = blocks[state.number]
                self.machine.put(state.has, state, now)
                running.append(state)
            if self.active and self.look <= now:
                self.decide(now)

    def soon(self, now: int) -> None:
        self.look = min(self.look, max(now, self.last + self.rules.look))

    def curve(self, state: State) -> Curve:
        return self.curves[state.job.curve]

    def drop(self, state: State, now: int) -> None:
        self.machine.put(state.has, None, now)
        state.has = []

    def progress(self, state: State, now: int) -> None:
        if state.has:
            state.energy += self.curve(state).watts[state.size] * (now - state.at)
            state.served += state.size * (now - state.at)
            worked = max(0, now - max(state.at, state.ready))
            state.left = max(0, state.left - worked * self.curve(state).rate[state.size])
        state.at = now

    def rest(self, state: State, gpus: int) -> int:
        return up(state.left, self.curve(state).rate[gpus])

    def least(self, state: State) -> int:
        return min(self.curve(state).rate)

    def decide(self, now: int) -> None:
        for state in self.active:
            self.progress(state, now)
        free = sum(row.count(None) for row in self.machine.owner) + sum(s.size for s in self.active)
        targets = self.targets(free, now)
        for state in self.active:
            target = targets[state.number]
            if target < state.size:
                keep = state.has[:target]
                self.drop(state, now)
                if keep:
                    self.resize(state, keep, now)
        for state in sorted(self.active, key=lambda s: -targets[s.number]):
            if targets[state.number] > state.size:
                self.enlarge(state, targets[state.number], now)
        self.last = now
        looks = [s.changed + self.rules.hold for s in self.active if s.has and s.held and self.young[s.number]]
        if self.rules.policy == LAS and any(not s.has for s in self.active):
            looks.append(now + self.rules.hold)
        self.look = max(min(looks), now + self.rules.look) if looks else math.inf

    def targets(self, free: int, now: int) -> dict[int, int]:
        rules, target = self.rules, {}
        self.young = {s.number: bool(s.has) and now - s.changed < rules.hold for s in self.active}
        for state in self.active:
            ends = bool(state.has) and self.rest(state, state.size) <= rules.restart
            state.held = self.young[state.number] or ends
            target[state.number] = state.size if state.held else 0
            free -= target[state.number]
        others = [s for s in self.active if not s.held]
        if rules.policy == LAS:
            others.sort(key=lambda s: sum(s.served >= level for level in LEVELS))
        elif rules.policy == SRTF:
            others.sort(key=lambda s: self.rest(s, s.job.gpus))
        else:
            others.sort(key=lambda s: self.rest(s, self.least(s)))
        for state in others:
            wanted = self.least(state) if rules.policy == ELASTIC else state.job.gpus
            if wanted <= free:
                target[state.number] = wanted
                free -= wanted
        if rules.policy == ELASTIC:
            free = self.double(others, target, free)
        return self.kept(target, free)

    def double(self, others: Sequence[State], target: dict[int, int], free: int) -> int:
        """Step after step, the best first; who finds no room gets no more."""
        open_ = [s for s in others if target[s.number]]
        while True:
            steps = [
                (-score, self.rest(s, self.least(s)), self.active.index(s))
                for s in open_
                if (score := self.score(s, target[s.number])) is not None
            ]
            if not steps:
                return free
            state = self.active[min(steps)[2]]
            if target[state.number] > free:
                open_.remove(state)
                continue
            free -= target[state.number]
            target[state.number] *= 2

    def score(self, state: State, gpus: int) -> float | None:
        """Seconds saved per joule more; None: a step that may not be taken."""
        curve, least, idle = self.curve(state), self.least(state), self.rules.idle_watts
        fast, slow = curve.rate.get(2 * gpus, 0), curve.rate[gpus]
        if fast <= slow or fast * 1000 < self.rules.efficiency * curve.rate[least] * (2 * gpus // least):
            return None
        before = (curve.watts[gpus] - idle * gpus) / slow
        after = (curve.watts[2 * gpus] - idle * 2 * gpus) / fast
        return (1 / slow - 1 / fast) / (after - before) if after > before else math.inf

    def kept(self, target: dict[int, int], free: int) -> dict[int, int]:
        for state in self.active:
            size = state.size
            if size and target[state.number] > size and not self.pays(state, target[state.number]):
                free += target[state.number] - size
                target[state.number] = size
        for state in self.active:
            if state.has and 0 < state.size - target[state.number] <= free:
                free -= state.size - target[state.number]
                target[state.number] = state.size
        return target

    def pays(self, state: State, gpus: int) -> bool:
        return self.rest(state, state.size) - self.rest(state, gpus) > self.rules.restart

    def enlarge(self, state: State, target: int, now: int) -> None:
        """As near to the target as there is a block; who runs gets its own back where there is none that pays."""
        own = state.has
        lowest = 2 * len(own) if own else self.least(state) if self.rules.policy == ELASTIC else target
        good = [gpus for gpus in (target >> i for i in range(7)) if gpus >= lowest and gpus in self.curve(state).rate]
        good = [gpus for gpus in good if not own or self.pays(state, gpus)]
        if own:
            self.machine.put(own, None, now)
        for gpus in good:
            if found := self.machine.find(gpus):
                self.resize(state, found, now)
                return
        self.machine.put(own, state, now)

    def resize(self, state: State, gpus: list[Gpu], now: int) -> None:
        self.machine.put(gpus, state, now)
        state.has, state.ready = gpus, now
        if state.start == NONE:
            state.start = now
        else:
            state.resizes += 1
            state.ready, state.changed = now + self.rules.restart, now
        state.end = state.ready + self.rest(state, len(gpus))
