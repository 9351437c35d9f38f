"""What an agent may call: `allowed_targets` as the API takes them and shows them.

Laws
- A list of bare addresses is no safety boundary: an allowed venue's `withdraw(amount, to = thief)`
  never shows as a drop in USDC. So a rule is a function of a target with the word that must be the
  vault; leaving it unpinned is said aloud.
- Reading what is stored (`stored_targets`) takes every list that was ever stored. What may be
  written today is read by `parse_targets` and checked in target_checks.py, and what a list means on
  chain is made in expansion.py.
- A pin ties the receiver to the vault only on a word that the full signature makes a static
  `address`.

Source: docs/rules.md#allowed-targets.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.errors import InvalidParameterError
from core.mandate.rules.terms import MAX_RULES, UNPINNED, address_from_text
from core.selectors import OFFSET, argument_words, head_words, selector_from_text, selector_of

MAX_GUARD_ENTRIES: Final = 32  # hosts, and payees, of one x402 entry

KIND_VAULT: Final = "mandate_vault"
KIND_CONTRACT: Final = "contract"
KIND_X402: Final = "x402"

_ADDRESS_BYTES: Final = 20
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?=[^:]{{1,253}}(:|\Z)){_LABEL}(\.{_LABEL})*(:[1-9][0-9]{{0,4}})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class TargetFunction:
    """One function that an owner allows.

    `recipient_word` None: not pinned. `signature` None: only the selector is known.
    """

    selector: str
    signature: str | None
    recipient_word: int | None
    is_exit: bool

    @property
    def name(self) -> str:
        """The signature, or the selector where only that is known."""
        return self.signature or self.selector

    @property
    def pinned_type(self) -> str | None:
        """The type of the pinned word; None without a pin, without a signature, and for a word
        behind the head.
        """
        if self.recipient_word is None or self.signature is None:
            return None
        words = head_words(self.signature)
        return words[self.recipient_word] if self.recipient_word < len(words) else None

    @property
    def is_tied(self) -> bool:
        """True when the pin holds the receiver to the vault; any other pinned word is a decoy."""
        return self.pinned_type == "address"

    @property
    def tied_argument(self) -> int | None:
        """The number, from 1, of the only argument that is tied to the vault, where the caller may
        name another receiver.

        None when nothing is tied, and when no other word of the head may hold an address: neither
        an `address`, `function` or `bytes20` to `bytes32`, nor the offset of a dynamic argument. Of
        a tied tuple or array, one word alone is tied.
        """
        if not self.is_tied or self.signature is None or self.recipient_word is None:
            return None
        owners = [
            (number, word)
            for number, words in enumerate(argument_words(self.signature), 1)
            for word in words
        ]
        tied, _ = owners.pop(self.recipient_word)
        return tied if any(_may_name_a_receiver(word) for _, word in owners) else None


def _may_name_a_receiver(word: str) -> bool:
    """Integers and shorter bytes are taken for amounts and numbers."""
    return word in ("address", "function", OFFSET) or (
        word.startswith("bytes") and int(word.removeprefix("bytes")) >= _ADDRESS_BYTES
    )


@dataclass(frozen=True, slots=True)
class VaultTarget:
    """`{kind: mandate_vault}`: the project's own adapters."""

    chain_id: int


@dataclass(frozen=True, slots=True)
class ContractTarget:
    """One contract.

    `functions` None: all that a listed adapter publishes. `says_unpinned`: the owner said so aloud.
    """

    chain_id: int
    address: str
    functions: tuple[TargetFunction, ...] | None
    says_unpinned: bool = False

    @property
    def untied(self) -> tuple[TargetFunction, ...]:
        """The functions whose receiver is not tied to the vault: left open by the owner, or pinned
        on a decoy.

        A function without a pin that the owner did not declare is a listed adapter's, which pays
        its caller.
        """
        untied = (function for function in self.functions or () if not function.is_tied)
        return tuple(
            function
            for function in untied
            if self.says_unpinned or function.recipient_word is not None
        )


@dataclass(frozen=True, slots=True)
class X402Target:
    """Payments for web resources.

    Both lists empty: our own service only. Sorted, without duplicates.
    """

    hosts: tuple[str, ...]
    payees: tuple[str, ...]


Target = VaultTarget | ContractTarget | X402Target


# Reading


def parse_targets(items: Sequence[Any] | None, chain_id: int) -> tuple[Target, ...]:
    """Read `allowed_targets` as it is written, in any of the accepted forms; None is the default
    list.

    Also reads back what `targets_to_json` wrote; pins are not judged here (`check_targets`). Order
    is kept.
    Errors: InvalidParameterError naming the entry; a list that names more than 32 functions is
    refused before any is read.
    """
    if items is None:
        return (VaultTarget(chain_id), X402Target((), ()))
    _refuse_other_forms(items)
    named = sum(len(functions) for functions in map(_functions_as_written, items))
    if named > MAX_RULES:
        raise InvalidParameterError(
            "allowed_targets", f"they name {named} functions; 1 to {MAX_RULES} are possible"
        )
    return _read_targets(items, chain_id)


