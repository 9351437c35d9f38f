"""Transfer reports beside the accounts that made them."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import Select, Text, bindparam, cast, func, select
from sqlalchemy.orm import Session

from core.hexes import address_or_none, hex_of
from core.identity.tables import Account
from core.transfers.queries import WEIGHED
from core.transfers.rules import Direction
from core.transfers.tables import TransferReport


@dataclass(frozen=True, slots=True)
class DueReport:
    """A report as it was read; `wallet`: its agent's, None: none is linked. `deadline`: unix second."""

    id: int
    tx_hash: str
    state: str
    direction: Direction
    deadline: int
    wallet: str | None


def due_reports(session: Session, chain_id: int, now: datetime, limit: int) -> list[DueReport]:
    """At most `limit` reports to look at by now.

    They come in two orders that take turns, so that neither many reports nor large ones keep the
    others waiting: the longest due first; and the largest amount first, of one owner or network
    address one before the second of anybody. The longest due are weighed, some times `limit`.
    """
    found = session.execute(_due(chain_id, limit), {"now": now})
    return [
        DueReport(
            one.id,
            hex_of(one.tx_hash),
            one.state,
            Direction(one.direction),
            int(one.deadline_at.timestamp()),
            address_or_none(wallet),
        )
        for one, wallet in found
    ]


@cache
def _due(chain_id: int, limit: int) -> Select[TransferReport, bytes | None]:
    due = (TransferReport.chain_id == chain_id, TransferReport.next_look_at <= bindparam("now"))
    longest = (
        select(TransferReport.id)
        .where(*due)
        .order_by(TransferReport.next_look_at, TransferReport.id)
        .limit(limit * WEIGHED)
    )
    person = func.coalesce(
        "owner:" + cast(Account.owner_id, Text),
        Account.registered_from,
        "account:" + cast(Account.id, Text),
    )
    turn = func.row_number().over(
        partition_by=person, order_by=(TransferReport.amount_e6.desc(), TransferReport.id)
    )
    weighed = (
        select(
            TransferReport.id,
            TransferReport.amount_e6,
            TransferReport.next_look_at,
            Account.wallet_address,
            turn.label("turn"),
        )
        .join(Account, Account.id == TransferReport.account_id)
        .where(TransferReport.id.in_(longest))
        .subquery()
    )
    age = (weighed.c.next_look_at, weighed.c.id)
    ranked = select(
        weighed.c.id,
        weighed.c.wallet_address,
        func.row_number().over(order_by=age).label("by_age"),
        func.row_number()
        .over(order_by=(weighed.c.turn, weighed.c.amount_e6.desc(), *age))
        .label("by_amount"),
    ).subquery()
    return (
        select(TransferReport, ranked.c.wallet_address)
        .join(ranked, ranked.c.id == TransferReport.id)
        .order_by(func.least(ranked.c.by_age, ranked.c.by_amount), ranked.c.by_age)
        .limit(limit)
    )
