"""Wallet document 2.10: what an agent may report, and what becomes of it."""

from typing import Any

import httpx
import pytest

from core.mandate.rules import events as ev
from tests.each import each
from tests.integration.api.mandates.stage import (
    ADAPTER,
    CHAIN_ID,
    CONTRACTS,
    KEEPER,
    SELL,
    USDC,
    Stage,
    address,
    reason,
)

TX = "0x" + "ab" * 32
CANONICAL = {"kind": "contract", "chain_id": CHAIN_ID, "address": ADAPTER}


def report(stage: Stage, mandate_id: str, **fields: Any) -> httpx.Response:
    return stage.call("POST", f"/mandates/{mandate_id}/events", stage.agent, fields)


def literal(stage: Stage, mandate_id: str, amount: str) -> httpx.Response:
    """A fee whose amount is written as it stands, outside what a JSON library would write."""
    text = f'{{"kind": "fee", "amount_usdc": {amount}}}'
    headers = stage.agent | {"Content-Type": "application/json"}
    path = f"/mandate-wallet/mandates/{mandate_id}/events"
    answer: httpx.Response = stage.client.post(path, content=text, headers=headers)
    return answer


def stored(stage: Stage, mandate_id: str) -> list[dict[str, Any]]:
    """The agent's rows, oldest first."""
    events = stage.get(f"/mandates/{mandate_id}/ledger", stage.agent, limit=200)["events"]
    return [one for one in reversed(events) if one["reported_by"] == "agent"]


def broken_rules(stage: Stage, mandate_id: str) -> list[str]:
    return [
        rule["key"]
        for rule in stage.get(f"/mandates/{mandate_id}", stage.owner)["progress"]["rules"]
        if not rule["ok"]
    ]


@pytest.mark.row("2.10 kind")
def test_each_kind_of_the_agents__is_stored_and_each_other_is_refused(
    stage: Stage, mandate_id: str
) -> None:
    for kind in ("move", "buy", "sell", "fee", "resolve", "note"):
        answer = report(stage, mandate_id, kind=kind, amount_usdc="1", payload={"target": ADAPTER})
        assert (answer.status_code, answer.json()["event"]["kind"]) == (200, kind)
    for kind in ("deposit", "withdraw", "signed", "stop", "payout", "Buy", "gift", ""):
        answer = report(stage, mandate_id, kind=kind, amount_usdc="1", payload={"target": ADAPTER})
        assert reason(answer) == (400, "invalid_parameter")
        assert (
            answer.json()["detail"]
            == "kind: an agent reports one of move, buy, sell, fee, resolve, note."
        )
    assert [one["kind"] for one in stored(stage, mandate_id)] == [
        "move",
        "buy",
        "sell",
        "fee",
        "resolve",
        "note",
    ]


@pytest.mark.row("2.10 amount_usdc", "8 agent-sent numbers")
@pytest.mark.parametrize(
    ("amount", "kept"),
    [
        ("1000000000000", "1000000000000.000000"),
        ("1000000000000.000001", None),
        ("1000000000000.000000", "1000000000000.000000"),
        ('"1000000000000"', "1000000000000.000000"),
        ("0.000001", "0.000001"),
        ("0.1000000", "0.100000"),
        ("5e-05", "0.000050"),
        ("1e1", "10.000000"),
        ("0.0000001", None),
        ("0.1", "0.100000"),
        ("0", "0.000000"),
        ("-0.000001", None),
        ("NaN", None),
        ("Infinity", None),
        ("1e400", None),
        ('"NaN"', None),
        ('"Infinity"', None),
        ('""', None),
        ("true", None),
        ("[1]", None),
        ('"\\u0661"', None),
    ],
)
def test_an_amount__is_read_as_written_or_refused_and_nothing_is_stored(
    stage: Stage, amount: str, kept: str | None, mandate_id: str
) -> None:
    answer = literal(stage, mandate_id, amount)
    if kept is None:
        assert reason(answer) == (400, "invalid_number")
        assert stored(stage, mandate_id) == []
    else:
        assert answer.status_code == 200, answer.text
        assert [one["amount_usdc"] for one in stored(stage, mandate_id)] == [kept]


@pytest.mark.row("2.10 amount_usdc")
def test_an_amount__is_a_magnitude_but_for_a_resolve_and_unknown_is_null(
    stage: Stage, mandate_id: str
) -> None:
    for kind in ("move", "buy", "sell", "fee", "note"):
        assert reason(report(stage, mandate_id, kind=kind, amount_usdc="-0.000001")) == (
            400,
            "invalid_number",
        )
    assert (
        report(stage, mandate_id, kind="resolve", amount_usdc="-1000000000000").json()["event"][
            "amount_usdc"
        ]
        == "-1000000000000.000000"
    )
    assert reason(
        report(stage, mandate_id, kind="resolve", amount_usdc="-1000000000000.000001")
    ) == (400, "invalid_number")
    assert report(stage, mandate_id, kind="note").json()["event"]["amount_usdc"] is None


