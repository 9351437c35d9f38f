"""What a refused call asked for, read from its call data."""

from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall, attempted_of
from core.mandate.venues import test_venue
from tests.each import each

ADAPTER = "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"
BUY = VaultCall(ADAPTER, 101_000_000, test_venue.buy(101_000_000))
SELL = VaultCall(ADAPTER, 0, test_venue.sell(5))
ASKED = {"target": ADAPTER, "selector": "0xd96a094a", "amount_usdc": "101.000000"}


def test_execute__says_target_selector_and_amount() -> None:
    assert attempted_of(calldata.execute(BUY)) == ASKED


def test_a_batch__says_the_first_call_the_sum_and_how_many() -> None:
    assert attempted_of(calldata.execute_batch([BUY, SELL, BUY])) == ASKED | {
        "amount_usdc": "202.000000",
        "calls": 3,
    }


@each(
    ("data", "attempted"),
    [
        (calldata.settle(), {"function": "settle"}),
        (calldata.execute_batch([]), {"function": "executeBatch"}),
        ("0x", None),
        ("0xffffffff", None),
        (calldata.execute(BUY)[:100], None),
    ],
)
def test_other_call_data__says_the_function_or_nothing(
    data: str, attempted: dict[str, str] | None
) -> None:
    assert attempted_of(data) == attempted
