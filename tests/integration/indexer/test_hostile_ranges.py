"""What strangers put into a range, and nodes that lack old states: neither hides an omission, nor
makes an honest node a liar.
"""

import json
from collections.abc import Iterator

import httpx
import pytest

from core.chain.abi import call_by_signature
from core.chain.nodes import Nodes
from core.hexes import checksum_address
from core.identity.queries import linked_wallets
from core.mandate.chain import calldata
from core.mandate.chain.calldata import Funding
from core.mandate.chain.reader import VaultReader
from tests.integration.chain_fixtures import USDC, DeployedChain, Ground
from tests.integration.indexer.conftest import Follower, Issued
from tests.integration.indexer.test_lies import LyingNodes, make_final
from tests.node_transport import in_threads
from tests.personas import OWNER

Working = tuple[Issued, str]
NAME, NO_UTF8 = b"m_AAAAAAAAAA", b"\xff\xfeAAAAAAAAAA"


@pytest.fixture
def ground(short_epochs: Ground) -> Ground:
    return short_epochs


@pytest.fixture
def two(follower: Follower) -> Iterator[LyingNodes]:
    nodes = LyingNodes(follower, "first", "second")
    yield nodes
    nodes.rpc.close()


def vault_without_a_name(chain: DeployedChain) -> str:
    """A stranger's funded vault, whose name is no UTF-8: the log of its creation can't be
    decoded.
    """
    terms = chain.terms(NAME.decode(), nonce=77)
    data = calldata.create_vault(terms, chain.rules(), b"", Funding(amount=0))
    receipt = chain.succeed(
        OWNER, chain.contracts["factory"], data.replace(NAME.hex(), NO_UTF8.hex())
    )
    created = next(log for log in receipt.logs if log.address == chain.contracts["factory"])
    vault = checksum_address("0x" + created.topics[1][26:])
    chain.mint(OWNER.address, 10 * USDC)
    chain.succeed(
        OWNER,
        chain.contracts["usdc"],
        call_by_signature("approve(address,uint256)", [vault, 10 * USDC]),
    )
    chain.succeed(OWNER, vault, call_by_signature("deposit(uint256)", [USDC]))
    return vault


@pytest.mark.slow
def test_a_vault_whose_creation_cannot_be_decoded__makes_no_honest_node_garbled(
    follower: Follower, working: Working, two: LyingNodes
) -> None:
    mandate, vault = working
    vault_without_a_name(follower.deployed)
    follower.deployed.buy(vault, 10 * USDC)
    make_final(follower)
    follower.catch_up()
    assert follower.story(mandate)[-1] == "move"
    assert (two.failures(0), two.failures(1)) == ({}, {})


@pytest.mark.slow
def test_as_many_payees_as_a_block_can_have__are_looked_up_at_once(follower: Follower) -> None:
    """66,000 were more parameters than a statement may have: the block that paid them failed at
    every try.
    """
    with follower.database.read() as session:
        assert linked_wallets(session, {f"0x{number:040x}" for number in range(70_000)}) == {}


class Pruned(httpx.BaseTransport):
    """Anvil, which has no state of past blocks, in the words of one make."""

    def __init__(self, url: str, code: int, message: str) -> None:
        self._url, self._real = url, httpx.HTTPTransport()
        self._error = {"code": code, "message": message}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        calls = body if isinstance(body, list) else [body]
        answers = json.loads(
            self._real.handle_request(httpx.Request("POST", self._url, json=calls)).read()
        )
        old = {
            call["id"]
            for call in calls
            if call["method"] == "eth_call" and isinstance(call["params"][1], dict)
        }
        said = [
            {**answer, "error": self._error} if answer["id"] in old else answer
            for answer in answers
        ]
        said = [
            {key: value for key, value in one.items() if key != "result" or "error" not in one}
            for one in said
        ]
        return httpx.Response(200, json=said if isinstance(body, list) else said[0])

    def close(self) -> None:
        self._real.close()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32000, "missing trie node abc"),
        (-32002, "No state available for block 12"),
        (-32603, "state at block #12 is pruned"),
    ],
)
def test_nodes_without_old_states__give_history_all_the_same(
    follower: Follower, working: Working, code: int, message: str
) -> None:
    """Where all calls of a batch were refused, the history stood still for good."""
    mandate, vault = working
    follower.deployed.buy(vault, 10 * USDC)
    make_final(follower)
    rpc = Nodes(
        ["http://one", "http://two"],
        transport=in_threads(Pruned(follower.deployed.anvil.url, code, message)),
    )
    follower.restart(reader=VaultReader(rpc, follower.deployed.contracts))
    follower.catch_up()
    rpc.close()
    assert follower.story(mandate)[-1] == "move"
