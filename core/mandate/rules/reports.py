"""What an agent reports of its transactions, held against the chain's rows of them.

What the chain's rows of one transaction of a mandate say: what a report of it is compared with, and
the words for how the two compare.

Law: only rows that the agent did not write are read, whatever keys its payload carries.

What earlier rows of a transaction reported, so that a payment or a refusal counts once
however far apart its rows are.

    row     1  fee, agent, tx A      ...      900  fee, chain, tx A        the chain's word replaces the agent's: one payment
            2  refusal, chain, tx B  ...      901  refusal, agent, tx B    known already: one refusal
            3  buy, agent, tx C, flagged ...  902  Executed, chain, tx C   the flag counts as the chain's word has it

Laws
- Rows pair by their transaction, and only rows that count: a reversed row reports nothing.
- The fold's state holds nothing of this. Who folds hands it in: from the rows before, or from the
  ledger by its index on tx_hash.
- The chain proves payments for tools; an agent may have reported one without its class.
- What the chain says of a transaction is kept from the first flagged report of it on: a report that
  comes after the chain's rows was judged by them (violations.py).

What the chain says of a report of the agent: the one predicate by which anything is called
confirmed, and by which a flag of a report counts.

Laws
- A report is confirmed by what it says, never by its hash alone: a row of that transaction, of that
  target, of that amount. What a report leaves out is not compared.
- An amount is that of one call, or of all calls to the target together. The vault may be named as
  the target of each of its calls.
- What no log reports (a result, a gas fee, a note) is never confirmed, and contradicted only by a
  revert.
- Without a row of the chain nothing is known: of no transaction, of somebody else's, of one that a
  reorg took back, and of all on paper.

| report | borne out by | its amount |
|---|---|---|
| move | a call to the target | spent, or received where nothing was spent |
| buy | a call to the target that does not only bring in | spent |
| sell | something that came in from the target | received |
| fee for tools | a payment | paid |
| refusal | the reverted call | any |

Which flags of reports count against the mandate: the state's figures of violations.

Laws
- A flag counts as the chain's word for its report has it (counted_codes): the agent's own
  until the chain has the transaction, whoever comes first.
- A false report breaks no rule of the mandate. What the chain refused is counted as a refusal.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self

from core.mandate.rules.cash import chain_fact, spent_and_received
from core.mandate.rules.positions import ReportedTarget, target_of
from core.mandate.rules.rows import TRADES, LedgerRow, NewRow, ReportedBy, RowKind, is_agent_report
from core.mandate.rules.state import MandateState, changed


class ChainWord(StrEnum):
    """What the chain's rows say of a report."""

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


FEE_CLASSES: Mapping[str, str] = {
    "x402": "tools",
    "tools": "tools",
    "paid_read": "tools",
    "venue": "venue",
    "gas": "network",
    "network": "network",
}
UNCLASSIFIED = "unclassified"
PROVABLE_CLASSES = ("tools", UNCLASSIFIED)


@dataclass(slots=True)
class ReportedFacts:
    """Of one transaction.

    `reported`: by class (amount in USDC base units, count) of the agent's reports of provable fees.
    `flagged`: the agent's trades that broke a rule, as far as they are compared with the chain's
    rows, and `chain` what those say.
    """

    reported: dict[str, tuple[int, int]] = field(default_factory=dict)
    is_paid: bool = False  # the chain has shown a payment for tools
    is_refused: bool = False  # the agent or the chain reported a refusal
    is_reverted: bool = False  # the chain has shown that the transaction failed
    flagged: list[NewRow] = field(default_factory=list)
    chain: TxFacts = NO_FACTS

    def add(self, report: "_Report") -> None:
        """Add what one more row of the transaction reports."""
        if report.is_refusal:
            self.is_refused = True
            self.is_reverted |= report.is_reverted
        if report.fee_class is not None and report.by_agent:
            amount, count = self.reported.get(report.fee_class, (0, 0))
            self.reported[report.fee_class] = amount + report.amount_usdc_e6, count + 1
        elif report.fee_class is not None:
            self.is_paid = True
        if report.row is not None and is_flagged_trade(report.row):
            self.flagged.append(report.row)
        elif report.row is not None:
            self.chain = self.chain.with_row(report.row)