@pytest.mark.row("2.10 tx_hash")
def test_a_tx_hash__is_64_hex_digits_and_the_chain_calls_own(stage: Stage, mandate_id: str) -> None:
    for bad in ("0x" + "ab" * 31, "0x" + "ab" * 33, "ab" * 32, "0x" + "zz" * 32, "", 7):
        answer = report(stage, mandate_id, kind="note", tx_hash=bad)
        assert (answer.status_code, answer.json()["service"]["reason"]) == (
            400,
            "invalid_parameter",
        ), bad
        assert answer.json()["detail"].startswith("tx_hash: ")
    stage.executed(mandate_id, 10 * USDC, tx_hash=TX)
    told = report(
        stage,
        mandate_id,
        kind="buy",
        amount_usdc="10",
        tx_hash="0x" + "AB" * 32,
        payload={"target": ADAPTER},
        why="Cheap.",
    )
    assert told.json()["event"]["tx_hash"] == TX
    steps = [
        one
        for one in stage.get(f"/mandates/{mandate_id}", stage.owner)["steps"]
        if one["tx_hash"] == TX
    ]
    assert [(one["kind"], one["confirmed_on_chain"]) for one in steps] == [
        ("action", True),
        ("outcome", True),
    ]


@pytest.mark.row("2.10 why", "4.2 reports cite the clause number")
def test_why__is_kept_with_the_clause_that_it_cites(stage: Stage, mandate_id: str) -> None:
    why = "Inside clause 2 (per action)."
    assert (
        report(
            stage, mandate_id, kind="buy", amount_usdc="10", payload={"target": ADAPTER}, why=why
        ).status_code
        == 200
    )
    step = stage.get(f"/mandates/{mandate_id}", stage.owner)["steps"][0]
    assert step["why"] == why
    numbers = [
        clause["n"] for clause in stage.get(f"/mandates/{mandate_id}", stage.agent)["clauses"]
    ]
    assert (
        numbers == list(range(1, 11))
        and set(step["allowed_by"]) <= set(numbers)
        and 2 in step["allowed_by"]
    )


@pytest.mark.row("2.10 payload.target", "2.10 detail.target")
@each(
    "fields",
    [
        {"payload": {"target": CANONICAL}},
        {"payload": {"target": ADAPTER}},
        {"payload": {"target": ADAPTER.lower()}},
        {"payload": {"target": {"address": ADAPTER}}},
        {"payload": {"target": {"address": ADAPTER, "chain_id": CHAIN_ID}}},
        {"detail": {"target": CANONICAL}},
        {"detail": {"target": ADAPTER}},
    ],
    ids=[
        "canonical",
        "bare",
        "lower case",
        "address",
        "without kind",
        "tool form",
        "bare in the tool form",
    ],
)
def test_a_target__in_each_accepted_form__is_the_same_target(
    stage: Stage, fields: dict[str, Any], mandate_id: str
) -> None:
    answer = report(stage, mandate_id, kind="buy", amount_usdc="10", **fields)
    assert (answer.status_code, answer.json()["codes"]) == (200, [])
    step = stage.get(f"/mandates/{mandate_id}", stage.owner)["steps"][0]
    assert step["target"] == {"market": None, "address": ADAPTER, "selector": None}


@pytest.mark.row("2.10 payload.target of another shape")
@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ({}, "absent"),
        ({"target": None}, "absent"),
        ({"target": ["x"]}, "not_an_address_or_object"),
        ({"target": 7}, "not_an_address_or_object"),
        ({"target": "the venue"}, "bad_address"),
        ({"target": {"kind": "contract", "chain_id": CHAIN_ID}}, "bad_address"),
        ({"target": {"kind": "venue", "address": ADAPTER}}, "unknown_kind"),
        ({"target": {"address": ADAPTER, "chain_id": "84532"}}, "bad_chain_id"),
    ],
)
@pytest.mark.parametrize("kind", ["buy", "move"])
def test_a_target_of_another_shape__is_stored_flagged_with_its_reason(
    stage: Stage, kind: str, payload: dict[str, Any], why: str, mandate_id: str
) -> None:
    answer = report(stage, mandate_id, kind=kind, amount_usdc="10", payload=payload)
    body = answer.json()
    assert (answer.status_code, body["violation"], body["recorded"], body["codes"]) == (
        202,
        True,
        True,
        ["target_missing"],
    )
    assert body["violation_detail"] == {
        "codes": ["target_missing"],
        "detail": {"target_detail": why},
    }
    assert stored(stage, mandate_id)[0]["payload"]["violation"] == body["violation_detail"]


