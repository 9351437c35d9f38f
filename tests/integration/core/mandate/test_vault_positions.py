"""The lens that reads many vaults in one call says what each vault says of itself, at that very
block.
"""

import json

import httpx
import pytest

from core.chain.rpc import Rpc, RpcUnreachableError
from core.mandate.chain.reader import NO_VAULT, VaultPosition, VaultReader
from core.mandate.rules.terms import ZERO_ADDRESS
from indexer.chain.completeness import VAULTS_A_REQUEST
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.personas import STRANGER

HASH = "0x" + "ab" * 32
VAULT = "0x" + "11" * 20
WORDS = 11  # of a position


def own_word(chain: DeployedChain, vault: str, at: str) -> VaultPosition:
    reader = chain.reader
    return VaultPosition(
        reader.totals(vault, at),
        reader.agent(vault, at),
        reader.payee(vault, at),
        reader.usdc_balance(vault, at),
    )


def head(chain: DeployedChain) -> str:
    header = chain.reader.header()
    assert header is not None
    return header.hash


def test_positions__of_vaults_that_differ__are_what_each_says(deployed: DeployedChain) -> None:
    vaults = [deployed.create_vault(deployed.terms(f"m_lens{number}aaaa")) for number in range(2)]
    before = head(deployed)
    later = deployed.create_vault(deployed.terms("m_lens2aaaa", agent=ZERO_ADDRESS), fund=False)
    deployed.buy(vaults[0], 3 * USDC)
    deployed.mint(vaults[1], 5)  # from a stranger, and no event of the vault
    asked, now = [*vaults, later, STRANGER.address], head(deployed)

    found = deployed.reader.vault_positions(asked, now)
    assert found == [*(own_word(deployed, vault, now) for vault in (*vaults, later)), NO_VAULT]
    assert found[0] != found[1]
    assert deployed.reader.vault_positions(asked, before) == [
        *(own_word(deployed, vault, before) for vault in vaults),
        NO_VAULT,
        NO_VAULT,
    ]


def test_positions__as_many_as_are_asked_for_at_once__come_in_one_answer(
    deployed: DeployedChain,
) -> None:
    vault = deployed.create_vault(deployed.terms("m_lensfulla"))
    at = head(deployed)
    assert (
        deployed.reader.vault_positions([vault] * VAULTS_A_REQUEST, at)
        == [own_word(deployed, vault, at)] * VAULTS_A_REQUEST
    )


def test_positions__one_of_them_is_no_vault_and_fails__are_those_of_the_others(
    deployed: DeployedChain,
) -> None:
    vault, foreign = (
        deployed.create_vault(deployed.terms("m_lensfaila")),
        deployed.contracts["usdc"],
    )
    at = head(deployed)
    assert deployed.reader.vault_positions([vault, foreign, vault], at) == [
        own_word(deployed, vault, at),
        None,
        own_word(deployed, vault, at),
    ]


def test_positions__a_node_that_runs_no_call_without_recipient__says_each_vaults(
    deployed: DeployedChain,
) -> None:
    vaults = [deployed.create_vault(deployed.terms(f"m_lensto{number}aaa")) for number in range(2)]
    at, real = head(deployed), httpx.HTTPTransport()

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if isinstance(body, dict) and "to" not in body["params"][0]:
            return httpx.Response(
                200,
                json={
                    "jsonrpc": "2.0",
                    "id": body["id"],
                    "error": {"code": -32602, "message": "missing field to"},
                },
            )
        return httpx.Response(
            200,
            content=real.handle_request(
                httpx.Request("POST", deployed.anvil.url, json=body)
            ).read(),
        )

    reader = VaultReader(
        Rpc(["http://node"], transport=httpx.MockTransport(answer)), deployed.contracts
    )
    found = reader.vault_positions(vaults, at)
    reader.rpc.close()
    real.close()
    assert found == [own_word(deployed, vault, at) for vault in vaults]


def node(result: str | None) -> VaultReader:
    """One that answers every call so; None: it refuses."""

    def answer(request: httpx.Request) -> httpx.Response:
        said = (
            {"error": {"code": -32000, "message": "missing trie node"}}
            if result is None
            else {"result": result}
        )
        return httpx.Response(200, json={"jsonrpc": "2.0", "id": 1} | said)

    return VaultReader(
        Rpc(["http://node"], transport=httpx.MockTransport(answer), deadline_s=0.2), {"usdc": VAULT}
    )


def test_positions__state_is_gone__is_none_for_each() -> None:
    assert node(None).vault_positions([VAULT, VAULT], HASH) == [None, None]


@pytest.mark.parametrize(
    "answer",
    [
        "0x",
        "0x" + "00" * 32 * (WORDS - 1),
        "0x" + "00" * 32 * (WORDS + 1),
        "0x" + "00" * 31 + "02" + "00" * 32 * (WORDS - 1),
        "0x" + "ff" * 32 * WORDS,
    ],
    ids=["empty", "a word short", "a word long", "no bool", "no address"],
)
def test_positions__an_answer_of_another_form__is_that_nodes_failure(answer: str) -> None:
    with pytest.raises(RpcUnreachableError):
        node(answer).vault_positions([VAULT], HASH)
