"""All SQL of sponsored buys.

A use counts while its block is canonical, so that a reorg takes it back without a row being changed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    delete,
    exists,
    func,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from core.blocks import queries as blocks
from core.blocks.queries import SAFE, SPONSORED_CONFIRMED, not_orphaned
from core.db.engine import WriteSession
from core.db.locks import LockClass, named
from core.money import UsdcE6
from core.sponsored.logs import AuthorizationLog
from core.sponsored.quotes import BuyStanding, quote_standing
from core.sponsored.rules import (
    NEXT_STEPS,
    Heights,
    SeenUse,
    TransferFate,
    Use,
    state_of,
    transfer_of,
)
from core.sponsored.tables import SponsoredBuy, SponsoredUse, SponsorHeartbeat

PURCHASE, FEE = aliased(SponsoredUse, name="purchase"), aliased(SponsoredUse, name="fee")
KEPT_AFTER_S = 86_400  # after its end: a quote that nobody accepted


@dataclass(frozen=True, slots=True)
class SeenBuy:
    """A buy, and what the chain says of its two authorizations, as far as it was known then."""

    buy: SponsoredBuy
    purchase: SeenUse | None
    fee: SeenUse | None
    heights: Heights

    @property
    def fates(self) -> tuple[TransferFate, TransferFate]:
        """Of purchase and fee."""
        until = self.buy.valid_before
        return (
            transfer_of(self.purchase, until, self.heights),
            transfer_of(self.fee, until, self.heights),
        )

    def standing(self, now: datetime) -> BuyStanding:
        purchase, fee = self.fates
        if self.buy.accepted_at is None:
            return quote_standing(purchase, fee, is_over=now >= self.buy.expires_at)
        state, is_final = state_of(purchase, fee)
        return BuyStanding(state, is_final, NEXT_STEPS[state, is_final])


# How far the chain is known


CONFIRMED_NUMBER = blocks.number_of_mark(SPONSORED_CONFIRMED)
CONFIRMED_AT = blocks.time_of_mark(SPONSORED_CONFIRMED)
# asked in the statement that reads uses, so that no use is newer than the mark that calls it final
HEIGHTS = (
    blocks.number_of_mark(SAFE),
    blocks.time_of_mark(SAFE),
    CONFIRMED_NUMBER,
    CONFIRMED_AT,
)


def is_confirmed(use: type[SponsoredUse]) -> ColumnElement[bool]:
    """Whether nodes agree about the block that this use is in. Null: there is none."""
    return use.number <= CONFIRMED_NUMBER


def safe_number(session: Session) -> int | None:
    """Height of the newest block that the indexer calls safe; None while it is not canonical."""
    return session.scalar(select(HEIGHTS[0]))


# Quotes and buys


def lock_buyer(session: WriteSession, buyer: str, owner_id: int | None) -> None:
    """One at a time for a wallet, whatever accounts hand in for it, and for an owner's agents, until
    the transaction ends.
    """
    if owner_id is not None:
        named(LockClass.SPONSORED_BUYER, ["owner", str(owner_id)]).wait(session)
    named(LockClass.SPONSORED_BUYER, [buyer.lower()]).wait(session)


def lock_buy(session: WriteSession, buy_id: str) -> SponsoredBuy | None:
    return session.get(SponsoredBuy, buy_id, with_for_update=True, populate_existing=True)


def count_request(session: WriteSession, buy_id: str, was: int) -> bool:
    """One more; False when somebody else counted meanwhile."""
    statement = (
        update(SponsoredBuy)
        .where(SponsoredBuy.id == buy_id, SponsoredBuy.requests == was)
        .values(requests=was + 1)
        .returning(SponsoredBuy.id)
    )
    return session.execute(statement).one_or_none() is not None


def has_quotes_to_drop(session: Session, ended_before: int) -> bool:
    """Whether `drop_quotes` would drop any."""
    return session.execute(_quotes_to_drop(ended_before).limit(1)).first() is not None


def drop_quotes(session: WriteSession, ended_before: int, limit: int) -> int:
    """Drop at most `limit` quotes that nobody accepted, whose authorizations ended before that second
    and whose fee was never taken, as nodes agree. How many went.
    """
    row = SponsoredBuy
    old = _quotes_to_drop(ended_before).limit(limit)
    gone = delete(row).where(row.id.in_(old), row.accepted_at.is_(None))
    dropped = session.execute(gone.returning(row.chain_id, row.buy_nonce, row.fee_nonce)).all()
    nonces = [(chain_id, nonce) for chain_id, *pair in dropped for nonce in pair]
    use = SponsoredUse
    session.execute(delete(use).where(tuple_(use.chain_id, use.nonce).in_(nonces)))
    return len(dropped)


def _quotes_to_drop(ended_before: int) -> Select[str]:
    row, use = SponsoredBuy, SponsoredUse
    is_paid = exists().where(
        use.chain_id == row.chain_id, use.nonce == row.fee_nonce, use.use == Use.PAID
    )
    return select(row.id).where(
        row.accepted_at.is_(None),
        row.valid_before < ended_before,
        row.valid_before <= CONFIRMED_AT,
        ~is_paid,
    )


# What the chain says of them


def find(session: Session, account_id: int, buy_id: str) -> SeenBuy | None:
    """An account's buy."""
    query = _seen().where(SponsoredBuy.id == buy_id, SponsoredBuy.account_id == account_id)
    return _only(session, query)


