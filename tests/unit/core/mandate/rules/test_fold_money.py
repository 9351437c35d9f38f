"""Cash, paper cash, fees, positions and marks: what the fold counts, exactly."""

from dataclasses import replace

from core.mandate.rules import events as ev
from core.mandate.rules.cash import priced, stop_row
from core.mandate.rules.fold import fold
from core.mandate.rules.lifecycle import Status
from core.mandate.rules.rows import ReportedBy, RowKind
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import (
    DAY,
    PAPER,
    TESTNET,
    VENUE,
    X402,
    SampleLedger,
    created,
    deposited,
    e6,
    executed,
    marked,
    paid,
    settled,
    stopped,
    unwound,
    withdrawn,
    working,
)

# Cash


def test_cash__whole_life_to_the_last_micro_usdc() -> None:
    ledger = working()
    ledger.chain(executed("100", nonce=0))
    ledger.chain(executed("0", "130.000001", nonce=1))
    ledger.chain(executed("50", nonce=2))
    ledger.chain(stopped())
    ledger.chain(unwound("49.5"))
    ledger.chain(ev.ProceedsReceived(X402, e6("2"), 0))
    ledger.chain(settled("3.15", "31.500001"))
    state = ledger.state
    assert (state.spent_usdc_e6, state.received_usdc_e6) == (e6("150"), e6("181.500001"))
    assert state.cash_usdc_e6 == e6("1028.350001")
    ledger.chain(withdrawn("1028.350001"))
    assert (ledger.state.cash_usdc_e6, ledger.state.withdrawn_usdc_e6) == (0, e6("1028.350001"))


def test_cash__testnet_report_moves_none_whatever_delta_it_carries() -> None:
    ledger = working()
    row = ledger.report(RowKind.BUY, "100", 9)
    assert row.cash_delta_usdc_e6 == 0
    assert (
        priced(replace(row, cash_delta_usdc_e6=-1), ledger.state, TESTNET).cash_delta_usdc_e6 == 0
    )
    assert (ledger.state.cash_usdc_e6, ledger.state.spent_usdc_e6, ledger.state.moves_count) == (
        e6("1000"),
        0,
        0,
    )


def test_cash__withdrawal_beyond_own_cash__was_donated() -> None:
    ledger = working()
    ledger.chain(stopped())
    ledger.chain(withdrawn("1005"))
    state = ledger.state
    assert (state.cash_usdc_e6, state.withdrawn_usdc_e6, state.donated_usdc_e6) == (
        0,
        e6("1000"),
        e6("5"),
    )


@each(("given", "taken", "own"), [("0", "600", "0"), ("0", "250", "350"), ("100", "250", "450")])
def test_a_withdrawal_before_the_budget_is_there__takes_deposits_back(
    given: str, taken: str, own: str
) -> None:
    """What others gave leaves first; it works when the budget is there at once."""
    ledger = SampleLedger(TESTNET)
    ledger.sign()
    ledger.chain(created(), 1)
    ledger.chain(deposited("600"), 1)
    left = e6("600") + e6(given) - e6(taken)
    ledger.chain(replace(withdrawn(taken), balance=left))
    state = ledger.state
    assert (state.deposited_usdc_e6, state.cash_usdc_e6, state.withdrawn_usdc_e6) == (
        e6(own),
        e6(own),
        0,
    )

    ledger.chain(replace(deposited("400"), balance=left + e6("400")))
    assert ledger.state.status.value == "signed"
    ledger.chain(replace(deposited("600"), amount=e6("600") - e6(own)))
    assert ledger.state.status is Status.WORKING


def test_a_withdrawal_after_a_stop_of_what_never_worked__is_one() -> None:
    ledger = SampleLedger(TESTNET)
    ledger.sign()
    ledger.chain(created(), 1)
    ledger.chain(deposited("600"), 1)
    ledger.chain(stopped())
    ledger.chain(withdrawn("600"))

    state = ledger.state
    assert (state.deposited_usdc_e6, state.withdrawn_usdc_e6) == (e6("600"), e6("600"))


def test_cash__another_token_moves_none_and_has_no_amount() -> None:
    ledger = working()
    row = ledger.chain(withdrawn("7", token=VENUE))
    assert (row.amount_usdc_e6, row.cash_delta_usdc_e6) == (None, 0)
    assert row.payload["withdrawn"]["amount_raw"] == "7000000"
    assert (ledger.state.cash_usdc_e6, ledger.state.donated_usdc_e6) == (e6("1000"), 0)


