"""A spare takes over from a leader that was killed, and from one that is frozen: within 3 s, and
only one ever writes.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import OperationalError

from core.blocks.queries import TIP
from core.blocks.tables import ChainBlock, ChainCursor
from core.db import leadership as leader
from core.db import locks
from core.db.engine import Bounds, Database
from core.db.leadership import BEAT_S, SILENT_S, LeaderRow, Leadership, LeadershipLostError
from tests.integration.chain_fixtures import ROOT, DeployedChain
from tests.integration.indexer.conftest import now_utc
from tests.integration.indexer.test_process import Start, start, status_of, until
from tests.integration.nursery import Process

__all__ = ["start"]  # the fixture

TAKE_OVER_S = 10.0  # 3 s on a quiet machine: `make bench` measures it
NAME = "loop"
LOCK = locks.own(f"leader:{NAME}")

Take = Callable[..., Leadership]
Pair = tuple[Process, Process]


# Processes


def follows(database: Database, epoch: int) -> bool:
    row = status_of(database)
    return row is not None and row.epoch == epoch and row.status.get("state") == "following"


@pytest.fixture
def pair(database: Database, start: Start, tmp_path: Path) -> Pair:
    """A leader and its spare, both up."""
    first = start()
    until(lambda: follows(database, 1))
    spare = start()
    until(lambda: "another indexer leads" in (tmp_path / "1.log").read_text())
    return first, spare


def tell(what: str, taken_s: float, following_s: float) -> None:
    print(f"{what}: lead taken after {taken_s:.2f} s, following after {following_s:.2f} s")


def epoch_of(database: Database) -> int:
    row = status_of(database)
    return 0 if row is None else row.epoch


@pytest.mark.slow
def test_a_killed_leader__its_spare_leads_within_three_seconds(
    deployed: DeployedChain, database: Database, pair: Pair
) -> None:
    first, spare = pair
    first.kill()
    taken_s = until(lambda: epoch_of(database) == 2)
    following_s = taken_s + until(lambda: follows(database, 2))
    tell("killed", taken_s, following_s)
    assert following_s <= TAKE_OVER_S
    assert spare.poll() is None


@pytest.mark.slow
def test_a_frozen_leader__its_spare_leads_within_three_seconds_and_it_ends_when_it_wakes(
    deployed: DeployedChain, database: Database, pair: Pair
) -> None:
    first, spare = pair
    first.send_signal(signal.SIGSTOP)
    taken_s = until(lambda: epoch_of(database) == 2)
    following_s = taken_s + until(lambda: follows(database, 2))
    tell("frozen", taken_s, following_s)
    deployed.anvil.mine(3)
    until(lambda: head_written(database, deployed))
    first.send_signal(signal.SIGCONT)
    assert first.wait(timeout=5) == 1
    assert following_s <= TAKE_OVER_S
    assert (spare.poll(), epoch_of(database), tip_epoch(database)) == (None, 2, 2)


def head_written(database: Database, deployed: DeployedChain) -> bool:
    head = deployed.reader.header()
    with database.read() as session:
        return (
            head is not None and session.scalar(select(func.max(ChainBlock.number))) == head.number
        )


def tip_epoch(database: Database) -> int | None:
    """The epoch of the last write of the tip loop."""
    with database.read() as session:
        return session.scalar(select(ChainCursor.epoch).where(ChainCursor.name == TIP))


# The law, one process playing both


@pytest.fixture
def take(database_url: str) -> Iterator[Take]:
    """A Leadership that has the lead, or None of it; released at the end."""
    made: list[Leadership] = []

    def make(**options: float) -> Leadership:
        made.append(Leadership(database_url, NAME, f"holder {len(made)}", **options))
        return made[-1]

    yield make
    for leadership in made:
        leadership.release()


class Frozen:
    """A process that took the lead, fenced a write, and was stopped in the midst of it."""

    SCRIPT = """
import os, signal, sys
from datetime import UTC, datetime
from sqlalchemy import text
from core.db.engine import Database
from core.db.leadership import Leadership, LeadershipLostError
from sqlalchemy.exc import OperationalError
url, write = sys.argv[1], sys.argv[2] == "write"
database, leadership = Database(url, application_name="frozen"), Leadership(url, "loop", "frozen")
assert leadership.try_take(datetime.now(UTC))
try:
    with database.write() as session:
        if write:
            leadership.fence(session)
            session.execute(text("create table proof ()"))
        os.kill(os.getpid(), signal.SIGSTOP)
        leadership.fence(session)
        session.execute(text("create table proof ()"))
except OperationalError:
    try:
        leadership.beat({})
    except LeadershipLostError:
        sys.exit(3)
except LeadershipLostError:
    sys.exit(2)
