"""Who is paid, as caps count them: accounts beside their owners and funding wallets."""

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import BigInteger, Row, any_, cast, exists, func, or_, select, text, true
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session, aliased

from core.earn.rules.groups import FUNDED_MOST
from core.earn.rules.payout import Payee
from core.earn.rules.points import STANDING_CLAIMS
from core.earn.tables import EarnStanding
from core.hexes import address_or_none, hex_of
from core.identity.tables import Account
from core.transfers.tables import FUNDS, SENDER, TransferEntry

_FUNDED_MANY: Final = text(f"""
select sender from unnest(cast(:senders as text[])) asked(sender)
where (
    with recursive funded(account_id, n) as (
        select (select min(account_id) from transfer_entry where {FUNDS} and lower(payload ->> 'from') = sender), 1
        union all
        select (select min(t.account_id) from transfer_entry t
                where {FUNDS} and lower(payload ->> 'from') = sender and t.account_id > funded.account_id), n + 1
        from funded where account_id is not null and n <= :most
    )
    select count(account_id) from funded
) > :most
""")  # noqa: S608 (of constants alone)


def payees_of(
    session: Session, account_ids: Collection[int], shared_funders: Collection[str] = ()
) -> dict[int, Payee]:
    """By account, in two statements. `shared_funders`: wallets, in lower case, that fund strangers;
    whom they fund has no funder, nor has one whose funder has more than FUNDED_MOST accounts.
    """
    owner, reversal = aliased(Account), aliased(TransferEntry)
    funding = (
        select(SENDER.label("sender"), TransferEntry.tx_hash)
        .where(
            TransferEntry.account_id == Account.id,
            text(FUNDS),  # as its index says it, so that dust is not read
            ~exists().where(reversal.reverses_id == TransferEntry.id),
        )
        .order_by(TransferEntry.seq)
        .limit(1)
        .lateral("funding")
    )
    query = (
        select(
            Account.id,
            Account.owner_id,
            Account.registered_from,
            Account.wallet_address,
            owner.registered_from.label("owner_from"),
            owner.wallet_address.label("owner_wallet"),
            funding.c.sender,
            funding.c.tx_hash,
            func.coalesce(EarnStanding.verified_claims, 0).label("claims"),
        )
        .outerjoin(owner, owner.id == Account.owner_id)
        .outerjoin(EarnStanding, EarnStanding.account_id == Account.id)
        .outerjoin(funding, true())
        .where(Account.id == any_(cast(list(account_ids), ARRAY(BigInteger))))
    )
    rows = session.execute(query).all()
    senders = {row.sender for row in rows if row.sender is not None}
    strangers = {*shared_funders, *_funders_of_many(session, senders.difference(shared_funders))}
    return {row.id: _payee(row, strangers) for row in rows}


def _payee(row: Row[Any], shared_funders: Collection[str]) -> Payee:
    is_own = row.sender is not None and row.sender not in shared_funders
    return Payee(
        account_id=row.id,
        owner_id=row.owner_id,
        address=row.registered_from if row.owner_id is None else row.owner_from,
        funder=row.sender if is_own else None,
        has_standing=row.claims >= STANDING_CLAIMS,
        other_address=None if row.owner_id is None else row.registered_from,
        wallets=tuple(
            None if raw is None else hex_of(raw) for raw in (row.wallet_address, row.owner_wallet)
        ),
        funding_tx=hex_of(row.tx_hash) if is_own and row.tx_hash is not None else None,
    )


def _funders_of_many(session: Session, senders: Collection[str]) -> set[str]:
    """Of these wallets those that funded more than FUNDED_MOST accounts. Of each the index is asked
    for so many accounts, whatever it sent them.
    """
    if not senders:
        return set()
    asked = {"senders": list(senders), "most": FUNDED_MOST}
    return set(session.scalars(_FUNDED_MANY, asked))


def own_among(session: Session, operator_id: int, account_ids: Collection[int]) -> set[int]:
    """Of these accounts, those whose work the operator may not decide on: itself, the agents that it
    owns, and those whose wallet its own sent at least 1 USDC to, whoever owns them.
    """
    operator, reversal = session.get_one(Account, operator_id), aliased(TransferEntry)
    funded = exists().where(
        TransferEntry.account_id == Account.id,
        text(FUNDS),
        SENDER.in_([(address_or_none(operator.wallet_address) or "").lower()]),
        ~exists().where(reversal.reverses_id == TransferEntry.id),
    )
    query = select(Account.id).where(
        Account.id == any_(cast(list(account_ids), ARRAY(BigInteger))),
        or_(Account.id == operator_id, Account.owner_id == operator_id, funded),
    )
    return set(session.scalars(query))
