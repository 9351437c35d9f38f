"""All SQL of sponsored buys.

A use counts while its block is canonical, so that a reorg takes it back without a row being changed.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from core.blocks import queries as blocks
from core.blocks.queries import SAFE, not_orphaned
from core.db.engine import WriteSession
from core.db.locks import LockClass, named
from core.hexes import address_of, bytes_of, hex_of
from core.money import UsdcE6
from core.sponsored import proofs
from core.sponsored.logs import AuthorizationLog
from core.sponsored.proofs import dispute_of, is_proved
from core.sponsored.rules import Heights, SeenUse, TransferFate, Use, Word, transfer_of
from core.sponsored.tables import SponsoredBuyRow, SponsoredUse, SponsorHeartbeat

PURCHASE, FEE = aliased(SponsoredUse, name="purchase"), aliased(SponsoredUse, name="fee")
KEPT_AFTER_S = 86_400  # after its end: a quote that nobody accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class SponsoredBuy:
    """A quote, accepted or not. Amounts: base units; tokens: 1e-18; `valid_before`: unix seconds,
    exclusive.
    """

    id: str
    chain_id: int
    account_id: int
    buyer: str
    recipient: str
    reserve_token: str
    batch: str
    treasury: str
    amount_usdc_e6: UsdcE6
    fee_usdc_e6: UsdcE6
    credit_usdc_e6: UsdcE6
    tokens: int
    min_tokens: int
    salt: str
    buy_nonce: str
    fee_nonce: str
    covers_wei: int
    valid_before: int
    expires_at: datetime
    created_at: datetime
    purchase_signature: str | None = None
    fee_signature: str | None = None
    accepted_at: datetime | None = None
    requests: int = 0
    gas_scopes: Sequence[str] | None = None  # of an accepted one: in what it counts for the day


@dataclass(frozen=True, slots=True)
class SeenBuy:
    """A buy, and what the chain says of its two authorizations."""

    buy: SponsoredBuy
    purchase: SeenUse | None
    fee: SeenUse | None
    purchase_word: Word
    fee_word: Word

    def fates(self, heights: Heights) -> tuple[TransferFate, TransferFate]:
        """Of purchase and fee."""
        until = self.buy.valid_before
        return (
            transfer_of(self.purchase, until, heights, self.purchase_word),
            transfer_of(self.fee, until, heights, self.fee_word),
        )


# Quotes and buys


def add_buy(session: WriteSession, buy: SponsoredBuy) -> None:
    session.add(SponsoredBuyRow(**_columns(buy)))
    session.flush()


def lock_buyer(session: WriteSession, buyer: str, owner_id: int | None) -> None:
    """One at a time for a wallet, whatever accounts hand in for it, and for an owner's agents, until
    the transaction ends.
    """
    if owner_id is not None:
        named(LockClass.SPONSORED_BUYER, ["owner", str(owner_id)]).wait(session)
    named(LockClass.SPONSORED_BUYER, [buyer.lower()]).wait(session)


def lock_buy(session: WriteSession, buy_id: str) -> SponsoredBuy | None:
    row = session.scalars(
        select(SponsoredBuyRow).where(SponsoredBuyRow.id == buy_id).with_for_update()
    ).one_or_none()
    return None if row is None else _buy(row)


def accept(
    session: WriteSession,
    buy_id: str,
    purchase_signature: str,
    fee_signature: str,
    gas_scopes: Sequence[str],
    now: datetime,
) -> None:
    """Note both signatures, in what it counts for the day, and the first request to send."""
    session.execute(
        update(SponsoredBuyRow)
        .where(SponsoredBuyRow.id == buy_id)
        .values(
            purchase_signature=bytes_of(purchase_signature),
            fee_signature=bytes_of(fee_signature),
            accepted_at=now,
            gas_scopes=list(gas_scopes),
            requests=1,
        )
    )


def count_request(session: WriteSession, buy_id: str, was: int) -> bool:
    """One more; False when somebody else counted meanwhile."""
    statement = (
        update(SponsoredBuyRow)
        .where(SponsoredBuyRow.id == buy_id, SponsoredBuyRow.requests == was)
        .values(requests=was + 1)
        .returning(SponsoredBuyRow.id)
    )
    return session.execute(statement).one_or_none() is not None


def has_quotes_to_drop(session: Session, ended_before: int) -> bool:
    """Whether `drop_quotes` would drop any."""
    return session.execute(_quotes_to_drop(ended_before).limit(1)).first() is not None


def drop_quotes(session: WriteSession, ended_before: int, limit: int) -> int:
    """Drop at most `limit` quotes that nobody accepted, whose authorizations ended before that second
    and whose fee is proved never to have been taken. How many went.
    """
    row = SponsoredBuyRow
    old = _quotes_to_drop(ended_before).limit(limit)
    gone = delete(row).where(row.id.in_(old), row.accepted_at.is_(None))
    dropped = session.execute(gone.returning(row.chain_id, row.buy_nonce, row.fee_nonce)).all()
    proofs.drop(session, [(chain_id, nonce) for chain_id, *pair in dropped for nonce in pair])
    return len(dropped)


def _quotes_to_drop(ended_before: int) -> Select[str]:
    row = SponsoredBuyRow
    return select(row.id).where(
        row.accepted_at.is_(None),
        row.valid_before < ended_before,
        proofs.is_proved_unpaid(row.chain_id, row.fee_nonce),
    )


# What the chain says of them


def heights(session: Session, chain_id: int) -> Heights:
    """How far the indexer calls the chain safe; nothing while the safe block is not canonical."""
    mark = blocks.cursor(session, SAFE)
    if mark is None or blocks.canonical_hash(session, chain_id, mark.number) != mark.hash:
        return Heights(None, None)
    return Heights(mark.number, blocks.block_time(session, chain_id, mark.hash))


def find(session: Session, account_id: int, buy_id: str) -> SeenBuy | None:
    """An account's buy."""
    query = _seen().where(SponsoredBuyRow.id == buy_id, SponsoredBuyRow.account_id == account_id)
    return _only(session, query)