def find_any(session: Session, buy_id: str) -> SeenBuy | None:
    return _only(session, _seen().where(SponsoredBuy.id == buy_id))


def buys_of(session: Session, account_id: int, limit: int) -> list[SeenBuy]:
    """An account's accepted buys, newest first."""
    query = _seen().where(
        SponsoredBuy.account_id == account_id, SponsoredBuy.accepted_at.is_not(None)
    )
    query = query.order_by(SponsoredBuy.accepted_at.desc(), SponsoredBuy.id).limit(limit)
    return [_seen_buy(*row) for row in session.execute(query)]


def sendable(
    session: Session, after: int, most_requests: int, limit: int, last: str = ""
) -> list[SeenBuy]:
    """Accepted buys whose authorizations are good after that second, whose purchase is not made and
    that may be asked for again, by id, from the one after `last` on.
    """
    query = _seen().where(
        SponsoredBuy.accepted_at.is_not(None),
        SponsoredBuy.valid_before > after,
        SponsoredBuy.requests < most_requests,
        PURCHASE.use.is_(None),
        SponsoredBuy.id > last,
    )
    query = query.order_by(SponsoredBuy.id).limit(limit)
    return [_seen_buy(*row) for row in session.execute(query)]


def pledged_usdc_e6(session: Session, chain_id: int, buyer: str, now: int) -> UsdcE6:
    """What the accepted buys of a wallet may still take from it."""
    amount = func.sum(SponsoredBuy.amount_usdc_e6).filter(PURCHASE.use.is_(None))
    fees = func.sum(SponsoredBuy.fee_usdc_e6).filter(FEE.use.is_(None))
    query = _joined(select(func.coalesce(amount, 0) + func.coalesce(fees, 0)))
    query = query.where(
        SponsoredBuy.chain_id == chain_id,
        SponsoredBuy.buyer == buyer,
        SponsoredBuy.accepted_at.is_not(None),
        SponsoredBuy.valid_before > now,
    )
    return UsdcE6(int(session.scalar(query) or 0))


def owed_usdc_e6(session: Session, chain_id: int, buyer: str) -> UsdcE6:
    """Fees that a wallet paid without a purchase, handed in or not, less what its later buys use of
    them.

    A buy uses its part unless its purchase is known to be dead for good.
    """
    is_dead = _is_dead()
    paid = and_(is_dead, FEE.use == Use.PAID, is_confirmed(FEE))
    owed = func.coalesce(func.sum(SponsoredBuy.fee_usdc_e6).filter(paid), 0)
    is_accepted = SponsoredBuy.accepted_at.is_not(None)
    uses_up = SponsoredBuy.credit_usdc_e6
    used = func.coalesce(func.sum(uses_up).filter(and_(is_accepted, ~is_dead)), 0)
    query = _joined(select(owed - used)).where(
        SponsoredBuy.chain_id == chain_id,
        SponsoredBuy.buyer == buyer,
        or_(is_accepted, FEE.use == Use.PAID),
    )
    return UsdcE6(max(0, int(session.scalar(query) or 0)))


def _is_dead() -> ColumnElement[bool]:
    """As rules.transfer_of: dead for good. Never null."""
    spoiled = and_(PURCHASE.use != Use.PAID, is_confirmed(PURCHASE))
    lapsed = and_(PURCHASE.use.is_(None), SponsoredBuy.valid_before <= CONFIRMED_AT)
    return func.coalesce(or_(spoiled, lapsed), False)


# What the indexer does


def open_quotes(
    session: Session, chain_id: int, block_hash: str
) -> tuple[Sequence[str], Sequence[str]]:
    """(buyers, reserve tokens) of the quotes whose authorizations a block above this one may use,
    handed in or not: whoever has the signature may submit it.
    """
    row, since = SponsoredBuy, blocks.block_time(session, chain_id, block_hash) or 0
    is_open = (row.chain_id == chain_id, row.valid_before > since)
    buyers = session.scalars(select(row.buyer).where(*is_open).distinct().order_by(row.buyer))
    tokens = session.scalars(select(row.reserve_token).where(*is_open).distinct())
    return buyers.all(), tokens.all()


