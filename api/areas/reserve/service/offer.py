"""Whether sponsored buys are taken now, as GET /reserve/config says before anybody asks for a quote.

    contract, sign of the sponsor, price of ETH, pause    what is recorded
    whether the fee can reach the treasury                what USDC says now
    the sponsor's ETH, the day's gas                      against what a buy may cost now

Law: the node is asked once in a few seconds for everybody, and what gas costs only where so little is
left that one buy may be too much. Where it does not answer, nothing is known to stand in the way.
"""

from dataclasses import dataclass

from api.kernel.operation import Call
from core.chain.errors import RpcError
from core.keeper.gas import NEW_BUYERS, SPONSORS
from core.reserve import queries
from core.sponsored import days
from core.sponsored import queries as sponsored
from core.sponsored.kept_gas import KeptReadings
from core.sponsored.prices import EthUnknown
from core.sponsored.readings import takes_fees
from core.sponsored.rules import (
    BUY_GAS,
    MOST_FEE_USDC_E6,
    NO_FEE,
    SIZES,
    UNSIGNED_BUY_BYTES,
    WEI_PER_ETH,
    GasPrice,
    cost_wei,
    covered_wei,
    is_away,
)
from core.sponsored.tables import SponsorHeartbeat
from core.times import instant_text

WHOSE = {
    SPONSORS: "sponsored buys of everybody",
    NEW_BUYERS: "sponsored buys of wallets that have not paid for one before",
}


@dataclass(frozen=True, slots=True)
class SponsorOffer:
    """Why no sponsored buy is taken now, and why none of new wallets; None: nothing is known that
    prevents it.
    """

    why_not: str | None
    why_no_new_wallets: str | None


def offer_now(call: Call) -> SponsorOffer:
    """What prevents every sponsored buy now, as far as is known."""
    if "sponsored_buy" not in call.deps.contracts:
        return _none("the deployment has no contract for sponsored buys; buy with your own gas")
    sign = sponsored.sponsor(call.db, call.deps.chain_id)
    if sign is None:
        return _none("no keeper with a sponsor's key has run here; buy with your own gas")
    if is_away(sign.at, call.now):
        return _none(
            f"the sponsor has sent no heartbeat since {instant_text(sign.at)}; ask again in "
            "a minute, or buy with your own gas"
        )
    if sign.balance_wei == 0:
        return _none("the sponsor has no ETH; ask again later, or buy with your own gas")
    eth = call.deps.parts.of(KeptReadings).eth_price.now(call.db, call.now)
    if isinstance(eth, EthUnknown):
        return _none(f"the price of ETH in USDC is unknown: {eth.why}; buy with your own gas")
    recorded = queries.state(call.db)
    if recorded is None or recorded.totals.treasury is None:
        return _none("the record does not name the payee of the fee yet; buy with your own gas")
    if recorded.totals.is_paused:
        return _none("the token has paused buying; redeeming and converting continue")
    if not _takes_fees(call, recorded.totals.treasury):
        return _none(f"{NO_FEE}; buy with your own gas")
    dearest_wei = MOST_FEE_USDC_E6 * WEI_PER_ETH // eth.usdc_e6_per_eth
    if not _is_little_left(call, sign, dearest_wei):
        return SponsorOffer(None, None)
    price = _gas(call)
    return (
        _by_gas(call, sign, 1, 1)
        if price is None
        else _by_gas(call, sign, cost_wei(BUY_GAS, price), covered_wei(price))
    )


def _takes_fees(call: Call, treasury: str) -> bool:
    """True too where no node says."""
    usdc, token = call.deps.contracts["usdc"], call.deps.contracts["reserve_token"]
    try:
        return call.deps.parts.of(KeptReadings).takes_fees.of(
            lambda: takes_fees(call.deps.chain, usdc, token, treasury), call.now
        )
    except RpcError:
        return True


def _none(why: str) -> SponsorOffer:
    return SponsorOffer(why, why)


def _is_little_left(call: Call, sign: SponsorHeartbeat, dearest_wei: int) -> bool:
    """Whether the dearest buy that is quoted at all would be too much for the sponsor or the day."""
    return sign.balance_wei < dearest_wei or any(
        days.without_room(call.db, call.deps.limits, scope, dearest_wei, call.now)
        for scope in WHOSE
    )


def _gas(call: Call) -> GasPrice | None:
    """None: the node does not say."""
    try:
        found = call.deps.parts.of(KeptReadings).gas.read(call.deps.chain, SIZES, call.now)
    except RpcError:
        return None
    return found.by_size.get(UNSIGNED_BUY_BYTES)


def _by_gas(call: Call, sign: SponsorHeartbeat, cost: int, covered: int) -> SponsorOffer:
    """`cost`: of a buy; `covered`: what is kept of the day for it; wei, both at least."""
    if sign.balance_wei < cost:
        return _none("the sponsor is short of ETH; ask again later, or buy with your own gas")
    everybody = _used_up(call, SPONSORS, covered)
    return SponsorOffer(everybody, everybody or _used_up(call, NEW_BUYERS, covered))


def _used_up(call: Call, scope: str, wei: int) -> str | None:
    no_gas = days.without_room(call.db, call.deps.limits, scope, wei, call.now)
    if no_gas is None:
        return None
    again = instant_text(days.free_again_at(no_gas, call.now))
    return (
        f"the gas that the service pays for {WHOSE[scope]} in a UTC day is used up; ask again from "
        f"{again} on, or buy with your own gas"
    )
