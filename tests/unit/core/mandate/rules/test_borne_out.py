"""What the chain says of a report: by what it claims, never by its hash alone."""

from typing import Any

import pytest

from core.mandate.rules import events as ev
from core.mandate.rules.fold import effective
from core.mandate.rules.new_rows import revert_note
from core.mandate.rules.reports import (
    CODE_OF_WORD,
    ChainWord,
    TxFacts,
    chain_word,
    counted_codes,
    moves_worth,
)
from core.mandate.rules.rows import LedgerRow, RowKind
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import (
    STRANGER,
    VAULT,
    VENUE,
    X402,
    SampleLedger,
    e6,
    executed,
    paid,
    tx,
    unwound,
    working,
)

MOVE, BUY, SELL, FEE = RowKind.MOVE, RowKind.BUY, RowKind.SELL, RowKind.FEE


def reverted(ledger: SampleLedger, number: int, reason: str = "OverPerTxCap") -> LedgerRow:
    return ledger.add(
        revert_note(
            chain_id=84532,
            tx_hash=tx(number),
            block_number=number,
            block_hash=tx(number),
            at=int(ledger.clock.timestamp()),
            reason=reason,
        )
    )


def refused(ledger: SampleLedger, number: int) -> LedgerRow:
    refusal = {"reason": "OverPerTxCap", "source": "agent"}
    return ledger.report(RowKind.NOTE, tx_number=number, payload={"refusal": refusal})


def word(ledger: SampleLedger, report: LedgerRow) -> ChainWord:
    rows = [row for row in effective(ledger.rows) if row.tx_hash == report.tx_hash]
    return chain_word(report, TxFacts.of(rows), VAULT)


CALLS: list[tuple[str, list[Any]]] = [
    ("one", [executed("100")]),
    ("two", [executed("60", nonce=1), executed("40", nonce=1)]),
    ("batch", [executed("0", nonce=1, target=X402), executed("100", nonce=1)]),
    ("change", [executed("100", "30")]),
]


@each(("calls", "is_two"), [(calls, name == "two") for name, calls in CALLS])
def test_a_buy__of_what_was_spent_at_the_target__is_borne_out(calls: Any, is_two: bool) -> None:
    ledger = working()
    for call in calls:
        ledger.chain(call, 60)
    for amount in ("100", "60", "40") if is_two else ("100", None):
        report = ledger.report(BUY, amount, 60, {"target": VENUE})
        assert word(ledger, report) is ChainWord.BORNE_OUT
    for amount in ("99.999999", "100.000001", "0", "30"):
        report = ledger.report(BUY, amount, 60, {"target": VENUE})
        assert word(ledger, report) is ChainWord.OTHER_AMOUNT


@each(
    ("payload", "expected"),
    [
        ({"target": VENUE.lower()}, ChainWord.BORNE_OUT),
        ({"target": {"address": VENUE, "chain_id": 84532}}, ChainWord.BORNE_OUT),
        ({"detail": {"target": VENUE}}, ChainWord.BORNE_OUT),
        ({"target": VAULT}, ChainWord.BORNE_OUT),  # each call is the vault's
        ({}, ChainWord.BORNE_OUT),  # what is left out is not compared
        ({"target": ["x"]}, ChainWord.BORNE_OUT),
        ({"target": STRANGER}, ChainWord.OTHER_TARGET),
        ({"target": X402}, ChainWord.OTHER_TARGET),
    ],
)
def test_a_target__is_the_call_s_own(payload: dict[str, Any], expected: ChainWord) -> None:
    ledger = working()
    ledger.chain(executed("100"), 60)
    assert word(ledger, ledger.report(MOVE, "100", 60, payload)) is expected


def test_a_target_on_another_chain__is_another_target() -> None:
    ledger = working()
    ledger.chain(executed("100"), 60)
    report = ledger.report(MOVE, "100", 60, {"target": {"address": VENUE, "chain_id": 1}})
    object.__setattr__(report, "chain_id", 84532)
    assert word(ledger, report) is ChainWord.OTHER_TARGET


@each(
    ("kind", "amount", "expected"),
    [
        (SELL, "80", ChainWord.BORNE_OUT),
        (MOVE, "80", ChainWord.BORNE_OUT),  # nothing was spent
        (SELL, "81", ChainWord.OTHER_AMOUNT),
        (BUY, "80", ChainWord.OTHER_AMOUNT),
        (BUY, "0", ChainWord.OTHER_AMOUNT),
        (BUY, None, ChainWord.OTHER_AMOUNT),
    ],
)
def test_what_came_in__bears_out_a_sale_and_no_purchase(
    kind: RowKind, amount: str, expected: ChainWord
) -> None:
    for event in (executed("0", "80"), unwound("80"), ev.ProceedsReceived(VENUE, e6("80"), 0)):
        ledger = working()
        ledger.chain(event, 60)
        assert word(ledger, ledger.report(kind, amount, 60, {"target": VENUE})) is expected


