"""Sellers offer strategies, signals, vault deposits and models (docs/gallery.md)."""

import re
import secrets
from collections.abc import Sequence
from typing import Final

from api.areas.gallery import queries as gallery
from api.areas.gallery.rules import (
    CREATION_WINDOW,
    MAY_BECOME,
    Citation,
    ListingOffer,
    ListingStatus,
    ParamType,
    PriceModel,
    ProductType,
    StrategyParam,
    check_offer,
    number,
)
from api.areas.gallery.schemas import (
    LISTING_ID_PATTERN,
    CitedClaim,
    CreateListing,
    EditableParam,
    Gallery,
    GalleryQuery,
    Listing,
    ListingPath,
)
from api.areas.gallery.views import ShownListing, find_listing, listed
from api.areas.records.views.strip import strips_of
from api.kernel.caller import AgentCaller, Nobody, OwnerCaller
from api.kernel.operation import Answer, Call, NextCall, ReadCall, Refusal, WriteCall
from api.kernel.pagination import page_of
from core.errors import InvalidParameterError
from core.house import House
from core.identity import queries as identity
from core.times import instant_text, whole_second

ID_CHARACTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"

Seller = AgentCaller | OwnerCaller

# Read


def browse(call: ReadCall, caller: Nobody, command: GalleryQuery) -> Answer[Gallery]:
    """What is listed, the newest first."""
    page = page_of(call, "gallery.list", command)
    wanted = None if command.product_type is None else ProductType(command.product_type)
    found = listed(call.db, wanted, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda listing: listing.place)
    return Answer(Gallery(listings=_views(call, shown), next_cursor=next_cursor))


def read(call: ReadCall, caller: Nobody, command: ListingPath) -> Answer[Listing]:
    """One listing, of any status: a draft is in no list, and whoever has its id may read it.

    Errors: Refusal not_found.
    """
    return Answer(_views(call, [_found(call, command.id)])[0])


# Write


def create(call: WriteCall, caller: Seller, command: CreateListing) -> Answer[Listing]:
    """Errors: InvalidParameterError, InvalidNumberError; Refusal not_found, not_owner,
    gallery_full, rate_limited.
    """
    agent_id = _seller(call, caller, command.agent_id)
    offer = _offer(command)
    check_offer(offer, call.now.date())
    identity.lock_owner(call.db, agent_id)  # of two calls at once one makes the last listing
    _require_room(call, agent_id)
    public_id = "l_" + "".join(secrets.choice(ID_CHARACTERS) for _ in range(10))
    status = ListingStatus(command.status)
    gallery.add_listing(call.db, public_id, agent_id, offer, status, _made_by(caller), call.now)
    return Answer(_views(call, [_found(call, public_id)])[0], status=201)


def list_(call: WriteCall, caller: Seller, command: ListingPath) -> Answer[Listing]:
    return _moved(call, caller, command.id, ListingStatus.LISTED)


def withdraw(call: WriteCall, caller: Seller, command: ListingPath) -> Answer[Listing]:
    return _moved(call, caller, command.id, ListingStatus.WITHDRAWN)


def _moved(call: WriteCall, caller: Seller, public_id: str, to: ListingStatus) -> Answer[Listing]:
    """Errors: Refusal not_found, not_owner, wrong_status."""
    listing = _found(call, public_id)
    if not _is_own(caller, listing.agent_id, listing.owner_id):
        raise Refusal(
            "not_owner",
            f"Listing {public_id} is agent {listing.agent_id}'s; only the agent and its "
            "owner can list or withdraw it.",
            next_calls=(NextCall("gallery.read", {"id": public_id}),),
        )
    shelf = gallery.lock_shelf(call.db, listing.id)
    status = ListingStatus(shelf.status)
    if to not in MAY_BECOME[status]:
        rule = "only a draft can be listed" if to is ListingStatus.LISTED else "it stays withdrawn"
        raise Refusal(
            "wrong_status",
            f"The listing is {'a draft' if status is ListingStatus.DRAFT else status}; {rule}.",
            next_calls=(NextCall("gallery.read", {"id": public_id}),),
        )
    gallery.set_status(call.db, shelf, to, _made_by(caller), call.now)
    call.db.flush()
    return Answer(_views(call, [_found(call, public_id)])[0])


def _seller(call: Call, caller: Seller, named: str | None) -> int:
    """The agent that sells.

    Errors: InvalidParameterError; Refusal not_found, not_owner.
    """
    if named is None:
        if isinstance(caller, AgentCaller):
            return caller.account_id
        raise InvalidParameterError("agent_id", "send it; an owner names the agent that sells")
    agent = identity.find_agent(call.db, int(named))
    if agent is None:
        raise _not_to_name(caller, "not_found", f"no agent has the id {named}")
    if not _is_own(caller, agent.id, agent.owner_id):
        raise _not_to_name(caller, "not_owner", f"agent {agent.id} is not yours")
    return agent.id


