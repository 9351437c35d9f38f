"""The lens says what each vault says of itself, in one call, on a chain."""

import json
from dataclasses import astuple
from typing import Any

import httpx
import pytest

from core.chain.abi import function
from core.chain.blocks import BlockHeader
from core.chain.nodes import Nodes
from core.mandate.chain import calldata, typed_data
from core.mandate.chain.lens import (
    MOST_VAULTS,
    LensBlock,
    LensMissingError,
    LensOutcome,
    LensReading,
    LensRow,
)
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.lifecycle import OF_VAULT, Status
from core.mandate.rules.terms import ZERO_ADDRESS
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.node_transport import in_threads
from tests.personas import OWNER, STRANGER


def own_words(chain: DeployedChain, vault: str) -> LensReading:
    """What the vault's own views say at the newest block, one by one."""
    reader, head = chain.reader, newest(chain)
    log_head = function("MandateVault", "logHead")
    count = function("MandateVaultFactory", "vaultCount")
    measured = reader.worth(vault, head.hash)
    return LensReading(
        block=LensBlock(
            head.number,
            head.timestamp,
            head.parent_hash,
            count.decode_output(
                reader.call(reader.contracts["factory"], count.encode(), head.hash)
            )[0],
        ),
        status=reader.status(vault, head.hash),
        agent=reader.agent(vault, head.hash),
        worth_usdc_e6=None if measured is None else measured[0],
        unvalued_out_usdc_e6=reader.totals(vault, head.hash).unvalued_out,
        own_cash_usdc_e6=reader.remaining(vault, head.hash).total,
        fee_owed_usdc_e6=reader.fee_owed(vault, head.hash),
        log_head=log_head.decode_output(reader.call(vault, log_head.encode(), head.hash))[0],
    )


def read(reader: VaultReader, vaults: list[str]) -> dict[str, LensRow[LensReading]]:
    """What the only node's lens says at the newest block."""
    (found,) = reader.lens_of_each(vaults, 5.0).values()
    return found


def own_position(chain: DeployedChain, vault: str, at: str) -> tuple[Any, ...]:
    reader = chain.reader
    return (
        reader.totals(vault, at),
        reader.agent(vault, at),
        reader.payee(vault, at),
        reader.usdc_balance(vault, at),
    )


def newest(chain: DeployedChain) -> BlockHeader:
    return chain.reader.newest()


def lived(chain: DeployedChain) -> list[str]:
    """Vaults of which each is in another state: bought, stopped with a fee owed, not yet funded."""
    bought, stopped = (
        chain.create_vault(chain.terms(f"m_lens{number}aaaa", agent_fee_bps=1_000))
        for number in range(2)
    )
    open_board = chain.create_vault(chain.terms("m_lens2aaaa", agent=ZERO_ADDRESS), fund=False)
    chain.buy(bought, 3 * USDC)
    chain.mint(bought, 5)  # from a stranger, and no event of the vault
    chain.buy(stopped, 2 * USDC)
    chain.sell(stopped, 1_000_000)
    chain.succeed(OWNER, stopped, calldata.stop("owner_stop"))
    return [bought, stopped, open_board]


def test_readings__of_vaults_that_differ__are_what_each_says_at_that_block(
    deployed: DeployedChain,
) -> None:
    vaults = lived(deployed)
    own = {vault: own_words(deployed, vault) for vault in vaults}
    found = read(deployed.reader, [*vaults, STRANGER.address])
    assert {vault: row.reading for vault, row in found.items()} == own | {STRANGER.address: None}
    assert len(set(map(astuple, own.values()))) == 3
    assert found[STRANGER.address].outcome is LensOutcome.NO_VAULT

    absent = [f"0x{number:040x}" for number in range(0x5000, 0x5000 + MOST_VAULTS - 2)]
    full = read(deployed.reader, [vaults[0], *absent, vaults[1]])
    assert len(full) == MOST_VAULTS
    assert [full[vault].reading for vault in vaults[:2]] == [own[vault] for vault in vaults[:2]]
    assert {full[vault].outcome for vault in absent} == {LensOutcome.NO_VAULT}


