"""Authorizations that somebody submits alone right before the service's own transaction
(docs/sponsored-buys.md#front-runs): what is paid, what comes back, and what the sponsor loses.
"""

import json
from collections.abc import Callable

import httpx
import pytest

from api.areas.sponsored import jobs as job
from tests.integration.api.sponsored.conftest import (
    SPONSOR_KEY,
    TREASURY,
    LyingWire,
    MortalDatabase,
    SponsoredStage,
)


class Before(LyingWire):
    """Right before a transaction reaches the node, once, something else does."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self.act: Callable[[], None] | None = act

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        calls = asked if isinstance(asked, list) else [asked]
        if self.act is not None and any(
            call["method"] == "eth_sendRawTransaction" for call in calls
        ):
            act, self.act = self.act, None
            act()
        return super().handle_request(request)


def run_after(stage: SponsoredStage, act: Callable[[], None]) -> LyingWire:
    """A keeper whose transaction comes second."""
    for process in stage.processes:
        process.die()
    stage.processes.clear()
    wire = Before(act)
    stage.keeper(wire).run()
    return wire


def end(stage: SponsoredStage) -> None:
    for _ in range(3):
        stage.chain.anvil.mine(50)
        stage.index()
        stage.follower.tip.note_finality()
        stage.processes[0].run()
        stage.work()
        stage.processes[0].run()
    stage.be_safe()


def test_a_fee_that_is_submitted_first__is_followed_by_the_purchase_alone(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    had, treasury_had = stage.usdc(stage.buyer.address), stage.usdc(TREASURY)
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    assert stage.hand_in(agent, body).status_code == 202
    wire = run_after(stage, lambda: stage.submit_fee_alone(quote, body))
    assert len(wire.sent) == 1
    end(stage)
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("paid", True)
    amount, fee = (int(quote[part]["message"]["value"]) for part in ("purchase", "fee"))
    assert had - stage.usdc(stage.buyer.address) == amount + fee
    assert stage.usdc(TREASURY) - treasury_had == fee
    assert stage.tokens(stage.buyer.address) >= int(quote["min_tokens_base"])
    assert len(wire.sent) == 2


def test_a_purchase_that_is_submitted_first__costs_the_sponsor_one_failed_transaction(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """It reverts before the fee moves; nothing is sent again, and it counts as a failure."""
    had, treasury_had = stage.usdc(stage.buyer.address), stage.usdc(TREASURY)
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    assert stage.hand_in(agent, body).status_code == 202
    ether = stage.chain.reader.balance_wei(SPONSOR_KEY.address)
    wire = run_after(stage, lambda: stage.submit_purchase_alone(quote, body, quote["salt"]))
    end(stage)
    stage.pass_time(2_000)
    stage.be_safe()
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("bought_without_fee", True)
    amount = int(quote["purchase"]["message"]["value"])
    assert had - stage.usdc(stage.buyer.address) == amount
    assert stage.usdc(TREASURY) == treasury_had
    assert len(wire.sent) == 1
    lost = ether - stage.chain.reader.balance_wei(SPONSOR_KEY.address)
    assert 0 < lost <= int(quote["gas"]["covers_wei"])


def test_two_front_runs_of_one_buy__are_made_good_as_well(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """The fee before the first transaction, the purchase before the second: all that was signed happened."""
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    assert stage.hand_in(agent, body).status_code == 202
    run_after(stage, lambda: stage.submit_fee_alone(quote, body))
    stage.chain.anvil.mine(50)
    stage.index()
    stage.processes[0].run()
    stage.work()
    run_after(stage, lambda: stage.submit_purchase_alone(quote, body, quote["salt"]))
    end(stage)
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("paid", True)
    assert said["owed_usdc"] == "0.000000"


def test_the_job__opens_no_transaction_for_buys_with_nothing_to_do(
    stage: SponsoredStage, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It opened one for each of them, every five seconds."""
    quotes = [stage.prepared(agent, "5.000000") for _ in range(3)]
    bodies = [stage.signed(quote) for quote in quotes]
    for body in bodies:
        assert stage.hand_in(agent, body).status_code == 202
    monkeypatch.setattr(job, "A_PAGE", 2)
    counted = MortalDatabase(stage.database, None)
    assert stage.work(counted)["asked_again"] == 0
    assert counted.commits == 0
    for quote, body in zip(quotes, bodies, strict=True):
        stage.submit_fee_alone(quote, body)
    stage.index()
    stage.processes[0].run()
    assert stage.work(counted)["asked_again"] == 3
    assert counted.commits == 3