"""

    def __init__(self, url: str, write: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.SCRIPT, url, write], cwd=ROOT, env=os.environ
        )
        until(self._is_stopped)

    def _is_stopped(self) -> bool:
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return stat.rsplit(")", 1)[1].split()[0] == "T"


@pytest.mark.slow
@pytest.mark.parametrize(("write", "exit_code"), [("nothing", 2), ("write", 3)])
def test_frozen_in_the_midst_of_a_write__it_holds_nobody_up_and_writes_nothing(
    take: Take, database: Database, database_url: str, write: str, exit_code: int
) -> None:
    frozen = Frozen(database_url, write)
    spare = take()
    try:
        taken_s = until(lambda: spare.try_take(now_utc()))
        frozen.process.send_signal(signal.SIGCONT)
        assert frozen.process.wait(timeout=10) == exit_code
    finally:
        frozen.process.kill()
        frozen.process.wait()
    print(f"frozen, {write} under way: lead taken after {taken_s:.2f} s")
    assert spare.epoch == 2
    assert taken_s <= TAKE_OVER_S
    with database.read() as session:
        assert session.execute(text("select to_regclass('proof')")).scalar_one() is None


def age_beat(database: Database, seconds: float) -> None:
    """As if the last beat were that old, and no other came."""
    with database.write() as session:
        session.execute(
            update(LeaderRow).values(beat_at=func.clock_timestamp() - timedelta(seconds=seconds))
        )


def test_end_silent_holder__a_beat_that_is_young_enough_protects_it(
    database: Database, take: Take
) -> None:
    held = take()
    assert held.try_take(now_utc())
    time.sleep(0.3)
    with database.write() as session:
        assert not leader.end_silent_holder(session, NAME, 60)
        assert not leader.end_silent_holder(session, "another", 0.1)
    held.beat({})


def test_end_silent_holder__a_backend_too_young_to_have_beaten_is_left_alone(
    database: Database, take: Take
) -> None:
    held = take()
    assert held.try_take(now_utc())
    age_beat(database, 3600)
    with database.write() as session:
        assert not leader.end_silent_holder(session, NAME, 5)


def test_end_silent_holder__one_that_holds_the_lock_and_never_wrote_its_row_is_ended(
    database: Database, database_url: str
) -> None:
    with (
        closing(Database(database_url, application_name="holder")) as other,
        other.write() as holder,
    ):
        assert LOCK.try_hold(holder)
        time.sleep(0.3)
        with database.write() as session:
            assert leader.end_silent_holder(session, NAME, 0.2)
            assert LOCK.try_hold(session)
        with pytest.raises(OperationalError):
            holder.execute(select(1))
        holder.rollback()


@pytest.mark.slow
def test_a_loop_that_hangs__falls_silent_and_is_taken_over(take: Take) -> None:
    hanging, spare = take(stuck_s=0.1), take()
    assert hanging.try_take(now_utc())
    taken_s = until(lambda: spare.try_take(now_utc()))
    assert SILENT_S <= taken_s <= TAKE_OVER_S
    with pytest.raises(LeadershipLostError):
        hanging.beat({})


@pytest.mark.slow
def test_a_loop_in_a_long_step__is_spoken_for_and_says_how_long(
    take: Take, database: Database
) -> None:
    busy, spare = take(stuck_s=60), take()
    assert busy.try_take(now_utc())
    busy.beat({"state": "following"})
    until(lambda: not spare.try_take(now_utc()) and status(database)["no_progress_s"] >= 2)
    assert status(database)["state"] == "following"
    with database.read() as session:
        row = leader.leader_row(session, NAME)
    assert row is not None and row.silent_s(row.beat_at) == status(database)["no_progress_s"]
    busy.beat({"state": "following"})
    assert status(database)["no_progress_s"] == 0


def status(database: Database) -> dict[str, object]:
    with database.read() as session:
        row = leader.leader_row(session, NAME)
    return {} if row is None else row.status


def test_a_long_write__does_not_hold_up_the_beat(take: Take, database: Database) -> None:
    held = take()
    assert held.try_take(now_utc())
    with database.write() as session:
        held.fence(session)
        held.beat({"state": "writing"})
        assert status(database)["state"] == "writing"


def test_a_fenced_write__holds_up_the_next_epoch(
    take: Take, database: Database, database_url: str
) -> None:
    held = take()
    assert held.try_take(now_utc())
    with (
        closing(Database(database_url, application_name="other", bounds=Bounds(lock_s=1))) as other,
        database.write() as fenced,
    ):
        held.fence(fenced)
        with pytest.raises(OperationalError, match="lock timeout"), other.write() as session:
            leader.raise_epoch(session, NAME, "another", now_utc())
    with database.write() as session:
        assert leader.raise_epoch(session, NAME, "another", now_utc()) == 2


def test_lost__beat_fence_and_epoch_all_say_so(take: Take, database: Database) -> None:
    held = take()
    assert held.try_take(now_utc())
    with database.write() as session:
        leader.raise_epoch(session, NAME, "another", now_utc())
    time.sleep(2 * BEAT_S)  # its own thread met it
    with database.write() as session, pytest.raises(LeadershipLostError):
        held.fence(session)
    with pytest.raises(LeadershipLostError):
        held.beat({})
    with pytest.raises(LeadershipLostError):
        _ = held.epoch


def test_released_and_taken_again__leads_with_a_higher_epoch(take: Take) -> None:
    held = take()
    assert held.try_take(now_utc())
    held.release()
    assert not held.leads
    until(lambda: held.try_take(now_utc()))  # the server ends the old session in its own time
    assert held.epoch == 2
    held.beat({})
