"""Typed reads of the factory, its vaults and their adapters, each at a named block
(core.chain.reader).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from core.chain import results
from core.chain.abi import WORD_BYTES, AbiDecodeError, call_by_signature, function
from core.chain.errors import RpcRefusedError, RpcRevertedError
from core.chain.nodes import Request
from core.chain.reader import LATEST, VIEW_GAS, At, ChainReader, block_argument
from core.hexes import bytes_of
from core.mandate.chain import calldata, lens
from core.mandate.chain.calldata import VaultCall
from core.mandate.chain.lens import (
    LensForm,
    LensMissingError,
    LensPosition,
    LensReading,
    LensRow,
    NotSeenError,
    VaultTotals,
    seen_of,
)
from core.mandate.rules.lifecycle import VaultStatus
from core.mandate.rules.terms import MAX_RULES, MandateTerms, Rule, RuleKind
from core.mandate.rules.worth import VaultSeen

MOST_RULES_BYTES = WORD_BYTES * (2 + 4 * MAX_RULES)  # offset and length, then four words a rule


@dataclass(frozen=True, slots=True)
class Remaining:
    """MandateVault.remaining(). `window_frees_at` 0: nothing is counted in the window."""

    per_action: int
    today: int
    total: int
    window_frees_at: int


@dataclass(frozen=True, slots=True)
class VaultLock:
    """MandateVault.lock().

    `reason` is the ASCII word, empty when withdrawable; `until` 0: no lock by time.
    """

    withdrawable: bool
    reason: str
    until: int


@dataclass(frozen=True, slots=True)
class AdapterReading:
    """What one adapter says of one vault at one block.

    Each None: that answer failed or was no such value, so it is unknown.

    `units`: IAdapter.positionOf, in the adapter's own units. `worth_usdc_e6`: valueOf, which is
    what counts.
    `unit_price_e6`: unitPrice, USDC base units for 1e6 units; multiply it only when `is_linear` is
    True.
    """

    units: int | None
    worth_usdc_e6: int | None
    unit_price_e6: int | None
    is_linear: bool | None


UNREAD_ADAPTER = AdapterReading(None, None, None, None)


def rule_of(value: tuple[Any, ...]) -> Rule:
    """A decoded struct `Rule`. Errors: AbiDecodeError on an unknown kind."""
    target, selector, recipient_word, kind = value
    try:
        return Rule(target, selector, recipient_word, RuleKind(kind))
    except ValueError as error:
        raise AbiDecodeError(f"rule kind {kind} is not one of 0 to 3") from error


class VaultReader(ChainReader):
    """Reads of one chain and of the vaults on it."""

    def _vault(self, vault: str, name: str, at: At, *arguments: Any) -> Any:
        return self.view("MandateVault", name, vault, at, *arguments)

    def _factory(self, name: str, at: At, *arguments: Any) -> Any:
        return self.view("MandateVaultFactory", name, self.contracts["factory"], at, *arguments)

    # Factory

    def predict_vault(self, terms_digest: str, at: At = LATEST) -> str:
        """Where the vault of these terms is or will be."""
        return str(self._factory("predictVault", at, terms_digest))

    def terms_digest(self, terms: MandateTerms, at: At = LATEST) -> str:
        return str(self._factory("termsDigest", at, calldata.terms_tuple(terms)))

    def is_vault(self, address: str, at: At = LATEST) -> bool:
        return bool(self._factory("isVault", at, address))

    def is_adapter(self, address: str, at: At = LATEST) -> bool:
        return bool(self._factory("isAdapter", at, address))

    def is_pauser(self, account: str, at: At = LATEST) -> bool:
        return bool(self._factory("isPauser", at, account))

    def is_cancelled(self, terms_digest: str, at: At = LATEST) -> bool:
        return bool(self._factory("isCancelled", at, terms_digest))

    def keeper(self, at: At = LATEST) -> str:
        return str(self._factory("keeper", at))

    def usdc_of_factory(self, at: At = LATEST) -> str:
        """The token of the factory's vaults, as the factory says."""
        return str(self._factory("usdc", at))

    def guard(self, at: At = LATEST) -> str:
        return str(self._factory("guard", at))

    # Vaults

    def status(self, vault: str, at: At = LATEST) -> VaultStatus:
        index = self._vault(vault, "status", at)
        if index >= len(VaultStatus):
            raise AbiDecodeError(f"{index} is not a status of a vault")
        return VaultStatus(index)

    def agent(self, vault: str, at: At = LATEST) -> str:
        """Zero address when removed, stopped or not yet set."""
        return str(self._vault(vault, "agent", at))

    def payee(self, vault: str, at: At = LATEST) -> str:
        """Zero address on the open board until an agent spends."""
        return str(self._vault(vault, "payee", at))

    def owner(self, vault: str, at: At = LATEST) -> str:
        return str(self._vault(vault, "owner", at))

    def worth(self, vault: str, at: At = LATEST) -> tuple[int, int] | None:
        """What the vault measures, and the part of it at cost; None: a venue that it asks reverts."""
        try:
            worth, unvalued_out = self._vault(vault, "worth", at)
        except RpcRevertedError:
            return None
        return int(worth), int(unvalued_out)

    def stop_floor(self, vault: str, at: At = LATEST) -> int:
        return int(self._vault(vault, "stopFloor", at))

    def fee_owed(self, vault: str, at: At = LATEST) -> int:
        return int(self._vault(vault, "feeOwed", at))

    def remaining(self, vault: str, at: At = LATEST) -> Remaining:
        return Remaining(*self._vault(vault, "remaining", at))

    def lock(self, vault: str, at: At = LATEST) -> VaultLock:
        withdrawable, reason, until = self._vault(vault, "lock", at)
        try:
            return VaultLock(withdrawable, bytes_of(reason).rstrip(b"\0").decode("ascii"), until)
        except UnicodeDecodeError as error:
            raise AbiDecodeError(f"{reason} is not a reason in ASCII") from error

    def totals(self, vault: str, at: At = LATEST) -> VaultTotals:
        return VaultTotals(*self._vault(vault, "totals", at))

    def lens_position(self, vault: str, at: At = LATEST) -> LensPosition | None:
        """All of a vault, at one block; None: the node can read none there.

        Errors: also LensMissingError.
        """
        form = lens.POSITIONS
        rows = self.rpc.call(*self.lens_call(form, [vault], at), form.answer_of(1))
        if rows is None:
            raise LensMissingError(f"there is no code at {self.contracts[lens.LENS]} at {at}")
        position: LensPosition | None = rows[0].reading
        return position

    def lens_of_each(
        self, vaults: Sequence[str], within_s: float, at: At = LATEST
    ) -> dict[str, dict[str, LensRow[LensReading]]]:
        """What each node's lens says of at most MOST_VAULTS vaults, by the node's name; of the first
        ones, and of one at least. A node that fails is left out.
        """
        form = lens.READINGS
        by_node = self.rpc.batch_of_each(
            [self.lens_call(form, vaults, at)], within_s, parse=[form.answer_of(len(vaults))]
        )
        return {
            node: dict(zip(vaults, answers[0], strict=False))
            for node, answers in by_node.items()
            if isinstance(answers[0], tuple)
        }

    def lens_call(self, form: LensForm[Any], vaults: Sequence[str], at: At = LATEST) -> Request:
        """What `form.answer_of` reads the answer of."""
        call = {
            "to": self.contracts[lens.LENS],
            "data": form.encode(vaults),
            "gas": hex(lens.LENS_GAS),
        }
        return "eth_call", [call, block_argument(at)]

    def vault_seen(self, vault: str, at: At = LATEST) -> VaultSeen:
        """All of a vault, at one block. Errors: also NotSeenError, LensMissingError."""
        position = self.lens_position(vault, at)
        if position is None:
            raise NotSeenError(f"the node cannot read vault {vault} at {at}")
        return seen_of(vault, position)

    def check(self, vault: str, calls: Sequence[VaultCall], at: At = LATEST) -> bytes:
        """The error data that the agent's execute or executeBatch would revert with; empty: the
        vault would let it pass.
        """
        return bytes_of(
            str(
                self.view(
                    "MandateVault",
                    "check",
                    vault,
                    at,
                    [(c.target, c.max_spend, c.data) for c in calls],
                )
            )
        )

    # Adapters and USDC

    def adapter_rules(self, adapter: str, at: At = LATEST) -> tuple[Rule, ...]:
        """What a listed adapter publishes.

        Errors: RpcRevertedError, AbiDecodeError when it is no adapter at all.

        An answer too long for MAX_RULES is not decoded: its size is the adapter's choice.
        """
        abi = function("IAdapter", "rules")
        answer = self.call(adapter, abi.encode(), at, gas=VIEW_GAS)
        if len(answer) > MOST_RULES_BYTES:
            raise AbiDecodeError(f"{len(answer)} bytes are more than {MAX_RULES} rules")
        return tuple(rule_of(rule) for rule in abi.decode_output(answer)[0])

    def adapter_readings(
        self, adapters: Sequence[str], vault: str, at: At = LATEST
    ) -> dict[str, AdapterReading]:
        """What each adapter says of the vault, all at one block: a tag is fixed to its block's hash
        first.

        An adapter that reverts, or answers anything but such a value, is unknown where it did, and
        hides no other; so is all of it when the node does not have that block. Errors:
        RpcUnreachableError.
        """
        if not adapters:
            return {}
        header = self.header(at)
        here = at if header is None else header.hash
        try:
            return self._readings(adapters, vault, here)
        except RpcRefusedError:
            # Some nodes word the failure of one contract's code as their own, and refuse the whole
            # batch with it.
            return {adapter: self._reading_alone(adapter, vault, here) for adapter in adapters}

    def _readings(self, adapters: Sequence[str], vault: str, at: At) -> dict[str, AdapterReading]:
        calls = [
            ("eth_call", [{"to": adapter, "data": data, "gas": hex(VIEW_GAS)}, block_argument(at)])
            for adapter in adapters
            for data in _adapter_questions(vault)
        ]
        answers = iter(self.rpc.batch_settled(calls, [results.code] * len(calls)))
        return {
            adapter: AdapterReading(
                *(_answer_or_none(name, next(answers)) for name in ADAPTER_VIEWS)
            )
            for adapter in adapters
        }

    def _reading_alone(self, adapter: str, vault: str, at: At) -> AdapterReading:
        try:
            return self._readings([adapter], vault, at)[adapter]
        except RpcRefusedError:
            return UNREAD_ADAPTER

    def exit_trials(
        self, vault: str, adapter: str, exits: Sequence[str], at: At = LATEST
    ) -> list[int | RpcRefusedError]:
        """What calls of the vault to the adapter would bring now, each tried alone and none sent: the
        USDC base units that it returns, or why it failed.

        Errors: RpcError; AbiDecodeError when one returns no amount.
        """
        calls = [
            (
                "eth_call",
                [
                    {"from": vault, "to": adapter, "data": data, "gas": hex(VIEW_GAS)},
                    block_argument(at),
                ],
            )
            for data in exits
        ]
        answers = self.rpc.batch_settled(calls, [results.code] * len(calls))
        return [
            answer if isinstance(answer, RpcRefusedError) else _first_word(answer)
            for answer in answers
        ]

    def is_erc6492_signature(
        self, wallet: str, digest: str, signature: str, at: At = LATEST
    ) -> bool:
        """The factory's validator's word on the signature of a wallet that may not exist yet;
        nothing is created by asking.
        """
        data = call_by_signature(
            "isValidSignature(address,bytes32,bytes)", [wallet, digest, signature]
        )
        return (
            int.from_bytes(self._said_by(str(self._factory("validator", at)), data, at), "big") == 1
        )


# The views of IAdapter about one vault, in the order of AdapterReading's fields.
ADAPTER_VIEWS = ("positionOf", "valueOf", "unitPrice", "isLinear")


def _adapter_questions(vault: str) -> Iterator[str]:
    for name in ADAPTER_VIEWS:
        view = function("IAdapter", name)
        yield view.encode(*[vault] * len(view.inputs))


def _first_word(answer: bytes) -> int:
    """Errors: AbiDecodeError."""
    if len(answer) < WORD_BYTES:
        raise AbiDecodeError(f"{len(answer)} bytes are not an amount")
    return int.from_bytes(answer[:WORD_BYTES])


def _answer_or_none(view: str, answer: Any | RpcRefusedError) -> Any:
    if isinstance(answer, RpcRefusedError):
        return None
    try:
        return function("IAdapter", view).decode_output(answer)[0]
    except AbiDecodeError:
        return None
