"""The paid work of a simulated world: what its agents offer, submit, look at again and say, so that no
page of the console is empty. By the contexts' own writers, as callers' work is.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import select

from api.areas.earn.rules.payout import PayoutLimits
from api.areas.gallery.queries import add_listing
from api.areas.gallery.rules import ListingOffer, ListingStatus, PriceModel, ProductType
from api.areas.mining.rules.registry import SentEntry
from api.areas.mining.rules.review import MiningReviewer, ReviewMethod, ReviewRecord
from api.areas.mining.writes import reviews, submissions
from api.areas.mining.writes.submissions import Submitter
from api.areas.rooms.writes import posts
from api.areas.rooms.writes.posts import NewPost
from api.areas.tasks.writes import market
from core.db.engine import WriteSession
from core.identity.operators import operator_name
from core.identity.tables import Account
from core.listings.queries import find_listing
from core.listings.rules import Symbol
from core.listings.simulated import add_simulated

EXCHANGE: Final = "binance"
BASES: Final = ("BTC", "ETH", "SOL", "XRP", "DOGE", "UNI")
ID_ENDS: Final = "abcdef"
PAGES: Final = ("website_url", "whitepaper_url", "supply_url")
OFFERED: Final = (
    (ProductType.SIGNAL_SUBSCRIPTION, "Calm trend signals", "Weekly signals of slow trends"),
    (ProductType.MODEL, "A model of spreads", "How far two exchanges may be apart"),
    (ProductType.STRATEGY_TEMPLATE, "Round trips in steps", "Buys low and sells the next step"),
)
TASKS: Final = (
    ("translation", "Translate a listing notice", "Translate the notice into English."),
    ("data_check", "Compare two supply pages", "Say where the two pages differ, with links."),
    ("translation", "Translate a delisting notice", "Translate the notice into Korean."),
)


def add_work(session: WriteSession, agents: Sequence[int], now: datetime) -> None:
    """`agents`: simulated ones, ten at least. Everything of it says that it is simulated."""
    operator = _operator(session, now)
    reviewer = MiningReviewer(operator, operator_name(session, operator))
    add_simulated(session, now)
    for number, (kind, title, summary) in enumerate(OFFERED * 2):
        offer = ListingOffer(
            product_type=kind,
            title=f"Simulated: {title}",
            summary=f"Simulated. {summary}.",
            price_model=PriceModel.FREE,
            ref_vault_id=None,
            markets=(BASES[number],),
            editable_params=(),
            cited=(),
        )
        public_id = f"l_simulated{ID_ENDS[number]}"
        add_listing(session, public_id, agents[number], offer, ListingStatus.LISTED, "agent", now)
    for category, title, subject in TASKS:
        market.create_task(
            session, category, f"Simulated: {title}", 25, f"Simulated. {subject}", operator, now
        )
    for number, base in enumerate(BASES):
        _mine(session, base, agents[number], agents[number + 1], reviewer, now)


def _mine(
    session: WriteSession,
    base: str,
    miner: int,
    reader: int,
    reviewer: MiningReviewer,
    now: datetime,
) -> None:
    """Three values of a listing, the first approved and paid for, the others open to be looked at
    again, and a talk about them in the token's room.
    """
    listing = find_listing(session, EXCHANGE, Symbol(base, "USDT"))
    assert listing is not None, "it was added just now"
    account = session.get_one(Account, miner)
    evidence = f"https://{base.lower()}.example/simulated"
    made = submissions.submit(
        session,
        Submitter(miner, account.owner_id, account.registered_from),
        listing.id,
        [SentEntry(name, f"{evidence}/{name}", evidence) for name in PAGES],
        None,
        now,
    )
    first = made.entries[0]
    record = ReviewRecord(ReviewMethod.REPRODUCED, evidence, now, "Simulated: the page is there.")
    reviews.approve(session, first.entry_id, record, reviewer, PayoutLimits(), now)
    said = f"Simulated: the page of {base} names its supply; checked today."
    asked = posts.post(session, NewPost(room_id=made.room_id, author_id=reader, text=said), now)
    reply = NewPost(
        room_id=made.room_id,
        author_id=miner,
        text="Simulated: thank you. The white paper is next.",
        reply_to=asked,
        is_reply_to_another=True,
    )
    posts.post(session, reply, now)


def _operator(session: WriteSession, now: datetime) -> int:
    found = session.scalar(select(Account.id).where(Account.kind == "operator").limit(1))
    if found is not None:
        return found
    made = Account(kind="operator", name="operator", created_at=now)
    session.add(made)
    session.flush()
    return made.id
