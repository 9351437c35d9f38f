"""A vault's payment for a web resource: the guard looks at the signed terms, and signs what the
x402 adapter takes.

Laws
- What this service sells is signed for at its own URL, price and payee alone: anything else would
  be paid and buy nothing.
- A payment that is asked for again while its signature can still be used has the same nonce: an
  answer that was lost counts once.
- Nobody has a signature until `keep` has counted it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from eth_utils.crypto import keccak

from api.areas.mandates.rules.guard import OwnService, guard_refusal, host_of, is_own
from api.areas.mandates.schemas.commands import ExecuteCall
from api.areas.mandates.service.key_limits import Mined, keep_signed, require_within_key_limits
from api.areas.mandates.service.limits_now import Standing, refusals_left
from api.kernel.caller import AgentCaller
from api.kernel.operation import Call, Operation, Refusal, WriteCall
from api.payments.offer import ADAPTER
from api.payments.payment_config import PaymentConfig
from api.payments.resources import metered, priced_at
from api.shared.signers import OwnSigners
from core.chain.signer import DigestSigner
from core.errors import InvalidNumberError, InvalidParameterError, OutsideError
from core.hexes import hex_of
from core.mandate.chain import calldata
from core.mandate.chain.typed_data import guard_targets_hash, x402_payment
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.new_rows import guard_refusal_note
from core.mandate.tables import Mandate
from core.mandate.venues import x402
from core.money import usdc_text
from core.payments import guard_signatures, signed_resources
from core.payments.chain import resource_hash, used_nonces
from core.payments.guard_signatures import SignedByGuard

HOUR_S: Final = 3_600
HOLDS_S: Final = 600  # from the latest block's time on, the last second included
# a signature with less time left is not answered again: its transaction might come too late
USABLE_S: Final = 60


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be paid, by which agent's call. `vault` in lower case."""

    agent_id: int
    vault: str
    resource: str
    pay_to: str
    amount_usdc_e6: int

    def until(self, deadline: int) -> SignedByGuard:
        """Its signature with this deadline.

        The nonce follows from both, so that an outstanding one is known again.
        """
        signed = (
            str(self.agent_id),
            self.vault,
            self.pay_to.lower(),
            str(self.amount_usdc_e6),
            self.resource,
            str(deadline),
        )
        return SignedByGuard(
            self.vault, hex_of(keccak(text="\n".join(signed))), self.amount_usdc_e6, deadline
        )


@dataclass(frozen=True, slots=True)
class Paying:
    """The call of the adapter, what of it the answer shows, and what the guard signed.

    `used`: signatures for the same that the chain has taken. `mined`: see `keep_signed`.
    """

    wanted: Wanted
    inner: calldata.VaultCall
    shown: dict[str, Any]
    signed: SignedByGuard
    used: frozenset[SignedByGuard]
    mined: Mined


def paying_call(
    call: WriteCall,
    caller: AgentCaller,
    standing: Standing,
    vault: str,
    command: ExecuteCall,
    resource: str,
) -> Paying:
    """Errors: Refusal server_guard, which is in the record; spend_limit_reached;
    temporarily_unavailable without a guard; InvalidParameterError, InvalidNumberError.
    """
    payments = call.deps.parts.find(PaymentConfig)
    own = OwnService(call.deps.base_url, None if payments is None else payments.pay_to)
    pay_to = _payee(command, own, resource)
    _require_allowed(call, standing, own, resource, pay_to)
    if host_of(resource) == host_of(own.base_url):
        _require_buys(call, own, resource, pay_to, command.amount_usdc)
    wanted = Wanted(caller.account_id, vault.lower(), resource, pay_to, command.amount_usdc)
    before, used, again = _before(call, caller, standing, wanted)
    mined: Mined = frozenset()
    if again is None:
        try:
            mined = require_within_key_limits(call, caller, command.amount_usdc)
        except Refusal:  # what has used the limit up since may be this payment, asked for at once
            before, used, again = _before(call, caller, standing, wanted)
            if again is None:
                raise
    if again is not None:
        return _signed(call, wanted, again, used, mined)
    deadline = standing.now + HOLDS_S
    while wanted.until(deadline) in before:
        deadline -= 1
    return _signed(call, wanted, wanted.until(deadline), used, mined)


