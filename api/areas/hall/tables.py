"""The Hall's snapshot, a projection of the ledgers: days of mandates, and figures of agents.

    mandate_event --> hall_mandate (its state now), hall_day (what each day made) --> hall_agent (what is shown)
                                                                            |
                                                                            +--> hall_past (the days before today, summed)

`hall_due` names the agents whose figures are behind their days. All of it can be dropped and built
again.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import CheckConstraint, Date, ForeignKey, Index, Integer, Numeric, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from api.areas.hall.rules.shown import SORTS
from core.db.base import Base, Uint256

TRADED = "sides is not null"
LISTED = "is_listed"


def figure_of(sorts: str, place: int) -> str:
    """SQL of a figure to sort by, in the words of its index: an unknown one comes last."""
    return f"coalesce({sorts}[{place + 1}], '-Infinity'::numeric)"


class HallMandate(Base):
    """`seq`: the last row that is counted. `head_seq`: up to where reversals were looked for.

    `trouble`: why its rows could not be counted; null: they were.
    """

    __tablename__ = "hall_mandate"
    __table_args__ = (
        Index("ix_hall_mandate_agent_id", "agent_id"),
        Index("ix_hall_mandate_wallet", "wallet"),
    )

    mandate_id: Mapped[int] = mapped_column(ForeignKey("mandate.id"), primary_key=True)
    agent_id: Mapped[int]
    owner_id: Mapped[int]
    wallet: Mapped[bytes | None] = mapped_column(BYTEA)  # the agent's, of the signed terms
    is_paper: Mapped[bool]
    is_held: Mapped[bool]  # facts of the chain are held back from its ledger
    seq: Mapped[int]
    head_seq: Mapped[int]
    standing: Mapped[dict[str, Any]]
    violations: Mapped[int] = mapped_column(Integer)
    trouble: Mapped[str | None] = mapped_column(Text)


class HallDay(Base):
    """A UTC day on which a mandate's rows made something. Paths in parts of 1e12.

    `sides`: {target: [bought, sold]}. `washed_...`: what does not count, since the owner traded with
    itself.
    """

    __tablename__ = "hall_day"
    __table_args__ = (
        Index("ix_hall_day_owner_id_day", "owner_id", "day", postgresql_where=text(TRADED)),
    )

    mandate_id: Mapped[int] = mapped_column(ForeignKey("mandate.id"), primary_key=True)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    owner_id: Mapped[int]
    flow_usdc_e6: Mapped[int] = mapped_column(Uint256)
    result_usdc_e6: Mapped[int] = mapped_column(Uint256)
    capital_usdc_e6: Mapped[int] = mapped_column(Uint256)
    least_usdc_e6: Mapped[int] = mapped_column(Uint256)
    worth_usdc_e6: Mapped[int] = mapped_column(Uint256)
    growth: Mapped[int]
    high: Mapped[int]
    low: Mapped[int]
    kept: Mapped[int]
    trades: Mapped[int] = mapped_column(Integer)
    sides: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    said_trades: Mapped[int] = mapped_column(Integer)
    said_result_usdc_e6: Mapped[int] = mapped_column(Uint256)
    said_fees_usdc_e6: Mapped[int] = mapped_column(Uint256)
    washed_trades: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    washed_result_usdc_e6: Mapped[int] = mapped_column(Uint256, server_default=text("0"))


class HallPast(Base):
    """What a mandate's days before `day` made in the windows of that day (api.areas.hall.rules.sums), so
    that a build later that day need not read them.

    `funded`: a digest of the mandates that counted together when it was made; `together`: their path
    by window. The row goes when one of those days changes.
    """

    __tablename__ = "hall_past"

    mandate_id: Mapped[int] = mapped_column(ForeignKey("mandate.id"), primary_key=True)
    day: Mapped[date] = mapped_column(Date)
    funded: Mapped[bytes] = mapped_column(BYTEA)
    windows: Mapped[list[Any]] = mapped_column(JSONB)
    together: Mapped[list[Any]] = mapped_column(JSONB)
    worth_usdc_e6: Mapped[int] = mapped_column(Uint256)


class HallAgent(Base):
    """What is shown of an agent; `record` null: it has never had a mandate.

    `sorts`: the figures that lists run by (api.areas.hall.rules.shown.SORTS); null: there is none.
    `is_listed` false: another account has the wallet, and this record with it.
    """

    __tablename__ = "hall_agent"
    __table_args__ = (
        Index(
            "ix_hall_agent_listed",
            text("ranked desc"),
            text("days_live desc"),
            "agent_id",
            postgresql_where=text(LISTED),
        ),
        *(
            Index(
                f"ix_hall_agent_sort_{place}",
                text("ranked desc"),
                text(f"{figure_of('sorts', place)} desc"),
                "agent_id",
                postgresql_where=text(LISTED),
            )
            for place in range(len(SORTS))
        ),
        CheckConstraint("(rank is not null) <= ranked", name="rank"),
    )

    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"), primary_key=True)
    is_listed: Mapped[bool]
    ranked: Mapped[bool]
    rank: Mapped[int | None] = mapped_column(Integer)
    days_live: Mapped[int] = mapped_column(Integer)
    trades: Mapped[int] = mapped_column(Integer)
    sorts: Mapped[list[Decimal | None] | None] = mapped_column(ARRAY(Numeric))
    record: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    as_of: Mapped[datetime | None]  # of the newest row


class HallDue(Base):
    """An agent whose figures are to be made again."""

    __tablename__ = "hall_due"

    agent_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)


class HallBuild(Base):
    """One row: how far the last build came. `event_id`, `account_id`: up to where rows were seen."""

    __tablename__ = "hall_build"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    event_id: Mapped[int]
    account_id: Mapped[int]
    day: Mapped[date] = mapped_column(Date)
    computed_at: Mapped[datetime]
