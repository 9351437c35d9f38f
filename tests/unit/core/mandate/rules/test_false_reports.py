"""False reports: what is shown, counted and flagged is the chain's, whoever comes first."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.mandate.rules.fold import effective, fold_on
from core.mandate.rules.lifecycle import Status
from core.mandate.rules.progress import rules_list
from core.mandate.rules.reports import ReportsByTx, TxFacts, chain_word
from core.mandate.rules.rows import LedgerRow, ReportedBy, RowKind
from core.mandate.rules.state import EMPTY_STATE, state_from_json, state_to_json
from core.mandate.rules.steps import step_groups
from core.mandate.rules.violations import Judgement, ReportedAction, judge, outflows, spend_window
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import (
    PAPER,
    STRANGER,
    TESTNET,
    VAULT,
    VENUE,
    X402,
    SampleLedger,
    e6,
    executed,
    paid,
    terms,
    tx,
    working,
)
from tests.unit.core.mandate.rules.test_borne_out import refused, reverted

AGENT_KINDS = (RowKind.MOVE, RowKind.BUY, RowKind.SELL)


def tell(
    ledger: SampleLedger,
    number: int | None,
    amount: str = "100",
    target: str = VENUE,
    kind: RowKind = RowKind.BUY,
) -> LedgerRow:
    """A report, judged by the rows before it, as the service does."""
    payload: dict[str, Any] = {"target": target, "why": "as planned", "clause": 5}
    counted, at = effective(ledger.rows), ledger.clock
    facts = TxFacts.of(row for row in counted if number is not None and row.tx_hash == tx(number))
    plain = ledger.report(kind, amount, number, payload)
    ledger.rows.pop()
    flag = judge(
        ReportedAction(
            kind=kind,
            amount_usdc_e6=plain.amount_usdc_e6,
            tx_hash=plain.tx_hash,
            payload=payload,
        ),
        Judgement(
            status=Status.WORKING,
            was_stopped=False,
            terms=terms(),
            chain_id=84532,
            allowed=frozenset({VENUE.lower(), X402.lower(), VAULT.lower()}),
            cash_usdc_e6=ledger.state.cash_usdc_e6,
            outflows=outflows(counted, TESTNET),
            now=int(at.timestamp()),
            word=chain_word(plain, facts, VAULT),
        ),
    )
    flagged = payload if flag is None else payload | {"violation": flag.as_json()}
    return ledger.report(kind, amount, number, flagged)


def steps(ledger: SampleLedger, number: int) -> list[dict[str, Any]]:
    groups = step_groups(ledger.rows, None, vault=VAULT)
    return [step for group in groups for step in group.steps if step["tx_hash"] == tx(number)]


def broken(ledger: SampleLedger) -> list[str]:
    return [rule["key"] for rule in rules_list(ledger.state, terms(), None) if not rule["ok"]]


# The attack


def test_a_transaction_reported_twice__is_confirmed_where_it_is_true() -> None:
    ledger = working()
    ledger.chain(executed("100"), 60)
    tell(ledger, 60, "100")
    tell(ledger, 60, "100.000001")
    true, false, outcome = steps(ledger, 60)
    assert (true["status"], true["confirmed_on_chain"], true["est"]) == ("confirmed", True, False)
    assert (false["status"], false["confirmed_on_chain"], false["params"]["codes"]) == (
        "flagged",
        False,
        ["other_amount"],
    )
    assert (outcome["kind"], outcome["status"]) == ("outcome", "confirmed")
    assert broken(ledger) == []


def test_a_false_report_alone__leaves_the_chain_s_row_the_action() -> None:
    ledger = working()
    tell(ledger, 60, "90", STRANGER)
    assert broken(ledger) == ["markets"]  # the agent's own word, while nothing speaks against it
    ledger.chain(executed("100"), 60)
    action, false = steps(ledger, 60)
    assert (action["code"], action["kind"]) == ("action_executed", "action")
    assert (false["params"]["codes"], false["breached"]) == (["other_target"], [])
    assert broken(ledger) == []


def test_a_report__is_not_confirmed_any_more_after_the_reorg() -> None:
    ledger = working()
    call = ledger.chain(executed("100"), 60)
    tell(ledger, 60)
    assert [step["confirmed_on_chain"] for step in steps(ledger, 60)] == [True, True]
    ledger.reverse(call)
    assert [(step["status"], step["confirmed_on_chain"]) for step in steps(ledger, 60)] == [
        ("reported", False)
    ]


def test_a_refusal_of_a_call_that_passed__is_flagged_and_names_no_clause() -> None:
    ledger = working()
    ledger.chain(executed("100"), 60)
    refused(ledger, 60)
    passed, refusal = steps(ledger, 60)
    assert (passed["code"], passed["kind"]) == ("action_executed", "action")
    assert (refusal["status"], refusal["confirmed_on_chain"], refusal["breached"]) == (
        "flagged",
        False,
        [],
    )
    assert refusal["params"]["codes"] == ["tx_not_reverted"]


def test_a_gas_fee_of_a_call__is_the_agents_estimate() -> None:
    ledger = working()
    ledger.chain(executed("100"), 60)
    ledger.report(RowKind.FEE, "50", 60, {"fee_kind": "gas"})
    fee = next(step for step in steps(ledger, 60) if step["code"] == "note_fee")
    assert (fee["status"], fee["confirmed_on_chain"], fee["est"]) == ("reported", False, True)


@each("is_first", [True, False])
def test_a_payment_of_a_reverted_call__was_never_paid(is_first: bool) -> None:
    ledger = working()
    if not is_first:
        reverted(ledger, 60)
    ledger.report(RowKind.FEE, "5", 60, {"fee_kind": "x402"})
    ledger.report(RowKind.FEE, "0.25", 60, {"fee_kind": "gas"})  # a reverted call costs gas
    if is_first:
        reverted(ledger, 60)
    assert (ledger.state.fees_tools_usdc_e6, ledger.state.fees_network_usdc_e6) == (0, 250_000)


def test_a_day__is_used_up_by_no_report() -> None:
    """Three reports of calls that never were took the day from the one that was."""
    ledger = working()
    for number in (90, 91, None):
        tell(ledger, number, "100")
    tell(ledger, 60, "100")
    ledger.chain(executed("100"), 60)
    assert ledger.state.violation_counts == ()
    assert spend_window(ledger.rows, TESTNET).spent_usdc_e6(int(ledger.clock.timestamp())) == e6(
        "100"
    )


def test_a_late_report_of_what_the_chain_let_pass__breaks_nothing() -> None:
    ledger = working()
    ledger.chain(executed("100"), 60)
    report = ReportedAction(
        kind=RowKind.BUY, amount_usdc_e6=e6("100"), tx_hash=tx(60), payload={"target": VENUE}
    )
    against = Judgement(
        status=Status.STOPPED,
        was_stopped=True,
        terms=terms(),
        chain_id=84532,
        allowed=frozenset({VENUE.lower()}),
        cash_usdc_e6=0,
        outflows=(),
        now=terms().ends_at,
    )
    word = chain_word(ledger.report(RowKind.BUY, "100", 60), TxFacts.of(ledger.rows[-2:]), VAULT)
    flag = judge(report, against)
    assert flag is not None and flag.codes[0] == "mandate_stopped"
    assert judge(report, replace(against, word=word)) is None


def test_on_paper__reports_count_as_they_are() -> None:
    ledger = working(PAPER)
    codes = {"codes": ["over_per_tx_cap"], "detail": {}}
    for _ in range(2):
        ledger.report(RowKind.BUY, "150", 60, {"target": VENUE, "violation": codes})
    assert ledger.state.violation_counts == (("over_per_tx_cap", 2),)
    assert [one.amount_usdc_e6 for one in outflows(ledger.rows, PAPER)] == [e6("150"), e6("150")]


# Random histories

AMOUNTS = st.sampled_from(["40", "100", "150"])
REPORTS = st.lists(
    st.tuples(
        st.booleans(),  # before the chain's row, or after
        AMOUNTS,
        st.sampled_from([VENUE, X402, STRANGER, VAULT]),
        st.sampled_from(AGENT_KINDS),
    ),
    max_size=3,
)
CHAIN = st.sampled_from(["executed", "received", "reverted", "reorg", "batch", "none", "paid"])
HISTORY = st.lists(st.tuples(CHAIN, AMOUNTS, REPORTS), max_size=6)


def _happens(ledger: SampleLedger, number: int, what: str, amount: str) -> None:
    match what:
        case "executed" | "reorg":
            call = ledger.chain(executed(amount), number)
            if what == "reorg":
                ledger.reverse(call)
        case "received":
            ledger.chain(executed("0", amount), number)
        case "batch":
            ledger.chain(executed("40", nonce=number), number)
            ledger.chain(executed("60", nonce=number, target=X402), number)
        case "reverted":
            reverted(ledger, number)
        case "paid":
            ledger.chain(paid(amount), number)
            ledger.chain(executed(amount, target=X402), number)


def _is_true(report: LedgerRow, what: str, amount: str) -> bool:
    """By hand, for each thing that may happen."""
    target, kind = report.payload["target"], report.kind
    said = report.amount_usdc_e6
    spent = {
        "executed": {VENUE: amount, VAULT: amount},
        "paid": {X402: amount, VAULT: amount},
        "batch": {VENUE: "40", X402: "60"},
    }.get(what, {})
    if what == "received":
        return kind is not RowKind.BUY and target in (VENUE, VAULT) and said == e6(amount)
    if kind is RowKind.SELL:
        return False
    if what == "batch" and target == VAULT:
        return said in (e6("40"), e6("60"), e6("100"))
    return target in spent and said == e6(spent[target])


@given(HISTORY)
def test_any_history__confirms_what_is_true_and_counts_what_the_chain_has(
    history: list[tuple[str, str, list[tuple[bool, str, str, RowKind]]]],
) -> None:
    ledger = working()
    for number, (what, amount, reports) in enumerate(history, start=60):
        for _, *said in [one for one in reports if one[0]]:
            tell(ledger, number, *said)  # type: ignore[arg-type]
        _happens(ledger, number, what, amount)
        for _, *said in [one for one in reports if not one[0]]:
            tell(ledger, number, *said)  # type: ignore[arg-type]
    confirmed = {
        step["id"]: step["confirmed_on_chain"]
        for group in step_groups(ledger.rows, None, vault=VAULT)
        for step in group.steps
        if step["reported_by"] == "agent"
    }
    counts: dict[str, int] = {}
    for row in effective(ledger.rows):
        if row.reported_by is not ReportedBy.AGENT:
            continue
        what, amount, _ = history[int(row.tx_hash or "", 16) - 60]
        assert confirmed[row.seq] is _is_true(row, what, amount)
        if what in ("none", "reorg"):  # else the chain has spoken of it
            for code in row.payload.get("violation", {}).get("codes", ()):
                if code not in ("other_amount", "other_target"):
                    counts[code] = counts.get(code, 0) + 1
    assert dict(ledger.state.violation_counts) == counts
    of_chain = [row for row in ledger.rows if row.reported_by is not ReportedBy.AGENT]
    assert spend_window(ledger.rows, TESTNET) == spend_window(of_chain, TESTNET)


@given(HISTORY)
def test_any_history__folds_row_by_row_to_the_same_state(
    history: list[tuple[str, str, list[tuple[bool, str, str, RowKind]]]],
) -> None:
    ledger = working()
    for number, (what, amount, reports) in enumerate(history, start=60):
        for _, *said in reports:
            tell(ledger, number, *said)  # type: ignore[arg-type]
        _happens(ledger, number, what, amount)
    state, told = EMPTY_STATE, ReportsByTx()
    for row in effective(ledger.rows):
        state = state_from_json(state_to_json(fold_on(state, [row], TESTNET, told)))
    assert state == ledger.state
