"""Which ledgers are verified next, beside what the chain holds for them."""

from dataclasses import dataclass

from eth_utils.address import to_checksum_address
from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from core.audit.tables import AuditBook
from core.blocks.queries import not_orphaned
from core.blocks.tables import Vault
from core.mandate.tables import Mandate, MandateHead
from core.quarantine.queries import MANDATE, is_held


@dataclass(frozen=True, slots=True)
class LedgerToVerify:
    """A mandate with a ledger.

    `vault` None: the chain holds none for it up to the height that was asked for.
    """

    mandate_id: int
    public_id: str
    vault: str | None


def ledgers_in_turn(
    session: Session, chain_id: int, height: int, limit: int
) -> list[LedgerToVerify]:
    """The ledgers that were verified longest ago, those never verified first.

    One that is short of facts says so itself, and is left out.
    """
    mine = and_(
        Vault.mandate_id == Mandate.id, Vault.chain_id == chain_id, Vault.created_number <= height
    )
    query = (
        select(Mandate.id, Mandate.public_id, Vault.address)
        .join(MandateHead, MandateHead.mandate_id == Mandate.id)
        .outerjoin(Vault, and_(mine, not_orphaned(Vault.chain_id, Vault.created_block_hash)))
        .outerjoin(AuditBook, AuditBook.mandate_id == Mandate.id)
        .where(~is_held(MANDATE, Mandate.id))
        .order_by(AuditBook.verified_at.nulls_first(), Mandate.id)
        .limit(limit)
    )
    return [
        LedgerToVerify(id_, public_id, None if vault is None else to_checksum_address(vault))
        for id_, public_id, vault in session.execute(query)
    ]
