"""A payment and its report, a refusal and its proof: each counts once, however far apart in the
ledger.
"""

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mandate.rules.fold import apply, effective, fold, fold_on
from core.mandate.rules.reports import ReportsByTx
from core.mandate.rules.rows import LedgerRow, ReportedBy, RowKind
from core.mandate.rules.state import EMPTY_STATE, MandateState
from tests.unit.core.mandate.rules.ledgers import START, TESTNET, tx

USDC = 1_000_000
PAYMENTS = 200


def row(seq: int, kind: RowKind, by: ReportedBy, number: int, **changes: object) -> LedgerRow:
    """A row of transaction `number`; a fee is 1 USDC."""
    is_fee = kind is RowKind.FEE
    said: dict[str, object] = (
        {"fee_kind": "x402"} if is_fee else {"refusal": {"reason": "OverPerTxCap"}}
    )
    known: dict[str, object] = {
        "id": seq,
        "mandate_id": 1,
        "seq": seq,
        "incarnation": 1,
        "reverses_id": None,
        "kind": kind,
        "reported_by": by,
        "occurred_at": START + timedelta(seconds=seq),
        "created_at": START,
        "base_key": f"{by}:{number}",
        "amount_usdc_e6": USDC if is_fee else None,
        "tx_hash": tx(number),
        "payload": said if is_fee or by is ReportedBy.AGENT else said | {"reverted": True},
        "prev_hash": "",
        "row_hash": "",
    }
    return LedgerRow(**known | changes)  # type: ignore[arg-type]


def told_twice(kind: RowKind, order: list[int]) -> list[LedgerRow]:
    """Each number of `order` stands in it twice: once it is told by the agent, once by the chain,
    whoever comes first.
    """
    first: dict[int, ReportedBy] = {}
    rows = []
    for seq, number in enumerate(order, start=1):
        chain_next = first.get(number) is ReportedBy.AGENT if number in first else number % 2 == 0
        by = ReportedBy.CHAIN if chain_next else ReportedBy.AGENT
        first.setdefault(number, by)
        rows.append(row(seq, kind, by, number))
    return rows


def shuffled(seed: int, count: int = PAYMENTS) -> list[int]:
    order = [*range(count), *range(count)]
    random.Random(seed).shuffle(order)
    return order


def sums(state: MandateState) -> tuple[int, int]:
    return state.fees_tools_usdc_e6, state.refusals_count


def test_sixty_five_payments_reported_first_and_proven_after__are_sixty_five_usdc() -> None:
    rows = told_twice(RowKind.FEE, [*range(1, 131, 2), *range(1, 131, 2)])
    assert fold(rows, TESTNET).fees_usdc_e6 == 65 * USDC


def test_sixty_five_refusals_reported_first_and_proven_after__are_sixty_five() -> None:
    rows = told_twice(RowKind.NOTE, [*range(1, 131, 2), *range(1, 131, 2)])
    state = fold(rows, TESTNET)
    assert (state.refusals_count, state.refusals_confirmed_count, state.reverts_count) == (
        65,
        65,
        65,
    )


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
def test_two_hundred_payments_in_any_order_and_distance__each_counts_once(seed: int) -> None:
    assert fold(told_twice(RowKind.FEE, shuffled(seed)), TESTNET).fees_usdc_e6 == PAYMENTS * USDC


@given(seed=st.integers(0, 2**32), cut=st.integers(0, 2 * PAYMENTS))
def test_payments__folded_one_by_one_from_any_row_on__give_the_same_state(
    seed: int, cut: int
) -> None:
    rows = told_twice(RowKind.FEE, shuffled(seed))
    told = ReportsByTx(rows[:cut])
    state = fold(rows[:cut], TESTNET)
    assert fold_on(state, rows[cut:], TESTNET, told) == fold(rows, TESTNET)


@given(seed=st.integers(0, 2**32), lost=st.sets(st.integers(0, 39), max_size=20))
def test_reversed_rows__leave_what_the_other_row_told(seed: int, lost: set[int]) -> None:
    rows = told_twice(RowKind.FEE, shuffled(seed, 20))
    reversals = [
        row(1_000 + index, RowKind.FEE, ReportedBy.CHAIN, 0, reverses_id=rows[index].id)
        for index in sorted(lost)
    ]
    left = effective([*rows, *reversals])
    assert (
        fold([*rows, *reversals], TESTNET).fees_usdc_e6 == len({one.tx_hash for one in left}) * USDC
    )


@pytest.mark.parametrize("kind", [RowKind.FEE, RowKind.NOTE])
def test_told__before_an_instant__leaves_out_what_happened_then(kind: RowKind) -> None:
    report, proof = row(1, kind, ReportedBy.AGENT, 7), row(2, kind, ReportedBy.CHAIN, 7)
    told = ReportsByTx([report])
    assert sums(
        apply(EMPTY_STATE, proof, TESTNET, told.of(proof, before=report.occurred_at))
    ) == sums(fold([proof], TESTNET))


def test_the_state__holds_nothing_that_grows_with_payments() -> None:
    few, many = (fold(told_twice(RowKind.FEE, shuffled(1, count)), TESTNET) for count in (2, 200))
    assert len(str(many)) - len(str(few)) < 20
