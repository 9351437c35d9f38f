"""A maker asks for the vault of its pilot; operators approve, record its address, or reject."""

from api.areas.fund.schemas import (
    CreationRequestPath,
    CreationRequestShown,
    FundVaultPath,
    MarkCreated,
    RejectCreation,
)
from api.areas.fund.service.shown import no_vault, vault_of
from api.areas.safety.checks import require_not_own, require_unlocked
from api.kernel.caller import AgentCaller, BearerCaller, OperatorCaller, OwnerCaller
from api.kernel.operation import Answer, Call, NextCall, ReadCall, Refusal, WriteCall
from core.fund import creation
from core.fund import queries as fund
from core.fund.rules.creation import (
    CreationState,
    CreationStateError,
    PerpVaultError,
    PilotTooYoungError,
)
from core.fund.tables import FundCreationRequest, FundVault
from core.hexes import address_or_none, bytes_of
from core.times import instant_text, instant_text_or_none, whole_second

Maker = AgentCaller | OwnerCaller | BearerCaller


def request(call: WriteCall, caller: Maker, command: FundVaultPath) -> Answer[CreationRequestShown]:
    """Errors: Refusal not_found, not_maker, account_locked, perp_vault, pilot_too_young."""
    vault = fund.hold_vault(call.db, command.id)
    if vault is None:
        raise no_vault(command.id)
    _require_maker(vault, caller.account_id)
    require_unlocked(call, caller.account_id)
    try:
        made, is_new = creation.ask(call.db, vault, caller.account_id, call.now)
    except PerpVaultError as error:
        raise Refusal(
            "perp_vault",
            f"Vault {vault.id} is a perp vault; only a spot vault is created by request.",
        ) from error
    except PilotTooYoungError as error:
        until = whole_second(error.until)
        raise Refusal(
            "pilot_too_young",
            f"The pilot of vault {vault.id} is less than 30 days old; ask from "
            f"{instant_text(until)} on.",
            retry_at=until,
            next_calls=(NextCall("fund.request_creation", {"id": str(vault.id)}),),
        ) from error
    return Answer(_shown(call, made), status=201 if is_new else 200)


def read(
    call: ReadCall, caller: Maker | OperatorCaller, command: FundVaultPath
) -> Answer[CreationRequestShown]:
    """Errors: Refusal not_found, not_maker."""
    vault = vault_of(call, command.id)
    if not isinstance(caller, OperatorCaller):
        _require_maker(vault, caller.account_id)
    found = creation.last_of(call.db, vault.id)
    if found is None:
        raise Refusal(
            "not_found",
            f"Nobody has asked for the creation of vault {vault.id} yet.",
            next_calls=(NextCall("fund.request_creation", {"id": str(vault.id)}),),
        )
    return Answer(_shown(call, found))


def approve(
    call: WriteCall, caller: OperatorCaller, command: CreationRequestPath
) -> Answer[CreationRequestShown]:
    """Errors: Refusal not_found, conflict_of_interest, wrong_status."""
    return _move(call, caller, command.id, CreationState.APPROVED)


def mark_created(
    call: WriteCall, caller: OperatorCaller, command: MarkCreated
) -> Answer[CreationRequestShown]:
    """Errors: InvalidParameterError; Refusal not_found, conflict_of_interest, wrong_status."""
    address = bytes_of(command.address)
    return _move(call, caller, command.id, CreationState.CREATED, address=address)


def reject(
    call: WriteCall, caller: OperatorCaller, command: RejectCreation
) -> Answer[CreationRequestShown]:
    """Errors: InvalidParameterError; Refusal not_found, conflict_of_interest, wrong_status."""
    return _move(call, caller, command.id, CreationState.REJECTED, reason=command.reason)


def _move(
    call: WriteCall,
    caller: OperatorCaller,
    request_id: int,
    wanted: CreationState,
    *,
    address: bytes | None = None,
    reason: str | None = None,
) -> Answer[CreationRequestShown]:
    found = creation.held(call.db, request_id)
    if found is None:
        raise Refusal(
            "not_found", f"There is no creation request {request_id}.", next_calls=("queue.list",)
        )
    require_not_own(call, caller, found.account_id, f"Creation request {found.id}")
    try:
        creation.move(
            call.db, found, wanted, caller.account_id, call.now, address=address, reason=reason
        )
    except CreationStateError as error:
        raise Refusal("wrong_status", f"{error}.", next_calls=("queue.list",)) from error
    return Answer(_shown(call, found))


def _require_maker(vault: FundVault, account_id: int) -> None:
    """Errors: Refusal not_maker."""
    if vault.maker_id != account_id:
        raise Refusal(
            "not_maker",
            f"Vault {vault.id} is not yours; its maker asks for it and reads its creation request.",
        )


def _shown(call: Call, request: FundCreationRequest) -> CreationRequestShown:
    kept = creation.with_moves(call.db, request)
    created = kept.moves.get(CreationState.CREATED)
    rejected = kept.moves.get(CreationState.REJECTED)
    return CreationRequestShown(
        request_id=request.id,
        vault_id=request.vault_id,
        state=CreationState(request.state),
        requested_at=instant_text(request.requested_at),
        approved_at=instant_text_or_none(kept.at(CreationState.APPROVED)),
        created_at=instant_text_or_none(kept.at(CreationState.CREATED)),
        address=None if created is None else address_or_none(created.address),
        rejected_at=instant_text_or_none(kept.at(CreationState.REJECTED)),
        reason=None if rejected is None else rejected.reason,
    )
