"""The operations of the area custody: the custodial starter wallet."""

from api.areas.custody.service import starter
from api.kernel.auth import BY_KEY
from api.kernel.operation import Area, Read, Reason, Write

AREA = Area(
    name="custody",
    about="The custodial starter wallet.",
    operations=(
        Write(
            key="custody.provision",
            path="/agent/wallet/provision",
            auth=BY_KEY,
            scope="tx",
            summary="Get your custodial starter wallet; the first call creates it, later ones "
            "return the same address.",
            handler=starter.provision,
            refuses=("tw_feature_disabled",),
            idempotent=True,
        ),
        Write(
            key="custody.transfer",
            path="/agent/wallet/transfer-to-self-custody",
            auth=BY_KEY,
            scope="tx",
            summary="Move USDC of your starter wallet to your linked wallet; amount_usdc null moves "
            "all. The service pays the gas.",
            handler=starter.transfer,
            refuses=(
                "not_found",
                "tw_feature_disabled",
                "insufficient_idle",
                "wallet_not_linked",
                "wallet_waits",
            ),
            idempotent=True,
            statuses=(202,),
        ),
        Read(
            key="custody.transfers",
            path="/agent/wallet/transfers",
            auth=BY_KEY,
            scope="read",
            summary="Read your starter wallet's balance and the state of its transfers.",
            handler=starter.transfers,
            refuses=("not_found", "tw_feature_disabled"),
        ),
    ),
    reasons={
        "wallet_waits": Reason(
            409,
            True,
            "owner",
            ("custody.transfers",),
            example="Your wallet waits until 2026-02-01T00:00:00Z, or until the agent's owner "
            "confirms it.",
        ),
    },
)
