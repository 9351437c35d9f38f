"""What the chain's rows of one transaction of a mandate say: what a report of it is compared with, and
the words for how the two compare.

Law: only rows that the agent did not write are read, whatever keys its payload carries.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from core.mandate.rules.moved import chain_fact, spent_and_received
from core.mandate.rules.rows import NewRow, RowKind, is_agent_report


class ChainWord(StrEnum):
    """What the chain's rows say of a report (borne_out.py)."""

    BORNE_OUT = "borne_out"
    REVERTED = "reverted"
    NOT_REVERTED = "not_reverted"  # of a refusal
    OTHER_TARGET = "other_target"
    OTHER_AMOUNT = "other_amount"
    NOT_KNOWN = "not_known"


CODE_OF_WORD: Final[Mapping[ChainWord, str]] = {
    ChainWord.REVERTED: "tx_reverted",
    ChainWord.NOT_REVERTED: "tx_not_reverted",
    ChainWord.OTHER_TARGET: "other_target",
    ChainWord.OTHER_AMOUNT: "other_amount",
}
"""How a report that the chain contradicts is flagged; a word without a code contradicts nothing."""
CHAIN_CODES: Final = frozenset(CODE_OF_WORD.values())


@dataclass(frozen=True, slots=True)
class CallSeen:
    """One call of the vault, or what one target sent it. Amounts in USDC base units.

    `target`: lower-case address.
    """

    target: str
    spent_usdc_e6: int
    received_usdc_e6: int


@dataclass(frozen=True, slots=True)
class TxFacts:
    """`paid_usdc_e6`: payments for services. `is_known`: the ledger has a row of the chain of this
    transaction, of whatever kind.
    """

    calls: tuple[CallSeen, ...] = ()
    paid_usdc_e6: tuple[int, ...] = ()
    is_reverted: bool = False
    is_known: bool = False

    @classmethod
    def of(cls, rows: Iterable[NewRow]) -> Self:
        """From the rows that count of one transaction, in any order; those of the agent are left
        out.
        """
        facts = cls()
        for row in rows:
            facts = facts.with_row(row)
        return facts

    def with_row(self, row: NewRow) -> Self:
        if is_agent_report(row):
            return self
        call = call_of(row)
        return type(self)(
            calls=self.calls if call is None else (*self.calls, call),
            paid_usdc_e6=(*self.paid_usdc_e6, row.amount_usdc_e6 or 0)
            if row.kind is RowKind.FEE
            else self.paid_usdc_e6,
            is_reverted=self.is_reverted or row.payload.get("reverted") is True,
            is_known=True,
        )


NO_FACTS = TxFacts()


def call_of(row: NewRow) -> CallSeen | None:
    """The call that a row of the chain reports; None for any other row."""
    if executed := chain_fact(row, "executed"):
        return CallSeen(str(executed.get("target")).lower(), *spent_and_received(row))
    if unwound := chain_fact(row, "unwound"):
        return CallSeen(str(unwound.get("target")).lower(), 0, row.amount_usdc_e6 or 0)
    if proceeds := chain_fact(row, "proceeds"):
        return CallSeen(str(proceeds.get("adapter")).lower(), 0, row.amount_usdc_e6 or 0)
    return None
