"""The keeper's process: settings in, one tick a block out.

`python -m keeper.main run | once | status`

It leads or waits to lead; leading, it judges every vault each tick and says how it is (row
`leader`). The slow jobs of areas have a process of their own, without keys (api/worker.py); it runs
those alone that need its keys. An outside failure makes it try again at the next tick, never end; a
tick that hangs ends it (core.watchdog). Without a signer it is a dry run and logs what it would send.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime

import structlog
import typer
from rich.console import Console
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session

from core.chain.nodes import Nodes
from core.chain.signer import Signer
from core.custody.keys import CustodySigner, KeyRing
from core.custody.seals import log_unknown_at_start, reseal_all
from core.db.engine import Bounds, Database
from core.db.leadership import Leadership, LeadershipLostError
from core.db.outage import no_database
from core.errors import InvalidParameterError, OutsideError, text_of
from core.exporter import serve_or_log
from core.jobs.schedule import Job, JobDatabase, Schedule
from core.keeper.gas import GasBudgets
from core.mandate.chain.lens import LENS
from core.mandate.chain.reader import VaultReader
from core.settings import Settings
from core.sponsored.days import sponsor_budgets
from core.startup import read_settings, refusals
from core.watchdog import Watchdog
from keeper import funds, perps_closing, status
from keeper.funds import Funds
from keeper.gas import GWEI, Caps
from keeper.intents import Desk
from keeper.metrics import KeeperMetrics
from keeper.outbox_kinds import builders_of
from keeper.read import Lenses
from keeper.requests.loop import BOUNDS, DEADLINE_S, RequestLoop, most_under_way, share_of
from keeper.requests.round import CUSTODY, SPONSOR, PurseTerms, RequestRound
from keeper.signers import (
    require_all_allowed,
    require_gas_key,
    signers_of,
)
from keeper.state import OF_REQUESTS, Role
from keeper.tick import Tick, TickReport

NAME = "keeper"
ANSWER_S = 5.0  # a node that takes longer is as good as gone: the next one is asked
SCRAPE = Bounds(pool_size=1, overflow=1, pool_wait_s=2, connect_s=2, statement_s=3, lock_s=1)

log = structlog.get_logger(NAME)
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a pretty traceback shows values, and those may be secrets
    help="Marks vaults and stops them at their stop line.",
)


def now_utc() -> datetime:
    return datetime.now(UTC)


class Keeper:
    """The loop round the tick: leadership, heartbeat, slow jobs, patience with the outside."""

    def __init__(self, settings: Settings, metrics: KeeperMetrics) -> None:
        deployment = settings.deployment(LENS)
        self._settings = settings
        self._metrics = metrics
        self._signers = signers_of(settings)
        keys = settings.custody_keys()
        self._custody_signer = custody = CustodySigner(KeyRing(keys)) if keys else None
        if custody is not None:
            require_gas_key(self._signers)
        self._database = Database(settings.database_url, application_name=NAME)
        self._leadership = Leadership(
            settings.database_url, NAME, f"{socket.gethostname()}:{os.getpid()}"
        )
        loops = sum(role in self._signers for role in OF_REQUESTS)
        self._share = share_of(settings.rpc_requests_per_s, loops) if loops else 0
        own_calls = settings.rpc_requests_per_s - loops * self._share
        rpc = Nodes(settings.rpc_urls, answer_s=ANSWER_S, calls_per_s=own_calls)
        metrics.count_rpc(rpc)
        metrics.gas_budget.set(settings.custody_gas_wei_per_day)
        self._reader = VaultReader(rpc, deployment.contracts)
        self._builders = builders_of(custody, deployment.contracts, self._reader)
        self._caps = Caps(
            settings.keeper_max_fee_gwei * GWEI, settings.keeper_stop_max_fee_gwei * GWEI
        )
        self.loops: list[RequestLoop] = []
        self._watchdog = Watchdog(settings.keeper_watchdog_s)
        self._tick: Tick | None = None
        self._schedule: Schedule[JobDatabase] | None = None
        self._scraped: Database | None = None
        self._is_waiting_logged = False
        self._ended = threading.Event()
        self.exit_code = 0

    def end(self, exit_code: int = 0) -> None:
        """Ask the loop to end after the tick that it is in. Safe in a signal handler."""
        self.exit_code = exit_code
        self._ended.set()

    def run(self) -> None:
        """A tick for each look at the vaults, until `end`. Ticks never overlap."""
        self._watchdog.start()
        while not self._ended.is_set():
            self.job()
        if self._schedule is not None:
            self._schedule.stop()
        for loop in self.loops:
            loop.stop()
        self.close()

    def serve_metrics(self) -> None:
        """A scrape has a connection of its own and waits for nothing long."""
        settings = self._settings
        if settings.keeper_metrics_port:
            self._scraped = Database(
                settings.database_url, application_name=f"{NAME} metrics", bounds=SCRAPE
            )
            self._metrics.read_rows(self._scraped, settings.chain_id, now_utc)
        serve_or_log(
            self._metrics.registry,
            settings.host,
            settings.keeper_metrics_port,
            "KEEPER_METRICS_PORT",
        )

    def job(self) -> None:
        """One tick at the process's edge: whatever it raises is logged, and only a lost lead or a
        refused key ends the process.
        """
        try:
            if not self._ended.is_set() and self.once(self._settings.keeper_tick_s) is not None:
                self._schedule = self._schedule or self._started_jobs()
                if not self.loops:
                    self.loops = self.request_loops()
                    for loop in self.loops:
                        loop.start()
        except LeadershipLostError as error:
            self._lose_lead(error)
        except InvalidParameterError as error:
            log.error("configuration refused", error=str(error))
            self.end(exit_code=1)
        except (OutsideError, OperationalError) as error:
            self._say_trouble(error)
        except Exception as error:
            log.exception("tick failed")
            self._say_trouble(error)
        finally:
            self._watchdog.sign()

    def once(self, every_s: float = 0) -> TickReport | None:
        """One tick; None while another process leads. `every_s`: of many, for which the vaults are
        looked at so often, and the lead is waited for so long.

        Errors: as Tick.run, and InvalidParameterError of a key.
        """
        if not self._leadership.take_within(every_s, now_utc, self._ended.wait):
            if not self._is_waiting_logged:  # once: a spare may wait for weeks
                log.info("another keeper leads, waiting")
            self._is_waiting_logged = True
            return None
        if self._tick is None:
            self._metrics.leading(self._leadership.epoch)
            self._tick = self._open()
            if every_s:
                self._tick.watch.start(every_s)
        report = self._tick.run(now_utc())
        self._leadership.beat(report.as_status(self._tick.mode))
        self._metrics.ticked(report.took_ms / 1000, report.as_status(self._tick.mode))
        return report

    def close(self) -> None:
        """Give the lead back at once and close what is open."""
        if self._tick is not None:
            self._tick.watch.stop()
            if self._tick.stops is not None:
                self._tick.stops.write()  # what was sent since the last tick
        self._leadership.release()
        for database in (self._database, self._scraped):
            if database is not None:
                database.close()
        self._reader.rpc.close()
        for loop in self.loops:
            loop.close()

    def _open(self) -> Tick:
        settings, rpc = self._settings, self._reader.rpc
        rpc.keep_to(settings.chain_id)
        if self._signers:
            require_all_allowed(self._signers, settings, self._reader.client_version())
        own = {role: one for role, one in self._signers.items() if role not in OF_REQUESTS}
        desk = self._desk(rpc, self._database, own, self._fence)
        tick = Tick(
            desk=desk,
            lenses=Lenses(self._reader),
            max_head_age_s=settings.keeper_max_head_age_s,
            now=now_utc,
            marks_a_day=settings.keeper_marks_a_day,
            sign=self._got_on,
            is_held_up=self._leadership.is_held_up,
        )
        log.info(
            "watching",
            chain_id=settings.chain_id,
            mode=tick.mode,
            accounts={role.value: signer.address for role, signer in self._signers.items()},
            epoch=self._leadership.epoch,
        )
        return tick

    def request_loops(self) -> list[RequestLoop]:
        """Of the purses that have a key, not started."""
        settings = self._settings
        budgets = GasBudgets(
            total_wei=settings.custody_gas_wei_per_day,
            owner_wei=settings.custody_gas_wei_per_owner_per_day,
            account_wei=settings.custody_gas_wei_per_account_per_day,
        )
        loops = [
            self._loop_of(terms, of_day)
            for terms, of_day in ((CUSTODY, budgets), (SPONSOR, sponsor_budgets(settings)))
            if terms.role in self._signers
        ]
        if Role.CUSTODY in self._signers:
            self._metrics.count_rpc(loops[0].rpc, "requests_")
        return loops

    def _loop_of(self, terms: PurseTerms, budgets: GasBudgets) -> RequestLoop:
        settings = self._settings
        rpc = Nodes(
            settings.rpc_urls, answer_s=ANSWER_S, deadline_s=DEADLINE_S, calls_per_s=self._share
        )
        database = Database(
            settings.database_url, application_name="keeper requests", bounds=BOUNDS
        )
        signers = {terms.role: self._signers[terms.role]}
        rounds = RequestRound(
            desk=self._desk(rpc, database, signers, self._leadership.fence_beside),
            reader=VaultReader(rpc, self._reader.contracts),
            max_head_age_s=settings.keeper_max_head_age_s,
            builders=self._builders,
            budgets=budgets,
            terms=terms,
            most_under_way=most_under_way(self._share),
        )
        return RequestLoop(rounds, every_s=settings.keeper_tick_s, now=now_utc)

    def _desk(
        self,
        rpc: Nodes,
        database: Database,
        signers: Mapping[Role, Signer],
        fence: Callable[[Session], None],
    ) -> Desk:
        return Desk(
            rpc=rpc,
            database=database,
            chain_id=self._settings.chain_id,
            signers={str(role): signer for role, signer in signers.items()},
            caps=self._caps,
            epoch=lambda: self._leadership.epoch,
            fence=fence,
        )

    def _got_on(self) -> None:
        """A slice of the vaults was judged, or a turn of stops was over: the tick gets on."""
        self._leadership.sign()
        self._watchdog.sign()

    def _fence(self, session: Session) -> None:
        """A transition that is about to be committed: the tick gets on, however many there are in
        it.
        """
        self._leadership.fence(session)
        self._watchdog.sign()

    def _started_jobs(self) -> Schedule[JobDatabase]:
        """Of the keeper's own accounts, and what it signs for beside the chain."""
        balances = Funds(
            self._reader,
            self._database,
            self._signers,
            self._caps.stops_wei,
            {
                Role.CUSTODY: self._settings.custody_gas_wei_per_day,
                Role.SPONSOR: self._settings.sponsor_gas_wei_per_day,
            },
        )
        closings = perps_closing.job(
            self._settings.hl_url,
            self._custody_signer if self._signers else None,
            now_utc,
            self._settings.hl_exit_allowance_bps,
        )
        schedule = Schedule[JobDatabase](
            database=self._database,
            jobs=(
                Job(funds.NAME, funds.EVERY_S, funds.LIMIT_S, lambda _, now: balances.run(now)),
                closings,
            ),
            place=lambda database: database,
            holder=self._leadership.holder,
            clock=now_utc,
            ends_process=False,  # a job that hangs holds up no stop
        )
        schedule.start()
        return schedule

    def _say_trouble(self, error: Exception) -> None:
        log.error("tick failed", error=text_of(error), kind=type(error).__name__)
        self._metrics.failed(error)
        self._ended.wait(self._settings.keeper_tick_s)
        if not self._leadership.leads:
            return  # nothing was taken yet: the next tick tries again
        try:
            self._leadership.beat({"state": "degraded", "error": text_of(error)})
        except LeadershipLostError as lost:
            self._lose_lead(lost)

    def _lose_lead(self, error: LeadershipLostError) -> None:
        """The supervisor starts a fresh process, which waits for its turn. Not while Postgres is
        away: then no other process knows the vaults, and this one goes on with their stops.
        """
        try:
            with self._database.read() as session:
                session.execute(text("select 1"))
        except SQLAlchemyError:
            return
        log.error("no longer leading", error=str(error))
        self.end(exit_code=1)


