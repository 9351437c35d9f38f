"""A vault's payment for a web resource: the guard looks at the signed terms, and signs what the x402 adapter takes."""

import secrets
from dataclasses import dataclass
from typing import Any, Final

from api.areas.mandates.schemas import ExecuteCall
from api.areas.mandates.service.key_limits import Mined, keep_signed
from api.areas.mandates.service.limits_now import Standing, refusals_left
from api.kernel.caller import AgentCaller
from api.kernel.operation import Call, Refusal
from api.kernel.payments.offer import ADAPTER
from core.chain.signer import DigestSigner
from core.errors import InvalidNumberError, InvalidParameterError
from core.mandate.chain import calldata
from core.mandate.chain.typed_data import guard_targets_hash, x402_payment_digest
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.guard import OwnService, guard_refusal, is_own
from core.mandate.rules.ledger import guard_refusal_note
from core.mandate.tables import Mandate
from core.mandate.venues import x402
from core.payments import signed_resources
from core.payments.chain import resource_hash
from core.payments.guard_signatures import Signed

HOUR_S: Final = 3_600
HOLDS_S: Final = 600  # from the latest block's time on, the last second included


@dataclass(frozen=True, slots=True)
class Paying:
    """The call of the adapter, what of it the answer shows, and what the guard signed."""

    inner: calldata.Call
    shown: dict[str, Any]
    resource: str
    resource_hash: str
    signed: Signed


def paying_call(call: Call, standing: Standing, vault: str, command: ExecuteCall, resource: str) -> Paying:
    """Each call signs a new nonce: whatever is paid, the caps count it. Nobody has the signature until `keep` has counted it.

    Errors: Refusal server_guard, which stands in the record; temporarily_unavailable without a guard; InvalidParameterError,
    InvalidNumberError.
    """
    own = OwnService(call.deps.base_url, None if call.deps.rails is None else call.deps.rails.pay_to)
    pay_to = _payee(command, own, resource)
    _require_allowed(call, standing, own, resource, pay_to)
    guard, adapter = _guard(call)
    payment: dict[str, Any] = {
        "pay_to": pay_to,
        "amount": command.amount_usdc,
        "resource_hash": resource_hash(resource),
        "nonce": "0x" + secrets.token_hex(32),
        "deadline": standing.now + HOLDS_S,
    }
    signature = guard.sign_digest(x402_payment_digest(adapter, call.deps.chain_id, vault, **payment))
    inner = calldata.Call(adapter, command.amount_usdc, x402.pay(**payment, guard_signature=signature))
    said = {name: payment[name] for name in ("pay_to", "resource_hash", "nonce", "deadline")}
    shown = {"payment": {"resource": resource, **said, "guard": guard.address, "guard_signature": signature}}
    signed = Signed(vault.lower(), payment["nonce"], command.amount_usdc, payment["deadline"])
    return Paying(inner, shown, resource, payment["resource_hash"], signed)


def keep(call: Call, caller: AgentCaller, standing: Standing, paying: Paying, mined: Mined) -> None:
    """The last step before the answer, since it locks the agent. Errors: Refusal spend_limit_reached, auth_invalid."""
    keep_signed(call, caller, paying.signed, mined)
    signed_resources.remember(call.db, standing.mandate.id, paying.resource_hash, paying.resource, call.now)


def _payee(command: ExecuteCall, own: OwnService, resource: str) -> str:
    """Errors: InvalidParameterError, InvalidNumberError."""
    if any(one is not None for one in (command.target, command.function, command.selector, command.args, command.data)):
        raise InvalidParameterError("resource", "send it with pay_to and amount_usdc alone: the target is the payment adapter")
    if command.amount_usdc == 0:
        raise InvalidNumberError("amount_usdc", "0", "write what the resource costs, above 0")
    if command.pay_to is not None:
        return command.pay_to
    if own.payee is None or not is_own(own, resource):
        raise InvalidParameterError("pay_to", "write whom the resource is paid by: payTo of its offer")
    return own.payee


def _require_allowed(call: Call, standing: Standing, own: OwnService, resource: str, pay_to: str) -> None:
    """Errors: Refusal server_guard; the note of it is kept, one a resource and hour, while the day takes more refusals."""
    mandate = standing.mandate
    why = _why_not(mandate, standing, own, resource, pay_to)
    if why is None:
        return
    if refusals_left(call, mandate) <= 0:
        raise Refusal("server_guard", f"{why} The record takes no more refusals today.")
    hour = int(call.now.timestamp()) // HOUR_S
    note = guard_refusal_note(detail=why, fact=f"guard:{resource_hash(resource)}:{hour}", now=call.now)
    mandate_ledger.append(call.db, mandate.id, note, call.now)
    raise Refusal("server_guard", f"{why} The refusal stands in the record.", keeps_write=True)


def _why_not(mandate: Mandate, standing: Standing, own: OwnService, resource: str, pay_to: str) -> str | None:
    """The lists count as the owner signed them: what gives another hash is no list."""
    if guard_targets_hash(mandate.guard_targets) != standing.terms.guard_targets_hash:
        return "The mandate's lists are not those that its owner signed."
    return guard_refusal(mandate.guard_targets, own, resource, pay_to)


def _guard(call: Call) -> tuple[DigestSigner, str]:
    adapter = call.deps.contracts.get(ADAPTER)
    if call.deps.guard is None or adapter is None:
        raise Refusal("temporarily_unavailable", "This service has no guard to sign payments of vaults; its operator sets one.")
    return call.deps.guard, adapter