def test_cash__a_call_that_took_and_brought__ledgers_both_gross() -> None:
    ledger = working()
    row = ledger.chain(executed("80", "30"))
    state = ledger.state
    assert (row.amount_usdc_e6, row.cash_delta_usdc_e6) == (e6("80"), -e6("50"))
    assert (state.cash_usdc_e6, state.spent_usdc_e6, state.received_usdc_e6) == (
        e6("950"),
        e6("80"),
        e6("30"),
    )
    assert (state.largest_move_usdc_e6, state.valued_out_usdc_e6) == (e6("80"), e6("50"))


def test_cash__a_call_that_brought_as_much_as_it_took__moved_no_cash_and_is_the_largest_move() -> (
    None
):
    ledger = working()
    ledger.chain(executed("100", "100"))
    state = ledger.state
    assert (state.cash_usdc_e6, state.spent_usdc_e6, state.largest_move_usdc_e6) == (
        e6("1000"),
        e6("100"),
        e6("100"),
    )


def test_moves__calls_of_one_batch_are_one_action_for_the_largest_move() -> None:
    ledger = working()
    ledger.chain(executed("30", nonce=4), 50)
    ledger.chain(executed("40", nonce=4), 50)
    ledger.chain(executed("60", nonce=5), 51)
    assert ledger.state.largest_move_usdc_e6 == e6("70")


# Paper


def test_paper__buy_sell_resolve__bring_exactly_cost_and_result() -> None:
    ledger = working(PAPER)
    ledger.report(
        RowKind.BUY, "100", payload={"position": {"id": "p1", "name": "ETH", "qty": "0.05"}}
    )
    assert ledger.state.cash_usdc_e6 == e6("900")
    ledger.report(RowKind.SELL, "70", payload={"position": {"id": "p1"}})
    resolve = ledger.report(RowKind.RESOLVE, "20", payload={"position": {"id": "p1"}})
    assert resolve.cash_delta_usdc_e6 == e6("50")
    state = ledger.state
    assert (state.cash_usdc_e6, state.positions, state.realized_usdc_e6) == (
        e6("1020"),
        (),
        e6("20"),
    )


def test_paper__what_was_never_paid__does_not_come_back() -> None:
    ledger = working(PAPER)
    ledger.report(RowKind.BUY, "1500", payload={"position": {"id": "p1"}})
    ledger.report(RowKind.BUY, "1", payload={"position": {"id": "p2", "cost_usdc": "700"}})
    assert [position.cost_usdc_e6 for position in ledger.state.positions] == [e6("1000"), 0]
    resolve = ledger.report(RowKind.RESOLVE, "0", payload={"position": {"id": "p2"}})
    stop = ledger.add(stop_row(by=ReportedBy.OWNER, reason="owner", now=ledger.clock))
    assert (resolve.cash_delta_usdc_e6, stop.cash_delta_usdc_e6, ledger.state.cash_usdc_e6) == (
        0,
        e6("1000"),
        e6("1000"),
    )


def test_paper__a_loss_beyond_the_cost_brings_nothing_back() -> None:
    ledger = working(PAPER)
    ledger.report(RowKind.BUY, "10", payload={"position": {"id": "p1"}})
    assert (
        ledger.report(RowKind.RESOLVE, "-12", payload={"position": {"id": "p1"}}).cash_delta_usdc_e6
        == 0
    )


def test_paper__stop_voids_positions_and_returns_what_they_cost() -> None:
    ledger = working(PAPER)
    ledger.report(RowKind.BUY, "100", payload={"position": {"id": "p1", "name": "ETH"}})
    ledger.report(RowKind.SELL, "30", payload={"position": {"id": "p1"}})
    stop = ledger.add(stop_row(by=ReportedBy.OWNER, reason="owner", now=ledger.clock))
    assert stop.cash_delta_usdc_e6 == e6("70")
    assert stop.payload["positions_void"] == [
        {"id": "p1", "name": "ETH", "cost_returned": "70.000000"}
    ]
    assert (ledger.state.status, ledger.state.cash_usdc_e6) == (Status.STOPPED, e6("1000"))


