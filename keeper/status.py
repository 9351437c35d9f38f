"""What the keeper last saw of each vault: read from Postgres, shown as a table."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.table import Table
from sqlalchemy.orm import Session

from core.db.repositories import keeper as rows
from core.db.repositories.keeper import Intent, Mark, WatchedVault
from core.db.repositories.leader import LeaderRow, leader_row
from core.domain.money import usdc_text

BEAT_DOWN_S = 15
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Report:
    leader: LeaderRow | None
    vaults: Sequence[WatchedVault]
    live: Sequence[Intent]
    now: datetime

    @property
    def is_alive(self) -> bool:
        """True while the leader's loop gave a sign within BEAT_DOWN_S."""
        return self.leader is not None and self.leader.silent_s(self.now) < BEAT_DOWN_S


def read(session: Session, chain_id: int, leader_name: str, now: datetime) -> Report:
    return Report(leader_row(session, leader_name), rows.watched_vaults(session, chain_id, now), rows.live_intents(session, chain_id), now)


def table(report: Report) -> Table:
    """A row a vault: amounts in USDC, ages in seconds; what is not known says so."""
    shown = Table(title=_title(report), title_justify="left")
    for heading in ("mandate", "vault", "floor", "worth", "above floor", "judged", "last mark sent", "under way"):
        shown.add_column(heading, justify="right" if heading in ("floor", "worth", "above floor") else "left", overflow="fold")
    under_way = defaultdict(list)
    for intent in report.live:
        under_way[intent.vault].append(f"{intent.kind} {intent.state}")
    for vault in report.vaults:
        shown.add_row(*_cells(vault, report.now), ", ".join(under_way[vault.vault]) or "-")
    return shown


def _cells(vault: WatchedVault, now: datetime) -> tuple[str, ...]:
    seen, floor = vault.last_written, vault.floor_usdc_e6
    worth = None if seen is None else seen.worth_usdc_e6
    above = None if worth is None or floor is None else usdc_text(worth - floor)
    judged = "never" if seen is None else f"block {seen.block_number}, {_age_s(seen.at, now)} s ago"
    return vault.public_id, vault.vault, _text(floor), _text(worth), above or UNKNOWN, judged, _sent(vault.last_sent, now)


def _text(amount_usdc_e6: int | None) -> str:
    return UNKNOWN if amount_usdc_e6 is None else usdc_text(amount_usdc_e6)


def _sent(mark: Mark | None, now: datetime) -> str:
    return "none" if mark is None else f"{_text(mark.worth_usdc_e6)}, {_age_s(mark.at, now)} s ago"


def _title(report: Report) -> str:
    leader = report.leader
    if leader is None:
        return "keeper: never ran on this database; start `python -m keeper.main run`"
    said = leader.status
    state = said.get("state", "starting") if report.is_alive else "no heartbeat"
    beat = f"beat {leader.silent_s(report.now)} s ago"
    return f"keeper: {state}, {said.get('mode', '-')}, head {said.get('head', '-')}, epoch {leader.epoch}, {leader.holder}, {beat}"


def _age_s(then: datetime, now: datetime) -> int:
    return max(0, int((now - then).total_seconds()))
