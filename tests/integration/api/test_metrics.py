"""What the API counts of itself."""

import socket
import urllib.request
from typing import Any

import pytest

from api.kernel.metrics import PREFIX, ApiMetrics
from api.kernel.operation import Deps
from api.payments.figures import SettlerGas
from api.payments.payment_config import GasBudget
from core.db.engine import Database
from core.errors import InvalidParameterError
from core.payments.tables import X402GasDay
from tests.integration.api.conftest import KEY, TestClient, connect
from tests.integration.api.probe import PATH


def value(deps: Deps, name: str, **labels: Any) -> float | None:
    return deps.metrics.registry.get_sample_value(
        PREFIX + name, {key: str(one) for key, one in labels.items()}
    )


def test_a_call__is_counted_by_operation_status_and_reason(client: TestClient, deps: Deps) -> None:
    agent = {KEY: str(connect(client)["api_key"])}
    for body in ({}, {"do": "refuse"}, {"do": "defect"}):
        client.post(PATH, json=body, headers=agent)
    counted = [("200", "none"), ("409", "wrong_status"), ("500", "internal_error")]
    assert [
        value(deps, "calls_total", operation="probe.write", status=status, reason=reason)
        for status, reason in counted
    ] == [1, 1, 1]
    assert value(deps, "call_seconds_count", operation="probe.write") == 3
    assert value(deps, "calls_in_flight") == 0


def test_what_a_caller_sends__is_no_label(client: TestClient, deps: Deps) -> None:
    client.get("/nowhere/marker", headers={"X-Request-Id": "marker"})
    client.get("/agent/catalog?marker=marker")
    assert "marker" not in str(list(deps.metrics.registry.collect()))


def test_lent_connections__are_counted_at_the_scrape(deps: Deps, database: Database) -> None:
    assert value(deps, "database_connections_in_use") == 0
    with database.statements():
        assert value(deps, "database_connections_in_use") == 1


def test_metrics__are_served_on_a_port_of_their_own(database: Database) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ApiMetrics(database).listen("127.0.0.1", port)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        assert b"mandate_api_calls_in_flight 0.0" in answer.read()
    with pytest.raises(
        InvalidParameterError, match=f"API_METRICS_PORT: cannot listen on 127.0.0.1:{port}"
    ):
        ApiMetrics(database).listen("127.0.0.1", port)


def test_the_settlers_gas__is_what_all_processes_have_used_today(
    deps: Deps, database: Database
) -> None:
    gas = GasBudget(wei_per_usdc=1, wei_per_day=10**16, contract_wei_per_day=10**15)
    deps.metrics.registry.register(SettlerGas(database, gas, deps.clock))
    with database.write() as session:
        session.add(X402GasDay(day=deps.clock().date(), used_wei=7, contract_wei=3))
    assert [value(deps, "settler_gas_wei", of=of) for of in ("all", "contracts")] == [7, 3]
    assert [value(deps, "settler_gas_budget_wei", of=of) for of in ("all", "contracts")] == [
        10**16,
        10**15,
    ]


def test_the_settlers_gas__without_a_database__is_absent(deps: Deps) -> None:
    nowhere = Database("postgresql+psycopg://nobody@127.0.0.1:1/none")
    deps.metrics.registry.register(
        SettlerGas(
            nowhere, GasBudget(wei_per_usdc=1, wei_per_day=2, contract_wei_per_day=1), deps.clock
        )
    )
    assert value(deps, "settler_gas_wei", of="all") is None
    assert value(deps, "settler_gas_budget_wei", of="all") == 2