@pytest.mark.row(
    "2.10 payload position",
    "2.10 payload mark and marks",
    "2.10 payload next_at",
    "2.10 payload text",
)
def test_a_payload__may_hold_position_mark_marks_next_at_and_text(
    stage: Stage, mandate_id: str
) -> None:
    for name in ("a", "b"):
        tx_hash = "0x" + name * 64
        stage.executed(mandate_id, 10 * USDC, tx_hash=tx_hash)
        position = {"id": name, "name": f"Lot {name}", "qty": "10"}
        body = {
            "target": ADAPTER,
            "position": position,
            "next_at": "2026-11-22T08:00:00Z",
            "text": f"Bought {name}.",
        }
        assert (
            report(
                stage, mandate_id, kind="buy", amount_usdc="10", tx_hash=tx_hash, payload=body
            ).status_code
            == 200
        )
    assert stage.get(f"/mandates/{mandate_id}", stage.owner)["steps"][0]["note"] == "Bought b."
    assert (
        report(
            stage,
            mandate_id,
            kind="note",
            payload={"mark": {"position_id": "a", "worth_usdc": "11.5"}},
        ).status_code
        == 200
    )
    two = [{"position_id": "a", "worth_usdc": "12.000000"}, {"position_id": "b", "worth_usdc": "9"}]
    assert report(stage, mandate_id, kind="note", payload={"marks": two}).status_code == 200
    progress = stage.get(f"/mandates/{mandate_id}", stage.owner)["progress"]
    shown = ("id", "name", "worth_est", "agent_mark_usdc")
    assert [tuple(one[key] for key in shown) for one in progress["positions"]] == [
        ("a", "Lot a", "10.000000", "12.000000"),
        ("b", "Lot b", "10.000000", "9.000000"),
    ]
    assert progress["next_event"]["at"] == "2026-11-22T08:00:00Z"


