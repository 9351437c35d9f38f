"""Binds the rows transfers.* of the catalogue to their commands and services."""

from api.areas.transfers import schemas, service
from api.kernel.operation import Operation

OPERATIONS = (
    Operation(
        "transfers.report",
        schemas.ReportTransfer,
        service.report,
        schemas.TransferReported,
        refuses=("duplicate_transfer", "insufficient_idle", "record_short"),
    ),
    Operation("transfers.balances", schemas.AgentBalances, service.balances, schemas.Balances, refuses=("not_owner",)),
)
