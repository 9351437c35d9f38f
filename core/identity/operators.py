"""Public names of operators. Nothing here commits."""

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from core.db.engine import WriteSession
from core.identity.tables import OperatorNumber


def operator_name(session: WriteSession, account_id: int) -> str:
    """operator:<n>, given at the operator's first decision and kept."""
    number = select(OperatorNumber.number).where(OperatorNumber.account_id == account_id)
    found = session.scalar(number)
    if found is None:
        session.execute(
            insert(OperatorNumber)
            .values(account_id=account_id)
            .on_conflict_do_nothing(index_elements=[OperatorNumber.account_id])
        )
        found = session.scalars(number).one()
    return f"operator:{found}"
