"""The topics that a mandate's ledger notifies when it grows, and that whoever follows it hears
(core.db.notices).

    m12   the mandate 12 has new rows, or another status
    o3    a mandate of the owner 3 has new rows
    e3    a mandate of the owner 3 has another status, and no new row says so
"""

from collections.abc import Iterable

from core.db.engine import WriteSession
from core.db.notices import notify


def of_mandate(mandate_id: int) -> str:
    return f"m{mandate_id}"


def rows_of_owner(owner_id: int) -> str:
    return f"o{owner_id}"


def ends_of_owner(owner_id: int) -> str:
    return f"e{owner_id}"


def notify_rows(session: WriteSession, grown: Iterable[tuple[int, int]]) -> None:
    """`grown`: (mandate, owner)."""
    for mandate_id, owner_id in grown:
        notify(session, (of_mandate(mandate_id), rows_of_owner(owner_id)))


def notify_ends(session: WriteSession, ended: Iterable[tuple[int, int]]) -> None:
    """`ended`: (mandate, owner)."""
    for mandate_id, owner_id in ended:
        notify(session, (of_mandate(mandate_id), ends_of_owner(owner_id)))
