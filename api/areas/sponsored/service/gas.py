"""What gas costs, in wei and in USDC."""

from datetime import timedelta
from typing import NoReturn

from api.areas.sponsored.schemas import GasRow, GasTable
from api.areas.sponsored.service.next_calls import OWN_GAS
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, Call, NextCall, NoInput, Refusal, WriteCall
from core.chain.reader import ChainReader
from core.money import usdc_text
from core.sponsored.kept_gas import KEEP_S, KeptReadings
from core.sponsored.prices import EthInUsdc, EthUnknown
from core.sponsored.readings import gas_now
from core.sponsored.rules import (
    ACTIONS,
    SIZES,
    GasPrice,
    cost_wei,
    usdc_of_wei_up,
)
from core.times import instant_text

AGAIN = NextCall("sponsored.gas_quote")


def quote(call: WriteCall, caller: Nobody, command: NoInput) -> Answer[GasTable]:
    """The node's figures are at most KEEP_S seconds old. Errors: Refusal gas_price_unknown; RpcError."""
    eth = eth_price(call)
    found = call.deps.parts.of(KeptReadings).gas.read(call.deps.chain, SIZES, call.now)
    rows, price = [], None
    for action, (gas, unsigned_bytes) in ACTIONS.items():
        price = found.by_size.get(unsigned_bytes) or _refuse_gas()
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
        as_of=instant_text(found.as_of),
        good_until=instant_text(found.as_of + timedelta(seconds=KEEP_S)),
        base_fee_wei=str(price.base_fee_wei),
        priority_fee_wei=str(price.priority_fee_wei),
        eth_usd=usdc_text(eth.usdc_e6_per_eth),
        source=eth.source,
        eth_as_of=None if eth.as_of is None else instant_text(eth.as_of),
        actions=rows,
    )
    return Answer(table)


def eth_price(call: Call) -> EthInUsdc:
    """Errors: Refusal gas_price_unknown."""
    found = call.deps.parts.of(KeptReadings).eth_price.now(call.db, call.now)
    if isinstance(found, EthUnknown):
        raise Refusal(
            "gas_price_unknown",
            f"The price of ETH in USDC is unknown, so gas has no price in USDC: {found.why}. "
            "Ask again later, or buy with your own gas.",
            next_calls=(AGAIN, OWN_GAS),
        )
    return found


def gas_price(chain: ChainReader, unsigned_bytes: int) -> GasPrice:
    """Errors: Refusal gas_price_unknown; RpcError."""
    return gas_now(chain, unsigned_bytes) or _refuse_gas()


def _refuse_gas() -> NoReturn:
    raise Refusal(
        "gas_price_unknown",
        "The node returned no base fee, or the gas price oracle did not give the layer 1 "
        "fee; ask again in a minute, or buy with your own gas.",
        next_calls=(AGAIN, OWN_GAS),
    )
