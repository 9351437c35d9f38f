"""Binds the rows credits.* of the catalogue to their commands and services."""

from api.areas.credits import schemas, service
from api.kernel.operation import NoInput, Operation

OPERATIONS = (
    Operation("credits.balance", NoInput, service.balance, schemas.CreditBalance),
    Operation("credits.ledger", schemas.LedgerQuery, service.ledger, schemas.Ledger),
    Operation("credits.prices", NoInput, service.prices, schemas.Prices),
)
