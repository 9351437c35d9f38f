"""Money out where no adapter values it, which counts at cost in the vault's worth.

Laws
- What is out counts at cost: what was spent there less what came back from there, never below 0.
  All such targets share one counter, as in the vault: what one brings back beyond its cost lowers
  what is out at another.
- A target that has a rule of kind VALUED is valued by its adapter, whatever its other rules. A cost
  (x402) is no position.
- Proceeds that an adapter brings by `receiveProceeds` lower the counter, unless a rule of kind
  VALUED names that adapter: what the relay closes was out where nobody values it.

Source: MandateVault._countUnvalued and receiveProceeds, RuleLib.isPositionKind and isValued.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.terms import Rule, RuleKind
from core.money import UsdcE6


@dataclass(frozen=True, slots=True)
class PositionRules:
    """What of a mandate's rules moves the counter. Addresses and selectors in lower case.

    `unvalued`: the (target, selector) whose spending and receiving does. `valued`: the adapters
    whose proceeds do not.
    """

    unvalued: frozenset[tuple[str, str]] = frozenset()
    valued: frozenset[str] = frozenset()

    def values(self, target: str) -> bool:
        """An adapter values what is at this target."""
        return target.lower() in self.valued


@dataclass(frozen=True, slots=True)
class WentOut:
    """The row by which money went out unvalued when none was out before, and what is out after it,
    at cost.
    """

    row: LedgerRow
    out_usdc_e6: UsdcE6


def position_rules(rules: Iterable[Rule]) -> PositionRules:
    """What of these rules moves the counter."""
    listed = tuple(rules)
    valued = frozenset(rule.target.lower() for rule in listed if rule.kind is RuleKind.VALUED)
    unvalued = (
        _key(rule.target, rule.selector)
        for rule in listed
        if rule.kind in (RuleKind.SPEND, RuleKind.EXIT) and rule.target.lower() not in valued
    )
    return PositionRules(frozenset(unvalued), valued)


def unvalued_out_after(
    out_usdc_e6: int,
    rules: PositionRules,
    target: str,
    selector: str,
    *,
    spent_usdc_e6: int,
    received_usdc_e6: int,
) -> UsdcE6:
    """The counter after one call of `target`, which took and brought so much."""
    if _key(target, selector) not in rules.unvalued:
        return UsdcE6(out_usdc_e6)
    return UsdcE6(max(0, out_usdc_e6 + spent_usdc_e6 - received_usdc_e6))


def unvalued_out_after_proceeds(
    out_usdc_e6: int, rules: PositionRules, adapter: str, received_usdc_e6: int
) -> UsdcE6:
    """The counter after proceeds that `adapter` brought by itself."""
    return UsdcE6(
        out_usdc_e6 if adapter.lower() in rules.valued else max(0, out_usdc_e6 - received_usdc_e6)
    )


def went_out_after(
    went: tuple[WentOut, ...], row: LedgerRow, *, before_usdc_e6: int, out_usdc_e6: int
) -> tuple[WentOut, ...]:
    """The fold of a mandate's rows, oldest first: each time that money went out and was not all
    back within the same block.

    `before_usdc_e6` and `out_usdc_e6`: the counter before and after the row.
    """
    if before_usdc_e6 == 0 and out_usdc_e6 > 0:
        return (*went, WentOut(row, UsdcE6(out_usdc_e6)))
    is_back_within_block = (
        out_usdc_e6 == 0 and bool(went) and went[-1].row.block_hash == row.block_hash
    )
    return went[:-1] if is_back_within_block else went


def _key(target: str, selector: str) -> tuple[str, str]:
    return target.lower(), selector.lower()
