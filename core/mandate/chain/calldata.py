"""Call data for every function of our contracts that the product calls, and back.

All builders answer 0x lower-case hex.

Amounts are USDC base units, times unix seconds, addresses hex in any case, hashes and bytes 0x hex.
Nothing here reads the chain; the contracts check every argument again. Errors of all builders:
AbiEncodeError. Calls of adapters stand with their venues.
Source: contracts/interfaces/*.sol; core/mandate/venues.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cache
from typing import Any

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from core.chain.abi import (
    CONTRACTS,
    AbiDecodeError,
    AbiEncodeError,
    FunctionAbi,
    creation_code,
    function,
    functions_by_selector,
)
from core.hexes import bytes_of, hex_of
from core.mandate.rules.terms import MandateTerms, Rule
from core.money import usdc_text

TRANSFER_WITH_BYTES = (
    "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
)


@dataclass(frozen=True, slots=True)
class VaultCall:
    """One call of the agent or of an unwind.

    `max_spend`: USDC base units the target may pull, inclusive.
    """

    target: str
    max_spend: int
    data: str


@dataclass(frozen=True, slots=True)
class Funding:
    """Money that arrives with the creation; amount 0 = none.

    Both time bounds are exclusive (EIP-3009).
    """

    amount: int = 0
    valid_after: int = 0
    valid_before: int = 0
    signature: str = "0x"


NO_FUNDING = Funding()


def terms_tuple(terms: MandateTerms) -> tuple[Any, ...]:
    """The struct `MandateTerms` in Solidity's order."""
    return astuple(terms)


def rule_tuple(rule: Rule) -> tuple[str, str, int, int]:
    """The struct `Rule` in Solidity's order."""
    return rule.target, rule.selector, rule.recipient_word, int(rule.kind)


def ascii_word(text: str) -> str:
    """A bytes32 that holds ASCII text, as reasons do.

    Errors: AbiEncodeError when it does not fit.
    """
    if not text.isascii() or len(text) > 32:
        raise AbiEncodeError(f"{text!r} does not fit 32 ASCII characters")
    return hex_of(text.encode().ljust(32, b"\0"))


# Factory


def create_vault(
    terms: MandateTerms, rules: Sequence[Rule], signature: str = "0x", funding: Funding = NO_FUNDING
) -> str:
    """Needs the owner's signature, or the owner as sender, or the owner's funding authorization."""
    rules_ = [rule_tuple(rule) for rule in rules]
    return function("MandateVaultFactory", "createVault").encode(
        terms_tuple(terms), rules_, signature, astuple(funding)
    )


def cancel_terms(terms: MandateTerms) -> str:
    return function("MandateVaultFactory", "cancelTerms").encode(terms_tuple(terms))


def propose_keeper(proposed_keeper: str) -> str:
    return function("MandateVaultFactory", "proposeKeeper").encode(proposed_keeper)


def accept_keeper() -> str:
    return function("MandateVaultFactory", "acceptKeeper").encode()


def cancel_keeper_proposal() -> str:
    return function("MandateVaultFactory", "cancelKeeperProposal").encode()


def list_adapter(adapter: str) -> str:
    return function("MandateVaultFactory", "listAdapter").encode(adapter)


def delist_adapter(adapter: str) -> str:
    return function("MandateVaultFactory", "delistAdapter").encode(adapter)


# Vault


def deposit(amount: int) -> str:
    """The owner must have approved the vault for `amount`."""
    return function("MandateVault", "deposit").encode(amount)


def withdraw(token: str, to: str, amount: int) -> str:
    """`amount` in base units of `token`."""
    return function("MandateVault", "withdraw").encode(token, to, amount)


def set_agent(agent: str) -> str:
    return function("MandateVault", "setAgent").encode(agent)


def remove_agent() -> str:
    return function("MandateVault", "removeAgent").encode()


def execute(call: VaultCall) -> str:
    return function("MandateVault", "execute").encode(astuple(call))


def execute_batch(calls: Sequence[VaultCall]) -> str:
    return function("MandateVault", "executeBatch").encode([astuple(call) for call in calls])


def check(calls: Sequence[VaultCall]) -> str:
    return function("MandateVault", "check").encode([astuple(call) for call in calls])


def mark() -> str:
    return function("MandateVault", "mark").encode()


def stop(reason: str) -> str:
    """`reason` is text of at most 32 ASCII characters. Errors: AbiEncodeError."""
    return function("MandateVault", "stop").encode(ascii_word(reason))


def enforce_stop_line() -> str:
    return function("MandateVault", "enforceStopLine").encode()


def unwind(calls: Sequence[VaultCall]) -> str:
    """Exit rules only; every `max_spend` must be 0."""
    return function("MandateVault", "unwind").encode([astuple(call) for call in calls])


def settle() -> str:
    return function("MandateVault", "settle").encode()


# USDC


def approve(spender: str, amount: int) -> str:
    return function("MockUSDC", "approve").encode(spender, amount)


def transfer(to: str, amount: int) -> str:
    return function("MockUSDC", "transfer").encode(to, amount)


def transfer_with_authorization(
    from_: str,
    to: str,
    amount: int,
    valid_after: int,
    valid_before: int,
    nonce: str,
    signature: str,
) -> str:
    """EIP-3009 in the bytes form; anybody may send it."""
    return function("MockUSDC", TRANSFER_WITH_BYTES).encode(
        from_, to, amount, valid_after, valid_before, nonce, signature
    )


# Any function


def function_of(data: str) -> FunctionAbi | None:
    """The function of our contracts that this call data names, if it is one."""
    for contract in CONTRACTS:
        found = functions_by_selector(contract).get(data[:10].lower())
        if found is not None:
            return found
    return None


def calls_of(data: str) -> tuple[VaultCall, ...] | None:
    """The calls inside execute, executeBatch, check or unwind call data; None for anything else.

    Errors: AbiDecodeError when the arguments are cut short.
    """
    named = functions_by_selector("MandateVault").get(data[:10].lower())
    if named is None or named.name not in ("execute", "executeBatch", "unwind", "check"):
        return None
    (argument,) = named.decode_input(data)
    return tuple(
        VaultCall(*item) for item in ((argument,) if named.name == "execute" else argument)
    )


def attempted_of(data: str) -> dict[str, Any] | None:
    """What the call data asked the vault for: {target, selector, amount_usdc}; of a batch the first
    call and the sum.

    Another function of the vault: {function}. None when it can't be read.
    """
    try:
        calls = calls_of(data)
    except AbiDecodeError:
        return None
    if not calls:
        named = function_of(data)
        return None if named is None else {"function": named.name}
    asked = {
        "target": calls[0].target,
        "selector": calls[0].data[:10],
        "amount_usdc": usdc_text(sum(call.max_spend for call in calls)),
    }
    return asked if len(calls) == 1 else asked | {"calls": len(calls)}


_SHELL = "VaultShell"  # the creation code of every vault


@cache
def _shell_hash() -> bytes:
    return bytes(keccak(hexstr=creation_code(_SHELL)))


def vault_address(factory: str, terms_digest: str) -> str:
    """The vault's checksum address.

    Source: MandateVaultFactory.predictVault (EIP-1014, the salt is the digest).
    """
    packed = b"\xff" + bytes_of(factory) + bytes_of(terms_digest) + _shell_hash()
    return str(to_checksum_address(keccak(packed)[12:]))