@dataclass(frozen=True, slots=True)
class _Report:
    """What one row reports, without its payload, which may be long.

    `fee_class`: of a provable fee, else None. `row`: a flagged trade, or a row that came after one,
    with what is compared of it.
    """

    at: datetime
    fee_class: str | None
    by_agent: bool
    amount_usdc_e6: int
    is_refusal: bool
    is_reverted: bool
    row: NewRow | None


NOTHING_REPORTED = ReportedFacts()


class ReportsByTx:
    """What rows reported, by transaction; rows are added oldest first.

    `before` takes only those that happened before an instant.
    """

    def __init__(self, rows: Iterable[LedgerRow] = ()) -> None:
        self._reports: dict[str, list[_Report]] = {}
        self._facts: dict[str, ReportedFacts] = {}
        for row in rows:
            self.add(row)

    def add(self, row: LedgerRow) -> None:
        if row.tx_hash is None:
            return
        facts = self._facts.get(row.tx_hash)
        is_compared = facts is not None and bool(facts.flagged)
        if not (is_compared or is_paired(row)):
            return
        if facts is None:
            facts = self._facts[row.tx_hash] = ReportedFacts()
        report = _report(row, is_compared=is_compared or is_flagged_trade(row))
        self._reports.setdefault(row.tx_hash, []).append(report)
        facts.add(report)

    def of(self, row: LedgerRow, before: datetime | None = None) -> ReportedFacts:
        """What the rows that were added report of `row`'s transaction."""
        if not self._facts or row.tx_hash is None:
            return NOTHING_REPORTED
        if before is None:
            return self._facts.get(row.tx_hash, NOTHING_REPORTED)
        facts = ReportedFacts()
        for earlier in self._reports.get(row.tx_hash, ()):
            if earlier.at < before:
                facts.add(earlier)
        return facts


def _report(row: LedgerRow, *, is_compared: bool) -> _Report:
    by_agent = row.reported_by is ReportedBy.AGENT
    fee_class = fee_class_of(row) if row.kind is RowKind.FEE else None
    return _Report(
        at=row.occurred_at,
        fee_class=fee_class if fee_class in PROVABLE_CLASSES else None,
        by_agent=by_agent,
        amount_usdc_e6=row.amount_usdc_e6 or 0,
        is_refusal=is_refusal(row),
        is_reverted=not by_agent and row.payload.get("reverted") is True,
        row=_compared(row) if is_compared else None,
    )


_COMPARED: Final = (
    "violation", "target", "detail", "reverted", "executed", "unwound", "proceeds",
)  # fmt: skip


def _compared(row: LedgerRow) -> NewRow:
    """The row with what is compared of it."""
    return NewRow(
        kind=row.kind,
        reported_by=row.reported_by,
        occurred_at=row.occurred_at,
        base_key="",
        amount_usdc_e6=row.amount_usdc_e6,
        cash_delta_usdc_e6=row.cash_delta_usdc_e6,
        chain_id=row.chain_id,
        tx_hash=row.tx_hash,
        block_hash=row.block_hash,
        payload={key: row.payload[key] for key in _COMPARED if key in row.payload},
    )


def is_paired(row: NewRow) -> bool:
    """Whether a row is one of those that pair: a fee, a refusal or a flagged trade, with a
    transaction.
    """
    return row.tx_hash is not None and (
        row.kind is RowKind.FEE or is_refusal(row) or is_flagged_trade(row)
    )