def stored_targets(items: Sequence[Any] | None, chain_id: int) -> tuple[Target, ...]:
    """Read a list that was stored, today or earlier; None is the default list.

    A signature that today's rules do not read gives way to the selector that was stored with it, so
    that one old row stops no reading of many. Errors: InvalidParameterError for what was never
    stored.
    """
    if items is None:
        return parse_targets(None, chain_id)
    _refuse_other_forms(items)
    return _read_targets([_readable(item) for item in items], chain_id)


def _refuse_other_forms(items: object) -> None:
    if isinstance(items, str | bytes) or not isinstance(items, Sequence):
        raise InvalidParameterError(
            "allowed_targets", "write a list, or leave it out for the default"
        )
    if not 1 <= len(items) <= MAX_RULES:
        raise InvalidParameterError(
            "allowed_targets", f"write 1 to {MAX_RULES} entries; leave it out for the default"
        )


def _functions_as_written(item: object) -> Sequence[Any]:
    """The functions that an entry names, unread; none where it names no list of them."""
    functions = item.get("functions") if isinstance(item, Mapping) else None
    return (
        functions
        if isinstance(functions, Sequence) and not isinstance(functions, str | bytes)
        else ()
    )


def _readable(item: Any) -> Any:
    functions = _functions_as_written(item)
    return (
        {**item, "functions": [_readable_function(function) for function in functions]}
        if functions
        else item
    )


def _readable_function(item: Any) -> Any:
    signature = item.get("signature") if isinstance(item, Mapping) else None
    if not isinstance(signature, str) or item.get("selector") is None:
        return item
    try:
        head_words(signature)
    except InvalidParameterError:
        return {**item, "signature": None}
    return item


def _read_targets(items: Sequence[Any], chain_id: int) -> tuple[Target, ...]:
    targets = tuple(
        _target(item, chain_id, f"allowed_targets[{index}]") for index, item in enumerate(items)
    )
    _refuse_repeats(targets)
    return targets


def _target(item: object, chain_id: int, field: str) -> Target:
    if isinstance(item, str):
        return ContractTarget(chain_id, address_from_text(item, field), None)
    if not isinstance(item, Mapping):
        raise InvalidParameterError(field, "write an address or an object with a kind")
    kind = item.get("kind")
    if kind is None or kind == KIND_CONTRACT:
        return _contract_target(item, chain_id, field)
    if kind == KIND_X402:
        return _x402_target(item, field)
    if kind == KIND_VAULT:
        # The address is shown on reads once the vault exists; what a caller sends back is not what
        # decides it.
        _only(item, {"kind", "chain_id", "address"}, field)
        return VaultTarget(_chain(item, chain_id, field))
    raise InvalidParameterError(f"{field}.kind", f"{KIND_CONTRACT}, {KIND_X402} or {KIND_VAULT}")


def _contract_target(item: Mapping[str, Any], chain_id: int, field: str) -> ContractTarget:
    _only(item, {"kind", "chain_id", "address", "functions", "unpinned"}, field)
    functions = item.get("functions")
    if functions is not None:
        functions = _functions(functions, f"{field}.functions")
    address = address_from_text(item.get("address"), f"{field}.address")
    return ContractTarget(
        _chain(item, chain_id, field), address, functions, _flag(item, "unpinned", field)
    )


def _functions(items: object, field: str) -> tuple[TargetFunction, ...]:
    if (
        not isinstance(items, Sequence)
        or isinstance(items, str | bytes)
        or not 1 <= len(items) <= MAX_RULES
    ):
        raise InvalidParameterError(
            field,
            f"a list of 1 to {MAX_RULES} functions; leave it out only for the project's adapters",
        )
    functions = tuple(_function(item, f"{field}[{index}]") for index, item in enumerate(items))
    if len({function.selector for function in functions}) < len(functions):
        raise InvalidParameterError(field, "name each function once")
    return functions


def _function(item: object, field: str) -> TargetFunction:
    if not isinstance(item, Mapping):
        raise InvalidParameterError(
            field, "an object {selector or signature, recipient_word, exit}"
        )
    _only(item, {"selector", "signature", "recipient_word", "exit"}, field)
    signature = item.get("signature")
    if signature is not None and not isinstance(signature, str):
        raise InvalidParameterError(f"{field}.signature", "write a function such as sell(uint256)")
    word = _recipient_word(item.get("recipient_word"), f"{field}.recipient_word")
    return TargetFunction(
        _selector(item, signature, field), signature, word, _flag(item, "exit", field)
    )


