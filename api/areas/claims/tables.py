"""What the community claims of tokens."""

from datetime import datetime

from sqlalchemy import ARRAY, CheckConstraint, ForeignKey, Identity, Index, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from api.areas.claims.rules.claims import PUBLISHED, ClaimKind, ClaimState
from core.db.base import LOG, Base, sql_list

# Of indexes, and of queries as these very words: a prepared statement must not lose them.
IS_PUBLISHED = text(f"state in {sql_list(PUBLISHED)}")
IS_WAITING = text(f"state = '{ClaimState.UNVERIFIED}'")


class KgClaim(Base):
    """One claim. `person`: who an owner and all agents of theirs are together; `groups`: the keys that
    its agent shared with others (api/areas/earn/rules/groups.py); `counted_as`: whose it is where one of a
    group is shown, if not its person's; `words`: a digest of the claim as it is compared; `state`: of its newest verdict.
    """

    __tablename__ = "kg_claim"
    __table_args__ = (
        CheckConstraint(f"kind in {sql_list(ClaimKind)}", name="kind"),
        CheckConstraint(f"state in {sql_list(ClaimState)}", name="state"),
        CheckConstraint("source_url like 'https://%'", name="source_url"),
        Index("ix_kg_claim_token_state_id", "token", "state", "id"),
        Index("ix_kg_claim_person_made_at", "person", "made_at"),
        Index("ix_kg_claim_published", "id", postgresql_where=IS_PUBLISHED),
        Index("ix_kg_claim_published_token_id", "token", "id", postgresql_where=IS_PUBLISHED),
        Index("ix_kg_claim_waiting", "id", postgresql_where=IS_WAITING),
        Index(
            "ix_kg_claim_waiting_groups",
            "groups",
            postgresql_using="gin",
            postgresql_where=IS_WAITING,
        ),
        Index("uq_kg_claim_words", "token", "words", unique=True, postgresql_where=IS_PUBLISHED),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    token: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(Text)
    claim: Mapped[str] = mapped_column(Text)
    words: Mapped[str] = mapped_column(Text)
    source_url: Mapped[str] = mapped_column(Text)
    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    person: Mapped[str] = mapped_column(Text)
    groups: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    counted_as: Mapped[str | None] = mapped_column(Text)
    state: Mapped[str] = mapped_column(Text)
    made_at: Mapped[datetime]
    decided_at: Mapped[datetime | None]


class KgClaimVerdict(Base):
    """An operator's verdict; the newest of a claim holds."""

    __tablename__ = "kg_claim_verdict"
    __table_args__ = (
        CheckConstraint("verdict in ('verified', 'rejected')", name="verdict"),
        Index("ix_kg_claim_verdict_claim_id_id", "claim_id", "id"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    claim_id: Mapped[int] = mapped_column(ForeignKey("kg_claim.id"))
    verdict: Mapped[str] = mapped_column(Text)
    operator_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    note: Mapped[str | None] = mapped_column(Text)
    at: Mapped[datetime]
