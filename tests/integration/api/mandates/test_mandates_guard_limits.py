"""What the guard signed counts against the limits of the agent's key, until it is mined or
lapses.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from api.areas.mandates.service.key_limits import MOST_OUTSTANDING
from api.areas.mandates.service.paying import HOLDS_S
from api.kernel.operation import Deps
from core.chain.nodes import Nodes
from core.payments import guard_signatures
from core.payments.guard_signatures import SignedByGuard
from scripts._ports import free_port
from tests.integration.api.conftest import BASE_URL
from tests.integration.api.mandates.stage import Stage, reason
from tests.integration.api.mandates.test_mandates_paying import (
    THEIR_TARGETS,
    TILL,
    ask,
    ask_theirs,
    limit,
    paying,  # noqa: F401 (a fixture)
    stage,  # noqa: F401 (a fixture)
    working,
)
from tests.integration.api.payments.shop import OTHER_PAGE
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.indexer.conftest import Follower, follower, leadership  # noqa: F401 (fixtures)
from tests.personas import AGENT


def test_a_key_without_spend__gets_no_signature(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower)
    limit(stage, scopes=["read", "tx"])
    refused = ask(stage, mandate_id)
    assert reason(refused) == (403, "scope_denied")
    assert refused.json()["service"]["missing"] == "spend"
    assert "guard_signature" not in refused.text
    plain = {
        "target": deployed.contracts["test_venue_adapter"],
        "function": "buy(uint256)",
        "args": ["1"],
        "amount_usdc": "1",
    }
    assert (
        stage.call("POST", f"/mandates/{mandate_id}/execute-call", stage.agent, plain).status_code
        == 200
    )
    limit(stage, scopes=["read", "spend"])
    assert ask(stage, mandate_id).status_code == 200


@pytest.mark.slow
def test_what_the_guard_signed__counts_until_it_is_mined(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    """Each signature was built against the same limit: a key of 1 USD a day could take any number
    of them and pay each.
    """
    mandate_id = working(stage, deployed, follower, allowed_targets=THEIR_TARGETS)
    limit(stage, per_day_usd="0.03")
    signed = [ask_theirs(stage, mandate_id, n).json() for n in range(3)]
    fourth = ask_theirs(stage, mandate_id, 3)
    assert reason(fourth) == (403, "spend_limit_reached")
    assert (
        "has 0.000000 left, besides 0.030000 that is signed but not mined"
        in fourth.json()["detail"]
    )
    first_ends = datetime.fromtimestamp(min(one["payment"]["deadline"] for one in signed) + 1, UTC)
    assert datetime.fromisoformat(fourth.json()["service"]["retry_at"]) == first_ends
    deployed.succeed(AGENT, signed[0]["to"], signed[0]["data"])
    follower.catch_up()
    assert reason(ask_theirs(stage, mandate_id, 3)) == (403, "spend_limit_reached"), (
        "it is mined and counts as spent, once"
    )
    limit(stage, per_day_usd="0.04")
    assert ask_theirs(stage, mandate_id, 3).status_code == 200
    assert reason(ask_theirs(stage, mandate_id, 4)) == (403, "spend_limit_reached")


def signed_before(stage: Stage, deployed: DeployedChain, count: int) -> int:
    """So many signatures of nothing that end before any other; the first deadline."""
    ends_at = deployed.now + HOLDS_S // 2
    with stage.database.write() as session:
        for n in range(count):
            one = SignedByGuard(TILL.lower(), "0x" + n.to_bytes(32).hex(), 0, ends_at + n)
            guard_signatures.keep(session, int(stage.agent_id), one, 0, stage.clock.now)
    return ends_at


@pytest.mark.slow
def test_a_mined_signature_after_many_others__counts_once(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    """The chain was asked about the first hundred alone: this one counted as spent and as
    outstanding.
    """
    mandate_id = working(stage, deployed, follower)
    limit(stage, per_day_usd="0.02")
    signed_before(stage, deployed, 150)
    call = ask(stage, mandate_id).json()
    deployed.succeed(AGENT, call["to"], call["data"])
    follower.catch_up()
    assert ask(stage, mandate_id).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("limits", [{}, {"per_day_usd": "1"}])
def test_the_guard_signs__two_hundred_for_an_agent_at_a_time(
    stage: Stage,
    deployed: DeployedChain,
    follower: Follower,
    limits: dict[str, str],
) -> None:
    mandate_id = working(stage, deployed, follower)
    limit(stage, **limits)
    ends_at = signed_before(stage, deployed, MOST_OUTSTANDING - 1)
    assert ask(stage, mandate_id).status_code == 200
    refused = ask(stage, mandate_id, resource=f"{BASE_URL}{OTHER_PAGE}")
    assert reason(refused) == (429, "rate_limited")
    assert "200 is the limit" in refused.json()["detail"]
    assert datetime.fromisoformat(refused.json()["service"]["retry_at"]) == datetime.fromtimestamp(
        ends_at + 1, UTC
    )
    assert "guard_signature" not in refused.text


@pytest.mark.slow
def test_what_is_mined_and_not_in_the_record_yet__counts(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower)
    limit(stage, per_day_usd="0.01")
    call = ask(stage, mandate_id).json()
    deployed.succeed(AGENT, call["to"], call["data"])
    assert reason(ask(stage, mandate_id)) == (403, "spend_limit_reached")
    deployed.rpc.call("evm_increaseTime", [HOLDS_S + 1])
    deployed.anvil.mine()
    assert reason(ask(stage, mandate_id)) == (403, "spend_limit_reached"), (
        "the record's time counts, not the node's"
    )
    follower.catch_up()
    assert reason(ask(stage, mandate_id)) == (403, "spend_limit_reached")


@pytest.mark.slow
def test_what_was_signed_and_not_sent__is_free_again_after_its_deadline(
    stage: Stage,
    deployed: DeployedChain,
    follower: Follower,
) -> None:
    mandate_id = working(stage, deployed, follower)
    limit(stage, per_day_usd="0.01")
    deadline = ask(stage, mandate_id).json()["payment"]["deadline"]
    for second, status in ((deadline, 403), (deadline + 1, 200)):
        deployed.rpc.call("evm_setNextBlockTimestamp", [second])
        deployed.anvil.mine()
        follower.catch_up()
        assert ask(stage, mandate_id).status_code == status, second


def test_a_call_without_payment__has_what_is_left_beside_signed_ones(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower, allowed_targets=THEIR_TARGETS)
    limit(stage, per_day_usd="1")
    assert ask_theirs(stage, mandate_id, amount_usdc="0.4").status_code == 200
    plain = {
        "target": deployed.contracts["test_venue_adapter"],
        "function": "buy(uint256)",
        "args": ["1"],
        "amount_usdc": "0.600001",
    }
    refused = stage.call("POST", f"/mandates/{mandate_id}/execute-call", stage.agent, plain)
    assert (reason(refused), refused.json()["service"]["remaining"]) == (
        (403, "spend_limit_reached"),
        {"per_day_usd": "0.600000"},
    )


@pytest.mark.slow
def test_twenty_calls_at_once__are_signed_up_to_the_limit(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower, allowed_targets=THEIR_TARGETS)
    limit(stage, per_day_usd="0.07")
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: ask_theirs(stage, mandate_id, n), range(20)))
    assert sorted(one.status_code for one in answers) == [200] * 7 + [403] * 13
    assert len({one.json()["payment"]["nonce"] for one in answers if one.status_code == 200}) == 7


@pytest.mark.slow
def test_while_no_node_answers__what_is_signed_counts(
    paying: Deps,
    stage: Stage,
    deployed: DeployedChain,
    follower: Follower,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mandate_id = working(stage, deployed, follower)
    limit(stage, per_day_usd="0.02")
    call = ask(stage, mandate_id).json()
    deployed.succeed(AGENT, call["to"], call["data"])
    follower.catch_up()
    monkeypatch.setattr(paying.chain, "rpc", Nodes([f"http://127.0.0.1:{free_port()}"]))
    other = {"resource": f"{BASE_URL}{OTHER_PAGE}"}
    assert reason(ask(stage, mandate_id, **other)) == (403, "spend_limit_reached")
    assert ask(stage, mandate_id).json()["payment"] == call["payment"], (
        "it pays once, whenever it is sent"
    )
    monkeypatch.undo()
    assert ask(stage, mandate_id, **other).status_code == 200
