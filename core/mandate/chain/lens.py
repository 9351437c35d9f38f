"""What contracts/lenses/VaultLens.sol answers of many vaults: one call of one node, one block.

Pure: bytes in, values out.

Laws
- An answer of another form is an error, never a guess: ValueError, which the pool turns into that
  node's failure.
- Unknown is not zero: what the lens could not read is in no reading.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any, Generic, TypeVar

from core.chain import results
from core.chain.abi import WORD_BYTES, AbiDecodeError, decode_values, encode_values, function
from core.chain.errors import RpcError
from core.chain.results import MOST_TIME, Parse
from core.mandate.rules.lifecycle import OF_VAULT, VaultStatus
from core.mandate.rules.worth import VaultSeen

LENS = "vault_lens"  # its name in the deployment record
LENS_GAS = 50_000_000  # what nodes give to one call at most, and what all of them can run
MOST_VAULTS = 300  # in one call: 12 million gas by the reading, 15 million by the position
MOST_NUMBER = 2**60  # of a block, as in core.chain.results
MOST_AMOUNT = 2**96  # a vault counts in fewer bits


class LensMissingError(RpcError):
    """There is no code at the lens's address."""


class NotSeenError(RpcError):
    """A node has no such vault, or could not read it."""


class LensOutcome(IntEnum):
    """`Outcome` of the contract."""

    UNREAD = 0
    NO_VAULT = 1
    UNVALUED = 2
    VALUED = 3


@dataclass(frozen=True, slots=True)
class LensBlock:
    """The block whose state was read: its own hash no contract knows."""

    number: int
    timestamp: int
    parent_hash: str
    vault_count: int  # of the factory, up to this block


@dataclass(frozen=True, slots=True)
class VaultTotals:
    """MandateVault.totals()."""

    deposited: int
    spent: int
    received: int
    withdrawn: int
    fee_paid: int
    unvalued_out: int
    nonce: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LensReading:
    """One vault at one block. Amounts are USDC base units.

    `agent`: zero when removed, stopped or not yet set. `worth_usdc_e6`: None when an adapter
    reverted, or used up all the gas that the node gave to this vault alone.
    """

    block: LensBlock
    status: VaultStatus
    agent: str
    worth_usdc_e6: int | None
    unvalued_out_usdc_e6: int
    own_cash_usdc_e6: int
    fee_owed_usdc_e6: int
    log_head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LensPosition(LensReading):
    """`payee`: zero when there is none yet. `stopped_at`: 0 without a stop. `balance_usdc_e6`: with
    what anybody sent to the vault.
    """

    payee: str
    stopped_at: int
    balance_usdc_e6: int
    totals: VaultTotals


ReadingT = TypeVar("ReadingT", bound=LensReading)


@dataclass(frozen=True, slots=True)
class LensRow(Generic[ReadingT]):
    """What one call says of one vault. `reading`: None when there is none."""

    block: LensBlock
    outcome: LensOutcome
    reading: ReadingT | None

    @property
    def is_final(self) -> bool:
        """More gas would say nothing else."""
        return self.outcome in (LensOutcome.NO_VAULT, LensOutcome.VALUED)


