"""The strategy of a draft, read from the listing that it names
(docs/gallery.md#a-draft-that-follows-a-listing).
"""

from typing import Any

from api.areas.gallery.rules import ListingStatus, strategy_row, values_of
from api.areas.gallery.views import find_listing
from api.areas.mandates.schemas.commands import DraftTerms
from api.kernel.operation import Call, Refusal
from core.errors import InvalidParameterError
from core.house import House


def strategy_of(
    call: Call, command: DraftTerms, *, field: str = "listing_id"
) -> dict[str, Any] | None:
    """What the draft keeps of the listing that it names. `field`: where the caller named it.

    Errors: InvalidParameterError, InvalidNumberError; Refusal invalid_parameter.
    """
    if command.listing_id is None:
        if command.listing_params:
            raise InvalidParameterError("listing_params", "send listing_id with it")
        return None
    listing = find_listing(call.db, command.listing_id)
    if listing is None or listing.status is not ListingStatus.LISTED:
        raise Refusal(
            "invalid_parameter",
            f"{field}: write the id of a listing that is in the gallery now, or leave it out.",
            next_calls=("gallery.list",),
        )
    values = values_of(listing.offer.editable_params, command.listing_params or {})
    runner = call.deps.parts.of(House).runner_of(listing.agent_id)
    return strategy_row(listing.public_id, listing.offer, listing.operator, runner, values)
