"""A complete agent: it works every mandate that names it, until it has done its actions, and leaves
nothing open.

`python -m api.client.examples.owner` writes .local/agent.json; then `python -m
api.client.examples.loop .local/agent.json`.
The file: {base_url, rpc_url, api_key, private_key, adapter}; `adapter` is the venue where it buys
and sells.

    1 offers and their clauses -> 2 accept -> 3 read, look at the limits -> 4 build, send, report -> 5 sell, stop
                                              ^----------------------------------------|
Laws
- No action without knowing what is left: a limit of None is unknown, and unknown is no permission.
- What was sent is reported, with its hash: a success as what it was, a revert as the refusal that
  the contract gave.
- A report carries a key made of the hash, so that reporting it twice writes it once.
Source: docs/agents.md#the-loop.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from api.client import Client, Refused, Wallet
from api.client.examples.owner import read_facts
from api.client.money import usdc_e6, usdc_text
from api.client.operations import MandatesExecuteBuilt, MandatesWholeMandate

ReportKind = Literal["buy", "sell", "resolve"]

CAREFUL_GAS = 500_000  # given when a call is sent that may revert, since estimating it would refuse
SEEN_WITHIN_S = 30
POSITION = {"id": "unit", "name": "Test venue unit"}


@dataclass
class Loop:
    """`amount_usdc_e6`: what one buy is meant to cost.

    `is_careless`: it sends without a look at limits or verdict.
    """

    agent: Client
    wallet: Wallet
    adapter: str
    amount_usdc_e6: int
    is_careless: bool = False

    def take_offers(self) -> list[str]:
        """Accept what names this agent; answers the mandates that it may act in."""
        me = self.agent.mandates.me()
        for offer in self.agent.items(self.agent.mandates.offers, "offers", me["agent_id"]):
            clauses = "; ".join(f"{clause['n']} {clause['text_en']}" for clause in offer["clauses"])
            self.agent.mandates.accept(offer["public_id"])
            print(f"{offer['public_id']} accepted: {clauses}")
        return [
            one["public_id"]
            for one in self.agent.items(self.agent.mandates.list, "mandates", status="working")
        ]

    def act(self, mandate_id: str) -> bool:
        """One buy, if the limits leave room for one; answers whether it came about."""
        read = self.agent.mandates.read(mandate_id)
        amount = self.amount_usdc_e6 if self.is_careless else self._affordable(read)
        if amount == 0:
            print(f"{mandate_id} nothing is left to spend, or what is left is not known")
            return False
        moved = self._send(
            mandate_id,
            "buy",
            amount,
            amount,
            f"Within clauses {_numbers(read, 'per_action', 'per_day')}.",
        )
        return moved is not None

    def sell_all(self, mandate_id: str) -> None:
        """An exit spends nothing, so no cap is in its way.

        The result goes into the record as a resolve, gain or loss.
        """
        units = self._units(mandate_id)
        if units == 0:
            return
        read = self.agent.mandates.read(mandate_id)
        costs = [
            one["cost_usdc"] for one in read["progress"]["positions"] if one["id"] == POSITION["id"]
        ]
        cost = sum(usdc_e6(one) for one in costs if one is not None)
        why = f"Done; what is left goes back under clause {_numbers(read, 'at_stop')}."
        moved = self._send(mandate_id, "sell", units, 0, why)
        if moved is not None and self._units(mandate_id) == 0:
            self._report(
                mandate_id,
                "resolve",
                usdc_text(moved - cost),
                why,
                POSITION,
                f"end-{mandate_id}-{units}",
            )

    def stop(self, mandate_id: str) -> None:
        """Ask for the end and send the stop that the vault takes from its agent; only the owner can
        withdraw then.
        """
        call = self.agent.mandates.stop(mandate_id)["call"]
        if call is None:
            print(f"{mandate_id} stopped: nothing of it is on a chain")
            return
        sent = self.wallet.send(call)
        print(f"{mandate_id} stopped: {sent['tx_hash']}")

    def _affordable(self, read: MandatesWholeMandate) -> int:
        """USDC base units: the wish, held to each limit; 0 while one of them is unknown."""
        used = read["limits"]["used"]
        left = [
            room["value"]
            for room in (used["per_action_max"], used["left_today"], used["left_total"])
        ]
        return min(self.amount_usdc_e6, *(0 if value is None else usdc_e6(value) for value in left))

    def _send(
        self, mandate_id: str, kind: ReportKind, argument: int, amount: int, why: str
    ) -> int | None:
        """Build, look at the verdict, send, report.

        Answers the USDC base units that moved; None: none did.
        """
        call = self.agent.mandates.execute_call(
            mandate_id,
            target=self.adapter,
            function=f"{kind}(uint256)",
            args=[str(argument)],
            amount_usdc=usdc_text(amount),
        )
        if not call["check"]["ok"] and not self.is_careless:
            print(f"{mandate_id} the vault would refuse: {call['check']['reason']}")
            return None
        sent = self.wallet.send(call, gas=CAREFUL_GAS if self.is_careless else None)
        if not sent["succeeded"]:
            self._report_refusal(mandate_id, call, amount, sent["tx_hash"])
            return None
        moved = self._moved(mandate_id, sent["tx_hash"])
        position = POSITION | {"qty": str(self._units(mandate_id))}
        self._report(
            mandate_id,
            kind,
            moved,
            why,
            position,
            f"{kind}-{sent['tx_hash'][2:34]}",
            sent["tx_hash"],
        )
        return usdc_e6(moved)

    def _report(
        self,
        mandate_id: str,
        kind: ReportKind,
        amount_usdc: str,
        why: str,
        position: dict[str, str],
        key: str,
        tx_hash: str | None = None,
    ) -> None:
        payload = {"target": self.adapter, "position": position}
        answer = self.agent.mandates.report_event(
            mandate_id,
            kind=kind,
            amount_usdc=amount_usdc,
            tx_hash=tx_hash,
            why=why,
            payload=payload,
            idempotency_key=key,
        )
        print(f"{mandate_id} {kind} {amount_usdc} USDC, reported; violation: {answer['violation']}")

    def _units(self, mandate_id: str) -> int:
        """What the venue holds for the vault now, as the chain has it."""
        return int(self.agent.mandates.unwind_call(mandate_id, adapter=self.adapter)["units"] or 0)

    def _report_refusal(
        self, mandate_id: str, call: MandatesExecuteBuilt, amount: int, tx_hash: str
    ) -> None:
        """The reason is the one that the vault gave when it was asked; the block scan proves it on
        its own.
        """
        # the service says so where it is none that a report takes
        reason = cast("Any", call["check"]["reason"])
        self.agent.mandates.report_refusal(
            mandate_id,
            reason=reason,
            tx_hash=tx_hash,
            amount_usdc=usdc_text(amount),
            idempotency_key=f"no-{tx_hash[2:34]}",
        )
        print(f"{mandate_id} refused on chain: {reason}, reported")

    def _moved(self, mandate_id: str, tx_hash: str) -> str:
        """What the chain's own row of a transaction says that it moved.

        The next limits that are read hold it.
        """
        ends = time.monotonic() + SEEN_WITHIN_S
        while time.monotonic() < ends:
            for step in self.agent.mandates.steps(mandate_id, limit=20)["steps"]:
                if step["tx_hash"] == tx_hash and step["reported_by"] == "chain":
                    return str(step["amount_usdc"])
            time.sleep(0.1)
        raise TimeoutError(
            f"{tx_hash} is not in the record after {SEEN_WITHIN_S} s; look at GET /health/ready"
        )


def _numbers(read: MandatesWholeMandate, *keys: str) -> str:
    """The numbers of the clauses that an action rests on; reports cite them."""
    return " and ".join(str(clause["n"]) for clause in read["clauses"] if clause["key"] in keys)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Work the mandates that name this agent.")
    parser.add_argument("agent", nargs="?", default=".local/agent.json", help="what owner.py wrote")
    parser.add_argument("--rounds", type=int, default=3, help="buys in each mandate")
    parser.add_argument("--amount", default="50.000000", help="USDC of a buy")
    parser.add_argument(
        "--careless",
        action="store_true",
        help="send without a look at the limits: the chain refuses then",
    )
    parser.add_argument("--stop", action="store_true", help="end the mandates when done")
    return parser.parse_args()


def main() -> None:
    wanted = arguments()
    facts = read_facts(
        Path(wanted.agent), "run `python -m api.client.examples.owner` first, which writes it"
    )
    with (
        Client(facts["base_url"], facts["api_key"], signer=facts["private_key"]) as agent,
        Wallet(facts["private_key"], facts["rpc_url"]) as wallet,
    ):
        loop = Loop(agent, wallet, facts["adapter"], usdc_e6(wanted.amount), wanted.careless)
        for mandate_id in loop.take_offers():
            try:
                for _ in range(wanted.rounds):
                    if not loop.act(mandate_id):
                        break
                loop.sell_all(mandate_id)
                if wanted.stop:
                    loop.stop(mandate_id)
            except Refused as refused:
                print(f"{mandate_id} {refused}")


if __name__ == "__main__":
    main()
