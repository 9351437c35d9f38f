"""A block that a stranger fills with logs, of which no node gives all receipts at once: they are
asked for by transaction.
"""

import json
from collections.abc import Iterator

import httpx
import pytest

from core.blocks import queries as repository
from core.blocks.queries import REVERTS
from core.chain import provider
from core.chain.nodes import Nodes
from core.mandate.chain.reader import VaultReader
from indexer.chain.backfill import WORTH_IT
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import Follower, Issued
from tests.node_transport import in_threads
from tests.personas import AGENT, STRANGER

Working = tuple[Issued, str]
SPAMMER = "0x0000000000000000000000000000000000515151"
LOGS_A_CALL = 200
# LOG0 of nothing: about a byte of JSON for each unit of gas
CODE = "0x" + "60006000a0" * LOGS_A_CALL + "00"
CALLS = 6
MOST_BYTES = 300_000  # a block of all the calls has more, a receipt of one has less
FINAL_BEHIND = 64


class Slow(httpx.BaseTransport):
    """Anvil, which gives the receipts of long blocks not in time while it is `slow`."""

    def __init__(self, url: str) -> None:
        self._url, self._real = url, httpx.HTTPTransport()
        self.slow = False
        self.receipts_asked = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        methods = [call["method"] for call in (body if isinstance(body, list) else [body])]
        self.receipts_asked += sum(method.endswith(("Receipts", "Receipt")) for method in methods)
        answer = self._real.handle_request(httpx.Request("POST", self._url, json=body)).read()
        if self.slow and "eth_getBlockReceipts" in methods and len(answer) > MOST_BYTES:
            raise httpx.ReadTimeout("too long")
        return httpx.Response(200, content=answer)

    def close(self) -> None:
        self._real.close()


@pytest.fixture
def wire(follower: Follower) -> Iterator[Slow]:
    slow = Slow(follower.deployed.anvil.url)
    rpc = Nodes(["http://one"], transport=in_threads(slow))
    follower.restart(reader=VaultReader(rpc, follower.deployed.contracts))
    yield slow
    rpc.close()


@pytest.fixture(params=["too large", "never in time"])
def hard(request: pytest.FixtureRequest, wire: Slow, monkeypatch: pytest.MonkeyPatch) -> Slow:
    """Receipts of a block full of logs do not come whole."""
    if request.param == "too large":
        monkeypatch.setattr(provider, "MOST_ANSWER_BYTES", MOST_BYTES)
    else:
        wire.slow = True
    return wire


def fill_a_block(follower: Follower, vault: str) -> int:
    """The stranger's calls, a purchase and one that the vault refuses, in one block; its height."""
    chain = follower.deployed
    chain.rpc.call("anvil_setCode", [SPAMMER, CODE])
    chain.rpc.call("evm_setAutomine", [False])
    nonces = {
        sender: chain.reader.transaction_count(sender.address) for sender in (STRANGER, AGENT)
    }
    sent = [(STRANGER, SPAMMER, "0x")] * CALLS + [
        (AGENT, vault, chain.buy_data(amount)) for amount in (10 * USDC, 101 * USDC)
    ]
    for sender, to, data in sent:
        chain.rpc.call("eth_sendRawTransaction", [chain.sign(sender, to, data, nonces[sender])])
        nonces[sender] += 1
    chain.anvil.mine()
    chain.rpc.call("evm_setAutomine", [True])
    head = chain.reader.header()
    assert head is not None
    assert len(head.transaction_hashes) == CALLS + 2
    return head.number


def test_at_the_tip__a_block_that_does_not_come_whole__is_taken_by_transaction(
    follower: Follower, working: Working, hard: Slow
) -> None:
    """It once held up the tip until it was final, for a few cents of gas."""
    mandate, vault = working
    follower.catch_up()
    fill_a_block(follower, vault)
    follower.catch_up()
    assert follower.story(mandate)[-2:] == ["move", "refusal"]
    follower.assert_sound(mandate, vault)
    assert not follower.chain.reader.rpc.stats()[0].failures.get("garbled")


@pytest.mark.slow
def test_in_history__reverted_calls_of_a_block_that_does_not_come_whole__are_found_and_the_scan_ends(
    follower: Follower, working: Working, hard: Slow
) -> None:
    """Nothing after it was once looked up, for good, and each idle round read its receipts
    again.
    """
    mandate, vault = working
    follower.catch_up()
    fill_a_block(follower, vault)
    follower.deployed.anvil.mine(FINAL_BEHIND + WORTH_IT + 30)
    follower.catch_up()
    for _ in range(20):
        follower.tip.round()
    with follower.database.read() as session:
        assert repository.cursor(session, REVERTS) is None
    assert sorted(follower.story(mandate)[-2:]) == ["move", "refusal"]
    hard.receipts_asked = 0
    follower.tip.round()
    assert hard.receipts_asked == 0
