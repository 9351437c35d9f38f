"""Readings and states for the keeper's pure tests: 1000 USDC budget, floor 950, nothing sent yet,
unless a test says so.
"""

from typing import Any

from core.chain.blocks import BlockHeader
from core.keeper.views import WatchedVault
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UnixSeconds, UsdcE6
from keeper.state import SOURCE_VAULT_WORTH, KeeperState, ReadBlock, VaultReading

USDC = 1_000_000
BUDGET = UsdcE6(1_000 * USDC)
FLOOR = UsdcE6(950 * USDC)
CREATED_AT = UnixSeconds(1_800_000_000)
NOW = UnixSeconds(CREATED_AT + 100)
VAULT = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
HEAD = BlockHeader(500, "0x" + "ab" * 32, "0x" + "aa" * 32, NOW, 0, (), 1_000_000_000)
MAX_HEAD_AGE_S = 10


def reading(worth_usdc_e6: int | None, **changes: Any) -> VaultReading:
    """`changes`: of the reading, or of the vault as the record has it."""
    recorded: dict[str, Any] = {
        "vault": VAULT,
        "public_id": "m_abcdefghij",
        "budget_usdc_e6": BUDGET,
        "created_at": CREATED_AT,
        "ends_at": None,
        "last_sent": None,
        "last_written": None,
        "floor_usdc_e6": FLOOR,
        "is_recorded_at_work": True,
        "lacks_mark": None,
    }
    recorded |= {name: changes.pop(name) for name in recorded if name in changes}
    fields: dict[str, Any] = {
        "watched": WatchedVault(**recorded),
        "node": "node",
        "status": VaultStatus.WORKING,
        "worth_usdc_e6": worth_usdc_e6,
        "source": SOURCE_VAULT_WORTH,
        "block": ReadBlock(HEAD.number, HEAD.timestamp, HEAD.hash),
    }
    return VaultReading(**fields | changes)


def state(*readings: VaultReading, head_age_s: int = 0, live: str | None = None) -> KeeperState:
    """`live`: the kind of an intent of VAULT that is under way."""
    kinds = {} if live is None else {VAULT: frozenset({live})}
    return KeeperState(84532, HEAD, head_age_s, readings, MAX_HEAD_AGE_S, kinds)
