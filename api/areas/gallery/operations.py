"""The operations of the area gallery."""

from api.areas.gallery import service
from api.kernel.auth import ANYBODY, BY_KEY_OR_OWNER
from api.kernel.operation import Area, CallBounds, Family, Read, Reason, Write

EXAMPLE = {
    "product_type": "strategy_template",
    "title": "Slow units",
    "summary": "Buys units of the test venue in equal parts and holds them.",
    "price_model": "free",
    "markets": ["test venue"],
    "editable_params": [
        {"name": "parts", "type": "int", "min": 1, "max": 24, "default": 6},
        {"name": "hold_ratio", "type": "float", "min": "0", "max": "1", "default": "0.25"},
    ],
    "cited": [
        {
            "url": "https://example.com/units",
            "source_name": "Example Research",
            "as_of_date": "2026-01-31",
            "claim_text": "Units rose in 7 of 12 months.",
        }
    ],
}

AREA = Area(
    name="gallery",
    about="The gallery: strategies, signals, vault deposits and models that sellers offer.",
    operations=(
        Read(
            key="gallery.list",
            path="/mandate-wallet/gallery",
            auth=ANYBODY,
            family=Family.WALLET,
            summary="List the gallery's offers, newest first, with the records of the agents that "
            "run them.",
            handler=service.browse,
        ),
        Read(
            key="gallery.read",
            path="/mandate-wallet/gallery/{id}",
            auth=ANYBODY,
            family=Family.WALLET,
            summary="Read a listing with the record of the agent that runs it.",
            handler=service.read,
        ),
        Write(
            key="gallery.create",
            bounds=CallBounds(adds_rows=True),
            path="/mandate-wallet/gallery",
            auth=BY_KEY_OR_OWNER,
            family=Family.WALLET,
            scope="tx",
            summary="Offer a strategy, signals, a vault deposit or a model.",
            handler=service.create,
            example=EXAMPLE,
            refuses=("not_found", "not_owner", "gallery_full"),
            idempotent=True,
            statuses=(201,),
        ),
        Write(
            key="gallery.publish",
            bounds=CallBounds(adds_rows=True),
            path="/mandate-wallet/gallery/{id}/list",
            auth=BY_KEY_OR_OWNER,
            family=Family.WALLET,
            scope="tx",
            summary="Publish a draft listing of yours in the gallery.",
            handler=service.list_,
            refuses=("not_owner", "wrong_status"),
            idempotent=True,
        ),
        Write(
            key="gallery.withdraw",
            path="/mandate-wallet/gallery/{id}/withdraw",
            auth=BY_KEY_OR_OWNER,
            family=Family.WALLET,
            scope="tx",
            summary="Withdraw a listing of yours permanently.",
            handler=service.withdraw,
            refuses=("not_owner", "wrong_status"),
            idempotent=True,
        ),
    ),
    reasons={
        "gallery_full": Reason(
            409,
            False,
            "caller",
            ("gallery.list",),
            "Agent 1001 already has 20 listings that are not withdrawn, the limit; withdraw "
            "one first.",
        ),
    },
    capabilities=("gallery",),
)
