"""The open positions of a mandate with a vault: what is out by the chain, which reports name and explain.

Laws
- Costs add up to what is out (MandateState.out_cost_usdc_e6), worths to the positions' part of the
  worth: no report adds or takes a base unit.
- A report that the chain bears out names money at its target, at most as much as it says that it cost;
  what came back has closed the oldest. What no report names is a position of its own, with the target
  as its id.
- Targets without an adapter share one counter of the vault, which their costs are scaled to.
- What adapters value though nothing went to any (somebody else's gift) is a position without a target.
- A report that the chain does not bear out is listed as a claim: without cost, its worth unknown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.mandate.rules.state import UNSEEN, MandateState, Position, TargetFlow


@dataclass(frozen=True, slots=True)
class ChainPosition:
    """USDC base units. `target` None: a claim, or it is not known which adapter; `reported` None: no
    report names it; `worth_usdc_e6` None: a claim alone.
    """

    target: str | None
    cost_usdc_e6: int
    worth_usdc_e6: int | None
    is_valued: bool
    reported: Position | None


def open_positions(state: MandateState) -> list[ChainPosition]:
    """By target in the order in which money first went there, then claims."""
    borne_out = [one for one in state.positions if one.mark_source != UNSEEN]
    nowhere = [one for one in borne_out if one.target is None]
    found = list[ChainPosition]()
    for flow, cost, worth in _out(state):
        here = [one for one in borne_out if _address(one) == flow.target.lower()]
        found += _named(flow, cost, worth, here, nowhere)
    if state.valued_out_usdc_e6 and not any(flow.is_valued for flow in state.targets):
        found.append(ChainPosition(None, 0, state.valued_out_usdc_e6, True, None))
    claims = [one for one in state.positions if one.mark_source == UNSEEN]
    return [*found, *(ChainPosition(None, 0, None, False, one) for one in claims)]


def shared(total: int, weights: Sequence[int]) -> list[int]:
    """`total` in parts as the weights are; the first of equal ones get what is left over. All of it
    goes to the last where every weight is 0.
    """
    whole = sum(weights)
    if not weights or whole == 0:
        return [0] * (len(weights) - 1) + [total] * bool(weights)
    parts = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda n: (-(total * weights[n] % whole), n))
    for place in order[: total - sum(parts)]:
        parts[place] += 1
    return parts


def _out(state: MandateState) -> Iterable[tuple[TargetFlow, int, int]]:
    """Each target where something is out, at cost and as it is worth."""
    valued = [flow for flow in state.targets if flow.is_valued]
    others = [
        flow
        for flow in state.targets
        if not flow.is_valued and flow.spent_usdc_e6 > flow.cost_usdc_e6
    ]
    worths = shared(state.valued_out_usdc_e6, [flow.out_usdc_e6 for flow in valued])
    costs = shared(state.at_cost_usdc_e6, [flow.out_usdc_e6 for flow in others])
    by_flow = {
        **{f.target: (f.out_usdc_e6, worth) for f, worth in zip(valued, worths, strict=True)},
        **{f.target: (cost, cost) for f, cost in zip(others, costs, strict=True)},
    }
    for flow in state.targets:
        cost, worth = by_flow.get(flow.target, (0, 0))
        if cost or worth:
            yield flow, cost, worth


def _named(
    flow: TargetFlow, cost: int, worth: int, here: Sequence[Position], nowhere: list[Position]
) -> list[ChainPosition]:
    """The reports at a target, then those that name no target, then what is left. The newest of them
    name it first.
    """
    named, left = list[tuple[Position | None, int]](), cost
    for position in [*reversed(here), *reversed(nowhere)]:
        part = min(left, max(0, position.cost_usdc_e6 - position.proceeds_usdc_e6))
        if part:
            named.append((position, part))
            left -= part
            if position in nowhere:
                nowhere.remove(position)
    named.reverse()
    if left or not named:
        named.append((here[-1] if here and not named else None, left))
    worths = shared(worth, [part for _, part in named])
    return [
        ChainPosition(flow.target, part, worth_of_it, flow.is_valued, position)
        for (position, part), worth_of_it in zip(named, worths, strict=True)
    ]


def _address(position: Position) -> str | None:
    return None if position.target is None else str(position.target["address"]).lower()
