"""One seed: a random story of vaults that fall, of keepers that die, and of nodes, fees and a chain
that do as they like.
"""

import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlalchemy.exc import OperationalError

from core.db import leadership as leader
from core.db.embedded import EmbeddedPostgres, start
from core.db.engine import Database
from core.db.leadership import LeaderRow
from core.keeper import intents as keeper
from tests.integration.chain_fixtures import CHAIN_ID
from tests.integration.chaos.crew import Crew, until
from tests.integration.chaos.traps import Traps
from tests.integration.keeper.chaos.node import BadNode
from tests.integration.keeper.chaos.record import Record
from tests.integration.keeper.chaos.seeds import Trouble, due, due_trouble
from tests.integration.keeper.chaos.traps import Point
from tests.integration.keeper.chaos.world import FALLEN, GWEI, MOODY, NORMAL_WEI, STEADY, World
from tests.personas import AGENT, KEEPER, Persona

LEADS_S, TAKE_OVER_S, DATABASE_S = 4.0, 8.0, 15.0
SEEN_S = 6.0  # how long a tick at the head is waited for; a node that failed rests for five seconds
SURE_S, UNSURE_S = 3.0, 0.8  # how long somebody is waited for at a commit point
SPIKES_GWEI = (5, 30, 200, 800)
PROMISE_BLOCKS = 6  # of calm, after which no vault stands at or below its floor


