r"""Lose the database and get it back, step by step, checked at each: `make drill`.

    stack at work ---- backup ---- more ---- the point ---- more, the stop, the exit ---- the end
                          \__________________|                                             |
    restored, second port:  backup + log up to the point, exact to the row                 |
                            then the real indexer: all that the chain says since           = the original's
    restored, third port:   backup + all of the log                                        = the original

It starts a stack of its own whose database is a system's Postgres with the configuration of
docs/operations/backup, and ends with 0 only when every step held. The folder is DRILL_DIR
(default: a new one, removed at the end).
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import insert
from sqlalchemy.exc import SQLAlchemyError

from core.chain.nodes import Nodes
from core.db.engine import Database
from core.errors import OutsideError
from core.findings import PartFinding
from core.market.ledger import writer as warning_ledger
from core.market.ledger.writer import NewWarning
from core.market.tables import MarketAsset
from core.settings import Deployment
from indexer.check_record import lines
from indexer.check_record import place_of as record_place
from scripts import demo
from scripts._ports import Ports, free_port
from scripts._processes import Child, StackError, be_interrupted_by_signals, run_shown
from scripts.demo import StepFailedError
from scripts.devstack import ANVIL, CHAIN_ID, Stack, set_outside
from tests.drill import digests
from tests.drill.catch_up import CatchUp
from tests.drill.place import DATABASE, BackupFailedError, DrillPlace, DrillServer, binaries
from tests.drill.tamper import Tamper
from tests.world.seed import place_of, seed

AGENTS, DAYS = 8, 120  # of the simulated world beside the real mandate
WARNINGS = 60
ANSWER_S = 30.0
WITHIN_S = 900  # whatever else the machine does
# past the triggers, as the owner of the tables could
CHANGES = {
    "mandate_event": "amount_usdc_e6 = amount_usdc_e6 + 1 "
    "where id = (select max(id) from mandate_event where amount_usdc_e6 > 0)",
    "credit_entry": "welcome_delta = welcome_delta + 1, counter_delta = counter_delta - 1 "
    "where seq = 1 and account_id = (select min(account_id) from credit_entry)",
}


@dataclass
class Drill:
    """What the steps share."""

    place: DrillPlace
    stack: Stack
    say: Callable[[str], None]
    original: DrillServer
    second: DrillServer
    third: DrillServer
    tables: list[str] = field(default_factory=digests.all_tables)
    story: demo.Story | None = None
    point: digests.TablesStanding | None = None

    @property
    def told(self) -> demo.Story:
        assert self.story is not None
        return self.story

    @property
    def target(self) -> tuple[str, ...]:
        at = self.noted.at.isoformat(sep=" ")
        return ("--type=time", f"--target={at}", "--target-action=promote")

    @property
    def noted(self) -> digests.TablesStanding:
        assert self.point is not None
        return self.point

    def checked(self, server: DrillServer, rpc_url: str | None = None) -> list[PartFinding]:
        """What indexer.check_record says of this server's database."""
        deployment = Deployment(CHAIN_ID, 0, "", self.stack.facts["contracts"])
        nodes = Nodes([rpc_url or self.stack.rpc_url], answer_s=ANSWER_S)
        place = record_place(server.url, nodes, deployment)
        try:
            return list(lines(place))
        finally:
            nodes.close()
            place.database.close()

    def told_by_the_command(self, server: DrillServer) -> int:
        """The exit code of `python -m indexer.check_record`, as operators run it."""
        environment = self.stack.children["indexer"].environment | {"DATABASE_URL": server.url}
        command = [sys.executable, "-m", "indexer.check_record"]
        return run_shown(command, environment, self.say).returncode

    def expect_sound(self, server: DrillServer) -> None:
        """One thing may be wrong: a root that was posted after the point is none of this record's."""
        told = self.checked(server)
        for line in told:
            self.say(f"{line.what}: {line.says}")
        wrong = [line for line in told if not line.is_right]
        if not wrong:
            return
        newest = "select coalesce(max(epoch), 0) from anchor_epoch"
        is_behind = server.ask(newest, DATABASE) < self.original.ask(newest, DATABASE)
        if not is_behind or any(line.what != "anchors" for line in wrong):
            raise StepFailedError(f"the restored record is not sound: {wrong[0].says}")
        self.say(
            "this root was posted after the point: what it anchored is what going back gives up"
        )

    def faults(self, server: DrillServer, rpc_url: str | None = None) -> str:
        """What is wrong, but for roots that were posted since, in one line; empty when nothing is."""
        told = self.checked(server, rpc_url)
        wrong = [line for line in told if not line.is_right and line.what != "anchors"]
        return " ".join(map(str, wrong))

    def expect_same(self, server: DrillServer, standing: digests.TablesStanding) -> None:
        with digests.connected(server.url) as connection:
            found = digests.digests(connection, self.tables)
        if wrong := digests.differing(standing.tables, found):
            raise StepFailedError(f"not what stood there: {'; '.join(wrong)}")
        kept = digests.append_only_of(found)
        self.say(
            f"{len(found)} tables, {sum(one.rows for one in found.values()):,} rows: the same count and "
            f"digest in each; {len(kept)} of them are append-only, with "
            f"{sum(one.rows for one in kept.values()):,} rows"
        )


