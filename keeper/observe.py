"""All watched vaults at one block hash. Which vaults: Postgres; their numbers: the chain, in batches of eth_call.

Laws
- One block: every call of a state names the same block by its hash (EIP-1898), so a node on another branch or behind
  answers an error, never another block's numbers.
- An answer that is missing, reverted or malformed is unknown (None), never 0.
- A vault that answers WorthUnknown has money where no adapter values it: it is asked once more, for its worth at cost. A venue
  that reverts, with whatever error, makes that call revert too, so its vault stays unknown.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from core.chain.abi import AbiDecodeError, answer_words, function, hex_bytes
from core.chain.reader import ChainReader, refusal_name
from core.chain.rpc import Request, RpcRevertedError
from core.db.repositories.keeper import SourcedMark, WatchedVault
from core.domain.errors import OutsideError
from core.domain.money import UnixSeconds, UsdcE6
from keeper.state import (
    SOURCE_AT_COST,
    SOURCE_VAULT_WORTH,
    FactoryKeepers,
    Head,
    KeeperState,
    SentMark,
    VaultReading,
    VaultStatus,
    WrittenMark,
)

CALLS_A_BATCH = 400
UNREADABLE = "unreadable"
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
    """Reads vaults. Keeps their stop floors, which are part of a vault's code and never change."""

    def __init__(self, reader: ChainReader, chain_id: int, max_head_age_s: int) -> None:
        self._reader = reader
        self._chain_id = chain_id
        self._max_head_age_s = max_head_age_s
        self._floors: dict[str, UsdcE6] = {}

    def head(self) -> Head:
        """The newest block. Errors: NoHeadError, RpcError."""
        header = self._reader.header()
        if header is None or header.base_fee_wei is None:
            raise NoHeadError("the node gives no newest block, or one without a base fee")
        return Head(header.number, header.hash, UnixSeconds(header.timestamp), header.base_fee_wei)

    def state(self, watched: Sequence[WatchedVault], live: Mapping[str, frozenset[str]], own: str | None = None) -> KeeperState:
        """Everything the jobs decide from. `live`: kinds of unfinished intents by vault; `own`: our keeper's address.

        Errors: NoHeadError, RpcUnreachableError.
        """
        head = self.head()
        ended = {vault.vault for vault in watched if vault.ends_at is not None and vault.ends_at <= head.at}
        numbers = self.numbers([vault.vault for vault in watched], head, ended)
        readings = (_reading(vault, numbers[vault.vault], live.get(vault.vault, frozenset())) for vault in watched)
        return KeeperState(self._chain_id, head, tuple(readings), self._max_head_age_s, self.keepers(head), own)

    def numbers(self, vaults: Sequence[str], head: Head, with_fee: Collection[str] = ()) -> dict[str, Numbers]:
        """Status, worth and floor of each vault at the head's hash, and the fee owed of some. Errors: RpcUnreachableError.

        In one batch, and a second one for vaults whose money no adapter values.
        """
        unknown_floors = [vault for vault in vaults if vault not in self._floors]
        wanted = [*((v, _STATUS) for v in vaults), *((v, _WORTH) for v in vaults), *((v, _FLOOR) for v in unknown_floors)]
        wanted += [(v, _FEE) for v in vaults if v in with_fee]
        answers = self._answers([_eth_call(vault, called.selector, head) for vault, called in wanted])
        by_call = {(vault, called.name): answer for (vault, called), answer in zip(wanted, answers, strict=True)}
        for vault in unknown_floors:
            floor = _uint(by_call[vault, "stopFloor"])
            if floor is not None:
                self._floors[vault] = UsdcE6(floor)
        worths = {v: _worth(by_call[v, "worth"]) for v in vaults}
        worths |= self._at_cost([v for v, worth in worths.items() if worth.source == WORTH_UNKNOWN], head)
        return {v: _numbers(by_call[v, "status"], worths[v], self._floors.get(v), by_call.get((v, "feeOwed"))) for v in vaults}

    def _at_cost(self, vaults: Sequence[str], head: Head) -> dict[str, "_Worth"]:
        answers = self._answers([_eth_call(vault, _AT_COST.selector, head) for vault in vaults])
        return {vault: _worth_at_cost(answer) for vault, answer in zip(vaults, answers, strict=True)}

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

    def _answers(self, requests: Sequence[Request]) -> list[Any]:
        return [answer for batch in _batches(requests) for answer in self._reader.rpc.batch_settled(batch)]


def _eth_call(to: str, data: str, head: Head) -> Request:
    return "eth_call", [{"to": to, "data": data}, {"blockHash": head.hash}]


def _batches(requests: Iterable[Request]) -> Iterator[list[Request]]:
    rest = iter(requests)
    while batch := list(islice(rest, CALLS_A_BATCH)):
        yield batch


@dataclass(frozen=True, slots=True)
class _Worth:
    """`source` says why the worth is None."""

    usdc_e6: UsdcE6 | None
    source: str


def _numbers(status: Any, worth: _Worth, floor: UsdcE6 | None, fee: Any) -> Numbers:
    status_number = _uint(status)
    known_status = None if status_number is None else _STATUSES.get(status_number)
    return Numbers(known_status, worth.usdc_e6, floor, worth.source, _usdc(fee))


def _worth(answer: Any) -> _Worth:
    worth_usdc_e6 = _usdc(answer)
    return _Worth(None, _why_unknown(answer)) if worth_usdc_e6 is None else _Worth(worth_usdc_e6, SOURCE_VAULT_WORTH)


def _worth_at_cost(answer: Any) -> _Worth:
    """Two words: the worth, and the part of it at cost. A part of 0 contradicts WorthUnknown of the same block."""
    if not isinstance(answer, str):
        return _Worth(None, _why_unknown(answer))
    try:
        worth_usdc_e6, unvalued_out_usdc_e6 = _AT_COST.decode_output(answer_words(answer, 2))
    except AbiDecodeError:
        return _Worth(None, UNREADABLE)
    return _Worth(UsdcE6(int(worth_usdc_e6)), SOURCE_AT_COST) if unvalued_out_usdc_e6 else _Worth(None, UNREADABLE)


def _usdc(answer: Any) -> UsdcE6 | None:
    value = _uint(answer)
    return None if value is None else UsdcE6(value)


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
