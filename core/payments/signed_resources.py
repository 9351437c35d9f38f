"""The URLs that the guard signed payments of a mandate for, by their hash; the newest MOST_KEPT of
each mandate.
"""

import re
from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.hexes import bytes_of, hex_of
from core.payments.tables import SignedResource

_HASH = re.compile(r"0x[0-9a-f]{64}", re.ASCII)
MOST_KEPT = 500  # signing costs an agent nothing: what is kept of it is bounded


def remember(
    session: WriteSession, mandate_id: int, resource_hash: str, resource: str, now: datetime
) -> None:
    values = {
        "mandate_id": mandate_id,
        "resource_hash": bytes_of(resource_hash),
        "resource": resource,
        "signed_at": now,
    }
    key = [SignedResource.mandate_id, SignedResource.resource_hash]
    session.execute(
        insert(SignedResource)
        .values(values)
        .on_conflict_do_update(index_elements=key, set_={"signed_at": now})
    )
    newest = select(SignedResource.resource_hash).where(SignedResource.mandate_id == mandate_id)
    newest = newest.order_by(SignedResource.signed_at.desc(), SignedResource.resource_hash).offset(
        MOST_KEPT
    )
    session.execute(
        delete(SignedResource).where(
            SignedResource.mandate_id == mandate_id, SignedResource.resource_hash.in_(newest)
        )
    )


def urls_of(session: Session, mandate_id: int, named: Iterable[str]) -> dict[str, str]:
    """By hash (0x, lower case), those that are known; what is no hash is not looked for."""
    wanted = {bytes_of(one) for one in named if _HASH.fullmatch(one)}
    if not wanted:
        return {}
    query = select(SignedResource.resource_hash, SignedResource.resource)
    query = query.where(
        SignedResource.mandate_id == mandate_id, SignedResource.resource_hash.in_(wanted)
    )
    return {hex_of(found.resource_hash): found.resource for found in session.execute(query)}
