"""What the keeper last saw of each vault and what it has under way: read from Postgres, shown as
tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.table import Table

from core.db.engine import Database
from core.db.leadership import LeaderRow, leader_row
from core.health.rules import BEAT_DOWN_S
from core.keeper import intents as rows
from core.keeper import views as watched_rows
from core.keeper.intents import Intent, Tx
from core.keeper.views import WatchedVault
from core.money import usdc_text
from keeper.gas import GWEI
from keeper.state import SOURCE_AT_COST

UNKNOWN = "unknown"
NUMBERS = "floor", "worth", "above floor", "intent", "nonce", "attempts", "max fee", "age"


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

    def age(self, then: datetime) -> str:
        return f"{max(0, int((self.now - then).total_seconds()))} s"


def read_apart(database: Database, chain_id: int, leader_name: str, now: datetime) -> KeeperStatus:
    """Errors: the database's."""
    with database.read() as session:
        live = rows.live_intents(session, chain_id)
        return KeeperStatus(
            leader_row(session, leader_name),
            watched_rows.watched_vaults(session, chain_id, now),
            live,
            rows.attempts_of(session, [intent.id for intent in live]),
            now,
        )


def tables(report: KeeperStatus) -> list[Table]:
    """The vaults, and what is under way if anything is."""
    vaults = _table(_title(report), [_vault(vault, report) for vault in report.vaults])
    live = [_under_way(intent, report) for intent in report.live]
    return [vaults, *([_table("under way", live)] if live else [])]


def _table(title: str, shown: Sequence[Mapping[str, str]]) -> Table:
    """A row each, by column."""
    table = Table(title=title, title_justify="left")
    for heading in shown[0] if shown else ():
        is_number = heading in NUMBERS
        table.add_column(heading, justify="right" if is_number else "left", overflow="fold")
    for row in shown:
        table.add_row(*row.values())
    return table


def _under_way(intent: Intent, report: KeeperStatus) -> dict[str, str]:
    """`-` before anything was signed."""
    signed = [tx for tx in report.attempts if tx.intent_id == intent.id]
    return {
        "intent": str(intent.id),
        "kind": intent.kind,
        "about": intent.vault or intent.subject,
        "key": intent.role,
        "state": intent.state,
        "nonce": str(signed[-1].nonce) if signed else "-",
        "attempts": str(len(signed)),
        "max fee": f"{signed[-1].max_fee_wei / GWEI:.3f} gwei" if signed else "-",
        "age": report.age(intent.created_at),
    }


def _vault(vault: WatchedVault, report: KeeperStatus) -> dict[str, str]:
    """What is not known says so."""
    seen, sent, floor = vault.last_written, vault.last_sent, vault.floor_usdc_e6
    worth = None if seen is None else seen.worth_usdc_e6
    how = " (at cost)" if seen is not None and seen.source == SOURCE_AT_COST else ""
    above = None if worth is None or floor is None else worth - floor
    return {
        "mandate": vault.public_id,
        "vault": vault.vault,
        "floor": _text(floor),
        "worth": _text(worth) + how,
        "above floor": _text(above),
        "judged": f"block {seen.block_number}, {report.age(seen.at)} ago" if seen else "never",
        "last mark sent": (
            f"{_text(sent.worth_usdc_e6)}, {report.age(sent.at)} ago" if sent else "none"
        ),
    }


def _text(amount_usdc_e6: int | None) -> str:
    return UNKNOWN if amount_usdc_e6 is None else usdc_text(amount_usdc_e6)


def _title(report: KeeperStatus) -> str:
    leader = report.leader
    if leader is None:
        return "keeper: has never run on this database; start `python -m keeper.main run`"
    status = leader.status
    state = status.get("state", "starting") if report.is_alive else "no heartbeat"
    trouble = f"\n{status['error']}" if status.get("error") else ""
    return (
        f"keeper: {state}, {status.get('mode', '-')}, head {status.get('head', '-')}, epoch "
        f"{leader.epoch}, {leader.holder}, seen {leader.silent_s(report.now)} s ago{trouble}"
    )
