"""Whose ETH pays for requests of the outbox: each purse has a key, a loop and a day's budget of its
own.
"""

from dataclasses import dataclass

from core.custody.rules import TRANSFER_GAS
from core.keeper.rules import Purse
from core.sponsored.rules import BUY_GAS, UNSIGNED_BUY_BYTES
from keeper.state import Role

# upper bound of an unsigned type 2 transaction with a transfer's 292 bytes of call data
UNSIGNED_TRANSFER_BYTES = 450


@dataclass(frozen=True, slots=True)
class PurseTerms:
    """`gas`, `unsigned_bytes`: the most that one of its requests may use, and its size."""

    purse: Purse
    role: Role
    gas: int
    unsigned_bytes: int


CUSTODY = PurseTerms(Purse.CUSTODY, Role.CUSTODY, TRANSFER_GAS, UNSIGNED_TRANSFER_BYTES)
SPONSOR = PurseTerms(Purse.SPONSOR, Role.SPONSOR, BUY_GAS, UNSIGNED_BUY_BYTES)
