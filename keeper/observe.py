"""All watched vaults at one block hash. Which vaults and their floors: Postgres; their numbers: the chain, in batches of eth_call.

Laws
- One block: every call of a state names the same block by its hash (EIP-1898), so a node on another branch or behind
  answers an error, never another block's numbers.
- An answer that is missing, reverted, malformed or beyond any amount of USDC is unknown (None), never 0.
- A vault that answers WorthUnknown has money where no adapter values it: it is asked once more, for its worth at cost. A venue
  that reverts, with whatever error, makes that call revert too, so its vault stays unknown.
- One vault's trouble is its own: a call has a gas limit, and a batch that fails is asked in halves down to the vault that is at
  fault (keeper.trouble), within the caller's patience. Only a node that answers nothing at all ends the reading.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.chain.abi import AbiDecodeError, answer_words, function, hex_bytes
from core.chain.reader import VIEW_GAS, ChainReader, refusal_name
from core.chain.rpc import Request, RpcCodeFailedError, RpcError, RpcRefusedError, RpcRevertedError
from core.db.repositories.watched import SourcedMark, WatchedVault
from core.domain.blocks import BlockHeader
from core.domain.errors import OutsideError
from core.domain.money import BPS_ONE, MAX_ABS_USDC_E6, UnixSeconds, UsdcE6
from keeper.state import (
    SOURCE_AT_COST,
    SOURCE_VAULT_WORTH,
    FactoryKeepers,
    Head,
    SentMark,
    VaultReading,
    VaultStatus,
    WrittenMark,
)
from keeper.trouble import Group, Trouble

VAULTS_A_BATCH = 120  # up to three calls each: one HTTP request
PART_S = 1.0  # that a part of a batch that failed may take
NEAR_BPS = 500  # of the floor above it: a vault that was read there last is looked at again soon
UNREADABLE = "unreadable"
OUT_OF_RANGE = "out_of_range"  # a number, but no amount of USDC
WORTH_UNKNOWN = "WorthUnknown"

_STATUSES = {int(status): status for status in VaultStatus}
_STATUS, _WORTH, _FLOOR, _FEE = (function("MandateVault", name) for name in ("status", "worth", "stopFloor", "feeOwed"))
_AT_COST = function("MandateVault", "worthAtCost")
_KEEPER, _PENDING = (function("MandateVaultFactory", name) for name in ("keeper", "pendingKeeper"))
NOBODY = "0x" + "00" * 20


class NoHeadError(OutsideError):
    """The node gave no usable newest block."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """What one vault answered. `source` says where worth comes from, or why it is None. The fee is read only when asked for."""

    status: VaultStatus | None
    worth_usdc_e6: UsdcE6 | None
    floor_usdc_e6: UsdcE6 | None
    source: str
    fee_owed_usdc_e6: UsdcE6 | None = None


class Observer:
    """Reads vaults. Keeps the floors that it was told, and which vaults are in trouble."""

    def __init__(self, reader: ChainReader, chain_id: int, max_head_age_s: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.chain_id = chain_id
        self.max_head_age_s = max_head_age_s
        self.trouble = Trouble(clock)
        self._reader = reader
        self._clock = clock
        self._floors: dict[str, UsdcE6] = {}
        self._far: set[str] = set()  # vaults that were well above their floor when they were read last

    def head(self) -> Head:
        """The newest block. Errors: NoHeadError, RpcError."""
        header = self._reader.header()
        if header is None or header.base_fee_wei is None:
            raise NoHeadError("the node gives no newest block, or one without a base fee")
        return Head(header.number, header.hash, UnixSeconds(header.timestamp), header.base_fee_wei)

    def readings(
        self, watched: Sequence[WatchedVault], live: Mapping[str, frozenset[str]], head: Head, patience_s: float = 0.0
    ) -> tuple[VaultReading, ...]:
        """Everything the jobs decide from. `live`: kinds of unfinished intents by vault. Errors: RpcError, as `numbers`."""
        self._floors |= {vault.vault: vault.floor_usdc_e6 for vault in watched if vault.floor_usdc_e6 is not None}
        ended = {vault.vault for vault in watched if vault.ends_at is not None and vault.ends_at <= head.at}
        numbers = self.numbers([vault.vault for vault in watched], head, ended, patience_s)
        return tuple(_reading(vault, numbers[vault.vault], live.get(vault.vault, frozenset())) for vault in watched)

    def numbers(self, vaults: Sequence[str], head: Head, with_fee: Collection[str] = (), patience_s: float = PART_S) -> dict[str, Numbers]:
        """Status, worth and floor of each vault at the head's hash, and the fee owed of some.

        Vaults in trouble are asked last, until `patience_s` is over; who was not read is unknown. A floor that nobody told is read
        from the vault's code, once. Errors: RpcError when the node answers nothing.
        """
        found: dict[str, Numbers] = {}
        sound = [vault for vault in vaults if vault not in self.trouble]
        for first in range(0, len(sound), VAULTS_A_BATCH):
            part = sound[first : first + VAULTS_A_BATCH]
            try:
                found |= self._read(part, head, with_fee)
            except RpcError:
                self._reader.block_number()  # a node that does not even answer this is the trouble itself
                self.trouble.suspect(part)
        found |= self._troubled([vault for vault in vaults if vault not in found], head, with_fee, patience_s)
        return {v: found.get(v) or Numbers(None, None, self._floors.get(v), UNREADABLE) for v in vaults}

    def _troubled(self, vaults: Sequence[str], head: Head, with_fee: Collection[str], patience_s: float) -> dict[str, Numbers]:
        until, wanted = self._clock() + patience_s, frozenset(vaults)
        found: dict[str, Numbers] = {}
        asked: list[Group] = []
        while self._clock() < until and (group := self.trouble.due(wanted, asked)) is not None:
            asked.append(group)
            try:
                found |= self._read(group.vaults, head, with_fee, PART_S)
            except RpcError:
                self.trouble.failed(group, is_near=self._is_near(group.vaults[0]))
            else:
                self.trouble.answered(group)
        return found

    def _is_near(self, vault: str) -> bool:
        return vault not in self._far

    def _read(self, vaults: Sequence[str], head: Head, with_fee: Collection[str], within_s: float | None = None) -> dict[str, Numbers]:
        """In one batch, and a second one for vaults whose money no adapter values. Errors: RpcError, of the whole batch."""
        unknown_floors = [vault for vault in vaults if vault not in self._floors]
        wanted = [*((v, _STATUS) for v in vaults), *((v, _WORTH) for v in vaults), *((v, _FLOOR) for v in unknown_floors)]
        wanted += [(v, _FEE) for v in vaults if v in with_fee]
        answers = self._answers([_eth_call(vault, called.selector, head) for vault, called in wanted], within_s)
        by_call = {(vault, called.name): answer for (vault, called), answer in zip(wanted, answers, strict=True)}
        for vault in unknown_floors:
            floor = _usdc(by_call[vault, "stopFloor"])
            if floor is not None:
                self._floors[vault] = floor
        worths = {v: _worth(by_call[v, "worth"]) for v in vaults}
        worths |= self._at_cost([v for v, worth in worths.items() if worth.source == WORTH_UNKNOWN], head, within_s)
        found = {v: _numbers(by_call[v, "status"], worths[v], self._floors.get(v), by_call.get((v, "feeOwed"))) for v in vaults}
        for vault, numbers in found.items():
            self._note(vault, numbers, by_call[vault, "worth"])
        return found

    def _note(self, vault: str, numbers: Numbers, worth: Any) -> None:
        """How near to its floor the vault is; one whose code burns what a call may use is looked at alone, and later."""
        if numbers.worth_usdc_e6 is not None and numbers.floor_usdc_e6 is not None:
            is_far = numbers.worth_usdc_e6 * BPS_ONE > numbers.floor_usdc_e6 * (BPS_ONE + NEAR_BPS)
            (self._far.add if is_far else self._far.discard)(vault)
        if isinstance(worth, RpcCodeFailedError):
            self.trouble.waits(vault, is_near=self._is_near(vault))

    def _at_cost(self, vaults: Sequence[str], head: Head, within_s: float | None) -> dict[str, "_Worth"]:
        answers = self._answers([_eth_call(vault, _AT_COST.selector, head) for vault in vaults], within_s)
        return {vault: _worth_at_cost(answer) for vault, answer in zip(vaults, answers, strict=True)}

    def safe_block(self) -> BlockHeader | None:
        """None: the node names none. Errors: RpcUnreachableError."""
        try:
            return self._reader.header("safe")
        except RpcRefusedError:
            return None

    def statuses(self, vaults: Sequence[str], block_hash: str) -> dict[str, VaultStatus]:
        """Of those that answer at that block. Errors: RpcError."""
        answers = self._answers([("eth_call", [{"to": vault, "data": _STATUS.selector}, {"blockHash": block_hash}]) for vault in vaults])
        return {vault: status for vault, answer in zip(vaults, answers, strict=True) if (status := _status(answer)) is not None}

    def keepers(self, head: Head) -> FactoryKeepers | None:
        """Whom the factory names at the head's hash; None when it gives no usable answer. Errors: RpcUnreachableError."""
        factory = self._reader.contracts["factory"]
        named, pending = self._answers([_eth_call(factory, called.selector, head) for called in (_KEEPER, _PENDING)])
        if not (isinstance(named, str) and isinstance(pending, str)):  # an error stands in its place
            return None
        try:
            (named_address,) = _KEEPER.decode_output(hex_bytes(named))
            proposed, eta = _PENDING.decode_output(hex_bytes(pending))
        except (AbiDecodeError, ValueError):
            return None
        return FactoryKeepers(factory, named_address, None if proposed == NOBODY else proposed, UnixSeconds(eta))

    def _answers(self, requests: Sequence[Request], within_s: float | None = None) -> list[Any]:
        return self._reader.rpc.batch_settled(requests, within_s=within_s)


