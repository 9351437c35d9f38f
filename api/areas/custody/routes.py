"""Binds the rows custody.* of the catalogue to their commands and services."""

from api.areas.custody import schemas, service
from api.kernel.operation import NoInput, Operation

OPERATIONS = (
    Operation("custody.provision", NoInput, service.provision, schemas.StarterWallet),
    Operation("custody.transfer", schemas.TransferOut, service.transfer, schemas.TransferAsked),
    Operation("custody.transfers", schemas.TransfersQuery, service.transfers, schemas.Transfers),
)