@dataclass(frozen=True, slots=True)
class LensForm(Generic[ReadingT]):
    """A function of the lens, and how a row of its answer is read.

    `row`: the types of a row's words, from the ABI. `make`: of the block and the row's values after
    the outcome.
    """

    name: str
    row: tuple[str, ...]
    make: Callable[[LensBlock, bool, Sequence[Any]], ReadingT]

    def encode(self, vaults: Sequence[str]) -> str:
        """Call data as 0x hex. Addresses are encoded as numbers, in a third of the time."""
        numbers = [int(vault, 16) for vault in vaults]
        return function("VaultLens", self.name).selector + encode_values(_NUMBERS, [numbers]).hex()

    def answer_of(self, asked: int) -> Parse[tuple[LensRow[ReadingT], ...] | None]:
        """The answer to a call of so many vaults: of the first ones, and of one at least.

        None: there is no code at the lens's address, as of the block that was asked for.
        """

        def parse(content: bytes) -> tuple[LensRow[ReadingT], ...] | None:
            answer = results.code(content)
            try:
                return self._rows(answer, asked) if answer else None
            except AbiDecodeError as error:
                raise ValueError(str(error)) from error

        return parse

    def _rows(self, answer: bytes, asked: int) -> tuple[LensRow[ReadingT], ...]:
        head, size = WORD_BYTES * len(_HEAD), WORD_BYTES * len(self.row)
        *fields, offset, count = decode_values(_HEAD, answer[:head])
        block = LensBlock(*fields)
        if not 1 <= count <= asked or len(answer) != head + count * size:
            raise ValueError(f"{len(answer)} bytes with {count} of {asked} vaults")
        if max(block.number, block.vault_count) >= MOST_NUMBER or block.timestamp >= MOST_TIME:
            raise ValueError(f"no block: {block}")
        if offset != head - WORD_BYTES:
            raise ValueError(f"an offset of {offset}")
        values = iter(decode_values(self.row * count, answer[head:]))
        rows = zip(*[values] * len(self.row), strict=True)
        starts = range(head, len(answer), size)
        return tuple(
            self._row(block, row, answer[at + WORD_BYTES : at + size])
            for row, at in zip(rows, starts, strict=True)
        )

    def _row(self, block: LensBlock, row: Sequence[Any], words: bytes) -> LensRow[ReadingT]:
        """`words`: as they came, after the outcome's."""
        code, *values = row
        outcome = LensOutcome(code)
        if outcome in (LensOutcome.UNREAD, LensOutcome.NO_VAULT):
            if any(words):
                raise ValueError(f"{outcome.name} with a value")
            return LensRow(block, outcome, None)
        reading = self.make(block, outcome is LensOutcome.VALUED, values)
        return LensRow(block, outcome, reading)


_NUMBERS = ("uint160[]",)
# The block's four words, where the rows' array begins, and how many it has.
_HEAD = ("uint256", "uint256", "bytes32", "uint256", "uint256", "uint256")


def _row(name: str) -> tuple[str, ...]:
    """The struct's members, those of its structs in their place."""
    _, found = function("VaultLens", name).outputs
    return tuple(re.findall(r"\w+", found.type))


def _fields(block: LensBlock, is_valued: bool, values: Sequence[Any]) -> dict[str, Any]:
    status, agent, worth, unvalued_out, own_cash, fee_owed, log_head = values
    if not is_valued and worth:
        raise ValueError("a worth that is not known")
    if max(unvalued_out, own_cash, fee_owed) >= MOST_AMOUNT:
        raise ValueError("an amount that no vault can count")
    return {
        "block": block,
        "status": VaultStatus(status),
        "agent": agent,
        "worth_usdc_e6": worth if is_valued else None,
        "unvalued_out_usdc_e6": unvalued_out,
        "own_cash_usdc_e6": own_cash,
        "fee_owed_usdc_e6": fee_owed,
        "log_head": log_head,
    }


def _reading(block: LensBlock, is_valued: bool, values: Sequence[Any]) -> LensReading:
    return LensReading(**_fields(block, is_valued, values))


def _position(block: LensBlock, is_valued: bool, values: Sequence[Any]) -> LensPosition:
    of_reading, (payee, stopped_at, balance) = values[:7], values[7:10]
    totals = VaultTotals(*values[10:])
    if stopped_at >= MOST_TIME:
        raise ValueError(f"a stop at {stopped_at}")
    if max(getattr(totals, one.name) for one in fields(totals)) >= MOST_AMOUNT:
        raise ValueError("a total that no vault can count")
    return LensPosition(
        **_fields(block, is_valued, of_reading),
        payee=payee,
        stopped_at=stopped_at,
        balance_usdc_e6=balance,
        totals=totals,
    )


READINGS = LensForm("readings", _row("readings"), _reading)
POSITIONS = LensForm("positions", _row("positions"), _position)


def seen_of(vault: str, position: LensPosition) -> VaultSeen:
    return VaultSeen(
        vault=vault,
        at=position.block.timestamp,
        status=OF_VAULT[position.status],
        agent=position.agent,
        payee=position.payee,
        stopped_at=position.stopped_at,
        deposited_usdc_e6=position.totals.deposited,
        spent_usdc_e6=position.totals.spent,
        received_usdc_e6=position.totals.received,
        withdrawn_usdc_e6=position.totals.withdrawn,
        fee_paid_usdc_e6=position.totals.fee_paid,
        unvalued_out_usdc_e6=position.totals.unvalued_out,
        fee_owed_usdc_e6=position.fee_owed_usdc_e6,
        balance_usdc_e6=position.balance_usdc_e6,
        worth_usdc_e6=position.worth_usdc_e6,
    )