def _eth_call(to: str, data: str, head: Head) -> Request:
    return "eth_call", [{"to": to, "data": data, "gas": hex(VIEW_GAS)}, {"blockHash": head.hash}]


@dataclass(frozen=True, slots=True)
class _Worth:
    """`source` says why the worth is None."""

    usdc_e6: UsdcE6 | None
    source: str


def _numbers(status: Any, worth: _Worth, floor: UsdcE6 | None, fee: Any) -> Numbers:
    return Numbers(_status(status), worth.usdc_e6, floor, worth.source, _usdc(fee))


def _status(answer: Any) -> VaultStatus | None:
    number = _uint(answer)
    return None if number is None else _STATUSES.get(number)


def _worth(answer: Any) -> _Worth:
    worth = _uint(answer)
    return _Worth(None, _why_unknown(answer)) if worth is None else _in_range(worth, SOURCE_VAULT_WORTH)


def _worth_at_cost(answer: Any) -> _Worth:
    """Two words: the worth, and the part of it at cost. A part of 0 contradicts WorthUnknown of the same block."""
    if not isinstance(answer, str):
        return _Worth(None, _why_unknown(answer))
    try:
        worth_usdc_e6, unvalued_out_usdc_e6 = _AT_COST.decode_output(answer_words(answer, 2))
    except AbiDecodeError:
        return _Worth(None, UNREADABLE)
    return _in_range(int(worth_usdc_e6), SOURCE_AT_COST) if unvalued_out_usdc_e6 else _Worth(None, UNREADABLE)


