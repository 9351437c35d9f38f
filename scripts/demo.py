"""One mandate from signature to withdrawal, shown step by step and checked at each: `make demo`.

It starts a stack of its own on free ports, speaks to it only as an owner, an agent and a keeper
would (the client of the public API, wallets and the chain), and ends with 0 only when every step
passed. `STACK=.local/stack.json make demo` uses a running stack. Instead of buying at the test
venue, `VENUE=erc4626 make demo` lends through a pool, and `VENUE=uniswap make demo` swaps.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from api.client import Client, ClientError, Wallet, sign_typed_data
from api.client.wallet import NodeError
from core.chain import results
from core.chain.abi import topic_of
from core.chain.blocks import RawLog
from core.chain.errors import RpcError
from core.chain.nodes import Nodes
from core.hexes import checksum_address
from core.mandate.chain import calldata
from core.mandate.chain.decode import decode_log
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.events import Stopped
from core.money import usdc_text
from scripts._demo_venues import demo_venue
from scripts._ports import Ports
from scripts._processes import run_until_ended
from scripts.devstack import Stack, directory_from_environment

BUDGET = "1000.000000"
CAP = "200.000000"
DAY = "450.000000"
FLOOR_BPS = 500  # the floor is 950 USDC


class StepFailedError(Exception):
    """A step failed; the message says what was expected and what came."""


class Story:
    """What the steps share: the clients of owner and agent, the mandate, its vault, and the numbers
    that must add up.
    """

    def __init__(self, stack: dict[str, Any], timeout_s: float = 15) -> None:
        self.at: dict[str, str] = stack["contracts"]
        self.venue = demo_venue()
        self.rpc_url: str = stack["rpc_url"]
        self.chain = VaultReader(Nodes([self.rpc_url]), self.at)
        self.owner, self.agent, self.keeper, self.operator, self.stranger = (
            Wallet(stack["accounts"][role]["private_key"], self.rpc_url)
            for role in ("owner", "agent", "keeper", "operator", "stranger")
        )
        self.owner_api = Client(stack["base_url"], timeout_s=timeout_s)
        self.agent_api = self.owner_api  # the agent's own once it is connected
        self.id = ""
        self.vault = ""
        self.units = self.worth = self.home = 0  # bought; at the stop; come home of it
        self.owner_usdc_before = 0
        self.facts: list[str] = []

    def close(self) -> None:
        """Let go of all connections."""
        wallets = self.owner, self.agent, self.keeper, self.operator, self.stranger
        for one in (self.owner_api, self.agent_api, self.chain.rpc, *wallets):
            one.close()

    # ------------------------------------------------------------------ what the steps ask

    def note(self, fact: str) -> None:
        self.facts.append(fact)

    def mandate(self, api: Client | None = None) -> dict[str, Any]:
        return dict((api or self.owner_api).mandates.read(self.id))

    def usdc_of(self, holder: str) -> int:
        return self.chain.usdc_balance(holder)

    def logs(self, event: str, from_block: int = 0) -> list[RawLog]:
        """Of the vault."""
        wanted = {
            "address": self.vault,
            "topics": [topic_of(event)],
            "fromBlock": hex(from_block),
            "toBlock": "latest",
        }
        return list(self.chain.rpc.call("eth_getLogs", [wanted], results.logs))

    def await_mandate(
        self, what: str, holds: Callable[[dict[str, Any]], bool], within_s: float = 15
    ) -> dict[str, Any]:
        """Read the mandate until `holds`, every 50 ms."""
        ends = time.monotonic() + within_s
        while True:
            read = self.mandate()
            if holds(read):
                return read
            if time.monotonic() > ends:
                raise StepFailedError(
                    f"{what}: not within {within_s:.0f} s; status {read['mandate']['status']}"
                )
            time.sleep(0.05)

    def steps(self, read: dict[str, Any], **match: Any) -> list[dict[str, Any]]:
        return [
            step
            for step in read["steps"]
            if all(step.get(key) == value for key, value in match.items())
        ]

    def build_buy(self, amount_usdc: str) -> dict[str, Any]:
        function, args = self.venue.buy(int(amount_usdc.replace(".", "")))
        return dict(
            self.agent_api.mandates.execute_call(
                self.id,
                target=self.at[self.venue.adapter],
                function=function,
                args=args,
                amount_usdc=amount_usdc,
            )
        )

    def buy(self, amount_usdc: str) -> str:
        """Build, send and report one buy at the venue; wait for the chain's row.

        Returns the transaction's hash.
        """
        call = self.build_buy(amount_usdc)
        expect(
            "the API's own check of the call",
            (call["check"]["ok"], call["check"]["reason"]),
            (True, None),
        )
        sent = self.agent.send(call)
        expect("the chain took the call", sent["succeeded"], True)
        tx = str(sent["tx_hash"])
        self.units += int(amount_usdc.replace(".", ""))
        target = {
            "kind": "contract",
            "chain_id": self.chain.chain_id(),
            "address": self.at[self.venue.adapter],
        }
        position = {
            "id": "unit",
            "name": f"Position at {self.venue.name}",
            "qty": str(self.units),
            "cost_usdc": amount_usdc,
        }
        self.agent_api.mandates.report_event(
            self.id,
            kind="buy",
            amount_usdc=amount_usdc,
            tx_hash=tx,
            why="The price holds and the day's cap allows it.",
            payload={"target": target, "position": position},
            idempotency_key=f"buy-{tx[2:34]}",
        )
        return tx


def expect(what: str, got: Any, wanted: Any) -> None:
    if got != wanted:
        raise StepFailedError(f"{what}: expected {wanted!r}, got {got!r}")


# ---------------------------------------------------------------------- the nine steps


def sign_in(story: Story) -> None:
    """The owner signs in, the agent connects, the owner's policy accepts mandates"""
    story.owner_api.sign_in(story.owner.account)
    story.agent_api = story.owner_api.connect("demo-agent")
    story.agent_api.link_wallet(story.agent.account)
    agent_id = story.agent_api.user_id
    policy = story.owner_api.mandates.policy_set(agent_id, accepts_mandates=True)
    expect("accepts_mandates", policy["accepts_mandates"], True)
    story.note(
        f"owner {story.owner.address} has a session; agent {agent_id} has a key and "
        f"wallet {story.agent.address}"
    )


