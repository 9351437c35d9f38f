"""Paper followers: opened, brought along with their vaults' signals, marked, shown. Nothing here
commits.

    live signals without a trade --> plan --> filled | nothing to do | waits for the next run
    a new hour --> mark

Law: what is shown was marked before the oldest live signal of the vault, so that it leaks none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from sqlalchemy import Integer, cast, delete, exists, func, literal_column, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from core.db.engine import WriteSession
from core.fund import queries as fund
from core.fund.applications import fee_bps_of
from core.fund.calendars import kept
from core.fund.rules import paper as rules
from core.fund.rules.frozen import FrozenRules, FundKind, rules_of
from core.fund.rules.paper import PaperBook, PaperFill
from core.fund.rules.plan import FollowerAccount, MarketSnapshot, PlanReason, SignalFacts, plan
from core.fund.rules.sessions import session_at
from core.fund.rules.signals import LIVE_FOR, is_live
from core.fund.snapshots import UNKNOWN, exact
from core.fund.tables import (
    FundPaper,
    FundPaperMark,
    FundPaperPosition,
    FundPaperTrade,
    FundSignal,
    FundVault,
)
from core.market.liquidity_views import liquidity_of

MOST_PRICE_E12: Final = 10**24
HOUR: Final = timedelta(hours=1)
# of a PaperBook, those that FundPaper has too
COLUMNS: Final = tuple(one.name for one in fields(PaperBook) if one.name != "positions")


@dataclass(frozen=True, slots=True)
class PaperMarket:
    """A market as a paper follower sees it. `price_e12`: dollars of its mid, rounded down; None:
    unknown.
    """

    snapshot: MarketSnapshot
    price_e12: int | None


@dataclass(frozen=True, slots=True)
class PaperRun:
    """What one run did for a vault. `is_marked`: it was the hour's first."""

    trades: int
    is_marked: bool


def due(session: Session, now: datetime) -> list[int]:
    """The vaults that a run does something for: those with signals to follow, then those without a
    paper follower, then those that this hour did not mark yet, those longest unmarked last, of which
    a price may be unknown.
    """
    later = aliased(FundSignal)
    followed = (
        select(FundSignal.vault_id)
        .where(
            FundSignal.at > now - LIVE_FOR,
            FundSignal.at <= now,
            ~exists().where(
                later.vault_id == FundSignal.vault_id,
                later.market == FundSignal.market,
                later.seq > FundSignal.seq,
            ),
            ~exists().where(FundPaperTrade.signal_seq == FundSignal.seq),
        )
        .distinct()
        .order_by(FundSignal.vault_id)
    )
    unmarked = (
        select(FundVault.id)
        .outerjoin(FundPaper, FundPaper.vault_id == FundVault.id)
        .where(or_(FundPaper.vault_id.is_(None), FundPaper.accrued_at < _hour(now)))
        .order_by(FundPaper.accrued_at.desc().nulls_first(), FundVault.id)
    )
    return list(dict.fromkeys([*session.scalars(followed), *session.scalars(unmarked)]))


def follow(session: WriteSession, vault_id: int, now: datetime) -> PaperRun:
    """One run for one vault, which is held; a vault without a paper follower gets one."""
    vault = fund.hold_vault(session, vault_id)
    in_force = {} if vault is None else fund.rules_in_force(session, [vault])
    if vault is None or vault.id not in in_force:
        return PaperRun(0, False)
    frozen = rules_of(in_force[vault.id].document)
    book = before = _load(session, vault.id, now)
    done = 0
    for signal in _pending(session, vault.id, now):
        names = {signal.market, *book.positions}
        markets = {name: market_of(session, name, now) for name in names}
        followed = _followed(vault, frozen, book, signal, markets, now)
        if followed is None:
            continue
        book, fill, reason = followed
        _record(session, vault.id, signal.seq, fill, reason, now)
        done += fill is not None
    book, is_marked = _marked(session, vault, book, now)
    if book != before:
        _keep(session, vault.id, book)
    return PaperRun(done, is_marked)