def _not_to_name(caller: Seller, reason: str, fault: str) -> Refusal:
    """`agent_id` names somebody that the caller does not sell for."""
    if isinstance(caller, AgentCaller):
        return Refusal(
            reason, f"agent_id: {fault}; leave it out, and you are the seller.", next_calls=()
        )
    return Refusal(
        reason, f"agent_id: {fault}; name an agent of your own.", next_calls=("agents.mine",)
    )


def _is_own(caller: Seller, agent_id: int, owner_id: int | None) -> bool:
    own = agent_id if isinstance(caller, AgentCaller) else owner_id
    return own is not None and own == caller.account_id


def _made_by(caller: Seller) -> gallery.MadeBy:
    return "agent" if isinstance(caller, AgentCaller) else "owner"


def _require_room(call: WriteCall, agent_id: int) -> None:
    """Errors: Refusal gallery_full, rate_limited."""
    limits = call.deps.limits
    open_ids = gallery.open_listings(call.db, agent_id, limits.open_listings)
    if len(open_ids) >= limits.open_listings:
        raise Refusal(
            "gallery_full",
            f"Agent {agent_id} already has {limits.open_listings} listings that are not "
            "withdrawn, the limit; withdraw one first.",
            remaining={"open_listings": 0},
            next_calls=(NextCall("gallery.withdraw", {"id": open_ids[0]}),) if open_ids else (),
        )
    nth_at = gallery.nth_newest_at(call.db, agent_id, limits.listings_in_24_hours)
    if nth_at is None or nth_at <= call.now - CREATION_WINDOW:
        return
    again = whole_second(nth_at + CREATION_WINDOW)
    raise Refusal(
        "rate_limited",
        f"Agent {agent_id} has already made {limits.listings_in_24_hours} listings in 24 "
        f"hours, the limit; make the next one from {instant_text(again)} on.",
        remaining={"listings": 0},
        retry_at=again,
        next_calls=("gallery.list",),
    )


def _found(call: Call, public_id: str) -> ShownListing:
    if not re.fullmatch(LISTING_ID_PATTERN, public_id):
        raise Refusal(
            "not_found",
            "id: no listing has this id; an id is l_ and 10 characters from a to z and 2 to 7.",
            next_calls=("gallery.list",),
        )
    found = find_listing(call.db, public_id)
    if found is None:
        raise Refusal(
            "not_found", f"No listing has the id {public_id}.", next_calls=("gallery.list",)
        )
    return found


def _offer(command: CreateListing) -> ListingOffer:
    return ListingOffer(
        product_type=ProductType(command.product_type),
        title=command.title,
        summary=command.summary,
        price_model=PriceModel(command.price_model),
        ref_vault_id=command.ref_vault_id,
        markets=tuple(command.markets),
        editable_params=tuple(
            StrategyParam(
                name=param.name,
                type=ParamType(param.type),
                min_e6=param.min,
                max_e6=param.max,
                default_e6=param.default,
            )
            for param in command.editable_params
        ),
        cited=tuple(Citation(**one.model_dump()) for one in command.cited),
    )


def _views(call: Call, listings: Sequence[ShownListing]) -> list[Listing]:
    """With the records of all, read at once."""
    house = call.deps.parts.of(House)
    runners = {one.agent_id: house.runner_of(one.agent_id) for one in listings}
    records = strips_of(call, set(runners.values()), is_runner=True)
    return [
        Listing.of(
            one.offer,
            id=one.public_id,
            status=one.status,
            status_at=instant_text(one.status_at),
            agent_id=str(one.agent_id),
            operator=one.operator,
            house=house.is_house(one.agent_id),
            runner_agent_id=str(runners[one.agent_id]),
            markets=list(one.offer.markets),
            editable_params=[_param(param) for param in one.offer.editable_params],
            cited=[_claim(citation) for citation in one.offer.cited],
            created_at=instant_text(one.created_at),
            record=records.get(runners[one.agent_id]),
        )
        for one in listings
    ]


def _param(param: StrategyParam) -> EditableParam:
    return EditableParam(
        name=param.name,
        type=param.type,
        min=number(param.type, param.min_e6),
        max=number(param.type, param.max_e6),
        default=number(param.type, param.default_e6),
    )


def _claim(citation: Citation) -> CitedClaim:
    return CitedClaim.of(citation, as_of_date=citation.as_of_date.isoformat())
