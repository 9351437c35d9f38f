"""Binds the rows custody.* of the catalogue to their commands and services."""

from api.areas.custody import schemas, service
from api.kernel.operation import NoInput, Operation

OPERATIONS = (
    Operation("custody.provision", NoInput, service.provision, schemas.StarterWallet, refuses=("tw_feature_disabled",)),
    Operation(
        "custody.transfer",
        schemas.TransferOut,
        service.transfer,
        schemas.TransferAsked,
        refuses=(
            "not_found",
            "tw_feature_disabled",
            "insufficient_idle",
            "wallet_not_linked",
            "wallet_waits",
        ),
    ),
    Operation(
        "custody.transfers",
        schemas.TransfersQuery,
        service.transfers,
        schemas.Transfers,
        refuses=(
            "not_found",
            "tw_feature_disabled",
        ),
    ),
)
