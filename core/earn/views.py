"""Who is paid, as caps count them: accounts beside their owners and funding wallets."""

from collections.abc import Collection

from sqlalchemy import BigInteger, any_, cast, exists, func, or_, select, text, true
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session, aliased

from core.earn.rules.payout import Payee
from core.earn.rules.points import STANDING_CLAIMS
from core.earn.tables import EarnStanding
from core.hexes import address_or_none
from core.identity.tables import Account
from core.transfers.tables import FUNDS, TransferEntry


def payees_of(session: Session, account_ids: Collection[int]) -> dict[int, Payee]:
    """By account, in one statement."""
    owner, reversal = aliased(Account), aliased(TransferEntry)
    funder = (
        select(TransferEntry.payload["from"].astext.label("sender"))
        .where(
            TransferEntry.account_id == Account.id,
            text(FUNDS),  # as its index says it, so that dust is not read
            ~exists().where(reversal.reverses_id == TransferEntry.id),
            Account.owner_id.is_(None),
        )
        .order_by(TransferEntry.seq)
        .limit(1)
        .lateral("funder")
    )
    query = (
        select(
            Account.id,
            Account.owner_id,
            Account.registered_from,
            owner.registered_from.label("owner_from"),
            func.lower(funder.c.sender).label("funder"),
            func.coalesce(EarnStanding.verified_claims, 0).label("claims"),
        )
        .outerjoin(owner, owner.id == Account.owner_id)
        .outerjoin(EarnStanding, EarnStanding.account_id == Account.id)
        .outerjoin(funder, true())
        .where(Account.id == any_(cast(list(account_ids), ARRAY(BigInteger))))
    )
    return {
        row.id: Payee(
            account_id=row.id,
            owner_id=row.owner_id,
            address=row.registered_from if row.owner_id is None else row.owner_from,
            funder=row.funder,
            has_standing=row.claims >= STANDING_CLAIMS,
        )
        for row in session.execute(query)
    }


def own_among(session: Session, operator_id: int, account_ids: Collection[int]) -> set[int]:
    """Of these accounts, those whose work the operator may not decide on: itself, the agents that it
    owns, and those whose wallet its own sent at least 1 USDC to, whoever owns them.
    """
    operator, reversal = session.get_one(Account, operator_id), aliased(TransferEntry)
    funded = exists().where(
        TransferEntry.account_id == Account.id,
        text(FUNDS),
        func.lower(TransferEntry.payload["from"].astext)
        == (address_or_none(operator.wallet_address) or "").lower(),
        ~exists().where(reversal.reverses_id == TransferEntry.id),
    )
    query = select(Account.id).where(
        Account.id == any_(cast(list(account_ids), ARRAY(BigInteger))),
        or_(Account.id == operator_id, Account.owner_id == operator_id, funded),
    )
    return set(session.scalars(query))
