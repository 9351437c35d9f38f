"""Every table, so that `Base.metadata` is whole wherever one of them is imported."""

from core.db.tables import alerts, audit, chain, credits, custody, identity, jobs, keeper, mandate, payments, quarantine, safety, transfers
from core.db.tables.base import Base

BOOKS = ("mandate_event", "credit_entry", "transfer_entry")  # append-only: triggers and grants guard them
LOGS = (
    "agent_self_version",
    "defense_change",
    "audit_finding",
    "audit_resolution",
)  # append-only like the books, without a chain of hashes

__all__ = [
    "BOOKS",
    "LOGS",
    "Base",
    "alerts",
    "audit",
    "chain",
    "credits",
    "custody",
    "identity",
    "jobs",
    "keeper",
    "mandate",
    "payments",
    "quarantine",
    "safety",
    "transfers",
]