def _before(
    call: Call, caller: AgentCaller, standing: Standing, wanted: Wanted
) -> tuple[list[SignedByGuard], frozenset[SignedByGuard], SignedByGuard | None]:
    """What was signed for this payment, what of it has paid, and what can still pay."""
    before = [
        one
        for one in guard_signatures.outstanding(call.db, caller.account_id, standing.now)
        if one == wanted.until(one.deadline)
    ]
    used = _used(call, before)
    return before, used, next((one for one in before if _is_usable(one, standing, used)), None)


def keep(
    call: WriteCall,
    caller: AgentCaller,
    standing: Standing,
    paying: Paying,
    check: Mapping[str, Any],
) -> Paying:
    """The last step before the answer, since it locks the agent.

    What the check says no to goes to nobody and counts nothing.

    Of calls at once for the same payment all get the signature of the first.
    Errors: Refusal server_guard, spend_limit_reached, rate_limited, auth_invalid.
    """
    if check["ok"] is False:
        detail = (
            f"The vault would refuse this payment: {check['reason']}. The guard did not sign "
            "it; ask again when that has changed."
        )
        raise Refusal("server_guard", detail)
    wanted, used = paying.wanted, paying.used

    def is_same(one: SignedByGuard) -> bool:
        return one == wanted.until(one.deadline) and _is_usable(one, standing, used)

    kept = keep_signed(call, caller, paying.signed, paying.mined, is_same)
    signed_resources.remember(
        call.db, standing.mandate.id, resource_hash(wanted.resource), wanted.resource, call.now
    )
    return paying if kept == paying.signed else _signed(call, wanted, kept, used, paying.mined)


def _is_usable(signed: SignedByGuard, standing: Standing, used: frozenset[SignedByGuard]) -> bool:
    return signed.deadline >= standing.now + USABLE_S and signed not in used


def _used(call: Call, signed: list[SignedByGuard]) -> frozenset[SignedByGuard]:
    """Those that have paid at the newest block.

    None is known while no node answers: what is answered again then pays once at most.
    """
    adapter = call.deps.contracts.get(ADAPTER)
    if adapter is None or not signed:
        return frozenset()
    try:
        nonces = used_nonces(
            call.deps.chain, adapter, [(one.vault, one.nonce) for one in signed], "latest"
        )
    except OutsideError:
        return frozenset()
    return frozenset(one for one in signed if (one.vault, one.nonce) in nonces)


def _signed(
    call: Call, wanted: Wanted, signed: SignedByGuard, used: frozenset[SignedByGuard], mined: Mined
) -> Paying:
    guard, adapter = _guard(call)
    payment: dict[str, Any] = {
        "pay_to": wanted.pay_to,
        "amount": wanted.amount_usdc_e6,
        "resource_hash": resource_hash(wanted.resource),
        "nonce": signed.nonce,
        "deadline": signed.deadline,
    }
    signature = guard.sign_digest(
        x402_payment(adapter, call.deps.chain_id, wanted.vault, **payment).digest
    )
    inner = calldata.VaultCall(
        adapter, wanted.amount_usdc_e6, x402.pay(**payment, guard_signature=signature)
    )
    fields = {name: payment[name] for name in ("pay_to", "resource_hash", "nonce", "deadline")}
    shown = {
        "payment": {
            "resource": wanted.resource,
            **fields,
            "guard": guard.address,
            "guard_signature": signature,
        }
    }
    return Paying(wanted, inner, shown, signed, used, mined)