def is_flagged_trade(row: NewRow) -> bool:
    """Whether the agent's report of a trade was stored with a flag that the chain may take back."""
    return (
        row.kind in TRADES
        and row.reported_by is ReportedBy.AGENT
        and not CHAIN_CODES.issuperset(codes_of(row))
    )


def codes_of(row: NewRow) -> tuple[str, ...]:
    """The flags that were stored with a row."""
    violation = row.payload.get("violation")
    codes = violation.get("codes") if isinstance(violation, Mapping) else None
    return tuple(map(str, codes)) if isinstance(codes, list | tuple) else ()


def is_refusal(row: NewRow) -> bool:
    return (
        row.kind is RowKind.NOTE
        and "refusal" in row.payload
        and isinstance(row.payload["refusal"], Mapping)
    )


def fee_class_of(row: NewRow) -> str:
    """tools, venue, network or unclassified; a fee without a known payload.fee_kind is never folded
    into venue.
    """
    kind = row.payload.get("fee_kind")
    return FEE_CLASSES.get(kind, UNCLASSIFIED) if isinstance(kind, str) else UNCLASSIFIED


# of a report that is borne out: the vault checked all else
_OF_THE_REPORT_ITSELF: Final = frozenset({"target_missing"})


@dataclass(frozen=True, slots=True)
class Trade:
    """What a report of a move, buy or sell claims.

    `target`: lower-case address, None when none can be read; `is_elsewhere`: on another chain.
    Amount in USDC base units, None when left out.
    """

    kind: RowKind
    target: str | None
    is_elsewhere: bool
    amount_usdc_e6: int | None


def trade_of(
    kind: RowKind, amount_usdc_e6: int | None, payload: Mapping[str, Any], chain_id: int | None
) -> Trade:
    """`chain_id`: the mandate's, None when it is not known."""
    target = target_of(payload)
    if not isinstance(target, ReportedTarget):
        return Trade(kind, None, False, amount_usdc_e6)
    is_elsewhere = None not in (target.chain_id, chain_id) and target.chain_id != chain_id
    return Trade(kind, target.address.lower(), is_elsewhere, amount_usdc_e6)


def chain_word(report: NewRow, facts: TxFacts, vault: str | None) -> ChainWord:
    """`facts`: of the report's transaction, from the rows of its mandate; `vault`: the mandate's."""
    if report.tx_hash is None:
        return ChainWord.NOT_KNOWN
    if report.kind in TRADES:
        trade = trade_of(report.kind, report.amount_usdc_e6, report.payload, report.chain_id)
        return word_of_trade(trade, facts, vault)
    if is_refusal(report):
        return _of_refusal(facts)
    if report.kind is RowKind.FEE and fee_class_of(report) == "tools":
        return _of_payment(report.amount_usdc_e6, facts)
    if report.kind is RowKind.RESOLVE and facts.is_reverted:
        return ChainWord.REVERTED
    return ChainWord.NOT_KNOWN


def chain_words(rows: Iterable[LedgerRow], vault: str | None) -> dict[int, ChainWord]:
    """Of each report of the agent, by its seq. `rows`: those that count, with whole transactions."""
    by_tx: dict[str, list[LedgerRow]] = {}
    reports = []
    for row in rows:
        if is_agent_report(row):
            reports.append(row)
        elif row.tx_hash is not None:
            by_tx.setdefault(row.tx_hash, []).append(row)
    facts = {tx_hash: TxFacts.of(found) for tx_hash, found in by_tx.items()}
    return {
        row.seq: chain_word(row, facts.get(row.tx_hash or "", NO_FACTS), vault) for row in reports
    }


def word_of_trade(trade: Trade, facts: TxFacts, vault: str | None) -> ChainWord:
    if facts.is_reverted:
        return ChainWord.REVERTED
    if not facts.is_known:
        return ChainWord.NOT_KNOWN
    is_any = trade.target is None or (vault is not None and trade.target == vault.lower())
    calls = [call for call in facts.calls if is_any or call.target == trade.target]
    if not calls or trade.is_elsewhere:
        return ChainWord.OTHER_TARGET
    return _of_amount(trade.amount_usdc_e6, _amounts(trade.kind, calls))