def note_uses(session: WriteSession, chain_id: int, found: Sequence[AuthorizationLog]) -> int:
    """Write down those that are of a quote of ours; how many. May be repeated."""
    wanted = {one.nonce for one in found}
    if not wanted:
        return 0
    query = select(SponsoredBuy).where(
        SponsoredBuy.chain_id == chain_id,
        or_(SponsoredBuy.buy_nonce.in_(wanted), SponsoredBuy.fee_nonce.in_(wanted)),
    )
    by_nonce: dict[str, SponsoredBuy] = {}
    for quoted in session.scalars(query):
        by_nonce |= {quoted.buy_nonce: quoted, quoted.fee_nonce: quoted}
    rows = [
        _use(chain_id, one, buy)
        for one in found
        if (buy := by_nonce.get(one.nonce)) is not None and buy.buyer == one.authorizer
    ]
    blocks.insert_new(session, SponsoredUse, rows)
    return len(rows)


def replace_uses(
    session: WriteSession,
    chain_id: int,
    above: int,
    up_to: int,
    found: Sequence[AuthorizationLog],
) -> bool:
    """Let the canonical blocks above < number <= up_to hold these uses and no others; whether they
    held another one.
    """
    use = SponsoredUse
    in_range = (
        use.chain_id == chain_id,
        use.number > above,
        use.number <= up_to,
        not_orphaned(use.chain_id, use.block_hash),
    )
    of_each = select(use.block_hash, use.log_index, use.nonce, use.use, use.tokens).where(*in_range)
    before = set(session.execute(of_each))
    session.execute(delete(use).where(*in_range))
    note_uses(session, chain_id, found)
    return not before <= set(session.execute(of_each))


def _use(chain_id: int, one: AuthorizationLog, buy: SponsoredBuy) -> dict[str, Any]:
    is_purchase = one.nonce == buy.buy_nonce
    use, tokens = Use.ELSEWHERE, None
    if one.paid is None:
        use = Use.CANCELLED
    elif is_purchase and one.purchase is not None:
        bought = one.purchase
        logged = (bought.token, bought.buyer, bought.recipient, bought.amount_usdc_e6)
        is_ours = logged == (buy.reserve_token, buy.buyer, buy.recipient, buy.amount_usdc_e6)
        if is_ours and one.paid == (buy.reserve_token, buy.amount_usdc_e6):
            use, tokens = Use.PAID, bought.tokens
    elif not is_purchase and one.paid == (buy.treasury, buy.fee_usdc_e6):
        use = Use.PAID
    return {
        "chain_id": chain_id,
        "block_hash": one.log.block_hash,
        "log_index": one.log.log_index,
        "number": one.log.block_number,
        "tx_hash": one.log.tx_hash,
        "nonce": one.nonce,
        "use": use,
        "tokens": tokens,
    }


# The sponsor


def beat(
    session: WriteSession, chain_id: int, sponsor: str, balance_wei: int, now: datetime
) -> None:
    values = {"sponsor": sponsor, "balance_wei": balance_wei, "at": now}
    session.execute(
        insert(SponsorHeartbeat)
        .values(chain_id=chain_id, **values)
        .on_conflict_do_update(index_elements=[SponsorHeartbeat.chain_id], set_=values)
    )


def sponsor(session: Session, chain_id: int) -> SponsorHeartbeat | None:
    """The keeper's last sign that it can send. None: no keeper with a sponsor's key has run."""
    return session.get(SponsorHeartbeat, chain_id)


# Rows


def _joined(query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    query = query.select_from(SponsoredBuy)
    for use, nonce in ((PURCHASE, SponsoredBuy.buy_nonce), (FEE, SponsoredBuy.fee_nonce)):
        query = query.outerjoin(
            use,
            and_(
                use.chain_id == SponsoredBuy.chain_id,
                use.nonce == nonce,
                not_orphaned(use.chain_id, use.block_hash),
            ),
        )
    return query


def _seen() -> Select[*tuple[Any, ...]]:
    return _joined(select(SponsoredBuy, PURCHASE, FEE, *HEIGHTS))


def _only(session: Session, query: Select[*tuple[Any, ...]]) -> SeenBuy | None:
    row = session.execute(query).first()
    return None if row is None else _seen_buy(*row)


def _seen_buy(
    row: SponsoredBuy, purchase: SponsoredUse | None, fee: SponsoredUse | None, *heights: Any
) -> SeenBuy:
    return SeenBuy(row, _seen_use(purchase), _seen_use(fee), Heights(*heights))


def _seen_use(row: SponsoredUse | None) -> SeenUse | None:
    return None if row is None else SeenUse(Use(row.use), row.number, row.tx_hash, row.tokens)
