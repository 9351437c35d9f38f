"""What a vault's views answer, as numbers. Pure but for `ask`, which asks one node or the pool.

Laws
- An answer that is missing, reverted, malformed or beyond any amount of USDC is unknown (None),
  never 0.
- A venue that reverts, with whatever error, makes its vault's worth revert: it stays unknown.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.chain.abi import AbiDecodeError, answer_words, function
from core.chain.errors import RpcCodeFailedError, RpcRevertedError
from core.chain.nodes import Request
from core.chain.reader import VIEW_GAS, block_argument, refusal_name
from core.mandate.rules.lifecycle import VaultStatus
from core.money import MAX_ABS_USDC_E6, UsdcE6
from keeper.state import SOURCE_AT_COST, SOURCE_VAULT_WORTH

UNREADABLE = "unreadable"
OUT_OF_RANGE = "out_of_range"  # a number, but no amount of USDC

# a batch's answers in order, a refused call as its error in place. Errors: RpcError
Ask = Callable[[Sequence[Request]], list[Any]]

_STATUSES = {int(status): status for status in VaultStatus}
_STATUS, _WORTH, _FLOOR, _FEE = (
    function("MandateVault", name) for name in ("status", "worth", "stopFloor", "feeOwed")
)


@dataclass(frozen=True, slots=True)
class Numbers:
    """What one vault answered.

    `source` says where worth comes from, or why it is None. The fee is read only when asked for.
    """

    status: VaultStatus | None
    worth_usdc_e6: UsdcE6 | None
    floor_usdc_e6: UsdcE6 | None
    source: str
    fee_owed_usdc_e6: UsdcE6 | None = None
    # its code failed otherwise than by a revert: it may have used all the gas that it could
    has_burnt: bool = False

    @property
    def is_open(self) -> bool:
        """True when the vault may be working and can't be judged."""
        return self.status in (VaultStatus.WORKING, None) and (
            self.status is None or self.worth_usdc_e6 is None
        )


def read(
    ask: Ask,
    vaults: Sequence[str],
    at: str,
    floors: Mapping[str, UsdcE6],
    with_fee: Collection[str] = (),
) -> dict[str, Numbers]:
    """Status and worth of each, the floors that are not in `floors`, and the fee owed of some, at a
    block's hash or a tag.

    In one batch. Errors: RpcError, of the whole batch.
    """
    wanted = [
        *((v, _STATUS) for v in vaults),
        *((v, _WORTH) for v in vaults),
        *((v, _FLOOR) for v in vaults if v not in floors),
    ]
    wanted += [(v, _FEE) for v in vaults if v in with_fee]
    answers = ask([_view(vault, called.selector, at) for vault, called in wanted])
    by_call = {
        (vault, called.name): answer
        for (vault, called), answer in zip(wanted, answers, strict=True)
    }
    worths = {v: _worth(by_call[v, "worth"]) for v in vaults}
    return {
        v: Numbers(
            _status(by_call[v, "status"]),
            worths[v].usdc_e6,
            floors[v] if v in floors else usdc(by_call[v, "stopFloor"]),
            worths[v].source,
            usdc(by_call.get((v, "feeOwed"))),
            isinstance(by_call[v, "worth"], RpcCodeFailedError),
        )
        for v in vaults
    }


def statuses(ask: Ask, vaults: Sequence[str], at: str) -> dict[str, VaultStatus]:
    """Of those that answer. Errors: RpcError."""
    answers = ask([_view(vault, _STATUS.selector, at) for vault in vaults]) if vaults else []
    return {
        vault: status
        for vault, answer in zip(vaults, answers, strict=True)
        if (status := _status(answer)) is not None
    }


def floor_request(vault: str) -> Request:
    """Of its newest block: a floor is part of the code."""
    return _view(vault, _FLOOR.selector, "latest")


def _view(to: str, data: str, at: str) -> Request:
    return "eth_call", [{"to": to, "data": data, "gas": hex(VIEW_GAS)}, block_argument(at)]


@dataclass(frozen=True, slots=True)
class _Worth:
    """`source` says why the worth is None."""

    usdc_e6: UsdcE6 | None
    source: str


def _status(answer: Any) -> VaultStatus | None:
    number = _uint(answer)
    return None if number is None else _STATUSES.get(number)


def _worth(answer: Any) -> _Worth:
    """Two words: the worth, and the part of it at cost.

    No vault is worth more than all amounts of USDC that this product writes: a venue's price is
    absurd.
    """
    if not isinstance(answer, str):
        return _Worth(None, _why_unknown(answer))
    try:
        worth, unvalued_out = map(int, _WORTH.decode_output(answer_words(answer, 2)))
    except AbiDecodeError:
        return _Worth(None, UNREADABLE)
    if max(worth, unvalued_out) > MAX_ABS_USDC_E6:
        return _Worth(None, OUT_OF_RANGE)
    return _Worth(UsdcE6(worth), SOURCE_AT_COST if unvalued_out else SOURCE_VAULT_WORTH)


def usdc(answer: Any) -> UsdcE6 | None:
    """None for anything but an amount of USDC."""
    value = _uint(answer)
    return None if value is None or value > MAX_ABS_USDC_E6 else UsdcE6(value)


def _uint(answer: Any) -> int | None:
    """One uint word, or None for an error and for anything that is not one word (an address without
    code answers 0x).
    """
    if not isinstance(answer, str):
        return None
    try:
        (value,) = _FEE.decode_output(answer_words(answer, 1))
    except AbiDecodeError:
        return None
    return int(value)


def _why_unknown(answer: Any) -> str:
    name = refusal_name(answer.revert_data) if isinstance(answer, RpcRevertedError) else None
    return name or UNREADABLE