def moves_worth(report: NewRow, facts: TxFacts, vault: str | None) -> bool:
    """Whether what a report says of positions counts: a trade that is borne out, or the end of a
    position by a transaction in which money of the vault moved.
    """
    if report.kind is RowKind.RESOLVE:
        return bool(facts.calls) and not facts.is_reverted
    return chain_word(report, facts, vault) is ChainWord.BORNE_OUT


def counted_codes(codes: Collection[str], word: ChainWord) -> tuple[str, ...]:
    """Which flags that were stored with a report count: of one that the chain contradicts none, and
    of one that it bears out none of what the vault checked itself.
    """
    if word in CODE_OF_WORD:
        return ()
    is_borne_out = word is ChainWord.BORNE_OUT
    return tuple(
        code
        for code in codes
        if code not in CHAIN_CODES and (not is_borne_out or code in _OF_THE_REPORT_ITSELF)
    )


def _amounts(kind: RowKind, calls: Sequence[CallSeen]) -> list[int]:
    """What each call says of a report of that kind."""
    match kind:
        case RowKind.BUY:
            # what only brought something in, an owner's unwind too, bought nothing
            return [c.spent_usdc_e6 for c in calls if c.spent_usdc_e6 or not c.received_usdc_e6]
        case RowKind.SELL:
            return [call.received_usdc_e6 for call in calls if call.received_usdc_e6]
        case _:
            return [call.spent_usdc_e6 or call.received_usdc_e6 for call in calls]


def _of_amount(reported: int | None, amounts: Sequence[int]) -> ChainWord:
    is_one = reported is None or reported in amounts or reported == sum(amounts)
    return ChainWord.BORNE_OUT if amounts and is_one else ChainWord.OTHER_AMOUNT


def _of_refusal(facts: TxFacts) -> ChainWord:
    if facts.is_reverted:
        return ChainWord.BORNE_OUT
    return ChainWord.NOT_REVERTED if facts.is_known else ChainWord.NOT_KNOWN


def _of_payment(reported: int | None, facts: TxFacts) -> ChainWord:
    if facts.is_reverted:
        return ChainWord.REVERTED
    if not facts.is_known:
        return ChainWord.NOT_KNOWN
    if not facts.paid_usdc_e6:
        return ChainWord.OTHER_TARGET
    return _of_amount(reported, facts.paid_usdc_e6)


def with_flags(state: MandateState, report: LedgerRow, past: ReportedFacts) -> MandateState:
    """The state after a report of the agent."""
    if not codes_of(report):
        return state
    if report.tx_hash is not None and is_flagged_trade(report):
        state = changed(state, flagged_trades_count=state.flagged_trades_count + 1)
    return _counted(state, (), _counting(report, past.chain, state.vault_address))


def with_flags_compared(state: MandateState, row: LedgerRow, past: ReportedFacts) -> MandateState:
    """The state after any row: what was reported of its transaction before is compared with what the
    row adds to the chain's word.
    """
    chain = past.chain.with_row(row)
    for report in past.flagged:
        before = _counting(report, past.chain, state.vault_address)
        after = _counting(report, chain, state.vault_address)
        if before != after:
            state = _counted(state, before, after)
    return state


def _counting(report: NewRow, chain: TxFacts, vault: str | None) -> tuple[str, ...]:
    return counted_codes(codes_of(report), chain_word(report, chain, vault))


def _counted(state: MandateState, before: Collection[str], after: Collection[str]) -> MandateState:
    """The state with one report's counting codes changed."""
    counts = Counter(dict(state.violation_counts))
    counts.subtract(set(before))
    counts.update(set(after))
    return changed(
        state,
        violation_counts=tuple(sorted((+counts).items())),
        violations_count=state.violations_count + bool(after) - bool(before),
    )
