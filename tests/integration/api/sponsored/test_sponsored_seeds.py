"""Stories of one sponsored buy among troubles: keepers killed at any commit or right after a
transaction was sent, a node that lies, blocks taken back, prices and gas that move, authorizations
submitted alone or cancelled, a buyer who spends the money or gets code.

Whatever happens: what the API says at the end is what the chain holds, no transfer happens twice,
and nobody loses anything: a fee without tokens is owed, tokens without a fee are the sponsor's loss
of one fee at most. `SEEDS=a..b` chooses seeds; `make test-deep` tells 1..100.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import select

from core.chain.errors import RpcError
from core.db.leadership import LeadershipLostError
from core.errors import OutsideError
from core.reserve.rules import token_text
from core.sponsored import queries
from core.sponsored.tables import SponsoredBuy
from tests.integration.api.sponsored.conftest import (
    GWEI,
    SPONSOR_KEY,
    TREASURY,
    USDC,
    KilledError,
    LyingWire,
    SponsoredStage,
)
from tests.integration.chaos.seeds import Seeds

SEEDS = Seeds(
    "sponsored",
    every_run="1..4",
    code=("api/areas/sponsored", "keeper", "indexer", "tests/integration/api/sponsored"),
)
ROUNDS = 9
AMOUNTS = ("5.000000", "12.345678", "50.000000")
# after these the buy need not happen
SPOILING = ("spent", "code", "cancel_fee", "cancel_purchase", "gas", "price", "fee_alone", "lies")


class Story:
    """One buy and its troubles, by a seed."""

    def __init__(self, stage: SponsoredStage, seed: int) -> None:
        self.stage, self.rng = stage, random.Random(seed)
        self.agent = stage.agent()
        self.told: list[str] = []
        self.had = stage.usdc(stage.buyer.address)
        self.others_had = stage.usdc(SPONSOR_KEY.address)
        self.quote = stage.prepared(
            self.agent, self.rng.choice(AMOUNTS), max_rise_bps=self.rng.choice((0, 50, 200))
        )
        self.amount = int(self.quote["purchase"]["message"]["value"])
        self.fee = int(self.quote["fee"]["message"]["value"])
        self.signed = stage.signed(self.quote)
        if self.rng.random() < 0.2:
            self.trouble("price")
        self.is_accepted = self._handed_in()
        assert self.is_accepted or self.told, "an honest buy was refused"

    def _handed_in(self) -> bool:
        """Once, or again because the answer was lost."""
        answers = [
            self.stage.hand_in(self.agent, self.signed) for _ in range(self.rng.choice((1, 1, 2)))
        ]
        return all(answer.status_code == 202 for answer in answers)

    # What goes wrong

    def trouble(self, name: str) -> None:
        self.told.append(name)
        try:
            self.troubles[name](self)
        except AssertionError:
            self.told.append("in vain")  # the authorization was used before

    def _reorg(self) -> None:
        self.stage.chain.anvil.reorg(self.rng.choice((1, 2, 3)))
        self.stage.tell_time()

    def _fee_alone(self) -> None:
        self.stage.submit_fee_alone(self.quote, self.signed)

    def _purchase_alone(self) -> None:
        with self.stage.database.read() as session:
            seen = queries.find_any(session, self.quote["id"])
        assert seen is not None
        self.stage.submit_purchase_alone(self.quote, self.signed, seen.buy.salt)

    def _spent(self) -> None:
        """The buyer's money goes elsewhere."""
        stage, usdc = self.stage, self.stage.chain.contracts["usdc"]
        stage.chain.rpc.call("anvil_impersonateAccount", [stage.buyer.address])
        held = stage.usdc(stage.buyer.address)
        data = "0xa9059cbb" + SPONSOR_KEY.address[2:].lower().rjust(64, "0") + f"{held:064x}"
        stage.chain.rpc.call("anvil_setBalance", [stage.buyer.address, hex(10**18)])
        stage.chain.rpc.call(
            "eth_sendTransaction", [{"from": stage.buyer.address, "to": usdc, "data": data}]
        )
        stage.chain.anvil.mine()

    @property
    def spent(self) -> int:
        """What went elsewhere; a reorg may have taken that back."""
        return self.stage.usdc(SPONSOR_KEY.address) - self.others_had

    def _code(self) -> None:
        code = self.rng.choice(("0x", "0xef0100" + "11" * 20))
        self.stage.chain.rpc.call("anvil_setCode", [self.stage.buyer.address, code])

    def _gas(self) -> None:
        price = self.rng.choice((1, 5, 50)) * GWEI
        self.stage.chain.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(price)])
        self.stage.chain.anvil.mine()

    def _price(self) -> None:
        self.stage.buy_beside(self.rng.choice((1, 20, 500)) * USDC)

    troubles: dict[str, Callable[["Story"], None]] = {  # noqa: RUF012 (a table that nobody changes)
        "reorg": _reorg,
        "fee_alone": _fee_alone,
        "purchase_alone": _purchase_alone,
        "spent": _spent,
        "code": _code,
        "gas": _gas,
        "price": _price,
        "cancel_fee": lambda self: self.stage.cancel(self.quote, "fee"),
        "cancel_purchase": lambda self: self.stage.cancel(self.quote, "purchase"),
        "time": lambda self: self.stage.pass_time(self.rng.choice((15, 60, 300))),
    }

    def wire(self) -> LyingWire:
        """A way to the node that may lie, or break once the node has a transaction."""
        if self.rng.random() < 0.15:
            self.told.append("lies")
            return LyingWire(self.rng.choice((_failed, _missing, _poor, _has_code)))
        return LyingWire(kill_after_send=self.rng.random() < 0.2)

    # What is done about it

    def round(self) -> None:
        """A keeper, killed or not, the worker and the indexer, in any order."""
        steps: list[Callable[[], object]] = [self._keep, self.stage.work, self.stage.index]
        self.rng.shuffle(steps)
        for step in steps:
            if self.rng.random() < 0.85:
                step()

    def _keep(self) -> None:
        dies_after = self.rng.choice((None, None, 1, 2, 3, 4, 5, 6))
        keeper = self.stage.keeper(self.wire(), dies_after)
        try:
            for _ in range(2):
                keeper.run()
        except KilledError:
            self.told.append(f"killed {dies_after}")
        except (RpcError, OutsideError, LeadershipLostError) as error:
            self.told.append(type(error).__name__)
        finally:
            keeper.die()
            self.stage.processes.remove(keeper)

    def end(self) -> dict[str, Any]:
        """An honest keeper has a while, and then the authorizations' time is over."""
        self.stage.chain.anvil.mine(2)
        for _ in range(4):
            self.stage.index()
            keeper = self.stage.keeper()
            keeper.run()
            keeper.die()
            self.stage.processes.remove(keeper)
            self.stage.work()
            self.stage.pass_time(60)
        self.stage.pass_time(2_000)
        self.stage.be_safe()
        return self.stage.state(self.agent, self.quote)