def find_any(session: Session, buy_id: str) -> SeenBuy | None:
    return _only(session, _seen().where(SponsoredBuyRow.id == buy_id))


def buys_of(session: Session, account_id: int, limit: int) -> list[SeenBuy]:
    """An account's accepted buys, newest first."""
    query = _seen().where(
        SponsoredBuyRow.account_id == account_id, SponsoredBuyRow.accepted_at.is_not(None)
    )
    query = query.order_by(SponsoredBuyRow.accepted_at.desc(), SponsoredBuyRow.id).limit(limit)
    return [_seen_buy(*row) for row in session.execute(query)]


def sendable(
    session: Session, after: int, most_requests: int, limit: int, last: str = ""
) -> list[SeenBuy]:
    """Accepted buys whose authorizations are good after that second, whose purchase is not made and
    that may be asked for again, by id, from the one after `last` on.
    """
    query = _seen().where(
        SponsoredBuyRow.accepted_at.is_not(None),
        SponsoredBuyRow.valid_before > after,
        SponsoredBuyRow.requests < most_requests,
        PURCHASE.use.is_(None),
        SponsoredBuyRow.id > last,
    )
    query = query.order_by(SponsoredBuyRow.id).limit(limit)
    return [_seen_buy(*row) for row in session.execute(query)]


def pledged_usdc_e6(session: Session, chain_id: int, buyer: str, now: int) -> UsdcE6:
    """What the accepted buys of a wallet may still take from it."""
    amount = func.sum(SponsoredBuyRow.amount_usdc_e6).filter(PURCHASE.use.is_(None))
    fees = func.sum(SponsoredBuyRow.fee_usdc_e6).filter(FEE.use.is_(None))
    query = _joined(select(func.coalesce(amount, 0) + func.coalesce(fees, 0)))
    query = query.where(
        SponsoredBuyRow.chain_id == chain_id,
        SponsoredBuyRow.buyer == bytes_of(buyer),
        SponsoredBuyRow.accepted_at.is_not(None),
        SponsoredBuyRow.valid_before > now,
    )
    return UsdcE6(int(session.scalar(query) or 0))


def owed_usdc_e6(session: Session, chain_id: int, buyer: str, at: Heights) -> UsdcE6:
    """Fees that a wallet paid without a purchase, handed in or not, less what its later buys use of
    them.

    A buy uses its part unless its purchase is known to be dead for good.
    """
    if at.safe_number is None or at.safe_at is None:
        return UsdcE6(0)
    is_dead = _is_dead(at.safe_number, at.safe_at)
    is_paid = and_(FEE.use == Use.PAID, FEE.number <= at.safe_number)
    paid = and_(is_dead, is_paid, _is_settled(FEE, SponsoredBuyRow.fee_nonce))
    owed = func.coalesce(func.sum(SponsoredBuyRow.fee_usdc_e6).filter(paid), 0)
    is_accepted = SponsoredBuyRow.accepted_at.is_not(None)
    uses_up = SponsoredBuyRow.credit_usdc_e6
    used = func.coalesce(func.sum(uses_up).filter(and_(is_accepted, ~is_dead)), 0)
    query = _joined(select(owed - used)).where(
        SponsoredBuyRow.chain_id == chain_id,
        SponsoredBuyRow.buyer == bytes_of(buyer),
        or_(is_accepted, FEE.use == Use.PAID),
    )
    return UsdcE6(max(0, int(session.scalar(query) or 0)))


