"""The keeper's process: settings in, one tick a block out. `python -m keeper.main run | once | status`

It leads or waits to lead; leading, it judges every vault each tick and says how it is (row `leader`). An outside failure
makes it try again at the next tick, never end. Without a signer it is a dry run and logs what it would send.
"""

import os
import signal
import socket
import sys
import threading
import time
from datetime import UTC, datetime

import structlog
import typer
from rich.console import Console
from sqlalchemy.exc import OperationalError

from core.chain.custody import CustodySigner, KeyRing
from core.chain.reader import ChainReader
from core.chain.rpc import Rpc, RpcError
from core.chain.signer import LocalKeySigner, Signer
from core.db.engine import Database
from core.db.leadership import TRY_S, Leadership, LeadershipLostError
from core.db.repositories import custody as custody_rows
from core.domain.errors import InvalidParameterError, OutsideError
from core.logs import configure_logs
from core.settings import Settings
from keeper import status
from keeper.drafts import Caps
from keeper.observe import Observer
from keeper.outbox_kinds import CUSTODIAL_TRANSFER, OutboxPlanner, custodial_transfers
from keeper.sender import Sender
from keeper.signing import SignerRefusedError, require_allowed
from keeper.state import Role
from keeper.tick import Tick, TickReport

NAME = "keeper"
HEAD_POLL_S = 0.2
ANSWER_S = 5.0  # a node that takes longer is as good as gone: the next one is asked
WEI_PER_GWEI = 10**9

log = structlog.get_logger(NAME)
app = typer.Typer(no_args_is_help=True, add_completion=False, help="Marks vaults and stops them at their stop line.")


class WrongChainError(OutsideError):
    """The node serves another chain than the one we were told."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"the node's chain id is {got}, CHAIN_ID is {expected}; check RPC_URLS and DEPLOYMENT_FILE")


def now_utc() -> datetime:
    return datetime.now(UTC)


def signer_of(settings: Settings) -> Signer | None:
    """The keeper's key, or None for a dry run. Errors: InvalidParameterError naming the variable."""
    keystore, password_file = settings.keeper_keystore, settings.keeper_keystore_password_file
    if settings.keeper_private_key is not None and keystore is not None:
        raise InvalidParameterError("KEEPER_KEYSTORE", "set it or KEEPER_PRIVATE_KEY, not both")
    if settings.keeper_private_key is not None:
        return _signer_of_key(settings.keeper_private_key.get_secret_value())
    if keystore is None:
        return None
    if password_file is None:
        raise InvalidParameterError("KEEPER_KEYSTORE_PASSWORD_FILE", "name the file that holds the keystore's password")
    try:
        return LocalKeySigner.from_keystore(keystore, password_file.read_text().rstrip("\r\n"))
    except (OSError, ValueError, KeyError) as error:
        raise InvalidParameterError(
            "KEEPER_KEYSTORE", f"{keystore} can't be opened ({type(error).__name__}); check file and password"
        ) from None


def _signer_of_key(private_key: str) -> Signer:
    try:
        return LocalKeySigner(private_key)
    except Exception:
        raise InvalidParameterError("KEEPER_PRIVATE_KEY", "write 32 bytes as hex") from None


def custody_signer_of(settings: Settings) -> CustodySigner | None:
    """What signs for custodial wallets; None without CUSTODY_KEY. Errors: InvalidParameterError naming the variable."""
    keys = settings.custody_keys()
    return CustodySigner(KeyRing(keys)) if keys else None