def _failed(call: dict[str, Any], result: Any) -> Any:
    is_receipt = call["method"] == "eth_getTransactionReceipt" and result is not None
    return {**result, "status": "0x0", "logs": []} if is_receipt else result


def _missing(call: dict[str, Any], result: Any) -> Any:
    is_of_a_transaction = call["method"] in (
        "eth_getTransactionReceipt",
        "eth_getTransactionByHash",
    )
    return None if is_of_a_transaction else result


def _poor(call: dict[str, Any], result: Any) -> Any:
    return "0x0" if call["method"] == "eth_getBalance" else result


def _has_code(call: dict[str, Any], result: Any) -> Any:
    return "0x6001" if call["method"] == "eth_getCode" else result


def told_at_random(story: Story) -> None:
    names: Sequence[str] = sorted(Story.troubles)
    for _ in range(ROUNDS):
        if story.rng.random() < 0.35:
            story.trouble(story.rng.choice(names))
        story.round()


@pytest.mark.parametrize("seed", SEEDS.chosen())
def test_a_sponsored_buy_among_troubles__loses_nothing_and_pays_nothing_twice(
    stage: SponsoredStage, seed: int
) -> None:
    stage.processes.pop().die()
    treasury_had = stage.usdc(TREASURY)
    story = Story(stage, seed)
    told_at_random(story)
    said = story.end()
    print(f"seed {seed}: {story.told} -> {said['state']} ({said['sending']})")

    tokens, fee = stage.tokens(stage.buyer.address), stage.usdc(TREASURY) - treasury_had
    took = story.had - story.spent - stage.usdc(stage.buyer.address)
    is_bought, is_paid = tokens > 0, fee > 0
    assert said["is_final"], said
    assert fee in (0, story.fee)  # once, and exactly what was signed
    assert took == (story.amount if is_bought else 0) + fee
    assert not is_bought or tokens >= int(story.quote["min_tokens_base"])
    if not story.is_accepted:
        return
    state = {
        (True, True): "paid",
        (True, False): "bought_without_fee",
        (False, True): "fee_owed",
        (False, False): "nothing_paid",
    }[is_bought, is_paid]
    assert said["state"] == state, story.told
    minted = said["transfers"][0]["tokens"]
    assert minted == (token_text(tokens) if is_bought else None)
    assert int(said["owed_usdc"].replace(".", "")) == (fee if state == "fee_owed" else 0)
    if not set(story.told) & set(SPOILING):
        assert is_bought, story.told
    SEEDS.remember(seed, [state])


def test_a_nonce__is_not_known_before_the_quote_is_committed(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    nonces = {stage.prepared(agent)["purchase"]["message"]["nonce"] for _ in range(3)}
    assert len(nonces) == 3
    with stage.database.read() as session:
        assert nonces <= set(session.scalars(select(SponsoredBuy.buy_nonce)))
