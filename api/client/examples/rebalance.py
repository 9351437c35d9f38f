"""An agent that rebalances: 40 % of the budget lent to a pool, 20 % in a token, the rest in USDC.

`python -m api.client.examples.rebalance [.local]` with `make up` running beside it.
"""

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
        read = agent.mandates.read(mandate_id)
        used, target = read["limits"]["used"], at[name]
        held = agent.mandates.unwind_call(mandate_id, adapter=target)
        brings = held["withdrawable_now_usdc"]
        if held["reason"] not in (None, "nothing_to_unwind") or (held["units"] and brings is None):
            continue  # what is unknown is no permission
        units, worth = int(held["units"] or 0), usdc_e6(brings or "0")
        missing = usdc_e6(read["mandate"]["budget_usdc"]) * percent // 100 - worth
        left = [used["per_action_max"], used["left_today"], used["left_total"]]
        amount = min(missing, *(usdc_e6(one["value"] or "0") for one in left))
        if amount >= LEAST_E6:  # the adapter refuses what costs more than its own loss limit
            function, args, spent = enter, [str(amount), "0"], amount
        elif -missing >= LEAST_E6:
            least = -missing * 99 // 100
            function, args, spent = leave, [str(units * -missing // worth), str(least)], 0
        else:
            continue
        call = agent.mandates.execute_call(
            mandate_id, target=target, function=function, args=args, amount_usdc=usdc_text(spent)
        )
        print(f"{name}: {usdc_text(worth)} USDC, {usdc_text(missing)} missing, {function}")
        if not call["check"]["ok"]:
            print(f"  the vault would refuse: {call['check']['reason']}")
            continue
        sent = wallet.send(call)
        if spent:  # of a sale the chain's own row says what it brought
            agent.mandates.report_event(
                mandate_id,
                kind="buy",
                amount_usdc=usdc_text(spent),
                tx_hash=sent["tx_hash"],
                why=f"{percent} % of the budget belong there.",
                payload={"target": target, "position": {"id": name}},
            )


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
