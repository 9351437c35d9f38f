"""The operations of the area orders: the operator's own orders at the perpetuals venue."""

from api.areas.orders import service
from api.kernel.auth import BY_OPERATOR
from api.kernel.operation import Area, Family, Reason, Write

PATH = "/mandate-wallet/order"
CONFIRM_ID = "0x" + "5e" * 16

AREA = Area(
    name="orders",
    about="The operator's own orders at the perpetuals venue, signed with its own key.",
    operations=(
        Write(
            key="orders.prepare",
            path=PATH,
            auth=BY_OPERATOR,
            family=Family.WALLET,
            summary="Prepare an order of the operator's account; nothing is sent.",
            more="The answer contains what to sign. Sign it within a minute, then send the "
            "signature to /mandate-wallet/order/execute, or send the order yourself and record the "
            "result.",
            handler=service.prepare,
            example={
                "sign_mode": "client",
                "coin": "BTC",
                "side": "buy",
                "type": "market",
                "size": "0.001",
            },
            refuses=(
                "tw_feature_disabled",
                "order_type_not_live",
                "over_order_cap",
                "position_not_reduced",
            ),
            idempotent=True,
            statuses=(201,),
        ),
        Write(
            key="orders.execute",
            path=f"{PATH}/execute",
            auth=BY_OPERATOR,
            family=Family.WALLET,
            summary="Relay a prepared order with your signature, once; repeating the call returns "
            "its status.",
            more="While the status is unknown, repeat the call: the venue accepts a signed "
            "order only once.",
            handler=service.execute,
            example={"confirm_id": CONFIRM_ID, "signature": "0x" + "00" * 65},
            refuses=(
                "tw_feature_disabled",
                "not_found",
                "signature_invalid",
                "over_order_cap",
                "position_not_reduced",
                "order_unsettled",
            ),
        ),
        Write(
            key="orders.record",
            path=f"{PATH}/record",
            auth=BY_OPERATOR,
            family=Family.WALLET,
            summary="Record the result of a prepared order and the signal it follows; the venue "
            "has to confirm it.",
            handler=service.record,
            example={"confirm_id": CONFIRM_ID, "outcome": "not_sent"},
            refuses=(
                "tw_feature_disabled",
                "not_found",
                "wrong_status",
                "order_unsettled",
                "outcome_disproved",
            ),
        ),
    ),
    reasons={
        "order_type_not_live": Reason(
            400,
            False,
            "caller",
            ("orders.prepare",),
            example="type: market and limit are available, twap is not yet; write one of them.",
        ),
        "over_order_cap": Reason(
            409,
            False,
            "caller",
            (),
            example="size: the order could fill 1200.000000 USDC at most, and one order may fill "
            "1000.000000; prepare a smaller one.",
        ),
        "position_not_reduced": Reason(
            409,
            False,
            "caller",
            (),
            example="reduce_only: the account holds 0 BTC, so selling 0.5 does not reduce it.",
        ),
        "order_unsettled": Reason(
            409,
            True,
            "caller",
            (),
            example="The venue does not know the order yet, and accepts it until 12:01:00 UTC; ask "
            "again then.",
        ),
        "outcome_disproved": Reason(
            409,
            False,
            "caller",
            (),
            example="outcome: the venue says accepted, not not_sent; record that.",
        ),
    },
    capabilities=("operator_orders",),
)
