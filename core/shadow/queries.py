"""All SQL of the shadow: a second scan of the chain in a schema of its own, compared with the
record and put in its place.

A session whose search path names the shadow first writes and reads the rescanned tables there and
everything else in the record. What the ledgers lack stands in the shadow's table `missing_row`.
Needs a role that may create a schema.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Identity,
    MetaData,
    Table,
    Text,
    and_,
    delete,
    inspect,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.orm import Session
from sqlalchemy.schema import Column, CreateSchema, DropSchema

from core.db.engine import WriteSession
from core.shadow.views import LIVE, PARTS, Difference, Part, differences, is_orphan

SCHEMA = "rebuild"
SEARCH_PATH = f"{SCHEMA},public"
_METADATA = MetaData(schema=SCHEMA)
_NAMES = (*(part.table for part in PARTS.values()), "chain_cursor")
SHADOW = {name: LIVE[name].to_metadata(_METADATA, schema=SCHEMA) for name in _NAMES}
MISSING = Table(
    "missing_row",
    _METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("kind", Text, nullable=False),
    Column("book_id", BigInteger, nullable=False),
    Column("base_key", Text, nullable=False),
    Column("row", JSONB, nullable=False),
)


@dataclass(frozen=True, slots=True)
class MissingRow:
    """A row that the chain proves and a ledger lacks.

    `kind`: mandate or account; `row` as it was written down.
    """

    kind: str
    ledger_id: int
    base_key: str
    row: dict[str, Any]


def is_there(session: Session) -> bool:
    """Whether a rescan was begun and neither discarded nor put in place."""
    return bool(inspect(session.connection()).has_schema(SCHEMA))


def create(session: WriteSession) -> None:
    """An empty shadow. Errors: ProgrammingError when there is one, or the role may not."""
    session.execute(CreateSchema(SCHEMA))
    _METADATA.create_all(session.connection())


def discard(session: WriteSession) -> None:
    session.execute(DropSchema(SCHEMA, cascade=True, if_exists=True))


def add_missing(
    session: WriteSession, rows: Sequence[tuple[str, int, str, dict[str, Any]]]
) -> None:
    """(kind, ledger id, base key, row) of what the ledgers lack, in the order of the chain."""
    if rows:
        names = ("kind", "book_id", "base_key", "row")
        session.execute(insert(MISSING), [dict(zip(names, row, strict=True)) for row in rows])


def missing_rows(session: Session) -> list[MissingRow]:
    columns = (MISSING.c.kind, MISSING.c.book_id, MISSING.c.base_key, MISSING.c.row)
    return [MissingRow(*row) for row in session.execute(select(*columns).order_by(MISSING.c.id))]


def found_differences(session: Session, chain_id: int) -> list[Difference]:
    """Every row in which record and shadow differ; memory grows with the differences, not with the
    record.
    """
    return list(differences(session, chain_id, LIVE, SHADOW))


def put_in_place(session: WriteSession, chain_id: int) -> None:
    """Make the record's canonical view the shadow's.

    Orphans, and rows that are equal, stay as they are.
    """
    for part in PARTS.values():
        _drop_other(session, part, chain_id)
    block, theirs = LIVE["chain_block"], SHADOW["chain_block"]
    back = select(theirs.c.hash).where(theirs.c.chain_id == chain_id)
    session.execute(
        update(block)
        .where(block.c.chain_id == chain_id, not_(block.c.canonical), block.c.hash.in_(back))
        .values(canonical=True)
    )
    for part in PARTS.values():
        rescanned = select(SHADOW[part.table]).where(SHADOW[part.table].c.chain_id == chain_id)
        names = list(SHADOW[part.table].c.keys())
        session.execute(
            insert(LIVE[part.table]).from_select(names, rescanned).on_conflict_do_nothing()
        )


def _drop_other(session: WriteSession, part: Part, chain_id: int) -> None:
    """Delete the record's canonical rows that the shadow lacks or has otherwise; one of the same
    key comes back from there.
    """
    ours, theirs = LIVE[part.table], SHADOW[part.table].alias("rescanned")
    same_key = and_(*(theirs.c[key.name] == key for key in ours.primary_key))
    is_other = or_(*(theirs.c[name].is_distinct_from(ours.c[name]) for name in part.columns))
    equal = select(theirs.c.chain_id).where(same_key, not_(is_other)).correlate(ours).exists()
    session.execute(delete(ours).where(ours.c.chain_id == chain_id, ~is_orphan(part, LIVE), ~equal))