def sign_and_fund(story: Story) -> None:
    """Draft, assignment, EIP-712 signature; the vault is created and funded"""
    mandates = story.owner_api.mandates
    draft = mandates.create(
        purpose="Buy, carefully.",
        budget_usdc=BUDGET,
        horizon_days=30,
        stop_floor_bps=FLOOR_BPS,
        per_tx_cap_usdc=CAP,
        daily_cap_usdc=DAY,
        market_mode="testnet",
    )["mandate"]
    story.id = draft["public_id"]
    mandates.assign(story.id, agent_id=story.agent_api.user_id)
    signed = story.owner_api.sign_terms(story.id, story.owner.account)["mandate"]
    expect("status after the signature", signed["status"], "signed")
    offered = mandates.deploy_call(story.id, fund="authorization")["typed_data"]
    assert offered is not None, "fund=authorization offers a document to sign"
    authorization = sign_typed_data(story.owner.account, offered)
    call = mandates.deploy_call(
        story.id, fund="authorization", authorization_signature=authorization
    )
    story.vault = str(call["vault_address"])
    story.owner_usdc_before = story.usdc_of(story.owner.address)
    expect("the vault's creation", story.owner.send(call)["succeeded"], True)
    expect("USDC in the vault", story.usdc_of(story.vault), 1_000_000_000)
    read = story.await_mandate(
        "funded mandate", lambda read: read["mandate"]["status"] == "working"
    )
    expect("vault in the record", read["mandate"]["vault_address"], story.vault)
    story.note(f"{story.id}, digest {mandates.terms(story.id)['digest']}")
    story.note(
        f"vault {story.vault} holds {BUDGET} USDC: two signatures, one transaction, no allowance"
    )