def test_priced__twice__is_the_same_row() -> None:
    ledger = working(PAPER)
    row = ledger.report(RowKind.BUY, "10")
    before = fold(ledger.rows[:-1], PAPER)
    assert priced(row, before, PAPER) == row


# Fees


def test_fees__by_class_and_unclassified_counted() -> None:
    ledger = working()
    for fee_kind, amount in [
        ("x402", "1"),
        ("tools", "2"),
        ("paid_read", "3"),
        ("venue", "4"),
        ("gas", "5"),
        ("network", "6"),
    ]:
        ledger.report(RowKind.FEE, amount, payload={"fee_kind": fee_kind})
    ledger.report(RowKind.FEE, "7")
    ledger.report(RowKind.FEE, "8", payload={"fee_kind": "swap"})
    state = ledger.state
    assert (state.fees_tools_usdc_e6, state.fees_venue_usdc_e6, state.fees_network_usdc_e6) == (
        e6("6"),
        e6("4"),
        e6("11"),
    )
    assert (state.fees_unclassified_usdc_e6, state.fees_unclassified_count) == (e6("15"), 2)
    assert state.realized_usdc_e6 == 0  # of a vault: the agent paid them, not the vault


def test_fees__a_venue_fee_of_the_same_transaction__stays_beside_the_payment() -> None:
    ledger = working()
    ledger.report(RowKind.FEE, "0.5", 70, {"fee_kind": "venue"})
    ledger.chain(paid("0.01"), 70)
    assert (ledger.state.fees_venue_usdc_e6, ledger.state.fees_tools_usdc_e6) == (
        e6("0.5"),
        e6("0.01"),
    )


def test_fees__x402_payment__is_a_cost_and_no_position() -> None:
    ledger = working()
    ledger.chain(paid("0.01"), 70)
    ledger.chain(executed("0.01", target=X402), 70)
    state = ledger.state
    assert (state.cash_usdc_e6, state.valued_out_usdc_e6, state.fees_tools_usdc_e6) == (
        e6("999.99"),
        0,
        e6("0.01"),
    )
    assert [flow.out_usdc_e6 for flow in state.targets] == [0]


# Positions and marks


def test_positions__opened_marked_and_closed() -> None:
    ledger = working()
    ledger.report(RowKind.MOVE, "40", 9, {"position": {"id": "p1", "name": "ETH"}, "target": VENUE})
    ledger.report(RowKind.BUY, "10", 10, {"position": {"id": "p1", "cost_usdc": "9.5"}})
    position = ledger.state.positions[0]
    assert (position.cost_usdc_e6, position.mark_usdc_e6, position.mark_source) == (
        e6("49.5"),
        e6("49.5"),
        "cost",
    )
    assert position.target == {"kind": "contract", "chain_id": None, "address": VENUE}
    ledger.report(
        RowKind.NOTE,
        payload={
            "marks": [
                {"position_id": "p1", "worth_usdc": "60.000001"},
                {"position_id": "p9", "worth_usdc": "1"},
            ]
        },
    )
    assert (ledger.state.positions[0].mark_usdc_e6, ledger.state.positions[0].mark_source) == (
        e6("60.000001"),
        "agent_mark",
    )
    ledger.report(RowKind.RESOLVE, "10.5", payload={"position": {"id": "p1"}})
    assert (ledger.state.positions, ledger.state.resolved_usdc_e6) == ((), e6("10.5"))


def test_marks__an_older_one_does_not_replace_a_newer_and_the_future_is_cut_off() -> None:
    ledger = working()
    ledger.report(RowKind.BUY, "10", payload={"position": {"id": "p1"}})
    future, past = (ledger.clock + DAY).isoformat(), (ledger.clock - DAY).isoformat()
    ledger.report(
        RowKind.NOTE, payload={"mark": {"position_id": "p1", "worth_usdc": "12", "at": future}}
    )
    assert ledger.state.positions[0].mark_at == ledger.clock
    ledger.report(
        RowKind.NOTE, payload={"mark": {"position_id": "p1", "worth_usdc": "3", "at": past}}
    )
    assert ledger.state.positions[0].mark_usdc_e6 == e6("12")
    ledger.report(RowKind.NOTE, payload={"mark": {"position_id": "p1", "worth_usdc": "13"}})
    assert ledger.state.positions[0].mark_usdc_e6 == e6("13")


