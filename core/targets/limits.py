"""How many targets are active, out of the figures that an operator may change."""

from core.limits import CallerLimits
from core.targets.rules import TargetLimits


def target_limits(limits: CallerLimits) -> TargetLimits:
    return TargetLimits(limits.targets_tier_1, limits.targets_tier_2)