def _in_range(worth: int, source: str) -> _Worth:
    """No vault is worth more than all amounts of USDC that this product writes: a venue's price is absurd."""
    return _Worth(UsdcE6(worth), source) if worth <= MAX_ABS_USDC_E6 else _Worth(None, OUT_OF_RANGE)


def _usdc(answer: Any) -> UsdcE6 | None:
    value = _uint(answer)
    return None if value is None or value > MAX_ABS_USDC_E6 else UsdcE6(value)


def _uint(answer: Any) -> int | None:
    """One uint word, or None for an error and for anything that is not one word (an address without code answers 0x)."""
    if not isinstance(answer, str):
        return None
    try:
        (value,) = _WORTH.decode_output(answer_words(answer, 1))
    except AbiDecodeError:
        return None
    return int(value)


def _why_unknown(answer: Any) -> str:
    name = refusal_name(answer.revert_data) if isinstance(answer, RpcRevertedError) else None
    return name or UNREADABLE


def _reading(vault: WatchedVault, numbers: Numbers, live: frozenset[str]) -> VaultReading:
    return VaultReading(
        vault=vault.vault,
        public_id=vault.public_id,
        status=numbers.status,
        worth_usdc_e6=numbers.worth_usdc_e6,
        floor_usdc_e6=numbers.floor_usdc_e6,
        source=numbers.source,
        last_sent=_last_sent(vault),
        ends_at=vault.ends_at,
        fee_owed_usdc_e6=numbers.fee_owed_usdc_e6,
        last_written=None if vault.last_written is None else _written(vault.last_written),
        live=live,
    )


def _last_sent(vault: WatchedVault) -> SentMark:
    sent = vault.last_sent
    if sent is None or sent.worth_usdc_e6 is None:
        return SentMark(vault.budget_usdc_e6, 0, UnixSeconds(vault.created_at))
    return SentMark(sent.worth_usdc_e6, sent.block_number, UnixSeconds(int(sent.at.timestamp())))


def _written(mark: SourcedMark) -> WrittenMark:
    return WrittenMark(mark.worth_usdc_e6, mark.block_number, UnixSeconds(int(mark.at.timestamp())), mark.source)
