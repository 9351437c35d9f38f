"""Every table, so that `Base.metadata` is whole wherever one of them is imported."""

from core.db.tables import alerts, chain, credits, identity, keeper, mandate, payments, transfers
from core.db.tables.base import Base

BOOKS = ("mandate_event", "credit_entry", "transfer_entry")  # append-only: triggers and grants guard them

__all__ = ["BOOKS", "Base", "alerts", "chain", "credits", "identity", "keeper", "mandate", "payments", "transfers"]
