"""The examples, run as a newcomer runs them, on one local stack; what they leave in the record is
read as the owner.
"""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from api.client import Client, Wallet
from api.client.examples.owner import sign_in
from tests.acceptance.conftest import ROOT
from tests.acceptance.stacks.conftest import ReadyStack

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def owner(first: ReadyStack) -> Iterator[tuple[Client, Wallet]]:
    client, wallet = sign_in(first.facts)
    with client, wallet:
        yield client, wallet


def run(example: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", f"api.client.examples.{example}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


def given_mandate(first: ReadyStack) -> str:
    """The mandate that owner.py gives; what its agent needs stands in agent.json then."""
    return run("owner", str(first.running.directory)).split()[0]


def loop(first: ReadyStack, *arguments: str) -> list[str]:
    """The loop's words, a line each, without the mandate's id and the long line of clauses."""
    told = run("loop", str(first.running.directory / "agent.json"), *arguments).splitlines()
    return [line.partition(" ")[2] for line in told if " accepted: " not in line]


def steps(owner: Client, mandate_id: str, kind: str, reported_by: str) -> list[dict[str, Any]]:
    found = owner.items(owner.mandates.steps, "steps", mandate_id)
    return [step for step in found if step["kind"] == kind and step["reported_by"] == reported_by]


def test_an_agent_in_ten_lines__acts_and_reports(
    first: ReadyStack, owner: tuple[Client, Wallet]
) -> None:
    told = run("agent", str(first.running.directory))

    mandate_id = told.split(":")[0]
    assert "200.000000 USDC per action, 450.000000 left today" in told
    assert re.search(r"agent +action_buy +50\.000000", told)
    actions = steps(owner[0], mandate_id, "action", "agent")
    assert [(step["code"], step["amount_usdc"], step["breached"]) for step in actions] == [
        ("action_buy", "50.000000", [])
    ]


def test_the_rebalancer__fills_the_pool_and_the_market_within_the_days_cap(
    first: ReadyStack, owner: tuple[Client, Wallet]
) -> None:
    told = run("rebalance", str(first.running.directory))

    assert told.splitlines()[:2] == [
        "erc4626_adapter: 400.000000 USDC missing; sent",
        "uniswap_v3_adapter: 200.000000 USDC missing; sent",
    ]


def test_the_loop__spends_to_the_days_cap_and_leaves_nothing_open(
    first: ReadyStack, owner: tuple[Client, Wallet]
) -> None:
    mandate_id = given_mandate(first)

    told = loop(first, "--rounds", "10", "--amount", "120.500000")

    assert told == [
        "buy 120.500000 USDC, reported; violation: False",
        "buy 120.500000 USDC, reported; violation: False",
        "buy 120.500000 USDC, reported; violation: False",
        "buy 88.500000 USDC, reported; violation: False",
        "nothing is left to spend, or what is left is not known",
        "sell 450.000000 USDC, reported; violation: False",
        "resolve 0.000000 USDC, reported; violation: False",
    ]
    read = owner[0].mandates.read(mandate_id)
    assert read["limits"]["used"]["left_today"]["value"] == "0.000000"
    assert (read["progress"]["cash"], read["progress"]["positions"]) == ("1000.000000", [])
    assert all(rule["ok"] for rule in read["progress"]["rules"])
    outcomes = steps(owner[0], mandate_id, "outcome", "chain")
    assert sorted(one["amount_usdc"] for one in outcomes) == sorted(
        ["120.500000"] * 3 + ["88.500000", "450.000000"]
    )
    flows = owner[0].mandates.statement(mandate_id)["flows"]
    assert (flows["spent"], flows["received"], flows["unexplained"]) == (
        "450.000000",
        "450.000000",
        "0.000000",
    )


def test_a_careless_loop__is_refused_by_the_chain_and_stops_when_told(
    first: ReadyStack, owner: tuple[Client, Wallet]
) -> None:
    mandate_id = given_mandate(first)

    told = loop(first, "--rounds", "1", "--amount", "200.000001", "--careless", "--stop")

    assert told[0] == "refused on chain: OverPerTxCap, reported"
    assert told[1].startswith("stopped: 0x")
    refused = [
        step
        for step in owner[0].items(owner[0].mandates.steps, "steps", mandate_id)
        if step["code"] == "refused"
    ]
    assert [(step["params"]["reason"], step["breached"]) for step in refused] == [
        ("OverPerTxCap", [2])
    ]
    assert wait_for(lambda: owner[0].mandates.read(mandate_id)["mandate"]["status"] == "stopped")
    assert owner[0].mandates.read(mandate_id)["limits"]["used"]["left_today"]["value"] is None


def test_the_owner__closes_all_and_takes_everything_back(
    first: ReadyStack, owner: tuple[Client, Wallet]
) -> None:
    """What docs/owners.md says of leaving: stop, then the plan's calls, then the withdrawal, each
    signed by the owner alone.
    """
    client, wallet = owner
    mandate_id = run("agent", str(first.running.directory)).split(":")[0]
    assert wallet.send(client.mandates.stop_call(mandate_id))["succeeded"]
    stopped = wait_for(lambda: client.mandates.read(mandate_id)["mandate"]["status"] == "stopped")

    plan = client.mandates.close_all_plan(mandate_id)
    for step in plan["steps"][:-1]:
        assert wallet.send(step)["succeeded"]
    assert wallet.send(client.mandates.withdraw_call(mandate_id))["succeeded"]

    assert stopped
    assert [(step["type"], step["who_signs"]) for step in plan["steps"]] == [
        ("unwind", "owner"),
        ("withdraw", "owner"),
    ]
    assert wait_for(lambda: client.mandates.read(mandate_id)["lock"]["reason"] == "nothing_left")
    flows = client.mandates.statement(mandate_id)["flows"]
    assert (flows["deposits"], flows["withdrawals"], flows["unexplained"]) == (
        "1000.000000",
        "1000.000000",
        "0.000000",
    )


def wait_for(holds: Callable[[], bool], within_s: float = 20) -> bool:
    ends = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > ends:
            return False
        time.sleep(0.1)
    return True