def market_of(session: Session, market: str, now: datetime) -> PaperMarket:
    found = liquidity_of(session, market, now)
    if found is None:
        return PaperMarket(UNKNOWN, None)
    snapshot = exact(found, now)
    return PaperMarket(snapshot, _price_e12(snapshot.mid, found.usd_per_quote))


def shown_mark(session: Session, vault_id: int, now: datetime) -> FundPaperMark | None:
    """The newest mark that no live signal had a part in; None: there is none yet."""
    oldest_live = (
        select(func.min(FundSignal.at))
        .where(FundSignal.vault_id == vault_id, FundSignal.at > now - LIVE_FOR)
        .scalar_subquery()
    )
    return session.scalar(
        select(FundPaperMark)
        .where(
            FundPaperMark.vault_id == vault_id,
            FundPaperMark.at
            < func.coalesce(oldest_live, literal_column("'infinity'::timestamptz")),
        )
        .order_by(FundPaperMark.hour.desc())
        .limit(1)
    )


def shown_course(
    session: Session, newest: FundPaperMark, opened_at: datetime, most: int
) -> list[tuple[datetime, int]]:
    """(at, worth in USDC base units) of the marks up to this one, rising; at most `most`, evenly
    thinned by hours, this one included.
    """
    hours = (newest.hour - opened_at) // HOUR + 1
    every = max(1, -(-hours // most))
    before = func.extract("epoch", newest.hour - FundPaperMark.hour) / HOUR.total_seconds()
    query = select(FundPaperMark.at, FundPaperMark.nav_usdc_e6).where(
        FundPaperMark.vault_id == newest.vault_id,
        FundPaperMark.hour <= newest.hour,
        cast(before, Integer) % every == 0,
    )
    return [(at, nav) for at, nav in session.execute(query.order_by(FundPaperMark.hour))]


def opened_at(session: Session, vault_id: int) -> datetime | None:
    found = session.get(FundPaper, vault_id)
    return None if found is None else found.opened_at


# One signal


def _pending(session: Session, vault_id: int, now: datetime) -> Sequence[FundSignal]:
    """Live ones that nothing supersedes and nothing was made of, the oldest first; none that came
    after the run began, whose mark would seem older than it.
    """
    later = aliased(FundSignal)
    query = select(FundSignal).where(
        FundSignal.vault_id == vault_id,
        FundSignal.at > now - LIVE_FOR,
        FundSignal.at <= now,
        ~exists().where(
            later.vault_id == vault_id,
            later.market == FundSignal.market,
            later.seq > FundSignal.seq,
        ),
        ~exists().where(FundPaperTrade.signal_seq == FundSignal.seq),
    )
    return session.scalars(query.order_by(FundSignal.seq).limit(fund.MOST_LIVE)).all()


def _followed(
    vault: FundVault,
    frozen: FrozenRules,
    book: PaperBook,
    signal: FundSignal,
    markets: Mapping[str, PaperMarket],
    now: datetime,
) -> tuple[PaperBook, PaperFill | None, str | None] | None:
    """The book after the signal, with the fill, or why there is none; None: it waits."""
    here, ruled = markets[signal.market], frozen.market(signal.market)
    if ruled is None:  # newer rules left the market out
        return book, None, PlanReason.SESSION_UNKNOWN.value
    prices = {name: one.price_e12 for name, one in markets.items()}
    facts = SignalFacts(
        market=signal.market,
        weight_e4=signal.weight_e4,
        leverage_e2=signal.leverage_e2,
        is_live=is_live(signal.at, now),
        is_paid=True,
        is_paused=vault.is_paused,
        is_superseded=False,
        session=session_at(kept(), ruled.session, now),
        max_order_usdc_e6=rules.MOST_ORDER_USDC_E6,
        max_leverage_e2=frozen.most_leverage_e2,
        least_order_usdc_e6=ruled.least_order_usdc_e6,
        account=_account(book, prices),
        snapshot=here.snapshot,
    )
    made = plan(facts)
    refused = made.reason if made.order is None else made.order.opening_refused
    if refused in rules.WAITS:
        return None
    if made.order is None or here.price_e12 is None:
        return None if made.reason is None else (book, None, made.reason.value)
    fill = rules.fill_of(
        book,
        signal.market,
        made.order,
        here.price_e12,
        is_spot=vault.kind == FundKind.SPOT,
        least_usdc_e6=ruled.least_order_usdc_e6,
    )
    if fill is None:
        is_known = made.order.impact_bps_e2 is not None
        return (book, None, PlanReason.ORDER_TOO_SMALL.value) if is_known else None
    return rules.filled(book, signal.market, fill), fill, None


def _account(book: PaperBook, prices_e12: Mapping[str, int | None]) -> FollowerAccount | None:
    held = rules.values(book, prices_e12)
    if held is None:
        return None
    nav = book.cash_usdc_e6 + sum(held.values())
    return FollowerAccount(max(nav, 0), held)


def _price_e12(mid: Decimal | None, usd_per_quote: float | None) -> int | None:
    """Where the float ends."""
    if mid is None or usd_per_quote is None or not 0 < usd_per_quote < 1e12:
        return None
    price = int(mid * Decimal(repr(usd_per_quote)) * rules.PRICE_E12)
    return price if 0 < price < MOST_PRICE_E12 else None


# The book


def _load(session: WriteSession, vault_id: int, now: datetime) -> PaperBook:
    found = session.get(FundPaper, vault_id, populate_existing=True)
    if found is None:
        book = rules.opened(now)
        session.execute(
            insert(FundPaper).values(vault_id=vault_id, opened_at=now, **_columns(book))
        )
        return book
    query = select(FundPaperPosition.market, FundPaperPosition.quantity_e18)
    held = session.execute(query.where(FundPaperPosition.vault_id == vault_id))
    figures = {name: getattr(found, name) for name in COLUMNS}
    return PaperBook(positions=dict(held.all()), **figures)


def _keep(session: WriteSession, vault_id: int, book: PaperBook) -> None:
    session.execute(
        update(FundPaper)
        .where(FundPaper.vault_id == vault_id)
        .values(**_columns(book))
        .execution_options(synchronize_session=False)
    )
    session.execute(delete(FundPaperPosition).where(FundPaperPosition.vault_id == vault_id))
    if book.positions:
        rows = [
            {"vault_id": vault_id, "market": market, "quantity_e18": quantity}
            for market, quantity in sorted(book.positions.items())
        ]
        session.execute(insert(FundPaperPosition), rows)


def _columns(book: PaperBook) -> dict[str, object]:
    return {name: getattr(book, name) for name in COLUMNS}


def _record(
    session: WriteSession,
    vault_id: int,
    seq: int,
    fill: PaperFill | None,
    reason: str | None,
    now: datetime,
) -> None:
    session.add(
        FundPaperTrade(
            signal_seq=seq,
            vault_id=vault_id,
            reason=reason,
            at=now,
            **({} if fill is None else asdict(fill)),
        )
    )
    session.flush()


def _hour(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _marked(
    session: WriteSession, vault: FundVault, book: PaperBook, now: datetime
) -> tuple[PaperBook, bool]:
    """At the first run of an hour in which every price is known."""
    hour = _hour(now)
    if session.get(FundPaperMark, (vault.id, hour)) is not None:
        return book, False
    prices = {name: market_of(session, name, now).price_e12 for name in book.positions}
    nav = rules.nav_usdc_e6(book, prices)
    if nav is None:
        return book, False
    book, after = rules.marked(book, nav, fee_bps_of(session, vault), now)
    session.add(
        FundPaperMark(
            vault_id=vault.id,
            hour=hour,
            at=now,
            nav_usdc_e6=after,
            drawdown_bps_e2=rules.drawdown_bps_e2(after, book.peak_usdc_e6),
            max_drawdown_bps_e2=book.max_drawdown_bps_e2,
            trades=book.trades,
            fees_usdc_e6=book.fees_usdc_e6,
            impact_usdc_e6=book.impact_usdc_e6,
            fund_fees_usdc_e6=book.fund_fees_usdc_e6,
        )
    )
    session.flush()
    return book, True