def _keeper() -> Keeper:
    """Exit 2 with a sentence when a setting can't work."""
    settings = read_settings()
    with refusals():
        keeper = Keeper(settings, KeeperMetrics(time.monotonic))
    with closing(Database(settings.database_url, bounds=SCRAPE)) as database:
        log_unknown_at_start(database, settings.custody_keys())
    return keeper


@app.command()
def run() -> None:
    """Judge every vault each second and send what is due, until SIGTERM."""
    keeper = _keeper()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: keeper.end())
    keeper.serve_metrics()
    keeper.run()
    log.info("stopped")
    sys.exit(keeper.exit_code)


@app.command()
def once() -> None:
    """One tick, then end. Exit 1 when another process leads."""
    keeper = _keeper()
    try:
        report = keeper.once()
        if report is not None:
            keeper.loops = keeper.request_loops()
            for loop in keeper.loops:
                loop.once()
    except (OutsideError, InvalidParameterError, OperationalError) as error:
        log.error("tick failed", error=str(error), kind=type(error).__name__)
        raise typer.Exit(1) from None
    finally:
        keeper.close()
    if report is None:
        log.error("another keeper leads", see="python -m keeper.main status")
        raise typer.Exit(1)
    log.info(
        "tick",
        vaults=report.vaults,
        unknown=report.unknown,
        actions=report.actions,
        tick_ms=report.took_ms,
    )


