"""The alerts of the settler's gas are fired by payments of a day whose gas is scarce."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry

from api.payments.figures import SettlerGas
from tests.integration.api.payments.shop import GAS, Shop
from tests.integration.api.payments.test_payments_gas import used_today
from tests.watching import AlertWatch, fires

pytestmark = pytest.mark.slow


@fires("SettlerGasIsHalfUsed", "SettlerGasIsUsedUp")
def test_payments_use_the_days_gas(shop: Shop, watch: AlertWatch) -> None:
    """Half of it asks for somebody, nine tenths wake somebody."""
    assert shop.get(shop.payment()).status_code == 200
    used = used_today(shop)
    assert used > 0
    seen = []
    for step, percent in enumerate((49, 51, 89, 91)):
        gas = replace(GAS, wei_per_day=used * 100 // percent)
        registry = CollectorRegistry()
        registry.register(SettlerGas(shop.database, gas, lambda: datetime.now(UTC)))
        at = 60.0 * step
        watch.scrape(registry, at=at)
        seen.append(
            [watch.is_firing(f"SettlerGasIs{how}", at=at) for how in ("HalfUsed", "UsedUp")]
        )
    assert seen == [[False, False], [True, False], [True, False], [True, True]]
