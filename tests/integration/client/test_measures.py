"""What a vault measured, and what a party said: marks, stops at the line and reasons of stops."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from api.client.verify.findings import Report, Verdict
from core.chain.abi import call_by_signature
from core.db.embedded import EmbeddedPostgres
from core.mandate.chain import calldata
from core.mandate.venues import test_venue
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.client.conftest import (
    REASON,
    export,
    following,
    judged,
    names,
    settle_reverts,
)
from tests.integration.client.forging import Forgery
from tests.personas import AGENT, KEEPER, OPERATOR, STRANGER


@dataclass(frozen=True)
class Measured:
    """`by_agent`: bought for 100, marked while it was worth 80, then stopped by the agent;
    `by_line`: stopped by a stranger below its line. Since then the price doubled.
    """

    chain: DeployedChain
    by_agent: tuple[bytes, ...]
    by_line: tuple[bytes, ...]


@pytest.fixture(scope="module")
def measured(postgres: EmbeddedPostgres, template: str) -> Iterator[Measured]:
    with following(postgres, template) as follower:
        chain = follower.deployed
        mandates = [follower.issue(), follower.issue("m_othermand2", nonce=2)]
        by_agent, by_line = (chain.create_vault(one.terms) for one in mandates)
        chain.buy(by_agent, 100 * USDC)
        for _ in range(3):
            chain.buy(by_line, 100 * USDC)
        price(chain, 800_000)
        chain.succeed(KEEPER, by_agent, calldata.mark())
        chain.succeed(AGENT, by_agent, call_by_signature("stop(bytes32)", [REASON]))
        chain.succeed(STRANGER, by_line, call_by_signature("enforceStopLine()", []))
        price(chain, 1_600_000)
        chain.anvil.mine()
        follower.catch_up()
        settle_reverts(follower.chain)
        yield Measured(chain, *(export(follower, one) for one in mandates))


def price(chain: DeployedChain, price_e6: int) -> None:
    chain.succeed(OPERATOR, chain.contracts["test_venue"], test_venue.set_price(price_e6))


def stops(report: Report) -> list[str]:
    return [text for text in report.remarks if "stopped" in text]


def test_worth_of_the_last_block__stands_beside_the_newest_mark(measured: Measured) -> None:
    report = judged(measured.chain, measured.by_agent)
    marked = Forgery.of(measured.by_agent).body("mark")
    place = {"block": marked["block_number"], "row": marked["seq"]}
    last = report.subject["as_of_block"]
    assert report.verdict is Verdict.SOUND
    assert (
        report.figures["newest_mark"]
        == {
            "usdc": "980.000000",
            "at_cost_usdc": "0.000000",
        }
        | place
    )
    assert report.figures["worth"] == {
        "usdc": "1060.000000",
        "at_cost_usdc": "0.000000",
        "block": last,
    }


def test_a_stop_at_the_line__is_the_vaults_own_measure(measured: Measured) -> None:
    report = judged(measured.chain, measured.by_line)
    stop = Forgery.of(measured.by_line).body("stopped")
    assert report.figures["newest_mark"]["usdc"] == "940.000000"
    assert stops(report) == [
        f"row {stop['seq']}: stopped at the line; the worth of 940.000000 is the vault's own measure"
    ]


def test_the_reason_of_a_stop__is_the_word_of_who_stopped(measured: Measured) -> None:
    report = judged(measured.chain, measured.by_agent)
    stop = Forgery.of(measured.by_agent).body("stopped")
    reason = "the reason (enough) is the agent's word, and nothing on chain measures it"
    assert stops(report) == [f"row {stop['seq']}: stopped by the agent; {reason}"]


def test_a_mark_of_more_than_its_log__is_found(measured: Measured) -> None:
    forgery = Forgery.of(measured.by_agent)
    forgery.body("mark")["payload"]["mark"]["worth_usdc"] = "1300.000000"
    forgery.seal()
    report = judged(measured.chain, forgery.lines())
    assert [one.name for one in report.findings] == ["row.payload"]
    assert "newest_mark" not in report.figures


def test_a_mark_that_is_left_out__is_found(measured: Measured) -> None:
    forgery = Forgery.of(measured.by_agent)
    forgery.drop(forgery.body("mark"))
    forgery.seal()
    assert names(judged(measured.chain, forgery.lines())) == {"row.left_out"}


def test_worth_while_a_venue_fails__is_unknown_and_never_zero(measured: Measured) -> None:
    """Last of all: the chain's venue is broken from the record's last block on."""
    venue = measured.chain.contracts["test_venue"]
    code = measured.chain.rpc.call("eth_getCode", [venue, "latest"])
    measured.chain.rpc.call("anvil_setCode", [venue, "0xfe"])
    try:
        report = judged(measured.chain, measured.by_agent)
    finally:
        measured.chain.rpc.call("anvil_setCode", [venue, code])
    assert report.figures["worth"]["usdc"] is None
