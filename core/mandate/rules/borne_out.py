"""What the chain says of a report of the agent: the one predicate by which anything is called
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
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.mandate.rules.reported import ReportedTarget, target_of
from core.mandate.rules.rows import TRADES, LedgerRow, NewRow, RowKind, is_agent_report
from core.mandate.rules.tx_facts import (
    CHAIN_CODES,
    CODE_OF_WORD,
    NO_FACTS,
    CallSeen,
    ChainWord,
    TxFacts,
)
from core.mandate.rules.tx_reports import fee_class_of, is_refusal

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
