"""A mandate whose ledger is short of facts of the chain says so wherever it is shown, and shows no
number that they may move.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from api.areas.mandates.operations import AREA
from api.kernel import auth
from api.kernel.operation import Operation
from core.blocks.tables import ChainBlock
from core.mandate.queries import find_mandate
from core.quarantine import queries as quarantine
from core.quarantine.queries import NewHeld
from tests.each import each
from tests.integration.api.mandates.stage import ADAPTER, CHAIN_ID, USDC, Stage, reason
from tests.integration.api.mandates.test_mandates_key_limits import build, limit
from tests.integration.api.mandates.test_mandates_statement_files import exported, lines_of, text_of

WHY = (
    "The record is short of facts of the chain (1) from block 7 on; they are held back and not "
    "lost. The chain itself is the truth meanwhile."
)
FACT = NewHeld(
    base_key="log:0x01:0",
    block_number=7,
    block_hash=b"\x07" * 32,
    tx_hash=b"\x01" * 32,
    log_index=0,
    address=None,
    topic=None,
    reason="database",
    note="no",
    fact=b"{}",
    tries=1,
)


def hold(stage: Stage, public_id: str) -> None:
    with stage.database.write() as session:
        mandate = find_mandate(session, public_id)
        assert mandate is not None
        quarantine.hold(
            session, mandate.chain_id, quarantine.MANDATE, mandate.id, [FACT], stage.clock.now
        )


@pytest.fixture
def short(stage: Stage, mandate_id: str) -> str:
    """A working mandate with one fact held back; the chain is out of reach."""
    hold(stage, mandate_id)
    return mandate_id


def test_its_limits__are_null(stage: Stage, short: str) -> None:
    used = stage.get(f"/mandates/{short}", stage.owner)["limits"]["used"]
    assert {number["basis"] for number in used.values()} == {"data_issue"}
    assert {number["value"] for number in used.values()} == {None}


PLACES: dict[str, Callable[[Stage, str], dict[str, Any]]] = {
    "the mandate": lambda stage, one: stage.get(f"/mandates/{one}", stage.owner)["mandate"],
    "its progress": lambda stage, one: stage.get(f"/mandates/{one}", stage.owner)["progress"],
    "a list": lambda stage, one: stage.get("/mandates", stage.owner)["mandates"][0],
    "its statement": lambda stage, one: stage.get(f"/mandates/{one}/statement", stage.owner),
    "the statement of all": lambda stage, one: stage.get("/me/statement", stage.owner)["mandates"][
        0
    ],
    "what the agent holds": lambda stage, one: stage.get("/agents/me", stage.agent)["agent_status"][
        "active_mandates"
    ][0],
}


@each("place", PLACES)
def test_wherever_it_is_shown__data_issue_says_why(stage: Stage, short: str, place: str) -> None:
    shown = PLACES[place](stage, short)
    assert (shown["data_issue"], shown["data_issue_reason"]) == (True, WHY)


# While the chain cannot be asked either


def test_its_progress__is_null_where_the_gap_may_move_it(stage: Stage, short: str) -> None:
    progress = stage.get(f"/mandates/{short}", stage.owner)["progress"]
    unknown = (
        "worth_est",
        "cash",
        "positions_est",
        "realized",
        "agent_fee_reserved",
        "leave_now_est",
        "exit_cost_est",
        "next_event",
        "day",
    )
    assert {progress[name] for name in unknown} == {None}
    assert progress["public_stop"] == {"on": None, "reason": "data_issue", "at_cost_usdc": None}
    assert progress["fees"]["net_after_fees_est"]["value"] is None
    assert (progress["floor"], {rule["ok"] for rule in progress["rules"]}) == ("950.000000", {None})


def test_its_lock_and_chain_state__are_not_known(stage: Stage, short: str) -> None:
    read = stage.get(f"/mandates/{short}", stage.owner)
    assert (read["lock"]["withdrawable"], read["lock"]["reason"]) == (None, "data_issue")
    assert read["chain_state"] == {
        "stopped": None,
        "settled": None,
        "agent": None,
        "agent_known": False,
    }


def test_what_protects_the_owner__is_built(stage: Stage, short: str) -> None:
    stop, pause = (
        stage.get(f"/mandates/{short}/{call}", stage.owner)
        for call in ("stop-call", "set-agent-call")
    )
    assert (
        stop["data"] is not None
        and "reverts and changes nothing" in stop["what_happens"]
        and stop["data_issue"] is True
    )
    assert pause["data"] is not None and pause["data_issue"] is True


@pytest.mark.slow
def test_a_report__is_not_held_against_cash_that_nobody_knows(stage: Stage) -> None:
    public_id = stage.working()
    for _ in range(5):
        stage.executed(public_id, 190 * USDC)
    hold(stage, public_id)
    stage.clock.pass_(days=2)
    body = {"kind": "buy", "amount_usdc": "100.000000", "payload": {"target": ADAPTER}}
    assert stage.post(f"/mandates/{public_id}/events", stage.agent, body)["violation"] is False


def test_a_key_with_a_limit_a_day__builds_nothing_while_the_day_is_not_known(
    stage: Stage, short: str
) -> None:
    limit(stage, per_day_usd="100")
    assert reason(build(stage, short, "1.000000")) == (503, "temporarily_unavailable")


# Each operation about one mandate

# Those that show no state of it: what was signed, the record, whose head names its gap, and the
# note that an agent wrote.
WITHOUT_STATE = {"mandates.terms", "mandates.record", "mandates.report_refusal"}
BODIES: dict[str, dict[str, Any]] = {
    "mandates.report_event": {"kind": "note", "why": "x"},
    "mandates.execute_call": {
        "target": ADAPTER,
        "function": "buy(uint256)",
        "args": ["1"],
        "amount_usdc": "1.000000",
    },
}
QUERIES = {"mandates.deposit_call": {"amount_usdc": "1.000000"}}
OF_ONE = [
    one for one in AREA.operations if "/mandates/{id}" in one.path and one.key not in WITHOUT_STATE
]


@pytest.mark.parametrize("operation", OF_ONE, ids=lambda one: one.key)
def test_each_operation__says_it_or_answers_nothing(
    stage: Stage, short: str, operation: Operation
) -> None:
    """A refusal names no state; 503 says that the chain cannot be asked.

    An answer says data_issue, wherever in it.
    """
    path, is_agents = (
        operation.path.format(id=short).removeprefix("/mandate-wallet"),
        operation.auth is auth.BY_KEY,
    )
    who = stage.agent if is_agents else stage.owner
    answer = stage.call(
        operation.method, path, who, BODIES.get(operation.key, {}), **QUERIES.get(operation.key, {})
    )
    if answer.status_code < 300:
        assert '"data_issue":true' in answer.text.replace(" ", "")
    else:
        assert answer.status_code in (400, 409, 503), answer.text


# Statements

OF_A_WEEK = (
    "worth.start",
    "worth.end",
    "cash.start",
    "cash.end",
    "flows.spent",
    "flows.unexplained",
    "result.estimated",
    "result.realized",
)


def block_at(stage: Stage, **after: float) -> None:
    """The block of the held fact, this long after now."""
    at = int((stage.clock.now + timedelta(**after)).timestamp())
    with stage.database.write() as session:
        session.add(
            ChainBlock(
                chain_id=CHAIN_ID,
                hash=b"\x07" * 32,
                number=7,
                parent_hash=b"\x06" * 32,
                ts=at,
                canonical=True,
                seen_at=stage.clock.now,
            )
        )


def figures_of(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: answer[name.split(".")[0]][name.split(".")[1]] for name in OF_A_WEEK}


def test_a_statement__has_no_figure_that_the_gap_may_move(stage: Stage, short: str) -> None:
    statement = stage.get(f"/mandates/{short}/statement", stage.owner)
    assert set(figures_of(statement).values()) == {None}
    assert statement["fees"]["by_type"]["unclassified"] == {"amount": None, "count": None}
    assert statement["allowed_vs_used"]["largest_move"] == {"used": None, "allowed": "200.000000"}
    assert statement["breaches"]["reverts"] == {"count": None}
    assert (statement["status"], statement["worth"]["source"]) == (None, "none")


def test_totals__of_which_one_mandate_is_short__are_null_and_say_so(
    stage: Stage, short: str
) -> None:
    whole = stage.working()
    total = stage.get("/me/statement", stage.owner)["totals"]["testnet"]
    assert set(figures_of(total).values()) == {None}
    assert (total["mandates"], total["data_issue"]) == (2, True)
    assert short in total["data_issue_reason"] and whole not in total["data_issue_reason"]


def test_totals_of_whole_mandates__stay_as_they_are(stage: Stage, short: str) -> None:
    stage.paper()
    total = stage.get("/me/statement", stage.owner)["totals"]["paper"]
    assert (total["worth"]["end"], "data_issue" in total) == ("1000.000000", False)


@pytest.mark.parametrize("form", ["csv", "pdf"])
@pytest.mark.parametrize("path", ["/mandates/{id}/statement", "/me/statement"])
def test_a_file__says_it_and_names_no_figure(
    stage: Stage, short: str, path: str, form: str
) -> None:
    answer = exported(stage, path.format(id=short), form)
    if form == "pdf":
        text = text_of(answer)
        assert "DATA ISSUE: these figures are incomplete." in text
        assert "Unexplained unknown" in text and "Worth at the end, est unknown" in text
        return
    lines = lines_of(answer)
    assert any(
        line["line"] == "caution"
        and line["name"] == "data_issue"
        and "figures are incomplete" in line["value"]
        for line in lines
    )
    told = [
        line for line in lines if line["line"] in ("figure", "total") and line["name"] in OF_A_WEEK
    ]
    assert {line["value"] for line in told} == {""}
    assert not any(
        line["name"].startswith("data_issue")
        for line in lines
        if line["line"] in ("figure", "total")
    )


def test_a_week_before_the_gap__is_whole(stage: Stage) -> None:
    public_id = stage.working()
    stage.executed(public_id, 200 * USDC)
    before = stage.get(f"/mandates/{public_id}/statement", stage.owner, week="2026-W47")
    hold(stage, public_id)
    block_at(stage, days=7)
    stage.later(days=8)
    assert figures_of(
        stage.get(f"/mandates/{public_id}/statement", stage.owner, week="2026-W47")
    ) == figures_of(before)
    assert "data_issue" not in stage.get(
        f"/mandates/{public_id}/statement", stage.owner, week="2026-W47"
    )
    in_it = stage.get(f"/mandates/{public_id}/statement", stage.owner, week="2026-W48")
    assert (in_it["cash"], in_it["data_issue"]) == ({"start": "800.000000", "end": None}, True)
    total = stage.get("/me/statement", stage.owner, week="2026-W47")["totals"]["testnet"]
    assert (total["cash"]["end"], "data_issue" in total) == ("800.000000", False)


def test_a_gap_whose_block_is_not_kept__takes_every_week(stage: Stage, short: str) -> None:
    stage.later(days=8)
    assert (
        stage.get(f"/mandates/{short}/statement", stage.owner, week="2026-W47")["data_issue"]
        is True
    )