# ---------------------------------------------------------------------- the steps


def archives(drill: Drill) -> None:
    """A database whose log is archived, and a stack on it"""
    drill.place.make()
    drill.place.configure(drill.original.data, drill.original.port)
    drill.original.make()
    drill.original.start()
    drill.original.ask('create database "mandate"')
    drill.place.pgbackrest("stanza-create")
    drill.place.pgbackrest("check")
    version = drill.original.ask("show server_version")
    drill.say(
        f"Postgres {version}, pgBackRest {drill.place.run('pgbackrest', 'version').stdout.split()[1]}"
    )
    drill.stack.start()


def works(drill: Drill) -> None:
    """Ledgers: a simulated world, and a mandate that is signed, funded, acts and is refused"""
    database = Database(drill.original.url, application_name="drill")
    try:
        rows = seed(database, place_of(drill.stack.facts), datetime.now(UTC), AGENTS, DAYS)
        _warn(database)
    finally:
        database.close()
    drill.say(f"{rows:,} rows of simulated ledgers")
    drill.story = demo.Story(drill.stack.facts)
    for step in (demo.sign_in, demo.sign_and_fund, demo.act, demo.overreach):
        step(drill.told)
    drill.say(f"mandate {drill.told.id}, vault {drill.told.vault}")
    drill.say(f"{WARNINGS} warnings, {_count(drill, 'credit_entry')} credit entries")


def backs_up(drill: Drill) -> None:
    """A full backup, while all processes write"""
    drill.place.pgbackrest("backup", "--type=full")
    drill.original.next_second()
    drill.say(_size(drill.place.repository))


def notes_the_point(drill: Drill) -> None:
    """More is written; then a point in time is noted, with what stands at it"""
    demo.stray(drill.told)
    mandates = drill.told.agent_api.mandates
    mandates.report_event(drill.told.id, kind="note", why="Before the point.")
    drill.point = digests.frozen_standing(drill.original.url, drill.tables)
    rows = sum(one.rows for one in drill.noted.tables.values())
    drill.say(f"{drill.noted.at.isoformat()}, log at {drill.noted.lsn}: {rows:,} rows")


def goes_on(drill: Drill) -> None:
    """After the point: the price falls, the keeper stops, the owner takes it all; and a new draft"""
    for step in (demo.fall, demo.after, demo.leave):
        step(drill.told)
    draft = drill.told.owner_api.mandates.create(
        purpose="Written after the point.",
        budget_usdc=demo.BUDGET,
        horizon_days=30,
        stop_floor_bps=demo.FLOOR_BPS,
        market_mode="testnet",
    )
    drill.say(f"stopped, unwound, withdrawn on chain; draft {draft['mandate']['public_id']} off it")


