"""Reads and writes of the vault of notes and of links. Nothing here commits."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg.rows import scalar_row
from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from api.areas.notes.tables import KgExport, KgLink
from core.db.engine import WriteSession, driver_of

_CONTENT: Final = "select content from kg_export"


def export(session: Session) -> bytes:
    """The vault that `last_made` names, as the driver gets it: in its bytes, not in two letters
    for each of them.
    """
    with driver_of(session).cursor(row_factory=scalar_row, binary=True) as cursor:
        content: bytes = cursor.execute(_CONTENT).fetchall()[0]
        return content


@dataclass(frozen=True, slots=True)
class LastVault:
    """`notes`: files in it, hubs and the index among them."""

    at: datetime
    notes: int


def last_made(session: Session) -> LastVault | None:
    """None: none was made yet."""
    found = session.execute(select(KgExport.made_at, KgExport.notes)).one_or_none()
    return found and LastVault(found.made_at, found.notes)


def keep_export(session: WriteSession, content: bytes, notes: int, now: datetime) -> None:
    values = {"made_at": now, "notes": notes, "content": content}
    row = insert(KgExport).values(id=1, **values)
    session.execute(row.on_conflict_do_update(index_elements=["id"], set_=values))


def links(session: Session) -> set[tuple[str, str]]:
    """All that there are: (target, token)."""
    rows = session.execute(select(KgLink.target, KgLink.token)).all()
    return {(target, token) for target, token in rows}


def change_links(
    session: WriteSession, *, gone: Collection[tuple[str, str]], added: Collection[tuple[str, str]]
) -> None:
    """(target, token); none of `added` is there."""
    if gone:
        session.connection().execute(
            delete(KgLink).where(KgLink.target == bindparam("of"), KgLink.token == bindparam("by")),
            [{"of": target, "by": token} for target, token in gone],
        )
    if added:
        rows = [{"target": target, "token": token} for target, token in sorted(added)]
        session.execute(insert(KgLink), rows)
