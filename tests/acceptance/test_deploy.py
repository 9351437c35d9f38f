"""A deployment is recorded, and reading it back finds all that differs, and nothing else.

tests/deep/test_deploy_again.py: deploying twice changes nothing, and reading back finds no fault.
"""

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.chain.abi import call_by_signature
from scripts._accounts import personas
from scripts._ape import run_ape
from scripts._deployed_code import WORD_BYTES, address_word, immutable_places
from scripts._office_log import KEEPER_ADMIN_ROLE, PAUSER_ROLE
from scripts._ports import Ports
from scripts.devstack import ROOT, Stack


def artifact_of(contract: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(
        (ROOT / ".build" / "forge" / f"{contract}.sol" / f"{contract}.json").read_text()
    )
    return found


def code_of(stack: Stack, address: str) -> bytearray:
    return bytearray.fromhex(stack._rpc("eth_getCode", address, "latest").removeprefix("0x"))


def set_code(stack: Stack, address: str, code: bytearray) -> None:
    stack._rpc("anvil_setCode", address, "0x" + code.hex())


def flip_a_zero(stack: Stack, contract: str, address: str) -> int:
    """Change a byte that the source has as zero, and that is no immutable's; answers where."""
    compiled = bytes.fromhex(artifact_of(contract)["deployedBytecode"]["object"].removeprefix("0x"))
    inside = {
        at
        for starts in immutable_places(artifact_of(contract))
        for start in starts
        for at in range(start, start + WORD_BYTES)
    }
    at = next(at for at, byte in enumerate(compiled) if byte == 0 and at not in inside)
    code = code_of(stack, address)
    code[at] ^= 0x01
    set_code(stack, address, code)
    return at


def replace_usdc(stack: Stack, contract: str, address: str, usdc: str) -> None:
    """Put another token into the first immutable, at all its places."""
    code = code_of(stack, address)
    for start in immutable_places(artifact_of(contract))[0]:
        code[start : start + WORD_BYTES] = address_word(usdc)
    set_code(stack, address, code)


def send(stack: Stack, sender: str, to: str, signature: str, *arguments: object) -> None:
    data = call_by_signature(signature, arguments)
    stack._rpc("eth_sendTransaction", {"from": sender, "to": to, "data": data})


def give_offices_away(stack: Stack, factory: str, token: str) -> set[str]:
    """All that the deployer, who holds every office on the devnet, can begin or give to a stranger
    and an adapter of his. Every view of the record's own holders still says yes. Answers what
    verify must find wrong.
    """
    deployer, stranger = personas()["deployer"]["address"], personas()["stranger"]["address"]
    before = sent_by(stack, deployer)
    calls: list[tuple[str, str, tuple[object, ...]]] = [
        (factory, "grantRole(bytes32,address)", (PAUSER_ROLE, stranger)),
        (factory, "grantRole(bytes32,address)", (KEEPER_ADMIN_ROLE, stranger)),
        (factory, "grantRole(bytes32,address)", ("0x" + "12" * 32, stranger)),
        (factory, "listAdapter(address)", (token,)),
        (factory, "proposeKeeper(address)", (stranger,)),
        (factory, "proposeGuard(address)", (stranger,)),
        (token, "pause()", ()),
        (token, "grantRole(bytes32,address)", (PAUSER_ROLE, stranger)),
        (token, "revokeRole(bytes32,address)", (PAUSER_ROLE, deployer)),
        (token, "proposeTreasury(address)", (stranger,)),
    ]
    for contract in (factory, token):
        calls += [
            (contract, "beginDefaultAdminTransfer(address)", (stranger,)),
            (contract, "changeDefaultAdminDelay(uint48)", (60,)),
        ]
    for to, signature, arguments in calls:
        send(stack, deployer, to, signature, *arguments)
    wait_for(lambda: sent_by(stack, deployer) == before + len(calls))
    changes = {
        f"{name}.{view}"
        for name in ("factory", "reserve_token")
        for view in ("pendingDefaultAdmin", "pendingDefaultAdminDelay")
    }
    found = {
        "factory.pausers",
        "factory.keeper_admins",
        "factory.pendingKeeper",
        "factory.pendingGuard",
        "factory other roles",
    }
    found |= {
        "other adapters listed",
        "reserve_token.paused",
        "reserve_token.pausers",
        "reserve_token.pendingTreasury",
    }
    return changes | found


def wrong(read_back: subprocess.CompletedProcess[str]) -> set[str]:
    return set(re.findall(r"^WRONG  ([^:]+): ", read_back.stdout, re.MULTILINE))


def sent_by(stack: Stack, address: str) -> int:
    return int(stack._rpc("eth_getTransactionCount", address, "latest"), 16)


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < until, "not within 15 s"
        time.sleep(0.1)


def deployed(stack: Stack, record: Path) -> dict[str, Any]:
    """Deploy; the record that it writes."""
    done = run_ape("deploy", stack.rpc_url, record)
    assert done.returncode == 0, done.stdout
    found: dict[str, Any] = json.loads(record.read_text())
    return found


@pytest.mark.slow
def test_a_deployment__is_recorded_and_what_differs_from_it_is_found(stack_directory: Path) -> None:
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    try:
        stack.start_chain()
        recorded = deployed(stack, record)
        assert recorded["chain_id"] == 84532
        assert recorded["block"] > 0
        assert all(one["address"].startswith("0x") for one in recorded["contracts"])
        created = {
            one["name"]: one["contract"]
            for one in recorded["contracts"]
            if one["name"] in ("vault_implementation", "factory_validator")
        }
        assert created == {
            "vault_implementation": "MandateVault",
            "factory_validator": "Erc6492Validator",
        }

        tampered = {**recorded, "contracts": [{**one} for one in recorded["contracts"]]}
        factory = next(one for one in tampered["contracts"] if one["name"] == "factory")
        factory["args"][2][3] = personas()["stranger"]["address"]
        record.write_text(json.dumps(tampered))
        at = {one["name"]: one["address"] for one in recorded["contracts"]}
        stranger = personas()["stranger"]["address"]
        flipped_at = flip_a_zero(stack, "RelayAdapter", at["relay_adapter"])
        replace_usdc(stack, "TestVenueAdapter", at["test_venue_adapter"], stranger)
        given_away = give_offices_away(stack, at["factory"], at["reserve_token"])
        differs = run_ape("verify", stack.rpc_url, record)
        assert differs.returncode == 1
        assert (
            f"WRONG  relay_adapter code: differs from the source at byte {flipped_at}"
            in differs.stdout
        )
        assert "WRONG  test_venue_adapter code: immutable USDC at byte" in differs.stdout
        assert (
            wrong(differs)
            == {"factory.keeper", "relay_adapter code", "test_venue_adapter code"} | given_away
        ), differs.stdout
        assert f'"factory.keeper": "{personas()["keeper"]["address"]}"' in differs.stdout
    finally:
        stack.stop()