def _payee(command: ExecuteCall, own: OwnService, resource: str) -> str:
    """Errors: InvalidParameterError, InvalidNumberError."""
    if any(
        one is not None
        for one in (command.target, command.function, command.selector, command.args, command.data)
    ):
        raise InvalidParameterError(
            "resource",
            "send it only with pay_to and amount_usdc: the target is the payment adapter",
        )
    if command.amount_usdc == 0:
        raise InvalidNumberError("amount_usdc", "0", "write what the resource costs, above 0")
    if command.pay_to is not None:
        return command.pay_to
    if own.payee is None or not is_own(own, resource):
        raise InvalidParameterError(
            "pay_to", "write the address to pay for the resource: payTo of its offer"
        )
    return own.payee


def _require_buys(
    call: Call, own: OwnService, resource: str, pay_to: str, amount_usdc_e6: int
) -> None:
    """Errors: InvalidParameterError, InvalidNumberError, for a payment that this service would
    serve nothing for.
    """
    catalogue = call.deps.catalogue
    operation = priced_at(catalogue, own.base_url, resource)
    if operation is None:
        sold = ", ".join(
            f"{one.method} {one.path} for {_price_text(one)}" for one in metered(catalogue)
        )
        rule = (
            "nothing is sold at this URL; write it exactly as in resource.url of the 402. "
            f"{own.base_url} sells {sold}"
        )
        raise InvalidParameterError("resource", rule)
    if own.payee is None or pay_to.lower() != own.payee.lower():
        payee = own.payee or "nobody, since payments are off"
        raise InvalidParameterError(
            "pay_to", f"this resource costs {_price_text(operation)}, paid to {payee}"
        )
    if amount_usdc_e6 != _price_of(operation):
        rule = (
            f"this resource costs {_price_text(operation)}; write exactly that, since another "
            "amount buys nothing"
        )
        raise InvalidNumberError("amount_usdc", usdc_text(amount_usdc_e6), rule)


def _price_of(operation: Operation) -> int | None:
    """In USDC base units; None: it is not sold for any."""
    return None if operation.sold is None else operation.sold.price.usdc_e6


def _price_text(operation: Operation) -> str:
    amount = _price_of(operation)
    return "credits alone" if amount is None else f"{usdc_text(amount)} USDC"


def _require_allowed(
    call: WriteCall, standing: Standing, own: OwnService, resource: str, pay_to: str
) -> None:
    """Errors: Refusal server_guard; the note of it is kept, one a resource and hour, while the day
    takes more refusals.
    """
    mandate = standing.mandate
    why = _why_not(mandate, standing, own, resource, pay_to)
    if why is None:
        return
    if refusals_left(call, mandate) <= 0:
        raise Refusal("server_guard", f"{why} The record accepts no more refusals today.")
    hour = int(call.now.timestamp()) // HOUR_S
    note = guard_refusal_note(
        detail=why, fact=f"guard:{resource_hash(resource)}:{hour}", now=call.now
    )
    mandate_ledger.append(call.db, mandate.id, note, call.now)
    raise Refusal(
        "server_guard",
        f"{why} The refusal is in the record.",
        keeps_write=True,
    )


def _why_not(
    mandate: Mandate, standing: Standing, own: OwnService, resource: str, pay_to: str
) -> str | None:
    """The lists count as the owner signed them: what gives another hash is no list."""
    if guard_targets_hash(mandate.guard_targets) != standing.terms.guard_targets_hash:
        return "The mandate's lists differ from those that its owner signed."
    return guard_refusal(mandate.guard_targets, own, resource, pay_to)


def _guard(call: Call) -> tuple[DigestSigner, str]:
    signer, adapter = call.deps.parts.of(OwnSigners).guard, call.deps.contracts.get(ADAPTER)
    if signer is None or adapter is None:
        raise Refusal(
            "temporarily_unavailable",
            "This service has no guard to sign payments from vaults; its operator must set one.",
        )
    return signer, adapter
