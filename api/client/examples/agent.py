"""An agent in ten lines: accept, look at the limits, act, report, read the record.

`python -m api.client.examples.agent [.local]` with `make up` running beside it. What the owner does
first is in owner.py.
"""

from api.client import Client, Wallet
from api.client.examples.owner import give_mandate, hire, read_stack, sign_in, stack_directory


def work(agent: Client, wallet: Wallet, adapter: str) -> None:
    offer = agent.mandates.offers(agent.user_id)["offers"][0]
    mandate_id = str(agent.mandates.accept(offer["public_id"])["mandate"]["public_id"])
    used = agent.mandates.read(mandate_id)["limits"]["used"]
    print(
        f"{mandate_id}: {used['per_action_max']['value']} USDC per action, "
        f"{used['left_today']['value']} left today"
    )
    call = agent.mandates.execute_call(
        mandate_id,
        target=adapter,
        function="buy(uint256)",
        args=["50000000"],
        amount_usdc="50.000000",
    )
    sent = wallet.send(call)
    position = {"id": "unit", "name": "Test venue unit"}
    report = {
        "amount_usdc": "50.000000",
        "tx_hash": sent["tx_hash"],
        "why": "50 is below the cap of clause 2.",
    }
    agent.mandates.report_event(
        mandate_id, kind="buy", payload={"target": adapter, "position": position}, **report
    )
    for step in agent.mandates.steps(mandate_id)["steps"]:
        print(
            f"{step['at']}  {step['reported_by']:<7}{step['code']:<22}{step['amount_usdc'] or ''}"
        )


def main(directory: str = ".local") -> None:
    stack = read_stack(directory)
    owner, owner_wallet = sign_in(stack)
    with owner, owner_wallet:
        agent, private_key = hire(owner, owner_wallet, "ten-lines")
        give_mandate(owner, owner_wallet, agent.user_id)
    with agent, Wallet(private_key, stack["rpc_url"]) as wallet:
        work(agent, wallet, stack["contracts"]["test_venue_adapter"])


if __name__ == "__main__":
    main(
        stack_directory(
            "Do what docs/agents.md shows: accept a mandate, buy, report, read the record."
        )
    )