def test_seen__of_vaults_that_differ__is_what_each_says(deployed: DeployedChain) -> None:
    for vault in lived(deployed):
        seen, reader, at = deployed.reader.vault_seen(vault), deployed.reader, newest(deployed)
        assert seen.at == at.timestamp
        assert (seen.worth_usdc_e6, seen.unvalued_out_usdc_e6) == reader.worth(vault)
        assert seen.cash_usdc_e6 == reader.remaining(vault).total
        assert seen.balance_usdc_e6 == reader.usdc_balance(vault)
        assert (seen.agent, seen.payee) == (reader.agent(vault), reader.payee(vault))
        assert seen.fee_owed_usdc_e6 == reader.fee_owed(vault)
        assert seen.status is OF_VAULT[reader.status(vault)]
        assert (seen.stopped_at > 0) is (seen.status is Status.STOPPED)


def test_readings__an_adapter_that_burns_gas__leaves_the_others_and_all_but_the_worth(
    deployed: DeployedChain,
) -> None:
    broken = [deployed.create_vault(deployed.terms(f"m_lensb{number}aaa")) for number in range(2)]
    rules = deployed.reader.adapter_rules(deployed.contracts["x402_adapter"])
    terms = deployed.terms("m_lenswell", allowed_targets_hash=typed_data.rules_hash(rules))
    well = deployed.create_vault(terms, rules=rules)
    burning = [deployed.contracts["test_venue_adapter"], "0x5b600056"]  # a loop without an end
    deployed.rpc.call("anvil_setCode", burning)

    found = read(deployed.reader, [broken[0], well, broken[1]])
    assert [found[vault].outcome for vault in (broken[0], well, broken[1])] == [2, 3, 2]
    for vault in (*broken, well):
        assert found[vault].reading == own_words(deployed, vault)
    assert deployed.reader.vault_seen(broken[0]).worth_usdc_e6 is None


def test_readings__a_node_of_little_gas__are_of_the_first_vaults(deployed: DeployedChain) -> None:
    vaults = [deployed.create_vault(deployed.terms(f"m_lensg{number}aaa")) for number in range(3)]

    class Poor(httpx.BaseTransport):
        """Gives a call gas for two vaults."""

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            body = json.loads(request.content)
            for one in body if isinstance(body, list) else [body]:
                one["params"][0]["gas"] = hex(1_130_000)
            return httpx.Response(200, json=httpx.post(deployed.anvil.url, json=body).json())

    reader = VaultReader(Nodes(["http://node"], transport=in_threads(Poor())), deployed.contracts)
    found = read(reader, vaults)
    reader.rpc.close()
    some = list(found)
    assert 0 < len(some) < 3
    assert some == vaults[: len(some)]
    assert [found[vault].reading for vault in some] == [own_words(deployed, one) for one in some]


def test_positions__where_no_lens_stands__name_its_address(deployed: DeployedChain) -> None:
    reader = VaultReader(deployed.rpc, {**deployed.contracts, "vault_lens": STRANGER.address})
    with pytest.raises(LensMissingError, match=STRANGER.address):
        reader.lens_position(STRANGER.address)


def test_positions__of_vaults_that_differ__are_what_each_says(deployed: DeployedChain) -> None:
    vaults = [deployed.create_vault(deployed.terms(f"m_lens{number}aaaa")) for number in range(2)]
    before = newest(deployed).hash
    later = deployed.create_vault(deployed.terms("m_lens2aaaa", agent=ZERO_ADDRESS), fund=False)
    deployed.buy(vaults[0], 3 * USDC)
    deployed.mint(vaults[1], 5)  # from a stranger, and no event of the vault
    asked, now = [*vaults, later, STRANGER.address], newest(deployed).hash

    positions = {vault: deployed.reader.lens_position(vault, now) for vault in asked}
    found = {
        vault: (one.totals, one.agent, one.payee, one.balance_usdc_e6)
        for vault, one in positions.items()
        if one is not None
    }
    assert found == {vault: own_position(deployed, vault, now) for vault in asked[:3]}
    assert found[vaults[0]] != found[vaults[1]]
    assert deployed.reader.lens_position(vaults[0], before) is not None
    assert deployed.reader.lens_position(later, before) is None


def test_of_each_node__is_its_own_answer_at_its_newest_block(deployed: DeployedChain) -> None:
    vaults = lived(deployed)
    ((node, rows),) = deployed.reader.lens_of_each([*vaults, STRANGER.address], 2.0).items()
    assert node == deployed.rpc.names[0]
    assert {vault: row.reading for vault, row in rows.items()} == {
        **{vault: own_words(deployed, vault) for vault in vaults},
        STRANGER.address: None,
    }
    nowhere = VaultReader(deployed.rpc, {**deployed.contracts, "vault_lens": STRANGER.address})
    assert nowhere.lens_of_each(vaults, 2.0) == {}
