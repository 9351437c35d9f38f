"""Conversions of strangers that no node can confirm: they hold up nobody else's credit."""

from collections.abc import Callable
from typing import Any

from core.credits.rules.buckets import Credits
from core.reserve import conversions
from core.reserve.decode import CONVERTED_TOPIC
from indexer.chain.reserve import Crediting
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.clocked import Clocked
from tests.integration.indexer.conftest import Follower, now_utc
from tests.integration.indexer.test_reserve import (
    ONE,
    account,
    balance,
    call_it_safe,
    following,
    reference,
    statuses,
    token,
)
from tests.integration.indexer.test_reserve_attacks import makes_up, nodes
from tests.integration.reserve_token import TokenOnChain
from tests.personas import AGENT, OWNER

__all__ = ["following", "nodes", "token"]


def test_what_no_node_confirms_of_one_holder__holds_up_no_other(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    """One's dust fills a block until the answer with it is too large; both have the same turn."""
    mine, theirs = account(following.database, 1), account(following.database, 2)
    token.buy(AGENT, 102 * USDC)
    token.buy(OWNER, 102 * USDC)
    token.unlock()
    flood = reference(following.database, theirs, "f1")
    token.convert(OWNER, ONE, flood)
    token.convert(AGENT, 4_000 * ONE, reference(following.database, mine))
    clocked = nodes("first", "second")
    clocked.rounds(4)
    clocked.follower._tip = clocked.tip
    call_it_safe(following)

    def too_much(call: dict[str, Any], result: Any) -> Any:
        is_it = call["method"] == "eth_getLogs" and flood in str(call["params"])
        return "x" * (65 * 2**20) if is_it else result

    clocked.wire.views = {"first": too_much, "second": too_much}
    crediting = Crediting(following.chain, now_utc)
    for _ in range(8):
        crediting.round()
    assert balance(following.database, mine) == Credits(converted=4_119)
    assert sorted(statuses(following.database)) == ["credited", "waiting"]
    clocked.wire.views = {}
    for _ in range(4):
        crediting.round()
    assert statuses(following.database) == ["credited", "credited"]


def test_conversions_of_one_block__are_asked_for_once(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    """Each log comes back once a round, however many of a holder's stand in one block."""
    mine = account(following.database)
    ref = reference(following.database, mine)
    token.buy(AGENT, 102 * USDC)
    anvil = following.deployed.anvil
    following.deployed.rpc.call("evm_setAutomine", [False])
    nonce = following.deployed.reader.transaction_count(AGENT.address)
    for number in range(conversions.ROWS_A_HOLDER):
        following.deployed.rpc.call(
            "eth_sendTransaction",
            [
                {
                    "from": AGENT.address,
                    "to": token.address,
                    "data": token.convert_data(ONE, ref),
                    "nonce": hex(nonce + number),
                    "gas": hex(200_000),
                }
            ],
        )
    anvil.mine()
    following.deployed.rpc.call("evm_setAutomine", [True])
    clocked = nodes("first")
    clocked.rounds(4)
    clocked.follower._tip = clocked.tip
    call_it_safe(following)
    asked = list[Any]()

    def seen(call: dict[str, Any], result: Any) -> Any:
        if call["method"] == "eth_getLogs" and CONVERTED_TOPIC in str(call["params"]):
            asked.append(call["params"])
        return result

    clocked.wire.view = seen
    Crediting(following.chain, now_utc).round()
    assert statuses(following.database) == ["credited"] * conversions.ROWS_A_HOLDER
    assert len(asked) == 1


def test_amounts_that_no_contract_can_have__stop_no_block(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    """Each fits its column; their sum does not."""
    ref = reference(following.database, account(following.database))
    token.buy(AGENT, 102 * USDC)
    clocked = nodes("first")
    clocked.rounds(4)
    clocked.wire.view = makes_up(2**256 - 1)
    for _ in range(10):
        token.convert(AGENT, ONE, ref)
    clocked.rounds(12)
    assert clocked.tip.cursor.number == following.deployed.reader.block_number()
    assert statuses(following.database) == []