def _is_dead(safe_number: int, safe_at: int) -> ColumnElement[bool]:
    """As rules.transfer_of: dead for good. Never null."""
    spoiled = and_(PURCHASE.use != Use.PAID, PURCHASE.number <= safe_number)
    lapsed = and_(PURCHASE.use.is_(None), SponsoredBuyRow.valid_before <= safe_at)
    is_settled = _is_settled(PURCHASE, SponsoredBuyRow.buy_nonce)
    return and_(func.coalesce(or_(spoiled, lapsed), False), is_settled)


def _is_settled(
    use: type[SponsoredUse], nonce: InstrumentedAttribute[bytes]
) -> ColumnElement[bool]:
    """Proved, and undisputed."""
    return and_(is_proved(SponsoredBuyRow.chain_id, nonce, use), dispute_of(nonce).is_(None))


# What the indexer does


@dataclass(frozen=True, slots=True)
class OpenNonces:
    """What a range of blocks is searched for. `purchases`: those of `nonces` that mint."""

    nonces: tuple[str, ...] = ()
    purchases: frozenset[str] = frozenset()
    buyers: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()


def open_nonces(session: Session, chain_id: int, since: int, now: datetime) -> OpenNonces:
    """Of the buys whose authorizations are good after `since` (unix seconds of a block), and of the
    quotes that may still be handed in: others cost nothing, so that nobody makes ranges dear by
    asking for many.
    """
    row = SponsoredBuyRow
    query = select(row.buy_nonce, row.fee_nonce, row.buyer, row.reserve_token).where(
        row.chain_id == chain_id,
        row.valid_before > since,
        or_(row.accepted_at.is_not(None), row.expires_at > now),
    )
    rows = session.execute(query).all()
    buyers, tokens = {one.buyer for one in rows}, {one.reserve_token for one in rows}
    return OpenNonces(
        tuple(hex_of(nonce) for one in rows for nonce in (one.buy_nonce, one.fee_nonce)),
        frozenset(hex_of(one.buy_nonce) for one in rows),
        tuple(sorted(map(address_of, buyers))),
        tuple(sorted(map(address_of, tokens))),
    )


def note_uses(session: WriteSession, chain_id: int, found: Sequence[AuthorizationLog]) -> int:
    """Write down those that are of a quote of ours; how many. May be repeated."""
    wanted = {bytes_of(one.nonce) for one in found}
    if not wanted:
        return 0
    query = select(SponsoredBuyRow).where(
        SponsoredBuyRow.chain_id == chain_id,
        or_(SponsoredBuyRow.buy_nonce.in_(wanted), SponsoredBuyRow.fee_nonce.in_(wanted)),
    )
    by_nonce: dict[str, SponsoredBuy] = {}
    for row in session.scalars(query):
        quoted = _buy(row)
        by_nonce |= {quoted.buy_nonce: quoted, quoted.fee_nonce: quoted}
    rows = [
        _use(chain_id, one, buy)
        for one in found
        if (buy := by_nonce.get(one.nonce)) is not None and buy.buyer == one.authorizer
    ]
    blocks.insert_new(session, SponsoredUse, rows)
    return len(rows)


def note_proved(
    session: WriteSession,
    chain_id: int,
    block_hash: str,
    nonces: Collection[str],
    found: Sequence[AuthorizationLog],
) -> bool:
    """Let a block hold these uses of the nonces and no others; whether it held something else."""
    in_block = (
        SponsoredUse.chain_id == chain_id,
        SponsoredUse.block_hash == bytes_of(block_hash),
        SponsoredUse.nonce.in_([bytes_of(nonce) for nonce in nonces]),
    )
    of_each = select(SponsoredUse.log_index, SponsoredUse.use, SponsoredUse.tokens).where(*in_block)
    of_each = of_each.order_by(SponsoredUse.log_index)
    before = session.execute(of_each).all()
    session.execute(delete(SponsoredUse).where(*in_block))
    note_uses(session, chain_id, found)
    return session.execute(of_each).all() != before


def is_seen_used(session: Session, chain_id: int, nonce: str) -> bool:
    """Whether a block of the record holds its use."""
    query = select(SponsoredUse.nonce).where(
        SponsoredUse.chain_id == chain_id,
        SponsoredUse.nonce == bytes_of(nonce),
        not_orphaned(SponsoredUse.chain_id, SponsoredUse.block_hash),
    )
    return session.execute(query.limit(1)).first() is not None


