"""Transfers that the chain refuses, or that are paid otherwise, and nodes that are behind: what is
available is never too much, and a failure says why.
"""

import json
from dataclasses import replace

import httpx
from eth_utils.crypto import keccak

from core.chain.abi import call_by_signature, function
from core.chain.blocks import BlockHeader
from core.chain.nodes import Nodes
from core.chain.reader import LATEST, At
from core.hexes import hex_of
from core.mandate.chain.reader import VaultReader
from tests.integration.api.conftest import reason
from tests.integration.api.custody.conftest import NEW, USDC, Stage
from tests.node_transport import in_threads
from tests.personas import STRANGER


def test_somebody_else_sends_the_authorization_first__it_is_paid_once_and_confirmed(
    stage: Stage,
) -> None:
    stage.asked()
    before = stage.chain.reader.block_number()
    with stage.keepers.no_blocks():
        keeper = stage.keeper()
        keeper.run()
        (intent,) = stage.keepers.intents()
        raw = [hex_of(tx.raw) for tx in stage.keepers.txs()]
        rpc = stage.chain.anvil.rpc
        rpc.call("anvil_dropAllTransactions")
        rpc.call(
            "eth_sendRawTransaction",
            [stage.chain.sign(STRANGER, stage.chain.contracts["usdc"], hex_of(intent.data))],
        )
        stage.chain.anvil.mine()
        rpc.call("eth_sendRawTransaction", raw)
        stage.chain.anvil.mine()
    keeper.run()
    assert stage.keepers.states() == [("custodial_transfer", "reverted")]
    (shown,) = stage.seen()["transfers"]
    assert (shown["state"], shown["tx_hash"], stage.balance(stage.wallet.address)) == (
        "confirmed",
        None,
        100 * USDC,
    )
    assert shown["reason"] is None
    is_behind(stage, before)
    seen = stage.seen()
    assert (seen["balance_usdc"], seen["available_usdc"]) == ("100.000000", "0.000000")


def test_the_money_leaves_otherwise_before_it_is_sent__the_transfer_waits_and_fails_after_an_hour(
    stage: Stage,
) -> None:
    stage.asked()
    empty_wallet(stage, stage.starter)
    keeper = stage.keeper()
    keeper.run()
    assert (stage.states(), keeper.wire.sent) == (["queued"], [])
    stage.keepers.pass_time(int(stage.keepers.now().timestamp()) + 3600)
    keeper.run()
    assert (stage.states(), keeper.wire.sent) == (["failed"], [])
    (failed,) = stage.seen()["transfers"]
    assert failed["reason"] == "ERC20InsufficientBalance"
    stage.chain.mint(stage.starter, 7 * USDC)
    assert stage.seen()["available_usdc"] == "7.000000"
    stage.clock.now = stage.keepers.now()
    assert stage.asked()["reason"] is None
    keeper.run()
    assert stage.balance(stage.wallet.address) == 7 * USDC


def test_what_the_chain_refuses_now__says_why_while_it_waits(stage: Stage) -> None:
    stage.asked()
    empty_wallet(stage, stage.starter)
    keeper = stage.keeper()
    keeper.run()
    stage.keepers.pass_time(int(stage.keepers.now().timestamp()) + 10)
    keeper.run()
    (waits,) = stage.seen()["transfers"]
    assert (waits["state"], waits["reason"]) == ("queued", "ERC20InsufficientBalance")


def test_a_transfer_that_usdc_refuses__ends_with_its_words_and_unlocks_the_rest(
    stage: Stage,
) -> None:
    words = "Blacklistable: account is blacklisted"
    code = stage.chain.rpc.call("eth_getCode", [stage.chain.deploy("FreezableUSDC"), "latest"])
    stage.chain.rpc.call("anvil_setCode", [stage.chain.contracts["usdc"], code])
    freeze = call_by_signature("setFrozen(address,bool)", [stage.wallet.address, True])
    stage.chain.succeed(STRANGER, stage.chain.contracts["usdc"], freeze)
    stage.asked("40")
    keeper = stage.keeper()
    found = []
    for seconds in (0, 10, 3_600, 10):
        stage.keepers.pass_time(int(stage.keepers.now().timestamp()) + seconds)
        keeper.run()
        seen = stage.seen()
        (one,) = seen["transfers"]
        found.append((one["state"], one["reason"], seen["available_usdc"]))
    assert found == [
        ("queued", None, "60.000000"),
        ("queued", words, "60.000000"),
        ("queued", words, "60.000000"),  # tried once more
        ("failed", words, "100.000000"),
    ]
    assert keeper.wire.sent == []