def act(story: Story) -> None:
    """The agent accepts, reads its limits, builds a call, sends it with its own key, reports it"""
    story.agent_api.mandates.accept(story.id)
    used = story.mandate(story.agent_api)["limits"]["used"]
    expect("per_action_max", used["per_action_max"]["value"], CAP)
    expect("left_today", used["left_today"]["value"], DAY)
    for amount in (CAP, CAP):
        tx = story.buy(amount)

        def is_in_the_record(read: dict[str, Any], tx: str = tx) -> bool:
            return bool(story.steps(read, tx_hash=tx, confirmed_on_chain=True))

        story.await_mandate("the chain's row of the buy", is_in_the_record)
    used = story.mandate(story.agent_api)["limits"]["used"]
    expect("left_today after two buys", used["left_today"]["value"], "50.000000")
    expect("left_total after two buys", used["left_total"]["value"], "600.000000")
    story.note(
        f"bought twice for {CAP}; left today 50.000000 ({used['left_today']['source']}), "
        "left in total 600.000000"
    )


def overreach(story: Story) -> None:
    """It tries more than the per-action cap: the chain reverts, the block scan finds it on
    its own
    """
    call = story.build_buy("250.000000")
    expect(
        "the API's own check",
        (call["check"]["ok"], call["check"]["reason"]),
        (False, "OverPerTxCap"),
    )
    sent = story.agent.send(call, gas=500_000)
    expect("the chain took the call", sent["succeeded"], False)
    tx = sent["tx_hash"]
    read = story.await_mandate(
        "the block scan's row", lambda read: bool(story.steps(read, tx_hash=tx))
    )
    refused = story.steps(read, tx_hash=tx)
    expect("refusals of this transaction in the record", len(refused), 1)
    refusal = refused[0]["params"]
    expect(
        "its reason and source",
        (refusal["reason"], refusal["source"], refusal["check"]),
        ("OverPerTxCap", "chain", "block_scan"),
    )
    expect("reverts.count", read["limits"]["breaches"]["reverts"]["count"], 1)
    story.note(
        "OverPerTxCap on chain; nobody reported it; the record shows it once, source chain "
        f"({tx[:18]}...)"
    )


def stray(story: Story) -> None:
    """It reports a move outside the rules: stored and flagged"""
    target = {
        "kind": "contract",
        "chain_id": story.chain.chain_id(),
        "address": story.stranger.address,
    }
    answer = story.agent_api.mandates.report_event(
        story.id,
        kind="move",
        amount_usdc="10.000000",
        why="Sent to a pool that is not on the list.",
        payload={"target": target},
    )
    expect("violation", answer["violation"], True)
    broken = [rule["text"] for rule in story.mandate()["progress"]["rules"] if not rule["ok"]]
    expect("one rule is broken at least", bool(broken), True)
    story.note(f"stored, violation true; rules[].ok is false for: {'; '.join(broken)}")


def fall(story: Story) -> None:
    """The price falls, the keeper calls the stop line, the vault measures itself and stops at the floor"""
    fallen = story.venue.fall(story.at, story.chain, story.operator.send)
    expect("the new price", fallen["succeeded"], True)
    began = time.monotonic()
    read = story.await_mandate("the stop", lambda read: read["mandate"]["status"] == "stopped")
    took = time.monotonic() - began
    stops = story.logs("Stopped", fallen["block"])
    expect("stops on chain", len(stops), 1)
    event, sent = decode_log(stops[0]), story.chain.transaction(stops[0].tx_hash)
    assert isinstance(event, Stopped), "its topic is that of the event"
    story.worth = event.worth
    expect("worth at the stop", 940_000_000 - story.worth in story.venue.costs_e6, True)
    sender = None if sent is None else checksum_address(sent["from"])
    expect("sender of the stop", sender, story.keeper.address)
    blocks = stops[0].block_number - fallen["block"]
    expect("chain_state.stopped", read["chain_state"]["stopped"], True)
    story.note(
        f"worth {usdc_text(story.worth)} <= floor 950.000000; stopped {blocks} block(s) and {took:.2f} s "
        "after the price, by enforceStopLine()"
    )


