"""What gas costs, in wei and in USDC."""

from typing import NoReturn

from api.areas.sponsored.schemas import GasRow, GasTable
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, Call, NoInput, Refusal, WriteCall
from core.chain.reader import ChainReader
from core.money import usdc_text
from core.sponsored.prices import EthPrice
from core.sponsored.readings import gas_by_size, gas_now
from core.sponsored.rules import (
    BUY_GAS,
    UNSIGNED_BUY_BYTES,
    GasPrice,
    cost_wei,
    usdc_of_wei_up,
)

# (gas, bytes of the unsigned transaction): docs/gas.md measures them; rounded up
ACTIONS = {
    "sponsored_buy": (BUY_GAS, UNSIGNED_BUY_BYTES),
    "reserve_buy": (75_000, 230),
    "reserve_redeem": (70_000, 200),
    "reserve_convert": (55_000, 200),
    "create_vault": (380_000, 2_600),
    "mandate_execute": (140_000, 700),
    "withdraw": (90_000, 230),
}


def quote(call: WriteCall, caller: Nobody, command: NoInput) -> Answer[GasTable]:
    """Errors: Refusal gas_price_unknown."""
    eth = eth_price(call)
    found = gas_by_size(call.deps.chain, {size for _, size in ACTIONS.values()})
    rows, price = [], None
    for action, (gas, unsigned_bytes) in ACTIONS.items():
        price = found.get(unsigned_bytes) or _refuse()
        wei = cost_wei(gas, price)
        rows.append(
            GasRow(
                action=action,
                gas=gas,
                layer_2_wei=str(wei - price.layer_1_wei),
                layer_1_wei=str(price.layer_1_wei),
                usdc=usdc_text(usdc_of_wei_up(wei, eth.usdc_e6_per_eth)),
            )
        )
    assert price is not None, "there is more than one action"
    table = GasTable(
        base_fee_wei=str(price.base_fee_wei),
        priority_fee_wei=str(price.priority_fee_wei),
        eth_usd=usdc_text(eth.usdc_e6_per_eth),
        source=eth.source,
        actions=rows,
    )
    return Answer(table)


def eth_price(call: Call) -> EthPrice:
    """Errors: Refusal gas_price_unknown."""
    found = call.deps.eth_price.now(call.db, call.now)
    if found is None:
        raise Refusal(
            "gas_price_unknown",
            "What ETH costs in USDC is not known now, so gas has no price in USDC; ask again later, "
            "or buy with your own gas.",
        )
    return found


def gas_price(chain: ChainReader, unsigned_bytes: int) -> GasPrice:
    """Errors: Refusal gas_price_unknown; RpcError."""
    return gas_now(chain, unsigned_bytes) or _refuse()


def _refuse() -> NoReturn:
    raise Refusal(
        "gas_price_unknown",
        "The node names no base fee, or the gas price oracle refuses the fee of layer 1; ask again "
        "in a minute.",
    )
