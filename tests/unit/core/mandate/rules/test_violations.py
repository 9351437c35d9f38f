"""Judging reports: every code at its boundary, and targets in every accepted shape."""

from typing import Any

import pytest

from core.errors import InvalidParameterError
from core.mandate.rules.lifecycle import Status
from core.mandate.rules.positions import (
    ReportedTarget,
    require_checksums,
    target_of,
)
from core.mandate.rules.rows import RowKind
from core.mandate.rules.violations import (
    CLAUSE_OF_CODE,
    RESERVED_KEYS,
    RULE_OF_CODE,
    Judgement,
    Outflow,
    ReportedAction,
    Violation,
    judge,
    reserved_keys_in,
)
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import START, STRANGER, VAULT, VENUE, e6, terms, tx
from tests.unit.core.test_hexes import ACCOUNT

NOW = int(START.timestamp()) + 10 * 86_400
CANONICAL = {"kind": "contract", "chain_id": 84532, "address": VENUE}
WRONG = ACCOUNT.swapcase().replace("X", "x")  # all its capitals exchanged


def _against(**changes: Any) -> Judgement:
    standard: dict[str, Any] = {
        "status": Status.WORKING,
        "was_stopped": False,
        "terms": terms(),
        "chain_id": 84532,
        "allowed": frozenset({VENUE.lower(), VAULT.lower()}),
        "cash_usdc_e6": e6("1000"),
        "outflows": (),
        "now": NOW,
    }
    return Judgement(**standard | changes)


def _report(
    kind: RowKind = RowKind.MOVE,
    amount: str | None = "10",
    number: int | None = 1,
    target: Any = CANONICAL,
    **payload: Any,
) -> ReportedAction:
    told = payload if target is None else {"target": target, **payload}
    return ReportedAction(
        kind=kind,
        amount_usdc_e6=None if amount is None else e6(amount),
        tx_hash=None if number is None else tx(number),
        payload=told,
    )


def _codes(report: ReportedAction, against: Judgement) -> list[str]:
    violation = judge(report, against)
    return [] if violation is None else list(violation.codes)


# Targets

SHAPES: list[tuple[Any, str | None]] = [
    (CANONICAL, None),
    ({"chain_id": 84532, "address": VENUE}, None),
    ({"address": VENUE.lower()}, None),
    (VENUE, None),
    (VENUE.lower(), None),
    (VAULT.replace("0x", "0X"), None),
    ({**CANONICAL, "market": "ETH", "selector": "0xd96a094a"}, None),
    (None, "absent"),
    (7, "not_an_address_or_object"),
    ([VENUE], "not_an_address_or_object"),
    ({"kind": "x402", "host": "a.example"}, "unknown_kind"),
    ({"kind": None, "address": VENUE}, "unknown_kind"),
    ("ETH", "bad_address"),
    ({}, "bad_address"),
    ({"address": VENUE[:-1]}, "bad_address"),
    ({"address": "0x" + "0" * 40}, "bad_address"),
    ({"address": VENUE, "chain_id": "84532"}, "bad_chain_id"),
    ({"address": VENUE, "chain_id": True}, "bad_chain_id"),
]


@each(("target", "detail"), SHAPES)
def test_target__accepted_shapes_pass_and_any_other_is_missing_with_its_reason(
    target: Any, detail: str | None
) -> None:
    violation = judge(_report(target=target), _against())
    expected = None if detail is None else Violation(("target_missing",), {"target_detail": detail})
    assert violation == expected


