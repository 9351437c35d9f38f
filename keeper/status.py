"""What the keeper last saw of each vault and what it has under way: read from Postgres, shown as
tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.table import Table

from core.db.engine import Database
from core.db.leadership import LeaderRow, leader_row
from core.health.rules import BEAT_DOWN_S
from core.keeper import intents as rows
from core.keeper import views as watched_rows
from core.keeper.intents import Intent, Tx
from core.keeper.views import Mark, WatchedVault
from core.money import usdc_text
from keeper.gas import GWEI
from keeper.state import SOURCE_AT_COST

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class KeeperStatus:
    leader: LeaderRow | None
    vaults: Sequence[WatchedVault]
    live: Sequence[Intent]
    attempts: Sequence[Tx]
    now: datetime

    @property
    def is_alive(self) -> bool:
        """True while the leader's loop gave a sign within BEAT_DOWN_S."""
        return self.leader is not None and self.leader.silent_s(self.now) < BEAT_DOWN_S


def read_apart(database_url: str, chain_id: int, leader_name: str, now: datetime) -> KeeperStatus:
    """By a connection of its own. Errors: the database's."""
    database = Database(database_url, application_name=f"{leader_name} status")
    try:
        with database.read() as session:
            live = rows.live_intents(session, chain_id)
            return KeeperStatus(
                leader_row(session, leader_name),
                watched_rows.watched_vaults(session, chain_id, now),
                live,
                rows.attempts_of(session, [intent.id for intent in live]),
                now,
            )
    finally:
        database.close()


def tables(report: KeeperStatus) -> list[Table]:
    """The vaults, and what is under way if anything is."""
    return [table(report), *([under_way(report)] if report.live else [])]


VAULTS = "mandate", "vault", "floor", "worth", "above floor", "judged", "last mark sent"
UNDER_WAY = "intent", "kind", "about", "key", "state", "nonce", "attempts", "max fee", "age"
NUMBERS = "floor", "worth", "above floor", "intent", "nonce", "attempts", "max fee", "age"


def _with_columns(title: str, headings: Sequence[str]) -> Table:
    shown = Table(title=title, title_justify="left")
    for heading in headings:
        is_number = heading in NUMBERS
        shown.add_column(heading, justify="right" if is_number else "left", overflow="fold")
    return shown


def under_way(report: KeeperStatus) -> Table:
    """A row an intent: fees in gwei, ages in seconds; `-` before anything was signed."""
    shown = _with_columns("under way", UNDER_WAY)
    for intent in report.live:
        signed = [tx for tx in report.attempts if tx.intent_id == intent.id]
        nonce, fee = "-", "-"
        if signed:
            nonce, fee = str(signed[-1].nonce), f"{signed[-1].max_fee_wei / GWEI:.3f} gwei"
        about, age = intent.vault or intent.subject, f"{_age_s(intent.created_at, report.now)} s"
        of_intent = str(intent.id), intent.kind, about, intent.role, intent.state
        shown.add_row(*of_intent, nonce, str(len(signed)), fee, age)
    return shown


def table(report: KeeperStatus) -> Table:
    """A row a vault: amounts in USDC, ages in seconds; what is not known says so."""
    shown = _with_columns(_title(report), VAULTS)
    for vault in report.vaults:
        shown.add_row(*_cells(vault, report.now))
    return shown


def _cells(vault: WatchedVault, now: datetime) -> tuple[str, ...]:
    seen, floor = vault.last_written, vault.floor_usdc_e6
    worth = None if seen is None else seen.worth_usdc_e6
    how = " (at cost)" if seen is not None and seen.source == SOURCE_AT_COST else ""
    above = None if worth is None or floor is None else usdc_text(worth - floor)
    judged = "never" if seen is None else f"block {seen.block_number}, {_age_s(seen.at, now)} s ago"
    return (
        vault.public_id,
        vault.vault,
        _text(floor),
        _text(worth) + how,
        above or UNKNOWN,
        judged,
        _sent(vault.last_sent, now),
    )


def _text(amount_usdc_e6: int | None) -> str:
    return UNKNOWN if amount_usdc_e6 is None else usdc_text(amount_usdc_e6)


def _sent(mark: Mark | None, now: datetime) -> str:
    return "none" if mark is None else f"{_text(mark.worth_usdc_e6)}, {_age_s(mark.at, now)} s ago"


def _title(report: KeeperStatus) -> str:
    leader = report.leader
    if leader is None:
        return "keeper: never ran on this database; start `python -m keeper.main run`"
    said = leader.status
    state = said.get("state", "starting") if report.is_alive else "no heartbeat"
    beat = f"beat {leader.silent_s(report.now)} s ago"
    trouble = f"\n{said['error']}" if said.get("error") else ""
    return (
        f"keeper: {state}, {said.get('mode', '-')}, head {said.get('head', '-')}, epoch "
        f"{leader.epoch}, {leader.holder}, {beat}{trouble}"
    )


def _age_s(then: datetime, now: datetime) -> int:
    return max(0, int((now - then).total_seconds()))
