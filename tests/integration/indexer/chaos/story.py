"""One seed: a random story of a chain, of two bad nodes, of processes that die and of a database
that crashes.
"""

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg
from sqlalchemy.exc import OperationalError

from core.db import leadership as leader
from core.db.embedded import EmbeddedPostgres, start
from core.db.engine import Database
from core.db.leadership import LeaderRow
from tests.integration.chaos.crew import Crew, until
from tests.integration.chaos.traps import Traps
from tests.integration.indexer.chaos.compare import differences, pending, unwinds
from tests.integration.indexer.chaos.fold import fold
from tests.integration.indexer.chaos.lies import RANGE_LIES, due_lies
from tests.integration.indexer.chaos.strangers import Harm
from tests.integration.indexer.chaos.traps import Point
from tests.integration.indexer.chaos.world import DEEPEST, World

DEPTHS = (1, 1, 2, 3, 5, 8, 13, 21, 34, DEEPEST)
LEADS_S = 3.0
TAKE_OVER_S = 8.0
HEALED_S = 45.0
PROVEN_S = 60.0
DATABASE_S = 15.0
# how long, and how often, somebody is waited for at a commit point
SURE_S, UNSURE_S, TRIES = 4.0, 1.0, 2
# Points that a new block passes; the others need a reorg, a finalized height, or a process that
# comes to lead.
PASSED_BY_BLOCKS = (Point.BLOCK, Point.BLOCK, Point.LEDGERS, Point.REASON, Point.BEAT)


def due(seed: int) -> tuple[Point, bool]:
    """The commit point of a seed, and whether the commit goes through: any sixteen seeds in a row
    aim at all of them.
    """
    return list(Point)[seed % len(Point)], seed // len(Point) % 2 == 0


def due_harm(seed: int) -> Harm:
    """What strangers do in any case: any eight seeds in a row have all of it."""
    return list(Harm)[seed % len(Harm)]


def has_history(seed: int) -> bool:
    """Whether there are blocks to take in ranges, about which the seed's liar lies."""
    return bool(set(due_lies(seed)) & set(RANGE_LIES))