@each("worth", ["12,5", "", None, True, ["1"], "-1", "1e3", "1.0000001"])
def test_marks__unusable_number__reads_as_zero_with_data_issue(worth: object) -> None:
    ledger = working()
    ledger.report(RowKind.BUY, "10", payload={"position": {"id": "p1"}})
    ledger.report(RowKind.NOTE, payload={"mark": {"position_id": "p1", "worth_usdc": worth}})
    assert (ledger.state.positions[0].mark_usdc_e6, ledger.state.data_issue) == (0, True)


def test_marks__the_keepers_counts_whole_and_moves_at_cost_since() -> None:
    ledger = working()
    ledger.chain(executed("100"))
    ledger.chain(marked("990"))
    assert ledger.state.valued_out_usdc_e6 == e6("90")
    ledger.chain(executed("10"))
    assert ledger.state.valued_out_usdc_e6 == e6("100")
    ledger.chain(marked("985", "30"))
    state = ledger.state
    assert state.valued_out_usdc_e6 == e6("65")
    assert state.mark is not None
    assert (state.mark.worth_usdc_e6, state.mark.unvalued_out_usdc_e6) == (e6("985"), e6("30"))


def test_paper__a_payout_beyond_the_cash__takes_the_cash() -> None:
    ledger = working(PAPER)
    ledger.report(RowKind.BUY, "999")
    paid = ledger.report(RowKind.PAYOUT, "5")
    assert (paid.cash_delta_usdc_e6, ledger.state.cash_usdc_e6) == (-e6("1"), 0)


def test_an_execution_without_a_number__is_no_part_of_the_batch_before_it() -> None:
    ledger = working()
    first = ledger.chain(executed("10", nonce=0), 7)
    second = ledger.chain(executed("5", nonce=1), 7)
    fact = {**second.payload["executed"], "nonce": None}
    odd = replace(second, payload={**second.payload, "executed": fact})
    state = fold([*ledger.rows[: ledger.rows.index(first) + 1], odd], TESTNET)
    assert state.largest_move_usdc_e6 == e6("10")


def test_an_unwind_that_brings_nothing__moves_nothing() -> None:
    ledger = working()
    ledger.chain(executed("10"))
    before = ledger.state.targets
    ledger.chain(unwound("0"))
    assert ledger.state.targets == before


def test_paper__a_buy_is_a_move_of_what_it_costs_and_a_sell_one_of_nothing() -> None:
    ledger = working(PAPER)
    ledger.report(RowKind.SELL, "70")
    assert (ledger.state.moves_count, ledger.state.largest_move_usdc_e6) == (1, 0)
    ledger.report(RowKind.BUY, "40")
    assert (ledger.state.moves_count, ledger.state.largest_move_usdc_e6) == (2, e6("40"))


def test_codes_of_flagged_reports__are_in_order() -> None:
    ledger = working()
    for code in ("target_missing", "over_per_tx_cap", "mandate_ended", "over_daily_cap"):
        ledger.report(RowKind.NOTE, payload={"violation": {"codes": [code], "detail": {}}})
    assert ledger.state.violation_codes == (
        "mandate_ended",
        "over_daily_cap",
        "over_per_tx_cap",
        "target_missing",
    )


def test_a_mark_of_a_position_that_there_is_not__keeps_no_other_from_being_marked() -> None:
    ledger = working(PAPER)
    ledger.report(RowKind.BUY, "100", payload={"position": {"id": "p1"}})
    marks = [{"position_id": name, "worth_usdc": "90"} for name in ("p0", "p1")]
    ledger.report(RowKind.NOTE, payload={"marks": marks})
    assert [one.mark_usdc_e6 for one in ledger.state.positions] == [e6("90")]


def test_a_sell_of_no_amount__brings_nothing() -> None:
    ledger = working(PAPER)
    ledger.report(RowKind.BUY, "100", payload={"position": {"id": "p1"}})
    ledger.report(RowKind.SELL, payload={"position": {"id": "p1"}})
    assert [one.proceeds_usdc_e6 for one in ledger.state.positions] == [0]


def test_paper__a_resolve_of_no_amount__gives_the_cost_back() -> None:
    ledger = working(PAPER)
    ledger.report(RowKind.BUY, "100", payload={"position": {"id": "p1"}})
    resolve = ledger.report(RowKind.RESOLVE, payload={"position": {"id": "p1"}})
    assert resolve.cash_delta_usdc_e6 == e6("100")
