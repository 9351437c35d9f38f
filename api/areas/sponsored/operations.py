"""The operations of the area sponsored: purchases of reserve tokens whose gas the service pays, and
what gas costs.
"""

from api.areas.sponsored.service import buys, gas
from api.kernel.auth import ANYBODY, BY_KEY
from api.kernel.operation import Area, Read, Reason, Write

EXAMPLE_BUYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
AREA = Area(
    name="sponsored",
    about="Purchases of reserve tokens whose gas the service pays.",
    operations=(
        Write(
            key="sponsored.prepare",
            path="/reserve/buy/sponsored/prepare",
            auth=BY_KEY,
            scope="tx",
            summary="Get a quote for a purchase and the two documents to sign: the net amount, and "
            "the gas fee to the pool's treasury.",
            more="Before signing, compare both documents with what you asked for, and "
            "recompute the nonces.",
            handler=buys.prepare,
            example={"usd": "10.000000", "buyer": EXAMPLE_BUYER},
            refuses=(
                "below_minimum",
                "buyer_has_code",
                "insufficient_usdc",
                "sponsor_unavailable",
                "gas_price_unknown",
            ),
        ),
        Write(
            key="sponsored.buy",
            path="/reserve/buy/sponsored",
            auth=BY_KEY,
            scope="tx",
            summary="Submit both signatures; the service sends both transfers in one transaction.",
            handler=buys.buy,
            refuses=(
                "not_found",
                "quote_expired",
                "signature_invalid",
                "already_handed_in",
                "buyer_has_code",
                "insufficient_usdc",
                "sponsor_unavailable",
            ),
            idempotent=True,
            statuses=(202,),
        ),
        Read(
            key="sponsored.read",
            path="/reserve/buy/sponsored/{id}",
            auth=BY_KEY,
            summary="Read which of the two transfers is final, and what to do next.",
            handler=buys.read,
        ),
        Write(
            key="sponsored.gas_quote",
            path="/gas/quote",
            auth=ANYBODY,
            summary="Read what gas costs now, by action, in USDC.",
            more="The node is asked at most once every 5 seconds; calls in between get the "
            "same answer.",
            handler=gas.quote,
            refuses=("gas_price_unknown",),
        ),
    ),
    reasons={
        "below_minimum": Reason(
            400,
            False,
            "caller",
            ("sponsored.prepare", "reserve.config"),
            example="usd: a sponsored buy needs at least 5.000000 USDC, and you asked for 4.999999.",
        ),
        "insufficient_usdc": Reason(
            409,
            False,
            "owner",
            ("sponsored.prepare",),
            example="buyer: it holds 20.000000 USDC, 14.000000 of it pledged to buys under way; this one "
            "takes 10.020000 with its fee. Send 4.020000 USDC to it and prepare it again, or prepare one "
            "of 5.980000 or less.",
        ),
        "buyer_has_code": Reason(
            409,
            False,
            "caller",
            ("sponsored.prepare", "reserve.config"),
            example="buyer: there is code at its address; a sponsored buy needs a wallet that has "
            "only a key.",
        ),
        "quote_expired": Reason(
            409,
            False,
            "caller",
            ("sponsored.prepare",),
            example="id: the quote was good until 2026-02-01T00:05:00Z; prepare another.",
        ),
        "already_handed_in": Reason(
            409,
            False,
            "caller",
            ("sponsored.read",),
            example="fee_signature: buy sb_abcdefghij234567 was already handed in with another "
            "signature, which counts.",
        ),
        "sponsor_unavailable": Reason(
            503,
            True,
            "service",
            ("reserve.config",),
            example="Sponsored buys are not accepted right now: the sponsor is short of ETH. "
            "Nothing was sent; ask again later, or buy with your own gas.",
        ),
        "gas_price_unknown": Reason(
            503,
            True,
            "service",
            ("sponsored.gas_quote", "reserve.config"),
            example="The price of ETH in USDC is unknown, so gas has no price in USDC: fewer than 3 "
            "exchanges have a fresh price of it.",
        ),
    },
)
