"""The settler's gas in figures: the day's, over all processes, read from the database at the
scrape.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from api.kernel.metrics import PREFIX
from api.payments.payment_config import GasBudget
from core.db.engine import Database
from core.payments import settlements

ALL, CONTRACTS = ["all"], ["contracts"]


class SettlerGas(Collector):
    """What is not known is absent."""

    def __init__(self, database: Database, gas: GasBudget, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._gas = gas
        self._clock = clock

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return self._used(), self._budget()

    def collect(self) -> Iterable[GaugeMetricFamily]:
        used, budget = self._used(), self._budget()
        budget.add_metric(ALL, self._gas.wei_per_day)
        budget.add_metric(CONTRACTS, self._gas.contract_wei_per_day)
        try:
            with self._database.read() as session:
                found = settlements.used_on(session, self._clock().date())
        except SQLAlchemyError:
            return used, budget
        used.add_metric(ALL, found.all_wei)
        used.add_metric(CONTRACTS, found.contract_wei)
        return used, budget

    def _used(self) -> GaugeMetricFamily:
        says = "Gas that settling has used this UTC day, in wei, what is reserved included."
        return GaugeMetricFamily(PREFIX + "settler_gas_wei", says, labels=["of"])

    def _budget(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(
            PREFIX + "settler_gas_budget_wei",
            "Gas that settling may use in a UTC day, in wei.",
            labels=["of"],
        )
