"""Approved work, what of it waits to be paid, what was paid today, and the public feed of it all.

Points are tenths (`tenths`), credits whole; what an account holds is the credit ledger's alone.
"""

from datetime import date, datetime

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Date,
    ForeignKey,
    Identity,
    Index,
    Text,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from api.areas.earn.rules.feed import FeedKind
from api.areas.earn.rules.payout import Source
from core.db.base import LOG, Base, sql_list

IS_OWED = text("left_credits > 0")


class EarnAward(Base):
    """Points that an approval pays, or, of a charge, that a wrong verdict costs.

    `ref` names what was approved; ids are in the order of approvals. Of an award `credits` is
    repaid, paid and queued together, as it was made; of a charge all of it is owed.
    `independent_of`: accounts that must be other persons for it to be paid.
    """

    __tablename__ = "earn_award"
    __table_args__ = (
        CheckConstraint("kind in ('award', 'charge')", name="kind"),
        CheckConstraint(f"source in {sql_list(Source)}", name="source"),
        CheckConstraint("tenths > 0 and credits = tenths * 2", name="credits"),
        CheckConstraint(
            "repaid_credits >= 0 and paid_credits >= 0 and queued_credits >= 0 and "
            "(kind = 'charge' or credits = repaid_credits + paid_credits + queued_credits)",
            name="parts",
        ),
        Index("ix_earn_award_account_id_id", "account_id", "id"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    ref: Mapped[str] = mapped_column(Text, unique=True)
    kind: Mapped[str] = mapped_column(Text)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    source: Mapped[str] = mapped_column(Text)
    tenths: Mapped[int]
    credits: Mapped[int]
    repaid_credits: Mapped[int]
    paid_credits: Mapped[int]
    queued_credits: Mapped[int]
    independent_of: Mapped[list[int]] = mapped_column(
        ARRAY(BigInteger), server_default=text("'{}'")
    )
    at: Mapped[datetime]


class EarnCancellation(Base):
    """An award turned out to be of one person with whom it had to be independent of: what waited of it
    left the queue.
    """

    __tablename__ = "earn_cancellation"
    __table_args__ = (
        CheckConstraint("credits > 0", name="credits"),
        Index("ix_earn_cancellation_account_id", "account_id"),
        LOG,
    )

    award_id: Mapped[int] = mapped_column(
        ForeignKey("earn_award.id"), primary_key=True, autoincrement=False
    )
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    credits: Mapped[int]
    at: Mapped[datetime]


class EarnGroupDebt(Base):
    """What is left of an account's debt that everybody of its group repays, once for each `key` of what
    the account did itself (api/areas/earn/rules/groups.py). More than the account owes is nothing.
    """

    __tablename__ = "earn_group_debt"
    __table_args__ = (
        CheckConstraint("left_credits >= 0", name="left_credits"),
        Index("ix_earn_group_debt_key", "key", "account_id", postgresql_where=IS_OWED),
    )

    account_id: Mapped[int] = mapped_column(
        ForeignKey("account.id"), primary_key=True, autoincrement=False
    )
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    left_credits: Mapped[int]


class EarnReversal(Base):
    """An award or a charge was taken back, once.

    Of an award `withdrawn_credits` left the queue and `owed_credits`, what was paid of it, became a
    debt; of a charge `restored_credits` came back.
    """

    __tablename__ = "earn_reversal"
    __table_args__ = (LOG,)

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    award_id: Mapped[int] = mapped_column(ForeignKey("earn_award.id"), unique=True)
    reason: Mapped[str] = mapped_column(Text)
    withdrawn_credits: Mapped[int]
    owed_credits: Mapped[int]
    restored_credits: Mapped[int]
    at: Mapped[datetime]


class EarnQueue(Base):
    """What of an award is not paid yet. `not_before`: a cap stopped it, so that nobody looks at it
    before that UTC day.
    """

    __tablename__ = "earn_queue"
    __table_args__ = (
        CheckConstraint("left_credits > 0", name="left_credits"),
        Index("ix_earn_queue_not_before_award_id", "not_before", "award_id"),
        Index("ix_earn_queue_account_id_award_id", "account_id", "award_id"),
    )

    award_id: Mapped[int] = mapped_column(
        ForeignKey("earn_award.id"), primary_key=True, autoincrement=False
    )
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    is_room: Mapped[bool]
    left_credits: Mapped[int]
    not_before: Mapped[date] = mapped_column(Date)


class EarnTotal(Base):
    """Figures of the whole queue, moved with it: `queued` items and `queued_credits`."""

    __tablename__ = "earn_total"
    __table_args__ = (CheckConstraint("n >= 0", name="n"),)

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    n: Mapped[int]


class EarnDay(Base):
    """Credits of a UTC day under a name: a cap's (api/areas/earn/rules/payout.py), or `restored`."""

    __tablename__ = "earn_day"
    __table_args__ = (CheckConstraint("credits >= 0", name="credits"),)

    day: Mapped[date] = mapped_column(Date, primary_key=True)
    name: Mapped[str] = mapped_column(Text, primary_key=True)
    credits: Mapped[int]


class EarnClaim(Base):
    """A task claim that was verified; what a reversed verdict took back no longer counts."""

    __tablename__ = "earn_claim"

    ref: Mapped[str] = mapped_column(Text, primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    verified_at: Mapped[datetime]
    taken_back_at: Mapped[datetime | None]


class EarnStanding(Base):
    """How many verified claims an account has: the projection of its claims."""

    __tablename__ = "earn_standing"
    __table_args__ = (CheckConstraint("verified_claims >= 0", name="verified_claims"),)

    account_id: Mapped[int] = mapped_column(
        ForeignKey("account.id"), primary_key=True, autoincrement=False
    )
    verified_claims: Mapped[int]


class EarnFeedRow(Base):
    """A line of the public ledger of work; what it shows was redacted before it came here.

    `ref` names the case that a row is of, so that a submission, its approval and its payments have
    one.
    """

    __tablename__ = "earn_feed"
    __table_args__ = (
        CheckConstraint(f"kind in {sql_list(FeedKind)}", name="kind"),
        Index("ix_earn_feed_account_id_id", "account_id", "id"),
        Index("ix_earn_feed_account_id_kind_id", "account_id", "kind", "id"),
        Index("ix_earn_feed_kind_id", "kind", "id"),
        Index("ix_earn_feed_ref_id", "ref", "id"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    kind: Mapped[str] = mapped_column(Text)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    ref: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime]
    token_id: Mapped[str | None] = mapped_column(Text)
    field_name: Mapped[str | None] = mapped_column(Text)
    shown_value: Mapped[str | None] = mapped_column(Text)
    evidence_host: Mapped[str | None] = mapped_column(Text)
    tenths: Mapped[int | None]
    credits: Mapped[int | None]
    task_id: Mapped[int | None]
    room_id: Mapped[int | None]
