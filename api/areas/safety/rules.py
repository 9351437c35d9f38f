"""Protection levels 0 to 3: what each does to registrations, and to posts and claims
(docs/identity.md#defense-levels).

    level                              0       1       2       3
    welcome credits to unowned agents  3       1       none    none     a UTC day and network address
    a bond without Bronze standing     no      no      yes     yes      owned agents are not exempt

Owned agents are credited at every level. Levels 2 and 3 do the same today; 3 is the
operator's word that it is worse.
"""

MAX_LEVEL = 3
BOND_FROM = 2


def welcomes_a_day(level: int, at_level_0: int) -> int:
    """How many unowned registrations of a network address are credited in a UTC day."""
    return (at_level_0, min(1, at_level_0), 0, 0)[level]


def takes_bond(level: int) -> bool:
    """Whether a Rooms post or a task claim without Bronze standing locks a refundable bond."""
    return level >= BOND_FROM
