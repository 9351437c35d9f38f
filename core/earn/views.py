"""Who is paid, as caps count them: accounts beside their owners and funding wallets."""

from collections.abc import Collection

from sqlalchemy import BigInteger, any_, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session, aliased

from core.earn.rules.payout import Payee
from core.earn.rules.points import STANDING_CLAIMS
from core.earn.tables import EarnStanding
from core.identity.tables import Account


def payees_of(session: Session, account_ids: Collection[int]) -> dict[int, Payee]:
    """By account, in one statement."""
    owner = aliased(Account)
    query = (
        select(
            Account.id,
            Account.owner_id,
            Account.registered_from,
            owner.registered_from.label("owner_from"),
            func.coalesce(EarnStanding.verified_claims, 0).label("claims"),
        )
        .outerjoin(owner, owner.id == Account.owner_id)
        .outerjoin(EarnStanding, EarnStanding.account_id == Account.id)
        .where(Account.id == any_(cast(list(account_ids), ARRAY(BigInteger))))
    )
    return {
        row.id: Payee(
            account_id=row.id,
            owner_id=row.owner_id,
            address=row.registered_from if row.owner_id is None else row.owner_from,
            has_standing=row.claims >= STANDING_CLAIMS,
        )
        for row in session.execute(query)
    }
