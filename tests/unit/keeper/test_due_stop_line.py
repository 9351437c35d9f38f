"""When a vault is stopped. Source: docs/rules.md#when-marks-are-sent, MandateVault.enforceStopLine."""

from core.mandate.rules.lifecycle import VaultStatus
from core.money import UnixSeconds
from keeper.plan import is_fallen
from keeper.state import SOURCE_AT_COST
from tests.each import each
from tests.unit.keeper.readings import FLOOR, HEAD, reading


@each(
    ("worth", "due"),
    [(0, True), (FLOOR - 1, True), (FLOOR, True), (FLOOR + 1, False), (None, False)],
)
def test_due__at_or_below_the_floor(worth: int | None, due: bool) -> None:
    assert is_fallen(reading(worth)) is due


def test_due__a_worth_at_cost_counts_as_any_other() -> None:
    assert is_fallen(reading(FLOOR, source=SOURCE_AT_COST))


def test_due__not_while_the_floor_is_unknown() -> None:
    assert not is_fallen(reading(0, floor_usdc_e6=None))


@each("status", [None, VaultStatus.FUNDING, VaultStatus.STOPPED, VaultStatus.SETTLED])
def test_due__not_of_a_vault_that_is_not_working(status: VaultStatus | None) -> None:
    assert not is_fallen(reading(0, status=status))


@each(("ends_at", "due"), [(HEAD.timestamp + 1, True), (HEAD.timestamp, False)])
def test_due__until_the_end_of_the_terms(ends_at: int, due: bool) -> None:
    """From then on the vault refuses: MandateEnded."""
    assert is_fallen(reading(0, ends_at=UnixSeconds(ends_at))) is due
