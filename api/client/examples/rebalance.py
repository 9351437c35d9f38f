"""An agent that rebalances; `python -m api.client.examples.rebalance [.local]` beside `make up`."""

from collections.abc import Mapping

from api.client import Client, Wallet
from api.client.examples.owner import give_mandate, hire, read_stack, sign_in, stack_directory
from api.client.money import usdc_e6, usdc_text

PLAN = {  # adapter: percent of the budget, the function that enters, the function that leaves
    "erc4626_adapter": (40, "deposit(uint256,uint256)", "redeem(uint256,uint256)"),
    "uniswap_v3_adapter": (20, "buy(uint256,uint256)", "sell(uint256,uint256)"),
}
LEAST_E6 = 5_000_000  # smaller differences stay


def rebalance(agent: Client, wallet: Wallet, mandate_id: str, at: Mapping[str, str]) -> None:
    for name, (percent, enter, leave) in PLAN.items():
        read, target = agent.mandates.read(mandate_id), at[name]
        held = agent.mandates.unwind_call(mandate_id, adapter=target)
        units, brings = int(held["units"] or 0), held["withdrawable_now_usdc"]
        if held["reason"] not in (None, "nothing_to_unwind") or (units and brings is None):
            continue  # what is unknown is no permission
        worth, used = usdc_e6(brings or "0"), read["limits"]["used"]
        missing = usdc_e6(read["mandate"]["budget_usdc"]) * percent // 100 - worth
        left = (used["per_action_max"], used["left_today"], used["left_total"])
        spent = min(missing, *(usdc_e6(one["value"] or "0") for one in left))
        function, args = (
            enter,
            [str(spent), "0"],
        )  # the adapter refuses what costs more than its own loss limit
        if -missing >= LEAST_E6:
            args = [str(units * -missing // worth), str(-missing * 99 // 100)]
            function, spent = leave, 0
        elif spent < LEAST_E6:
            continue
        call = agent.mandates.execute_call(
            mandate_id, target=target, function=function, args=args, amount_usdc=usdc_text(spent)
        )
        print(f"{name}: {usdc_text(missing)} USDC missing; {call['check']['reason'] or 'sent'}")
        sent = wallet.send(call) if call["check"]["ok"] else None
        if sent and spent:  # of a sale the chain's own row says what it brought
            position = {"target": target, "position": {"id": name}}
            proof = {"amount_usdc": usdc_text(spent), "tx_hash": sent["tx_hash"]}
            agent.mandates.report_event(mandate_id, kind="buy", payload=position, **proof)


def main(directory: str = ".local") -> None:
    stack = read_stack(directory)
    owner, owner_wallet = sign_in(stack)
    with owner, owner_wallet:
        agent, key = hire(owner, owner_wallet, "rebalancer")
        mandate_id = give_mandate(owner, owner_wallet, agent.user_id)
    with agent, Wallet(key, stack["rpc_url"]) as wallet:
        agent.mandates.accept(mandate_id)
        for _ in range(3):  # a real one would sleep in between
            rebalance(agent, wallet, mandate_id, stack["contracts"])


if __name__ == "__main__":
    main(stack_directory("Keep a mandate's money in the parts that docs/agents.md names."))