def after(story: Story) -> None:
    """The agent's next call is refused MandateStopped, and the limits read as unknown"""
    call = story.build_buy("1.000000")
    expect(
        "the API's own check",
        (call["check"]["ok"], call["check"]["reason"]),
        (False, "MandateStopped"),
    )
    sent = story.agent.send(call, gas=500_000)
    expect("the chain took the call", sent["succeeded"], False)
    tx = sent["tx_hash"]
    read = story.await_mandate(
        "the block scan's row", lambda read: bool(story.steps(read, tx_hash=tx))
    )
    expect("reason", story.steps(read, tx_hash=tx)[0]["params"]["reason"], "MandateStopped")
    unknown = {"value": None, "source": "none", "basis": "mandate_not_working"}
    for key in ("left_today", "left_total", "per_action_max", "window_frees_at"):
        expect(f"limits.used.{key}", read["limits"]["used"][key], unknown)
    expect("settle_note is there", bool(read["settle_note"]), True)
    story.note(f"refused on chain and in the API; lock: {read['lock']['message']}")


def leave(story: Story) -> None:
    """The owner unwinds and withdraws all; agent, keeper and a stranger cannot"""
    mandates = story.owner_api.mandates
    plan = mandates.close_all_plan(story.id)
    expect("the plan", [step["type"] for step in plan["steps"]], ["unwind", "withdraw"])
    unwind: dict[str, Any] = dict(plan["steps"][0])
    expect("who signs the unwind", unwind["who_signs"], "owner")
    expect("the unwind", story.owner.send(unwind)["succeeded"], True)
    story.home = story.usdc_of(story.vault)
    expect("USDC in the vault", story.worth - story.home in story.venue.costs_e6, True)
    story.await_mandate(
        "the unwind's row", lambda read: bool(story.steps(read, code="control_unwound"))
    )
    call = mandates.withdraw_call(story.id)
    attempts: list[str] = []
    for thief in (story.agent, story.keeper, story.stranger):
        theft = calldata.withdraw(story.at["usdc"], thief.address, story.home)
        sent = thief.send({"to": story.vault, "data": theft}, gas=300_000)
        expect(f"withdrawal by {thief.address}", sent["succeeded"], False)
        attempts.append(sent["tx_hash"])
    expect("the owner's withdrawal", story.owner.send(call)["succeeded"], True)
    expect("USDC left in the vault", story.usdc_of(story.vault), 0)
    lost = story.owner_usdc_before - story.usdc_of(story.owner.address)
    expect("the owner's loss", lost, 1_000_000_000 - story.home)
    rows = ({"code": "funding_withdraw"}, {"tx_hash": attempts[0]})
    read = story.await_mandate(  # of a sale below its worth, the keeper marks the rest
        "the rows of the withdrawal and of the agent's attempt, and a worth of nothing",
        lambda read: (
            read["progress"]["worth_est"] == "0.000000"
            and all(story.steps(read, **one) for one in rows)
        ),
    )
    expect(
        "lock after it",
        (read["lock"]["withdrawable"], read["lock"]["reason"]),
        (False, "nothing_left"),
    )
    story.note(f"{usdc_text(story.home)} USDC are home; three attempts by others reverted")


def balance(story: Story) -> None:
    """The week's statement balances to the last micro-USDC with the chain"""
    statement: dict[str, Any] = dict(story.owner_api.mandates.statement(story.id))
    flows = {name: int(text.replace(".", "")) for name, text in statement["flows"].items()}
    totals = story.chain.totals(story.vault)
    for name, on_chain in (
        ("deposits", totals.deposited),
        ("received", totals.received),
        ("spent", totals.spent),
        ("withdrawals", totals.withdrawn),
    ):
        expect(f"{name} in the statement", flows[name], on_chain)
    expect("unexplained in the statement", flows["unexplained"], 0)
    expect("cash at the end", statement["cash"]["end"], "0.000000")
    left = totals.deposited + totals.received - totals.spent - totals.withdrawn - totals.fee_paid
    expect(
        "the sum of the vault's own flows, which is its USDC",
        (left, story.usdc_of(story.vault)),
        (0, 0),
    )
    story.note(
        f"{statement['period']['week']}: deposits {statement['flows']['deposits']} - spent "
        f"{statement['flows']['spent']}"
    )
    story.note(
        f"  + received {statement['flows']['received']} - withdrawals "
        f"{statement['flows']['withdrawals']} = cash {statement['cash']['end']}"
    )
    story.note("the same to the last micro-USDC in the vault's own totals")