class Keeper:
    """The loop round the tick: leadership, heartbeat, patience with the outside."""

    def __init__(self, settings: Settings) -> None:
        deployment = settings.deployment()
        self._settings = settings
        self._signer = signer_of(settings)
        custody = custody_signer_of(settings)
        usdc = deployment.contracts["usdc"]
        self._outbox = OutboxPlanner({} if custody is None else {CUSTODIAL_TRANSFER: custodial_transfers(custody, usdc)})
        self._database = Database(settings.database_url, application_name=NAME)
        self._leadership = Leadership(settings.database_url, NAME, f"{socket.gethostname()}:{os.getpid()}")
        rpc = Rpc(settings.rpc_urls, answer_s=ANSWER_S, calls_per_s=settings.rpc_requests_per_s)
        self._reader = ChainReader(rpc, deployment.contracts)
        self._tick: Tick | None = None
        self._head_number: int | None = None
        self._told_waiting = False
        self._ended = threading.Event()
        self.exit_code = 0

    def end(self, exit_code: int = 0) -> None:
        """Ask the loop to end after the tick that it is in. Safe in a signal handler."""
        self.exit_code = exit_code
        self._ended.set()

    def run(self) -> None:
        """A tick for each new block, and at least every KEEPER_TICK_S, until `end`. Ticks never overlap."""
        while not self._ended.is_set():
            self.job()
            self._await_block()
        self.close()

    def _await_block(self) -> None:
        """Until the head is another than the last tick's, or the next tick is due. A node that does not answer is met by the tick."""
        due, seen = time.monotonic() + self._settings.keeper_tick_s, self._head_number
        while time.monotonic() < due and not self._ended.wait(HEAD_POLL_S):
            try:
                if seen is not None and self._reader.block_number() != seen:
                    return
            except RpcError:
                continue

    def job(self) -> None:
        """One tick at the process's edge: whatever it raises is told, and only a lost lead or a refused key ends the process."""
        try:
            if not self._ended.is_set():
                self.once(patience_s=self._settings.keeper_tick_s)
        except LeadershipLostError as error:
            # The supervisor starts a fresh process, which waits for its turn.
            log.error("no longer leading", error=str(error))
            self.end(exit_code=1)
        except (InvalidParameterError, SignerRefusedError) as error:
            log.error("configuration refused", error=str(error))
            self.end(exit_code=1)
        except (OutsideError, OperationalError) as error:
            self._say_trouble(error)
        except Exception as error:
            log.exception("tick failed")
            self._say_trouble(error)

    def once(self, patience_s: float = 0) -> TickReport | None:
        """One tick now; None while another process leads, after `patience_s`. Errors: as Tick.run, and SignerRefusedError."""
        if not self._lead_within(patience_s):
            self._tell_waiting()
            return None
        self._tick = self._tick or self._open()
        report = self._tick.run(now_utc())
        self._head_number = report.head_number
        self._leadership.beat(report.as_status(self._tick.mode))
        return report

    def close(self) -> None:
        """Give the lead back at once and close what is open."""
        self._leadership.release()
        self._database.close()
        self._reader.rpc.close()

    def _lead_within(self, seconds: float) -> bool:
        """A spare tries every TRY_S, not only once a tick."""
        until = time.monotonic() + seconds
        while not self._leadership.try_take(now_utc()):
            if time.monotonic() + TRY_S > until or self._ended.wait(TRY_S):
                return False
        return True

    def _open(self) -> Tick:
        chain_id = self._reader.chain_id()
        if chain_id != self._settings.chain_id:
            raise WrongChainError(self._settings.chain_id, chain_id)
        observer = Observer(self._reader, chain_id, self._settings.keeper_max_head_age_s)
        sender = None if self._signer is None else self._sender(self._signer, observer)
        own = None if self._signer is None else self._signer.address
        tick = Tick(
            database=self._database,
            observer=observer,
            leadership=self._leadership,
            chain_id=chain_id,
            advance=None if sender is None else sender.advance,
            own=own,
            outbox=self._outbox,
        )
        log.info("watching", chain_id=chain_id, mode=tick.mode, keeper=own, epoch=self._leadership.epoch)
        return tick

    def _sender(self, signer: Signer, observer: Observer) -> Sender:
        client = str(self._reader.rpc.call("web3_clientVersion"))
        require_allowed(signer.address, client, is_plain_key=self._settings.keeper_private_key is not None)
        return Sender(
            reader=self._reader,
            observer=observer,
            database=self._database,
            signers={Role.KEEPER: signer},
            epoch=lambda: self._leadership.epoch,
            fence=self._leadership.fence,
            max_head_age_s=self._settings.keeper_max_head_age_s,
            caps=Caps(self._settings.keeper_max_fee_gwei * WEI_PER_GWEI, self._settings.keeper_stop_max_fee_gwei * WEI_PER_GWEI),
        )

    def _tell_waiting(self) -> None:
        """Once: a spare may wait for weeks."""
        if not self._told_waiting:
            log.info("another keeper leads, waiting")
        self._told_waiting = True

    def _say_trouble(self, error: Exception) -> None:
        log.error("tick failed", error=str(error), kind=type(error).__name__)
        if not self._leadership.leads:
            return  # nothing was taken yet: the next tick tries again
        try:
            self._leadership.beat({"state": "degraded", "error": str(error)})
        except LeadershipLostError as lost:
            log.error("no longer leading", error=str(lost))
            self.end(exit_code=1)


def _keeper() -> Keeper:
    """Errors: exit 2 with a sentence when a setting can't work."""
    settings = Settings()
    configure_logs(settings.log_format)
    try:
        return Keeper(settings)
    except InvalidParameterError as error:
        log.error("configuration refused", error=str(error))
        raise typer.Exit(2) from None


@app.command()
def run() -> None:
    """Judge every vault each second and send what is due, until SIGTERM."""
    keeper = _keeper()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: keeper.end())
    keeper.run()
    log.info("stopped")
    sys.exit(keeper.exit_code)


@app.command()
def once() -> None:
    """One tick, then end. Exit 1 when another process leads."""
    keeper = _keeper()
    try:
        report = keeper.once()
    except (OutsideError, InvalidParameterError, SignerRefusedError, OperationalError) as error:
        log.error("tick failed", error=str(error), kind=type(error).__name__)
        raise typer.Exit(1) from None
    finally:
        keeper.close()
    if report is None:
        log.error("another keeper leads", see="python -m keeper.main status")
        raise typer.Exit(1)
    log.info("tick", vaults=report.vaults, unknown=report.unknown, actions=report.actions, tick_ms=report.took_ms)


@app.command()
def reseal() -> None:
    """Seal every custodial key anew under the first key of CUSTODY_KEY, so that the old ones can be forgotten."""
    settings = Settings()
    configure_logs(settings.log_format)
    database = Database(settings.database_url, application_name=f"{NAME} reseal")
    try:
        signer = custody_signer_of(settings)
        if signer is None:
            raise InvalidParameterError("CUSTODY_KEY", "set it, and the old key in CUSTODY_OLD_KEYS")
        with database.write() as session:
            count = custody_rows.reseal(session, signer.version, signer.resealed)
    except (OutsideError, InvalidParameterError, OperationalError) as error:
        log.error("nothing was sealed anew", error=str(error), kind=type(error).__name__)
        raise typer.Exit(1) from None
    finally:
        database.close()
    log.info("sealed anew", wallets=count, key_version=signer.version)


@app.command(name="status")
def show_status() -> None:
    """What the keeper last saw of each vault, from Postgres. Exit 1 when no keeper beats."""
    settings = Settings()
    database = Database(settings.database_url, application_name=f"{NAME} status")
    with database.read() as session:
        report = status.read(session, settings.chain_id, NAME, now_utc())
    database.close()
    Console().print(*status.tables(report))
    raise typer.Exit(0 if report.is_alive else 1)


if __name__ == "__main__":
    app()
