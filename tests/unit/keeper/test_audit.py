"""Which vaults the other nodes are asked about. No socket is opened."""

from core.mandate.rules.lifecycle import VaultStatus
from keeper.audit import FIRST, LEAST_A_TICK, VaultAudit
from keeper.state import SOURCE_VAULT_WORTH, VaultReading, WrittenMark
from tests.unit.keeper.readings import BUDGET, FLOOR, NOW, reading, state
from tests.unit.keeper.test_witness import Pool

NEAR = "0x" + "11" * 20
UNKNOWN = WrittenMark(None, 7, NOW, "unreadable")
KNOWN = WrittenMark(FLOOR, 7, NOW, SOURCE_VAULT_WORTH)


def many(written: WrittenMark | None, status: VaultStatus | None) -> list[VaultReading]:
    worth = BUDGET if status is VaultStatus.WORKING else None
    return [
        reading(worth, vault=f"0x{n:040x}", last_written=written, status=status)
        for n in range(FIRST + LEAST_A_TICK)
    ]


def asked(*readings: VaultReading, at_work: frozenset[str] = frozenset()) -> set[str]:
    """Of the vaults whose views the other node is asked for in the first tick."""
    pool = Pool(a=BUDGET, b=BUDGET, calls_per_s=1_000)
    pool.observer.told_by = "a:80"
    VaultAudit(pool.observer).hear(state(*readings), at_work)
    return pool.vaults


def test_vaults_of_unknown_worth__do_not_take_the_place_of_those_nearest_to_their_floors() -> None:
    near = reading(BUDGET, vault=NEAR, last_written=KNOWN)
    for unknown in (
        many(None, VaultStatus.WORKING),
        many(UNKNOWN, VaultStatus.WORKING),
        many(UNKNOWN, None),
    ):
        assert NEAR in asked(*unknown, near)


def test_vaults_that_ended__do_not_take_it_either__unless_the_record_calls_them_working() -> None:
    stopped = many(KNOWN, VaultStatus.STOPPED)
    near = reading(None, vault=NEAR, last_written=KNOWN, status=VaultStatus.STOPPED)
    assert NEAR not in asked(*stopped, near)
    assert NEAR in asked(*stopped, near, at_work=frozenset({NEAR}))
    assert NEAR in asked(*stopped, reading(BUDGET, vault=NEAR, last_written=KNOWN))