@dataclass(slots=True)
class Story:
    """`signers`: whose keys the keepers hold."""

    seed: int
    luck: random.Random
    world: World
    nodes: list[BadNode]
    crew: Crew
    record: Record
    database: Database
    server: EmbeddedPostgres
    traps: Traps
    signers: tuple[Persona, ...]
    killed: set[str] = field(default_factory=set)
    steps: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def tell(self, length: int) -> None:
        """The plot, up to where the calm begins."""
        self._do(self._begin)
        for act in self._acts(length):
            self._do(act)
            self.crew.tend()
            self._pause()

    def fall_and_promise(self) -> None:
        """One more fall, in calm, whatever is still under way."""
        self._do(self._fall)
        self._do(self._promise)

    # The plot

    def _acts(self, length: int) -> list[Callable[[], str]]:
        """Each story has a fall for good, a commit point, a reorg and something grave; the rest
        comes by chance.
        """
        chain = [
            self._mine,
            self._move,
            self._move,
            self._empty,
            self._forget,
            self._spike,
            self._spike,
            self._reorg,
            self._reorg,
        ]
        chain += [self._foreign, self._foreign_orphaned, self._owner_stops]
        harm = [
            self._kill,
            self._spring,
            self._spring,
            self._cut,
            self._lose_answer,
            self._nodes_down,
        ]
        grave = [self._freeze, self._crash_database, self._nodes_down, self._promise]
        chosen = [
            self._fall,
            self._spring_due,
            self._reorg,
            self.luck.choice(grave),
            self.luck.choice(grave),
        ]
        chosen += [
            self.luck.choice(self.luck.choices((chain, harm), (3, 1))[0])
            for _ in range(length - len(chosen))
        ]
        trouble = due_trouble(self.seed)
        chosen += [] if trouble is Trouble.ROTATED else [self._trouble_due]
        self.luck.shuffle(chosen)
        # A keeper that is not named any more has nothing to do afterwards but stops.
        return [self._move, *chosen, *([self._trouble_due] if trouble is Trouble.ROTATED else [])]

    def _do(self, act: Callable[[], str]) -> None:
        # so that a step does not hang on how fast those before it went
        self.luck.seed(f"{self.seed}:{len(self.steps)}")
        begun = time.monotonic()
        said = act()
        self.steps.append(f"{said} ({time.monotonic() - begun:.2f} s)")

    def _begin(self) -> str:
        self.record.catch_up()
        self.crew.tend()
        return f"{len(self.world.sites)} vaults, {self.crew.size} keepers, {len(self.signers)} keys"

    def _pause(self) -> None:
        """Let keepers and indexer come along, or not."""
        if self.luck.random() < 0.5:
            self.record.catch_up()
        match self.luck.choice(("none", "little", "little", "seen")):
            case "little":
                time.sleep(self.luck.uniform(0.02, 0.2))
            case "seen":
                self.wait_for_tick(UNSURE_S)

    # What the chain does

    def _mine(self) -> str:
        blocks = self.luck.randint(1, 3)
        for _ in range(blocks):
            self.world.mine()
            time.sleep(self.luck.uniform(0, 0.15))
        return f"mine {blocks} blocks to {self.world.head.number}"

    def _move(self) -> str:
        for _ in range(self.luck.randint(1, 2)):
            self.world.mine(self.world.some_price(), with_pool=self.luck.random() < 0.6)
            time.sleep(self.luck.uniform(0, 0.15))
        return f"prices move, to {self.world.head.number}"

    def _fall(self) -> str:
        self.world.fallen_for_good = True
        self.world.mine([self.world.price(0, FALLEN)])
        return f"the first venue falls for good at {self.world.head.number}"

    def _empty(self) -> str:
        """Blocks that leave out whatever waits."""
        blocks = self.luck.randint(1, 4)
        for _ in range(blocks):
            self.world.mine(with_pool=False)
            time.sleep(self.luck.uniform(0, 0.15))
        return f"{blocks} blocks without the keeper's, to {self.world.head.number}"

    def _forget(self) -> str:
        share = self.luck.choice((0.5, 1.0))
        self._wait_for_pool()
        gone = self.world.pool.forget(lambda _: self.luck.random() < share)
        self.world.mine()
        return f"the nodes forget {gone} transactions"

    def _spike(self) -> str:
        """The fee rises while something waits, and falls after a while."""
        self._wait_for_pool()
        self.world.base_fee_wei = self.luck.choice(SPIKES_GWEI) * GWEI
        for _ in range(self.luck.randint(1, 3)):
            self.world.mine(self.world.some_price() if self.luck.random() < 0.3 else [])
            time.sleep(self.luck.uniform(0.05, 0.25))
        said = f"base fee at {self.world.base_fee_wei // GWEI} gwei"
        if self.luck.random() < 0.7:
            self.world.base_fee_wei = NORMAL_WEI
            self.world.mine()
        return said

    def _reorg(self) -> str:
        if self.luck.random() < 0.5:
            self.wait_for_tick(UNSURE_S)
        depth, longer = self.luck.randint(1, 6), self.luck.choice((-1, 0, 0, 1, 3))
        keep = self.luck.choice((0.0, 0.5, 1.0, 1.0))
        said = self.world.reorg(depth, longer, keep, keeps_ours=self.luck.random() < 0.5)
        if self.world.fallen_for_good:
            self.world.mine([self.world.price(0, FALLEN)], with_pool=self.luck.random() < 0.5)
        return said

    def _foreign(self) -> str:
        """A transaction of the keeper's key that the keeper did not send: it takes a nonce, or
        waits at one.
        """
        signer, is_mined = self.luck.choice(self.signers), self.luck.random() < 0.6
        raw = self.world.foreign_transaction(signer, is_rich=is_mined)
        if is_mined:
            self.world.mine([raw], with_pool=self.luck.random() < 0.5)
        else:
            self.world.pool.offer(raw)
        return f"a foreign transaction of {signer.name}'s key {'is mined' if is_mined else 'waits'}"

    def _foreign_orphaned(self) -> str:
        """A foreign transaction is mined, the keeper goes on above it, and a reorg takes it out for
        good: a gap nobody has bytes for.
        """
        self.world.mine(
            [self.world.foreign_transaction(self.signers[0], is_rich=True)], with_pool=False
        )
        self.world.mine([self.world.noted_move()], with_pool=False)
        self._wait_for_pool()
        said = self.world.reorg(2, 1, 0.0, keeps_ours=True)
        return (
            f"a foreign transaction of {self.signers[0].name}'s key is mined, and not any more: "
            f"{said}"
        )

    def _owner_stops(self) -> str:
        sites = [site for number, site in enumerate(self.world.sites) if number != STEADY]
        self.world.mine([self.world.owner_stops(self.luck.choice(sites))])
        return "an owner stops a vault"

    def _wait_for_pool(self) -> bool:
        """Something to be mined; what is not there yet may come soon."""
        return until(lambda: bool(self.world.pool.waiting), UNSURE_S / 2)

    # What befalls the processes

    def _kill(self) -> str:
        if (lead := self._leading()) is None:
            return "kill: nobody leads"
        self._work()
        time.sleep(self.luck.uniform(0, 0.2))
        self.crew.kill(_pid(lead))
        return "kill -9 the leader"

    def _spring(self) -> str:
        return self._spring_at(
            self.luck.choice(list(Point)), UNSURE_S, commits=self.luck.random() < 0.5
        )

    def _spring_due(self) -> str:
        """At the point that this seed is there for."""
        point, commits = due(self.seed)
        self.world.base_fee_wei = NORMAL_WEI
        self._leading()
        self.wait_for_tick(UNSURE_S)
        return self._spring_at(point, SURE_S, commits=commits)

    def _spring_at(self, point: Point, wait_s: float, *, commits: bool) -> str:
        """Kill the process that stands at a commit."""
        name = f"{point}, {'committed' if commits else 'rolled back'}"
        work = self._kill if point is Point.LEAD else self._work
        sprung = self.traps.spring(
            point,
            lambda: [work(), None][1],
            lambda: self._kill_at(point),
            commits=commits,
            wait_s=wait_s,
        )
        self.killed |= {name} if sprung else set()
        return f"kill -9 at {name}: {'done' if sprung else 'not passed'}"

    def _kill_at(self, point: Point) -> None:
        """The leader; whoever it is, where the leader's row is only being written."""
        lead = self._leading(0.0) if point is not Point.LEAD else None
        for pid in [_pid(lead)] if lead is not None else list(self.crew.running):
            self.crew.kill(pid)

    def _cut(self) -> str:
        """The connection is cut at a commit; the process lives and can't know what became of it."""
        point = self.luck.choice((Point.PLANNED, Point.SIGNED, Point.BROADCAST, Point.MINED))
        sprung = self.traps.spring(
            point, lambda: [self._work(), None][1], lambda: None, commits=False, wait_s=UNSURE_S
        )
        return f"cut the connection at {point}: {'done' if sprung else 'not passed'}"

    def _lose_answer(self) -> str:
        """A commit goes through and its connection breaks before the process hears of it."""
        lost = self.traps.lose_answer(lambda: [self._work(), None][1], UNSURE_S)
        return f"lose the answer to a commit: {'done' if lost else 'not passed'}"

    def _work(self) -> str:
        """Something to be written, signed, sent and mined."""
        self.world.mine([self.world.noted_move()])
        self._wait_for_pool()
        self.world.mine()
        return "work"

    def _freeze(self) -> str:
        """The leader stands still.

        With a spare: until that leads; then it wakes up and must not write.
        """
        if (lead := self._leading()) is None:
            return "freeze: nobody leads"
        frozen = _pid(lead)
        self.crew.freeze(frozen)
        if self.crew.size == 1:
            self._move()
            os.kill(frozen, signal.SIGCONT)
            return "freeze the only keeper for a while"
        self.world.mine(self.world.some_price())
        if not until(lambda: self._epoch() > lead.epoch, TAKE_OVER_S):
            self.faults.append("nobody took over from a frozen leader")
        self._work()
        self.wait_for_tick(UNSURE_S)
        code = self.crew.thaw(frozen)
        if code != 1:
            self.faults.append(f"a leader that was replaced while it was frozen ended with {code}")
        return "freeze the leader until another leads"

    # What befalls database and nodes

    def _crash_database(self) -> str:
        how, pid = self.luck.choice((signal.SIGQUIT, signal.SIGKILL)), self.server.pid
        assert pid is not None
        os.kill(pid, how)
        until(lambda: self.server.pid is None, DATABASE_S)
        self._work()
        start(self.server.data_dir)
        return f"crash Postgres ({how.name}) and start it again"

    def _nodes_down(self) -> str:
        for node in self.nodes:
            node.is_down = True
        self._work()
        time.sleep(self.luck.uniform(0.1, 0.6))
        for node in self.nodes:
            node.is_down = False
        return "all nodes are down for a while"

    # What befalls vaults and keys

    def _trouble_due(self) -> str:
        trouble = due_trouble(self.seed)
        match trouble:
            case Trouble.DRY:
                said = self._run_dry()
            case Trouble.ROTATED:
                said = self._rotate()
            case _:
                said = self._be_moody(trouble)
        return f"{trouble}: {said}"

    def _be_moody(self, mood: str) -> str:
        """The third venue's adapter, as its price falls with the first one's; for good, or until
        those that can be stopped are.
        """
        self.world.mood = mood
        self.world.mine([self.world.price(MOODY, FALLEN)])
        self._fall()
        said = self._promise()
        if self.seed // len(Trouble) % 2:
            return f"{said}, for good"
        self.world.mood = None
        self.world.mine()
        return said

    def _run_dry(self) -> str:
        """A key, in the middle of stops.

        The other one stops what fell; where there is none, or in the end, it is filled again.
        """
        self._fall()
        self._wait_for_pool()
        key = self.luck.choice(self.signers)
        self.world.dry.add(key.address)
        self.world.mine()
        said = self._promise() if len(self.signers) > 1 else self._empty()
        if key is KEEPER or self.luck.random() < 0.5:
            self.world.fill()
            self.world.mine()
        return f"{key.name}'s, {said}, {'still dry' if self.world.dry else 'filled'}"

    def _rotate(self) -> str:
        """While stops wait: no mark of this keeper is taken any more, and any key may enforce the
        stop line.
        """
        self._fall()
        self._wait_for_pool()
        self.world.rotate(AGENT)
        return self._promise()

    # Calm

    def _promise(self) -> str:
        """Good nodes and fees for a few blocks, each seen by a tick: whatever happened before, what
        fell is stopped.
        """
        self.calm()
        fallen, blocks = self.world.unstopped(), 0
        while blocks < PROMISE_BLOCKS and set(fallen) & set(self.world.unstopped()):
            self.see_block()
            blocks += 1
        late = set(fallen) & set(self.world.unstopped())
        self.faults += [
            f"{vault} was at or below its floor for {blocks} calm blocks and is not stopped"
            for vault in sorted(late)
        ]
        for node in self.nodes:
            node.is_faulty = True
        return f"calm: {len(fallen)} vaults to stop, {blocks} blocks, to {self.world.head.number}"

    def calm(self) -> None:
        """Nodes and fees are good from here on, somebody leads, the record is at the head."""
        for node in self.nodes:
            node.is_faulty = False
        self.world.base_fee_wei = NORMAL_WEI
        self.record.catch_up()
        if not self.wait_for_tick(LEADS_S + SEEN_S):
            self.faults.append("no tick came to the head in calm")

    def see_block(self) -> None:
        """A block, and a tick that has seen it and done what it could."""
        self.world.mine()
        self.record.catch_up()
        if not self.wait_for_tick(SEEN_S):
            self.faults.append(f"no tick saw block {self.world.head.number} in calm")

    def wait_for_tick(self, seconds: float) -> bool:
        """Until the leader told of a whole tick that began at the head."""
        head = self.world.head.number

        def has_seen() -> bool:
            self.crew.tend()
            row = self._row()
            return (
                row is not None
                and _pid(row) in self.crew.running
                and row.status.get("head") == head
            )

        return until(has_seen, seconds)

    # Looking

    def is_under_way(self, states: Sequence[str] = ()) -> bool:
        """Some intent is not finished; with `states`, in one of these."""
        with self.database.read() as session:
            return any(
                not states or intent.state in states
                for intent in keeper.live_intents(session, CHAIN_ID)
            )

    def _row(self) -> LeaderRow | None:
        """The leader's row, read when the database answers again."""
        end = time.monotonic() + DATABASE_S
        while True:
            try:
                with self.database.read() as session:
                    return leader.leader_row(session, "keeper")
            except OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def _epoch(self) -> int:
        row = self._row()
        return 0 if row is None else row.epoch

    def _leading(self, patience_s: float = LEADS_S) -> LeaderRow | None:
        """The leader, when it is one of our living processes; a new one is waited for."""
        end = time.monotonic() + patience_s
        while True:
            self.crew.tend()
            row = self._row()
            if row is not None and _pid(row) in self.crew.running:
                return row
            if time.monotonic() > end:
                return None
            time.sleep(0.02)


def _pid(row: LeaderRow) -> int:
    return int(row.holder.rpartition(":")[2])