@dataclass(slots=True)
class Story:
    seed: int
    luck: random.Random
    world: World
    crew: Crew
    database: Database
    server: EmbeddedPostgres
    traps: Traps
    due: tuple[Point, bool]
    killed: set[str] = field(default_factory=set)
    steps: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def tell(self, length: int) -> list[str]:
        """Run it; what differs at the end, one line each."""
        begins = (
            self._backlog
            if has_history(self.seed)
            else lambda: self.world.mine_empty(self.luck.choice((1, 10, 66)))
        )
        self._do(begins)
        self._do(self._begin)
        acts = self._acts(length)
        for act in acts:
            self._do(act)
            self.crew.tend()
            self._pause()
        return self.end()

    def end(self) -> list[str]:
        """Faults stop; the processes get to the head; the tables are compared."""
        for node in self.world.nodes:
            node.is_faulty = False
        self._do(lambda: self.world.mine(1))
        head = self.world.head
        begun = time.monotonic()
        if not self._wait_for_head(HEALED_S):
            self.faults.append(
                f"not at the head {head.number} {head.hash} after {HEALED_S:.0f} s: "
                f"{self._read(pending)}"
            )
        self.steps.append(f"come to the head ({time.monotonic() - begun:.2f} s)")
        expected = fold(self.world.chain, self.world.crowd.places, self.world.strangers.wallets)
        # what a range left out is found by the vaults' own hashes, some seconds after the head
        until(lambda: not differences(self.database, self.world.chain, expected), PROVEN_S)
        self.steps.append(f"and are proven ({time.monotonic() - begun:.2f} s)")
        self.crew.end()
        return [
            *self.faults,
            *self.crew.faults,
            *differences(self.database, self.world.chain, expected),
        ]

    # The plot

    def _acts(self, length: int) -> list[Callable[[], str]]:
        """The deepest reorg, a branch that comes back, the seed's commit point and something grave;
        the rest by chance.
        """
        chain = [
            self._mine,
            self._mine,
            self._mine,
            self._reorg,
            self._reorg,
            self._leave_and_return,
        ]
        harm = [self._kill, self._spring, self._spring, self._cut, self._lose_answer]
        grave = [self._lose_answer, self._freeze, self._crash_database, self._crash_backend]
        chosen = [
            self._reorg_deep,
            self._leave_and_return,
            self._spring_due,
            self.luck.choice(grave),
        ]
        chosen += [self._backlog] if has_history(self.seed) else []
        chosen += [
            self.luck.choice(self.luck.choices((chain, harm), (2, 1))[0])
            for _ in range(length - len(chosen))
        ]
        self.luck.shuffle(chosen)
        return [self._mine, *chosen, self._harm_due]  # no reorg takes that back

    def _do(self, act: Callable[[], str]) -> None:
        # so that a step does not hang on how fast those before it went
        self.luck.seed(f"{self.seed}:{len(self.steps)}")
        begun = time.monotonic()
        said = act()
        self.steps.append(f"{said} ({time.monotonic() - begun:.2f} s)")

    def _pause(self) -> None:
        """Let the indexer come along: not at all, a little, or to the head."""
        match self.luck.choice(("none", "little", "little", "head")):
            case "little":
                time.sleep(self.luck.uniform(0.02, 0.15))
            case "head":
                self._wait_for_head(UNSURE_S)

    def _wait_for_head(self, seconds: float) -> bool:
        head = self.world.head
        return until(lambda: self._healed((head.number, head.hash)), seconds)

    # What the chain does

    def _mine(self) -> str:
        return self.world.mine(self.luck.randint(1, 4))

    def _harm_due(self) -> str:
        return self.world.mine_harm(due_harm(self.seed))

    def _backlog(self) -> str:
        """History to be taken in ranges; nobody looks meanwhile, so that it is there at once."""
        asleep = list(self.crew.running)
        for pid in asleep:
            self.crew.freeze(pid)
        said = self.world.mine_backlog(self.luck.randint(15, 30))
        for pid in asleep:
            os.kill(pid, signal.SIGCONT)
        return said

    def _depth(self, depth: int) -> int:
        return max(0, min(depth, self.world.deepest()))

    def _reorg(self) -> str:
        return self._reorg_of(self._depth(self.luck.choice(DEPTHS)))

    def _reorg_deep(self) -> str:
        return self._reorg_of(self._depth(DEEPEST))

    def _reorg_of(self, depth: int) -> str:
        self._expect_no_unwind_yet()
        if depth == 0:
            return self._mine()
        keep = self.luck.choice((0.0, 0.5, 0.9, 1.0))
        if self.luck.random() < 0.3:
            return self.world.replace_at_once(depth, keep)
        longer = self.luck.choice((-depth, -2, -1, 0, 0, 1, 2, 5))
        return self.world.replace(depth, longer, keep)

    def _expect_no_unwind_yet(self) -> None:
        """Before the first reorg the nodes may lag, and that is all: a lower head is none."""
        if self.world.nodes[0].branch is None and self._read(unwinds):
            self.faults.append("an unwind before there was a reorg")

    def _leave_and_return(self) -> str:
        depth = self._depth(self.luck.randint(1, 6))
        self._expect_no_unwind_yet()
        if depth == 0:
            return self._mine()
        fork, blocks, left = self.world.leave(depth, self.luck.randint(1, depth + 2))
        self._pause()
        return f"{left}; {self.world.come_back(fork, blocks)}"

    # What befalls the processes

    def _begin(self) -> str:
        """The first processes start; in some stories they die where the first position is
        written.
        """
        if self.due[0] is Point.START:
            return self._spring_at(*self.due, self._start, SURE_S)
        return self._start()

    def _start(self) -> str:
        self.crew.tend()
        return "start the indexer and its spare"

    def _kill(self) -> str:
        if (lead := self._leading()) is None:
            return "kill: nobody leads"
        self._mine()
        time.sleep(self.luck.uniform(0, 0.15))
        self.crew.kill(_pid(lead))
        return "kill -9 the leader"

    def _spring(self) -> str:
        """At a point that every block may pass; the commit goes through, or not."""
        return self._spring_at(
            self.luck.choice(PASSED_BY_BLOCKS), self.luck.random() < 0.5, self._work, UNSURE_S
        )

    def _spring_due(self) -> str:
        """At the point that this seed is there for."""
        point, commits = self.due
        if point is Point.START:
            return self._spring()
        if point is Point.FINALIZED and self.world.head.number < self.world.floor + DEEPEST:
            self.world.mine_empty(DEEPEST)
        self._leading()
        self._wait_for_head(SURE_S)
        works = {Point.UNWIND: self._reorg, Point.LEAD: self._kill, Point.FINALIZED: self._kill}
        tries = [self._spring_at(point, commits, works.get(point, self._work), SURE_S)]
        while not self.killed and len(tries) < TRIES:
            tries.append(self._spring_at(point, commits, works.get(point, self._work), SURE_S))
        return "; ".join(tries)

    def _spring_at(
        self, point: Point, commits: bool, work: Callable[[], str], wait_s: float
    ) -> str:
        """Kill the process that stands at a commit."""
        said, name = list[str](), f"{point}, {'committed' if commits else 'rolled back'}"
        sprung = self.traps.spring(
            point,
            lambda: said.append(work()),
            lambda: self._kill_at(point),
            commits=commits,
            wait_s=wait_s,
        )
        self.killed |= {name} if sprung else set()
        return f"kill -9 at {name}: {'done' if sprung else 'not passed'} ({said[0]})"

    def _kill_at(self, point: Point) -> None:
        """The leader; whoever it is, where the leader's row is only being written."""
        lead = self._leading(0.0) if point not in (Point.LEAD, Point.START) else None
        for pid in [_pid(lead)] if lead is not None else list(self.crew.running):
            self.crew.kill(pid)

    def _cut(self) -> str:
        """The connection is cut at a commit; the process lives and can't know what became of it."""
        point, said = self.luck.choice((Point.BLOCK, Point.LEDGERS, Point.REASON)), list[str]()
        sprung = self.traps.spring(
            point, lambda: said.append(self._work()), lambda: None, commits=False, wait_s=UNSURE_S
        )
        return f"cut the connection at {point}: {'done' if sprung else 'not passed'} ({said[0]})"

    def _lose_answer(self) -> str:
        """A commit goes through and its connection breaks before the process hears of it."""
        refused = [deed for _ in range(3) for deed in self.world.crowd.be_refused(self.luck)]
        lost = self.traps.lose_answer(lambda: self.world.mine_deeds(refused), UNSURE_S)
        return f"lose the answer to a commit: {'done' if lost else 'not passed'}"

    def _work(self) -> str:
        """A few blocks, of which one has a refused call."""
        self.world.mine_deeds(self.world.crowd.be_refused(self.luck))
        return self._mine()

    def _freeze(self) -> str:
        """The leader stands still and loses its lock; another takes over; then it wakes up and must
        not write.
        """
        if (lead := self._leading()) is None:
            return "freeze: nobody leads"
        frozen = _pid(lead)
        self.crew.freeze(frozen)
        self._terminate(f"pid = {lead.backend_pid}")
        self._mine()
        if not until(lambda: self._epoch() > lead.epoch, TAKE_OVER_S):
            # It froze in a transaction, whose lock on the leader's row holds the next one up:
            # Postgres ends that after a while.
            self._terminate("state = 'idle in transaction'")
            if not until(lambda: self._epoch() > lead.epoch, TAKE_OVER_S):
                self.faults.append("nobody took over from a frozen leader")
        self._mine()
        code = self.crew.thaw(frozen)
        if code != 1:
            self.faults.append(f"a leader that was replaced while it was frozen ended with {code}")
        return "freeze the leader until another leads"

    # What befalls the database

    def _crash_database(self) -> str:
        """As `pg_ctl stop -m immediate` does it, or with a dead postmaster."""
        how = self.luck.choice((signal.SIGQUIT, signal.SIGKILL))
        pid = self.server.pid
        assert pid is not None
        os.kill(pid, how)
        until(lambda: self.server.pid is None, DATABASE_S)
        self.world.crowd.has_database = False
        self.world.mine(1)
        start(self.server.data_dir)
        self.world.crowd.has_database = True
        return f"crash Postgres ({how.name}) and start it again"

    def _crash_backend(self) -> str:
        """One backend is killed: Postgres cuts every connection and recovers by itself."""
        if (lead := self._leading()) is None:
            return "crash a backend: nobody leads"
        with self.traps.connect() as witness:
            os.kill(lead.backend_pid, signal.SIGKILL)
            until(lambda: _is_cut(witness), DATABASE_S)
        self._read(pending)
        self.world.mine(1)
        return "kill -9 a backend of Postgres"

    # Looking

    def _read(self, read: Callable[[Database], object]) -> object:
        """A read that outlasts the recovery of a crashed server."""
        end = time.monotonic() + DATABASE_S
        while True:
            try:
                return read(self.database)
            except OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def _row(self) -> LeaderRow | None:
        def read(database: Database) -> LeaderRow | None:
            with database.read() as session:
                return leader.leader_row(session, "indexer")

        found = self._read(read)
        return found if isinstance(found, LeaderRow) else None

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

    def _healed(self, head: tuple[int, str]) -> bool:
        self.crew.tend()
        return self._read(pending) == (head, 0)

    def _terminate(self, which: str) -> None:
        with self.traps.connect() as connection:
            connection.execute(
                f"select pg_terminate_backend(pid) from pg_stat_activity where {which} and "
                "datname = current_database()"
            )


def _is_cut(witness: psycopg.Connection[tuple[object, ...]]) -> bool:
    try:
        witness.execute("select 1")
    except psycopg.OperationalError:
        return True
    return False


def _pid(row: LeaderRow) -> int:
    return int(row.holder.rpartition(":")[2])