def test_a_node_that_is_behind__never_offers_what_was_paid(stage: Stage) -> None:
    """Two nodes behind one address: the keeper saw the payment safe at the one, and the other does
    not have it yet. 100 were offered again.
    """
    before = stage.chain.reader.block_number()
    stage.asked("40")
    pay(stage)
    assert stage.states() == ["confirmed"]
    assert stage.seen()["available_usdc"] == "60.000000"
    is_behind(stage, before)
    seen = stage.seen()
    assert (seen["balance_usdc"], seen["available_usdc"]) == ("100.000000", "60.000000")
    over = stage.ask("60.000001")
    assert (reason(over), over.json()["service"]["remaining"]) == (
        (409, "insufficient_idle"),
        "60.000000",
    )


def test_a_node_that_ignores_a_blocks_hash__never_offers_what_was_paid(stage: Stage) -> None:
    """It answers of its newest block, and the payment comes between two of its answers."""
    before = stage.chain.reader.block_number()
    stage.asked("40")
    pay(stage)
    asks(stage, HashIgnored(stage, [before]))
    seen = stage.seen()
    assert (seen["balance_usdc"], seen["available_usdc"]) == ("60.000000", "20.000000")
    over = stage.ask("60.000001")
    assert reason(over) == (409, "insufficient_idle")


def test_a_node_that_fails_midway__is_followed_by_none_that_is_behind(stage: Stage) -> None:
    """The first node knows the payment and then answers no more, the second ignores the hash and is
    behind: what they say together is of no block.
    """
    before = stage.chain.reader.block_number()
    stage.asked("40")
    pay(stage)
    for fails in ("authorizationState", "balanceOf"):
        asks(stage, HashIgnored(stage, [], fails), HashIgnored(stage, [before] * 9))
        assert stage.seen()["available_usdc"] is None


class HashIgnored(httpx.BaseTransport):
    """A node that answers each request that names a block by its hash of the next of these heights,
    and then of its newest block; 503 for `fails`, a view of USDC.
    """

    def __init__(self, stage: Stage, heights: list[int], fails: str | None = None) -> None:
        self._url, self._heights = stage.chain.anvil.url, heights
        self._fails = None if fails is None else function("MockUSDC", fails).selector

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        calls = asked if isinstance(asked, list) else [asked]
        if "blockHash" in request.content.decode():
            height = hex(self._heights.pop(0)) if self._heights else LATEST
            for one in calls:
                if self._fails is not None and one["params"][0]["data"].startswith(self._fails):
                    return httpx.Response(503)
                one["params"][1] = height
        return httpx.post(self._url, json=asked)


def asks(stage: Stage, *nodes: HashIgnored) -> None:
    """From now on the API asks these nodes."""
    wires = dict(zip((f"http://node{one}" for one in range(len(nodes))), nodes, strict=True))
    rpc = Nodes(list(wires), transport=in_threads(Hosts(wires)))
    stage.deps = replace(stage.deps, chain=VaultReader(rpc, stage.chain.contracts))
    stage.serve(NEW)


class Hosts(httpx.BaseTransport):
    def __init__(self, nodes: dict[str, HashIgnored]) -> None:
        self._nodes = nodes

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._nodes[f"http://{request.url.host}"].handle_request(request)


def pay(stage: Stage) -> None:
    keeper = stage.keeper()
    keeper.run()
    stage.keepers.make_safe()
    keeper.run()
    keeper.run()


class Behind(VaultReader):
    """A node whose newest block is this one."""

    def __init__(self, reader: VaultReader, newest: int) -> None:
        super().__init__(reader.rpc, reader.contracts)
        self._newest = newest

    def header(self, at: At = LATEST) -> BlockHeader | None:
        return super().header(self._newest if at == LATEST else at)


def is_behind(stage: Stage, newest: int) -> None:
    """From now on the API asks such a node."""
    stage.deps = replace(stage.deps, chain=Behind(stage.chain.reader, newest))
    stage.serve(NEW)


def empty_wallet(stage: Stage, address: str) -> None:
    """As if another process that has the key had moved the money: the token's own storage says
    0.
    """
    slot = keccak(bytes.fromhex(address[2:]).rjust(32, b"\0") + (0).to_bytes(32, "big"))
    stage.chain.anvil.rpc.call(
        "anvil_setStorageAt", [stage.chain.contracts["usdc"], hex_of(slot), "0x" + "00" * 32]
    )
    stage.chain.anvil.mine()
    assert stage.balance(address) == 0