def verify(story: Story) -> None:
    """A stranger checks the exported record against the chain, with verify-record alone"""
    with TemporaryDirectory() as folder:
        record = Path(folder) / "record.ndjson"
        story.owner_api.save_record(story.id, record)
        trusted = ("--factory", story.at["factory"], "--x402-adapter", story.at["x402_adapter"])
        options = ("--rpc", story.rpc_url, *trusted, "--json")
        command = [sys.executable, "-m", "api.client.verify.main", str(record), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    output = done.stderr + (done.stdout if done.returncode else "")
    expect("what verify-record says", (done.returncode, output), (0, ""))
    report = json.loads(done.stdout)
    figures = report["figures"]
    expect(
        "status and cash, from the rows and from the vault",
        (figures["status"], figures["cash_usdc"]),
        ("stopped", "0.000000"),
    )
    statement: dict[str, Any] = dict(story.owner_api.mandates.statement(story.id))
    shown = report["shown"]["statement"]
    expect("the statement, from the rows", shown["flows"]["unexplained"], "0.000000")
    what = "the statement's cash, from the rows and from the service"
    expect(what, shown["cash"], statement["cash"])
    story.note("verify-record record.ndjson --rpc ... --factory ... --x402-adapter ...: exit 0")
    story.note(
        f"{figures['rows']} rows and {figures['transactions']} transactions checked, "
        f"{figures['blocks_scanned']} blocks looked through,"
    )
    story.note(
        f"  {figures['http_requests']} requests, {figures['seconds']} s; claims: "
        f"{len(report['claims'])}, of which signed by their authors: {len(report['signed_claims'])}"
    )


FAILURES = (StepFailedError, ClientError, NodeError, RpcError, TimeoutError, LookupError, TypeError)
STEPS = (sign_in, sign_and_fund, act, overreach, stray, fall, after, leave, balance, verify)


def run_steps(stack: dict[str, Any]) -> int:
    """Run the story against a stack. Returns the exit code."""
    began = time.monotonic()
    with closing(Story(stack)) as story:
        for number, step in enumerate(STEPS, start=1):
            started = time.monotonic()
            print(f"\n{number}. {' '.join((step.__doc__ or '').split())}", flush=True)
            story.facts.clear()
            try:
                step(story)
            except FAILURES as failed:
                print(
                    f"   FAILED after {time.monotonic() - started:.2f} s: {type(failed).__name__}: "
                    f"{failed}",
                    flush=True,
                )
                print(f"\nStep {number} ({step.__name__}) failed.", flush=True)
                return 1
            for fact in story.facts:
                print(f"   {fact}", flush=True)
            print(f"   ok, {time.monotonic() - started:.2f} s", flush=True)
        passed = time.monotonic() - began
        print(f"\nAll {len(STEPS)} steps passed, in {passed:.1f} s.", flush=True)
        return 0


def run() -> int:
    running = os.environ.get("STACK")
    if running is not None:
        return run_steps(json.loads(Path(running).read_text()))
    os.environ.setdefault("WITHOUT", "scanner")  # the story has no part about the market
    directory = directory_from_environment(".local/demo")
    ports = Ports.from_environment() if "PORT" in os.environ else Ports.free()
    with Stack(directory, ports, say=lambda line: print(f"   {line}", flush=True)) as stack:
        code = run_steps(stack.facts)
        if code != 0:
            print(f"The processes' logs are in {directory / 'logs'}.", flush=True)
    return code


def main() -> None:
    run_until_ended("make demo", run, interrupted=(1, "interrupted"))


if __name__ == "__main__":
    main()