def _selector(item: Mapping[str, Any], signature: str | None, field: str) -> str:
    given = item.get("selector")
    if signature is None:
        return selector_from_text(given, f"{field}.selector")
    hashed = selector_of(signature, f"{field}.signature")
    if given is not None and selector_from_text(given, f"{field}.selector") != hashed:
        raise InvalidParameterError(
            f"{field}.selector", f"the signature's selector is {hashed}; send one of the two"
        )
    return hashed


def _recipient_word(word: object, field: str) -> int | None:
    if word is None:
        return None
    if isinstance(word, bool) or not isinstance(word, int) or not 0 <= word < UNPINNED:
        raise InvalidParameterError(field, f"a whole number from 0 to {UNPINNED - 1}, or null")
    return word


def _x402_target(item: Mapping[str, Any], field: str) -> X402Target:
    _only(item, {"kind", "hosts", "payees"}, field)
    hosts = [_host(host, f"{field}.hosts") for host in _list(item, "hosts", field)]
    payees = [address_from_text(payee, f"{field}.payees") for payee in _list(item, "payees", field)]
    return X402Target(tuple(sorted(set(hosts))), tuple(sorted(set(payees))))


def _host(text: object, field: str) -> str:
    if not isinstance(text, str) or not _HOST.fullmatch(text.lower()):
        raise InvalidParameterError(
            field, "a host such as api.example.com or api.example.com:8443, without scheme or path"
        )
    return text.lower()


def _list(item: Mapping[str, Any], key: str, field: str) -> Sequence[Any]:
    found = item.get(key)
    if found is None:
        return ()
    if (
        isinstance(found, str | bytes)
        or not isinstance(found, Sequence)
        or len(found) > MAX_GUARD_ENTRIES
    ):
        raise InvalidParameterError(f"{field}.{key}", f"a list of at most {MAX_GUARD_ENTRIES}")
    return found


def _chain(item: Mapping[str, Any], chain_id: int, field: str) -> int:
    named = item.get("chain_id")
    if named is not None and (isinstance(named, bool) or named != chain_id):
        raise InvalidParameterError(f"{field}.chain_id", f"the mandate lives on chain {chain_id}")
    return chain_id


def _flag(item: Mapping[str, Any], key: str, field: str) -> bool:
    flag = item.get(key)
    if flag is not None and not isinstance(flag, bool):
        raise InvalidParameterError(f"{field}.{key}", "true or false")
    return bool(flag)


def _only(item: Mapping[str, Any], known: set[str], field: str) -> None:
    for key in item:
        if key not in known:
            raise InvalidParameterError(
                f"{field}.{key}", f"no such field; known are {', '.join(sorted(known))}"
            )


def _refuse_repeats(targets: Sequence[Target]) -> None:
    seen: set[str] = set()
    for index, target in enumerate(targets):
        name = target.address if isinstance(target, ContractTarget) else type(target).__name__
        if name in seen:
            raise InvalidParameterError(f"allowed_targets[{index}]", "name each target once")
        seen.add(name)


# Writing


def targets_to_json(
    targets: Iterable[Target], vault_address: str | None = None
) -> list[dict[str, Any]]:
    """The list in its one canonical form; the vault's entry shows the vault's address once there is
    one, else null.
    """
    return [_target_to_json(target, vault_address) for target in targets]


def _target_to_json(target: Target, vault_address: str | None) -> dict[str, Any]:
    if isinstance(target, VaultTarget):
        return {"kind": KIND_VAULT, "chain_id": target.chain_id, "address": vault_address}
    if isinstance(target, X402Target):
        return {"kind": KIND_X402, "hosts": list(target.hosts), "payees": list(target.payees)}
    functions = (
        None
        if target.functions is None
        else [_function_to_json(function) for function in target.functions]
    )
    return {
        "kind": KIND_CONTRACT,
        "chain_id": target.chain_id,
        "address": target.address,
        "functions": functions,
        "unpinned": target.says_unpinned,
    }


def _function_to_json(function: TargetFunction) -> dict[str, Any]:
    return {
        "selector": function.selector,
        "signature": function.signature,
        "recipient_word": function.recipient_word,
        "exit": function.is_exit,
    }


def guard_targets(targets: Iterable[Target]) -> list[dict[str, Any]]:
    """What the relay guard enforces; the keccak256 of its RFC 8785 form is signed as
    guardTargetsHash.

    One object {kind, hosts, payees}, both sorted, or an empty list when the mandate allows no such
    payment.
    """
    return [_target_to_json(target, None) for target in targets if isinstance(target, X402Target)]