@pytest.mark.row("2.10 reported_by", "6 fields of a row", "6 kinds")
def test_each_row__says_who_reported_it_and_has_its_fields(stage: Stage, mandate_id: str) -> None:
    report(stage, mandate_id, kind="note", payload={"text": "hello"})
    stage.chain_says(mandate_id, ev.Marked(990 * USDC, 0))
    stage.chain_says(mandate_id, ev.Executed(1, ADAPTER, SELL, 0, 5 * USDC, 0))
    stage.chain_says(
        mandate_id,
        ev.Stopped(KEEPER, "0x" + b"stop_line".ljust(32, b"\0").hex(), 940 * USDC, 0, True),
    )
    stage.chain_says(mandate_id, ev.Settled(stage.agent_wallet.address, 5 * USDC, USDC // 2, 0))
    stage.chain_says(
        mandate_id, ev.Withdrawn(CONTRACTS["usdc"], stage.owner_wallet.address, 100 * USDC, 0)
    )
    events = stage.get(f"/mandates/{mandate_id}/ledger", stage.owner, limit=200)["events"]
    assert [(one["kind"], one["reported_by"]) for one in reversed(events)] == [
        ("signed", "owner"), ("note", "chain"), ("deposit", "chain"), ("note", "agent"), ("note",
            "keeper"), ("move", "chain"),
        ("stop", "keeper"), ("payout", "chain"), ("withdraw", "chain"),
    ]  # fmt: skip
    fields = {"kind", "amount_usdc", "tx_hash", "chain_id", "payload", "reported_by", "created_at"}
    assert all(fields <= one.keys() for one in events)
    deposit = next(one for one in events if one["kind"] == "deposit")
    assert (deposit["amount_usdc"], deposit["chain_id"], deposit["created_at"]) == (
        "1000.000000",
        CHAIN_ID,
        "2026-11-21T12:00:00Z",
    )


@pytest.mark.row("2.10 payload.violation is written only by the server")
@each(
    "key",
    [
        "violation",
        "refusal",
        "reverted",
        "proves_event_id",
        "executed",
        "stopped",
        "settled",
        "factory",
    ],
)
def test_what_only_the_server_writes__is_refused_from_an_agent(
    stage: Stage, key: str, mandate_id: str
) -> None:
    for kind in ("note", "buy"):
        answer = report(
            stage, mandate_id, kind=kind, payload={key: {"codes": []}, "target": ADAPTER}
        )
        assert reason(answer) == (400, "invalid_parameter")
        assert answer.json()["detail"] == f"payload.{key}: leave it out: the service writes it."
    assert stored(stage, mandate_id) == [] and broken_rules(stage, mandate_id) == []


@pytest.mark.row("2.10 payload.violation is written only by the server")
def test_a_flag_in_the_tool_form__is_no_flag(stage: Stage, mandate_id: str) -> None:
    detail = {"violation": {"codes": ["over_per_tx_cap"], "detail": {}}, "target": ADAPTER}
    answer = report(stage, mandate_id, kind="buy", amount_usdc="1", detail=detail)
    assert (answer.status_code, answer.json()["violation"]) == (200, False)
    assert (
        "violation" not in stored(stage, mandate_id)[0]["payload"]
        and broken_rules(stage, mandate_id) == []
    )


@pytest.mark.row(
    "4 POST /mandates/{id}/events",
    "2.10 a violating event is stored and flips the matching rules",
    "7 a reported rule break is 202 with violation true",
)
@pytest.mark.parametrize(
    ("fields", "code", "rule", "facts"),
    [
        (
            {"amount_usdc": "200.000001"},
            "over_per_tx_cap",
            "per_action",
            {"per_tx_cap_usdc": "200.000000", "requested_usdc": "200.000001"},
        ),
        (
            {"payload": {"target": address(9)}},
            "target_not_allowed",
            "markets",
            {"target_detail": "not_on_the_list"},
        ),
        (
            {"payload": {"target": {"chain_id": 1, "address": ADAPTER}}},
            "target_not_allowed",
            "markets",
            {"target_detail": "other_chain"},
        ),
    ],
)
def test_a_broken_rule__is_202_kept_and_turns_its_rule_alone(
    stage: Stage,
    fields: dict[str, Any],
    code: str,
    rule: str,
    facts: dict[str, str],
    mandate_id: str,
) -> None:
    answer = report(
        stage,
        mandate_id,
        **{"kind": "buy", "amount_usdc": "10", "payload": {"target": ADAPTER}, **fields},
    )
    body = answer.json()
    assert (answer.status_code, body["violation"], body["codes"]) == (202, True, [code])
    assert facts.items() <= body["violation_detail"]["detail"].items()
    assert stored(stage, mandate_id)[0]["payload"]["violation"] == body["violation_detail"]
    assert broken_rules(stage, mandate_id) == [rule]
    breaches = stage.get(f"/mandates/{mandate_id}", stage.owner)["limits"]["breaches"]
    assert (breaches["violations"]["count"], breaches["violations"]["codes"]) == (1, [code])


@pytest.mark.row("2.10 a violating event is stored and flips the matching rules")
def test_the_day_and_the_budget__are_flagged_one_millionth_above(
    stage: Stage, mandate_id: str
) -> None:
    stage.executed(mandate_id, 200 * USDC)
    stage.executed(mandate_id, 200 * USDC)
    assert (
        report(
            stage, mandate_id, kind="buy", amount_usdc="50", payload={"target": ADAPTER}
        ).status_code
        == 200
    )
    over = report(
        stage, mandate_id, kind="buy", amount_usdc="50.000001", payload={"target": ADAPTER}
    ).json()
    assert over["codes"] == ["over_daily_cap"]
    whole = stage.working(per_tx_cap_usdc=None, daily_cap_usdc=None)
    stage.executed(whole, 400 * USDC)
    over = report(
        stage, whole, kind="buy", amount_usdc="600.000001", payload={"target": ADAPTER}
    ).json()
    assert over["codes"] == ["over_daily_cap", "over_budget"]
    assert over["violation_detail"]["detail"]["left_total_usdc"] == "600.000000"
    assert broken_rules(stage, whole) == ["budget", "per_day"]


@pytest.mark.row("2.10 a violating event is stored and flips the matching rules")
def test_after_the_end_and_after_a_stop__a_testnet_report_is_kept_and_flagged(stage: Stage) -> None:
    ended, stopped = stage.working(), stage.working()
    stage.chain_says(
        stopped, ev.Stopped(KEEPER, "0x" + b"owner".ljust(32, b"\0").hex(), 0, 0, False)
    )
    body = report(stage, stopped, kind="sell", amount_usdc="1").json()
    assert (body["codes"], broken_rules(stage, stopped)) == (["mandate_stopped"], ["stop"])
    stage.later(days=30)
    body = report(stage, ended, kind="move", amount_usdc="1", payload={"target": ADAPTER}).json()
    assert (body["codes"], broken_rules(stage, ended)) == (["mandate_ended"], ["period"])
