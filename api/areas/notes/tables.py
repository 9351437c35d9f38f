"""The vault of notes for note apps, and the links that notes make."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Integer, Text
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class KgExport(Base):
    """One row: all free notes as a zip, made by a slow job (api/areas/notes/jobs.py)."""

    __tablename__ = "kg_export"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    made_at: Mapped[datetime]
    notes: Mapped[int] = mapped_column(Integer)
    content: Mapped[bytes] = mapped_column(BYTEA)


class KgLink(Base):
    """A link of a token's note, as the newest export has it. `target`: the file that it leads to,
    without its ending (api/areas/notes/rules/names.py).
    """

    __tablename__ = "kg_link"

    target: Mapped[str] = mapped_column(Text, primary_key=True)
    token: Mapped[str] = mapped_column(Text, primary_key=True)