@each(
    ("payload", "field"),
    [
        ({"target": WRONG}, "payload.target"),
        ({"target": {**CANONICAL, "address": WRONG}}, "payload.target"),
        ({"detail": {"target": WRONG}}, "payload.detail.target"),
        ({"position": {"id": "a", "target": {"address": WRONG}}}, "payload.position.target"),
    ],
)
def test_target__with_another_checksum__is_refused_at_the_door_and_read_from_old_rows(
    payload: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^{field}: its EIP-55 checksum"):
        require_checksums(payload)
    assert target_of({"target": WRONG}) == ReportedTarget(None, ACCOUNT)


@each(("target", "detail"), SHAPES)
def test_target__of_any_other_shape__passes_the_door(target: Any, detail: str | None) -> None:
    require_checksums({"target": target, "detail": target, "position": {"target": target}})


def test_target__not_on_the_list__is_flagged_with_the_target() -> None:
    violation = judge(_report(target=STRANGER), _against())
    assert violation is not None
    assert violation.as_json() == {
        "codes": ["target_not_allowed"],
        "detail": {
            "target": {"kind": "contract", "chain_id": 84532, "address": STRANGER},
            "target_detail": "not_on_the_list",
        },
    }


def test_sell__needs_no_target_but_a_wrong_one_is_flagged() -> None:
    assert _codes(_report(RowKind.SELL, target=None), _against()) == []
    assert _codes(_report(RowKind.SELL, target=STRANGER), _against()) == ["target_not_allowed"]
    assert _codes(_report(RowKind.SELL, target="ETH"), _against()) == ["target_missing"]


@each("kind", [RowKind.FEE, RowKind.RESOLVE, RowKind.NOTE])
def test_fee_resolve_note__break_no_rule(kind: RowKind) -> None:
    assert judge(_report(kind, "5000", target=None), _against(status=Status.STOPPED)) is None


# Caps


def test_per_tx_cap__at_the_cap_and_one_above() -> None:
    assert _codes(_report(amount="100"), _against()) == []
    violation = judge(_report(amount="100.000001"), _against())
    assert violation is not None
    assert violation.as_json() == {
        "codes": ["over_per_tx_cap"],
        "detail": {"per_tx_cap_usdc": "100.000000", "requested_usdc": "100.000001"},
    }


def _spent(amount: str, at: int, number: int = 9) -> Outflow:
    return Outflow(at, e6(amount), tx(number))


def test_daily_cap__at_the_rest_of_the_day_and_one_above() -> None:
    against = _against(outflows=(_spent("200", NOW),))
    assert _codes(_report(amount="50"), against) == []
    violation = judge(_report(amount="50.000001"), against)
    assert violation is not None
    assert violation.codes == ("over_daily_cap",)
    assert violation.detail["left_today_usdc"] == "50.000000"


def test_daily_cap__window_opens_exclusive_and_closes_inclusive() -> None:
    free, counted = _spent("200", NOW - 86_400), _spent("200", NOW - 86_399)
    assert _codes(_report(amount="100"), _against(outflows=(free,))) == []
    assert _codes(_report(amount="100"), _against(outflows=(counted,))) == ["over_daily_cap"]


def test_daily_cap__the_same_transaction__is_counted_once() -> None:
    against = _against(outflows=(_spent("100", NOW, 1), _spent("150", NOW, 2)))
    assert _codes(_report(amount="100", number=1), against) == []
    assert _codes(_report(amount="100", number=3), against) == ["over_daily_cap"]
    assert _codes(_report(amount="100", number=None), against) == ["over_daily_cap"]


def test_caps__unknown_amount_or_a_sell__breaks_none() -> None:
    assert _codes(_report(amount=None), _against()) == []
    assert _codes(_report(RowKind.SELL, "5000"), _against()) == []


def test_judge__everything_at_once__in_the_contracts_order() -> None:
    against = _against(status=Status.STOPPED, cash_usdc_e6=0)
    assert _codes(_report(amount="900", target=STRANGER), against) == [
        "mandate_stopped",
        "target_not_allowed",
        "over_per_tx_cap",
        "over_daily_cap",
        "over_budget",
    ]


# Life


@each(
    ("status", "was_stopped", "codes"),
    [
        (Status.DRAFT, False, ["mandate_not_working"]),
        (Status.SIGNED, False, ["mandate_not_working"]),
        (Status.WORKING, False, []),
        (Status.STOPPED, True, ["mandate_stopped"]),
        (Status.SETTLED, True, ["mandate_stopped"]),
        (Status.SETTLED, False, ["mandate_ended"]),
        (Status.CANCELLED, False, ["mandate_stopped"]),
    ],
)
@each("kind", [RowKind.MOVE, RowKind.BUY, RowKind.SELL])
def test_life__every_status(
    status: Status, was_stopped: bool, codes: list[str], kind: RowKind
) -> None:
    assert _codes(_report(kind), _against(status=status, was_stopped=was_stopped)) == codes


def test_life__the_last_second_and_the_end() -> None:
    ends_at = terms().ends_at
    assert _codes(_report(), _against(now=ends_at - 1)) == []
    violation = judge(_report(), _against(now=ends_at))
    assert violation == Violation(("mandate_ended",), {"ends_at": "2026-03-04T09:00:00Z"})


# Rules


def test_rules__every_code_has_a_rule_and_a_clause() -> None:
    assert RULE_OF_CODE.keys() == CLAUSE_OF_CODE.keys()


def test_reserved_keys__are_found_in_order() -> None:
    assert reserved_keys_in({"mark": {}, "target": VENUE}) == []
    assert reserved_keys_in(dict.fromkeys(RESERVED_KEYS)) == sorted(RESERVED_KEYS)