@pytest.mark.parametrize("amount", ["100", None])
def test_a_sale__of_a_transaction_in_which_nothing_came_in__is_not_borne_out(
    amount: str | None,
) -> None:
    ledger = working()
    ledger.chain(executed("100"), 60)
    assert word(ledger, ledger.report(SELL, amount, 60)) is ChainWord.OTHER_AMOUNT


@each("kind", [MOVE, BUY, SELL, RowKind.RESOLVE])
def test_a_report_of_a_reverted_call__is_reverted(kind: RowKind) -> None:
    ledger = working()
    first = ledger.report(kind, "100", 60, {"target": VENUE})
    reverted(ledger, 60)
    late = ledger.report(kind, "100", 60, {"target": VENUE})
    assert {word(ledger, first), word(ledger, late)} == {ChainWord.REVERTED}


def test_a_transaction_that_the_ledger_does_not_have__is_not_known() -> None:
    ledger = working()
    ledger.chain(executed("100"), 60)
    for number in (61, None):  # somebody else's, none
        report = ledger.report(BUY, "100", number, {"target": VENUE})
        assert word(ledger, report) is ChainWord.NOT_KNOWN


def test_a_block_that_a_reorg_takes_back__bears_out_nothing_any_more() -> None:
    ledger = working()
    call = ledger.chain(executed("100"), 60)
    report = ledger.report(BUY, "100", 60, {"target": VENUE})
    assert word(ledger, report) is ChainWord.BORNE_OUT
    ledger.reverse(call)
    assert word(ledger, report) is ChainWord.NOT_KNOWN


def test_the_owner_s_deposit__is_no_trade_of_the_agent() -> None:
    ledger = working()  # funded by transaction 1
    assert word(ledger, ledger.report(BUY, "1000", 1)) is ChainWord.OTHER_TARGET


def test_a_refusal__is_borne_out_by_the_reverted_call_alone() -> None:
    ledger = working()
    first, unknown = refused(ledger, 60), refused(ledger, 62)
    reverted(ledger, 60)
    ledger.chain(executed("100"), 61)
    assert [word(ledger, one) for one in (first, refused(ledger, 61), unknown)] == [
        ChainWord.BORNE_OUT,
        ChainWord.NOT_REVERTED,
        ChainWord.NOT_KNOWN,
    ]


@each(
    ("fee_kind", "amount", "expected"),
    [
        ("x402", "0.1", ChainWord.BORNE_OUT),
        ("x402", "0.2", ChainWord.OTHER_AMOUNT),
        ("gas", "0.1", ChainWord.NOT_KNOWN),  # no log tells of it
        (None, "0.1", ChainWord.NOT_KNOWN),
    ],
)
def test_a_fee__is_borne_out_by_a_payment(
    fee_kind: str | None, amount: str, expected: ChainWord
) -> None:
    ledger = working()
    ledger.chain(paid("0.1"), 60)
    ledger.chain(executed("0.1", target=X402), 60)
    payload = {} if fee_kind is None else {"fee_kind": fee_kind}
    assert word(ledger, ledger.report(FEE, amount, 60, payload)) is expected


def test_what_no_log_tells_of__is_never_borne_out() -> None:
    ledger = working()
    ledger.chain(executed("0", "80"), 60)
    for kind in (RowKind.RESOLVE, RowKind.NOTE):
        assert word(ledger, ledger.report(kind, "80", 60)) is ChainWord.NOT_KNOWN


def test_an_agents_payload__passes_for_no_row_of_the_chain() -> None:
    ledger = working()
    ledger.report(MOVE, "100", 60, {"executed": {"target": VENUE, "spent": "100.000000"}})
    ledger.report(RowKind.NOTE, None, 61, {"reverted": True, "refusal": {"reason": "x"}})
    for number in (60, 61):
        report = ledger.report(BUY, "100", number, {"target": VENUE})
        assert word(ledger, report) is ChainWord.NOT_KNOWN


def test_a_position__ends_by_a_transaction_in_which_the_vault_s_money_moved() -> None:
    ledger = working()
    rows = {
        60: [ledger.chain(executed("0", "80"), 60)],
        61: [reverted(ledger, 61)],
        62: [],
    }
    report = ledger.report(RowKind.RESOLVE, "5", 60)
    assert [moves_worth(report, TxFacts.of(rows[number]), VAULT) for number in rows] == [
        True,
        False,
        False,
    ]


@each("the_word", list(ChainWord))
def test_flags__count_unless_the_chain_contradicts_the_report_or_bears_it_out(
    the_word: ChainWord,
) -> None:
    codes = ["target_missing", "over_per_tx_cap", "tx_reverted"]
    expected = {
        ChainWord.NOT_KNOWN: ("target_missing", "over_per_tx_cap"),
        ChainWord.BORNE_OUT: ("target_missing",),
    }
    assert counted_codes(codes, the_word) == expected.get(the_word, ())
    assert (the_word in CODE_OF_WORD) is (the_word not in expected)