def is_archived(drill: Drill) -> None:
    """The log so far is in the archive, and every file of it is what was written"""
    drill.place.pgbackrest("check")  # switches to a new segment and waits for the old one
    drill.place.verify()
    segments = len(list(drill.place.repository.glob("archive/*/*/*/*.zst")))
    drill.say(f"{segments} segments of the log, {_size(drill.place.repository)}")


def comes_back(drill: Drill) -> None:
    """Restored to the point on a second port"""
    drill.second.restore(*drill.target)
    drill.second.start(archive_mode="off")
    drill.second.until_promoted()
    drill.say(f"port {drill.second.port}, of a log that goes on after the point")


def is_exact(drill: Drill) -> None:
    """Exact to the row: each table beside what stood at the point"""
    drill.expect_same(drill.second, drill.noted)


def is_sound(drill: Drill) -> None:
    """All ledgers verified, heads and sums compared with the chain"""
    drill.expect_sound(drill.second)
    code = drill.told_by_the_command(drill.second)
    if code not in (0, 1):
        raise StepFailedError(f"indexer.check_record ended with {code}")


def catches_up(drill: Drill) -> None:
    """The real indexer reads what the chain says since, until nothing is missing"""
    stack = drill.stack
    for name in ("api", "worker", "keeper"):
        stack.children[name].stop()
    for method, argument in (("evm_setAutomine", False), ("evm_setIntervalMining", 0)):
        rpc(stack.rpc_url, method, argument)  # both come to the same block
    CatchUp(drill.original.url, drill.second.url, stack, drill.say).run(WITHIN_S)
    drill.expect_sound(drill.second)


def comes_back_whole(drill: Drill) -> None:
    """Restored to the end of the log on a third port: nothing that was committed is lost"""
    drill.stack.children["indexer"].stop()
    standing = digests.frozen_standing(drill.original.url, drill.tables)
    drill.place.pgbackrest("check")
    drill.third.restore("--type=default")
    drill.third.start(archive_mode="off")
    drill.third.until_promoted()
    drill.expect_same(drill.third, standing)
    drill.expect_sound(drill.third)


def tells_lies(drill: Drill) -> None:
    """A byte of a backup, a byte of the log, a row of a ledger: each is found and said"""
    tamper = Tamper(drill.place, drill.target, drill.second.port + 2, drill.say)
    tamper.data_file()
    tamper.segment()
    tamper.lost_segment()
    for table, change in CHANGES.items():
        tamper.row(drill.third, table, change, lambda: drill.faults(drill.third))


def tells_the_wrong_chain(drill: Drill) -> None:
    """A chain behind the record, and another chain: one sentence each"""
    with other_chain(drill.stack) as url:
        behind = drill.faults(drill.second, url)
        if "the record is ahead of this chain" not in behind:
            raise StepFailedError(f"a chain behind the record is not told: {behind or 'nothing'}")
        drill.say(behind)
        rpc(url, "anvil_mine", hex(int(rpc(drill.stack.rpc_url, "eth_blockNumber"), 16) + 5))
        other = drill.faults(drill.second, url)
        if "is of another chain" not in other:
            raise StepFailedError(f"another chain is not told: {other or 'nothing'}")
        drill.say(other)


STEPS = (
    archives,
    works,
    backs_up,
    notes_the_point,
    goes_on,
    is_archived,
    comes_back,
    is_exact,
    is_sound,
    catches_up,
    comes_back_whole,
    tells_lies,
    tells_the_wrong_chain,
)


# ---------------------------------------------------------------------- what they are made of


def _count(drill: Drill, table: str) -> int:
    return int(drill.original.ask(f"select count(*) from {table}", DATABASE))