def _use(chain_id: int, one: AuthorizationLog, buy: SponsoredBuy) -> dict[str, Any]:
    is_purchase = one.nonce == buy.buy_nonce
    use, tokens = Use.ELSEWHERE, None
    if one.paid is None:
        use = Use.CANCELLED
    elif is_purchase and one.purchase is not None:
        told = one.purchase
        said = (told.token, told.buyer, told.recipient, told.amount_usdc_e6)
        is_ours = said == (buy.reserve_token, buy.buyer, buy.recipient, buy.amount_usdc_e6)
        if is_ours and one.paid == (buy.reserve_token, buy.amount_usdc_e6):
            use, tokens = Use.PAID, one.purchase.tokens
    elif not is_purchase and one.paid == (buy.treasury, buy.fee_usdc_e6):
        use = Use.PAID
    return {
        "chain_id": chain_id,
        "block_hash": bytes_of(one.log.block_hash),
        "log_index": one.log.log_index,
        "number": one.log.block_number,
        "tx_hash": bytes_of(one.log.tx_hash),
        "nonce": bytes_of(one.nonce),
        "use": use,
        "tokens": tokens,
    }


# The sponsor


@dataclass(frozen=True, slots=True)
class SponsorSign:
    """The keeper's last sign that it can send."""

    sponsor: str
    balance_wei: int
    at: datetime


def beat(
    session: WriteSession, chain_id: int, sponsor: str, balance_wei: int, now: datetime
) -> None:
    values = {"sponsor": bytes_of(sponsor), "balance_wei": balance_wei, "at": now}
    session.execute(
        insert(SponsorHeartbeat)
        .values(chain_id=chain_id, **values)
        .on_conflict_do_update(index_elements=[SponsorHeartbeat.chain_id], set_=values)
    )


def sponsor(session: Session, chain_id: int) -> SponsorSign | None:
    """None: no keeper with a sponsor's key has run."""
    row = session.get(SponsorHeartbeat, chain_id)
    return None if row is None else SponsorSign(address_of(row.sponsor), row.balance_wei, row.at)


# Rows


def _joined(query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    query = query.select_from(SponsoredBuyRow)
    for use, nonce in ((PURCHASE, SponsoredBuyRow.buy_nonce), (FEE, SponsoredBuyRow.fee_nonce)):
        query = query.outerjoin(
            use,
            and_(
                use.chain_id == SponsoredBuyRow.chain_id,
                use.nonce == nonce,
                not_orphaned(use.chain_id, use.block_hash),
            ),
        )
    return query


def _seen() -> Select[*tuple[Any, ...]]:
    row = SponsoredBuyRow
    words = [
        column
        for use, nonce in ((PURCHASE, row.buy_nonce), (FEE, row.fee_nonce))
        for column in (is_proved(row.chain_id, nonce, use), dispute_of(nonce))
    ]
    return _joined(select(row, PURCHASE, FEE, *words))


def _only(session: Session, query: Select[*tuple[Any, ...]]) -> SeenBuy | None:
    row = session.execute(query).first()
    return None if row is None else _seen_buy(*row)


def _seen_buy(
    row: SponsoredBuyRow, purchase: SponsoredUse | None, fee: SponsoredUse | None, *words: Any
) -> SeenBuy:
    return SeenBuy(
        _buy(row), _seen_use(purchase), _seen_use(fee), Word(*words[:2]), Word(*words[2:])
    )


def _seen_use(row: SponsoredUse | None) -> SeenUse | None:
    return (
        None if row is None else SeenUse(Use(row.use), row.number, hex_of(row.tx_hash), row.tokens)
    )


_ADDRESSES = ("buyer", "recipient", "reserve_token", "batch", "treasury")
_BYTES = ("salt", "buy_nonce", "fee_nonce", "purchase_signature", "fee_signature")
_AMOUNTS = ("amount_usdc_e6", "fee_usdc_e6", "credit_usdc_e6")
_AS_IS = (
    "id",
    "chain_id",
    "account_id",
    "tokens",
    "min_tokens",
    "covers_wei",
    "valid_before",
    "expires_at",
    "created_at",
    "accepted_at",
    "requests",
    "gas_scopes",
)


def _columns(buy: SponsoredBuy) -> dict[str, Any]:
    values = {name: getattr(buy, name) for name in (*_AS_IS, *_AMOUNTS)}
    raw = {name: getattr(buy, name) for name in (*_ADDRESSES, *_BYTES)}
    return values | {name: None if text is None else bytes_of(text) for name, text in raw.items()}


def _buy(row: SponsoredBuyRow) -> SponsoredBuy:
    values: dict[str, Any] = {name: getattr(row, name) for name in (*_AS_IS, *_AMOUNTS)}
    values |= {name: address_of(getattr(row, name)) for name in _ADDRESSES}
    raw = {name: getattr(row, name) for name in _BYTES}
    values |= {name: None if value is None else hex_of(value) for name, value in raw.items()}
    return SponsoredBuy(**values)