@app.command()
def reseal() -> None:
    """Seal every custodial key again under the first key of CUSTODY_KEY, so that the old ones can
    be forgotten.
    """
    settings = read_settings()
    with refusals():
        keys = settings.custody_keys()
        if not keys:
            raise InvalidParameterError(
                "CUSTODY_KEY", "set it, and the old key in CUSTODY_OLD_KEYS"
            )
    signer = CustodySigner(KeyRing(keys))
    try:
        with closing(Database(settings.database_url)) as database, database.write() as session:
            count = reseal_all(session, signer, keys)
    except (OutsideError, InvalidParameterError, OperationalError) as error:
        log.error("nothing was resealed", error=str(error), kind=type(error).__name__)
        raise typer.Exit(1) from None
    log.info("sealed anew", wallets=count, key_version=signer.version)


@app.command(name="status")
def show_status() -> None:
    """What the keeper last saw of each vault, from Postgres. Exit 1 when no keeper beats."""
    settings = read_settings(answers=True)
    with refusals():
        settings.deployment()
    try:
        with closing(Database(settings.database_url)) as database:
            report = status.read_apart(database, settings.chain_id, NAME, now_utc())
    except SQLAlchemyError as error:
        typer.echo(no_database(error), err=True)
        raise typer.Exit(1) from None
    Console().print(*status.tables(report))
    raise typer.Exit(0 if report.is_alive else 1)


if __name__ == "__main__":
    app()