def _warn(database: Database) -> None:
    """Warnings of assets that nobody lists, each a row of the ledger of warnings."""
    with database.write() as session:
        tickers = [{"ticker": f"DRILL{n}"} for n in range(WARNINGS)]
        ids = session.scalars(insert(MarketAsset).returning(MarketAsset.id), tickers).all()
        new = [
            NewWarning(
                exchange="drill",
                asset_id=id_,
                token="DRILL",
                listing_id=None,
                type="depth_collapse",
                severity="warning",
                is_predictive=True,
                evidence={"n": id_},
                rule_version="drill",
            )
            for id_ in ids
        ]
        warning_ledger.write(session, new, [])


def _size(repository: Path) -> str:
    size = sum(file.stat().st_size for file in repository.rglob("*") if file.is_file())
    return f"{size / 10**6:.1f} MB in the repository"


def rpc(url: str, method: str, *params: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
    return httpx.post(url, json=body, timeout=10).json().get("result")


@contextmanager
def other_chain(stack: Stack) -> Iterator[str]:
    """The URL of a chain with the same id that has nothing of ours, and no blocks."""
    url = f"http://127.0.0.1:{free_port()}"
    command = [
        str(ANVIL),
        "--chain-id",
        str(CHAIN_ID),
        "--port",
        url.rpartition(":")[2],
        "--silent",
    ]
    child = Child(
        "other chain", command, dict(os.environ), stack.directory / "logs" / "other.log", stack.show
    )
    child.start()
    try:
        ends = time.monotonic() + WITHIN_S
        while child.is_running() and time.monotonic() < ends:
            with suppress(httpx.HTTPError):
                rpc(url, "eth_chainId")
                break
            time.sleep(0.05)
        yield url
    finally:
        child.stop()


def tell(drill: Drill, steps: Sequence[Callable[[Drill], None]] = STEPS) -> int:
    """Run every step; the first that does not hold is named. 0 when all held."""
    began = time.monotonic()
    for number, step in enumerate(steps, start=1):
        print(f"\n{number}. {(step.__doc__ or '').strip()}", flush=True)
        started = time.monotonic()
        try:
            step(drill)
        except (*demo.FAILURES, OutsideError, httpx.HTTPError, SQLAlchemyError) as error:
            print(f"   FAILED after {time.monotonic() - started:.2f} s: {error}", flush=True)
            print(f"\nStep {number} ({step.__name__}) failed.", flush=True)
            return 1
        print(f"   ok, {time.monotonic() - started:.2f} s", flush=True)
    print(f"\nAll {len(steps)} steps held, in {time.monotonic() - began:.1f} s.", flush=True)
    return 0


@contextmanager
def drill_in(folder: Path) -> Iterator[Drill]:
    """A drill whose processes and servers are gone at the end."""
    place = DrillPlace(folder / "database")
    ports = Ports.free()
    first = free_port()
    original, second, third = (
        DrillServer(place, name, first + number)
        for number, name in enumerate(("original", "second", "third"))
    )
    outside = {
        **set_outside(),
        "DATABASE_URL": original.url,
    }

    def say(line: str) -> None:
        print(f"   {line}", flush=True)

    stack = Stack(folder / "stack", ports, say=say, outside=outside)
    try:
        yield Drill(place, stack, say, original, second, third)
    finally:
        stack.stop()
        for server in (third, second, original):
            server.stop()


def main() -> None:
    given = os.environ.get("DRILL_DIR")
    folder = Path(given or tempfile.mkdtemp(prefix="drill-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # the servers run as another account
    be_interrupted_by_signals()
    os.environ["WITHOUT"] = "scanner"  # it only costs: exchanges are on no chain
    try:
        binaries()
        with drill_in(folder) as drill:
            code = tell(drill)
    except (BackupFailedError, StackError) as error:
        sys.exit(f"make drill: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted")
    finally:
        if given is None:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
