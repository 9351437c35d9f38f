"""Alert rules name metrics that exist, fire for every trouble that has to wake somebody, and say
what to do.
"""

import ast
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import Metric

from api.kernel.metrics import PREFIX as API_PREFIX
from api.kernel.metrics import ApiMetrics as ApiMetrics
from api.payments.figures import SettlerGas
from api.payments.payment_config import GasBudget
from core.chain.nodes import Nodes
from core.db.engine import Database
from indexer.metrics import PREFIX, IndexerMetrics
from keeper import metrics as keeper_metrics

ROOT = Path(__file__).resolve().parents[2]
KEEPER_PAGE = (ROOT / "docs" / "operations" / "keeper.md").read_text()
GROUPS: list[dict[str, Any]] = yaml.safe_load(
    (ROOT / "docs" / "operations" / "alerts.yml").read_text()
)["groups"]
RULES = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
RUNBOOK = [
    (lines[0], [line for line in lines[1:] if line])
    for part in (ROOT / "docs/operations/runbook.md").read_text().split("\n## ")[1:]
    for lines in [part.splitlines()]
]
KEEPER_PREFIX = keeper_metrics.PREFIX
NO_DATABASE = Database("postgresql+psycopg://nobody@127.0.0.1:1/none")
NAMED = re.compile(rf"\b(?:{PREFIX}|{KEEPER_PREFIX}|{API_PREFIX})\w+")


def families() -> list[Metric]:
    """Of the three processes, those of the RPC pool, of the keeper's rows and of the settler's gas
    included.
    """
    rpc = Nodes(["http://127.0.0.1:1"])
    of_indexer, of_keeper = IndexerMetrics(lambda: 0), keeper_metrics.KeeperMetrics(lambda: 0)
    of_indexer.count_rpc(rpc)
    of_keeper.count_rpc(rpc)
    of_api, gas = (
        ApiMetrics(NO_DATABASE),
        GasBudget(wei_per_usdc=1, wei_per_day=1, contract_wei_per_day=1),
    )
    of_api.registry.register(SettlerGas(NO_DATABASE, gas, lambda: datetime.now(UTC)))
    return [
        *of_api.registry.collect(),
        *of_indexer.registry.collect(),
        *of_keeper.registry.collect(),
        *keeper_metrics.row_figures(),
    ]


def exported() -> set[str]:
    """Names of all series."""
    names = set()
    for family in families():
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}.get(
            family.type, ("",)
        )
        names |= {family.name + ending for ending in endings}
    return names


@pytest.mark.parametrize("alert", RULES)
def test_an_alert__names_only_metrics_that_are_exported(alert: str) -> None:
    named = set(NAMED.findall(RULES[alert]["expr"]))
    assert named
    assert named - exported() == set()


@pytest.mark.parametrize("alert", RULES)
def test_an_alert__says_what_to_do_and_how_urgent_it_is(alert: str) -> None:
    rule = RULES[alert]
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert set(rule["annotations"]) == {"runbook_url", "summary", "action"}
    assert rule["expr"].count("(") == rule["expr"].count(")")


@pytest.mark.parametrize("alert", RULES)
def test_an_alert__has_four_lines_in_the_runbook(alert: str) -> None:
    """What it means and how urgent it is, how to look, what to do, what not to do."""
    rule = RULES[alert]
    assert rule["annotations"]["runbook_url"] == f"docs/operations/runbook.md#{alert.lower()}"
    (lines,) = [lines for name, lines in RUNBOOK if name == alert]
    severity = rule["labels"]["severity"]
    begins = [
        f"- **Means** ({severity}):",
        *(f"- **{word}**:" for word in ("Look", "Do", "Don't")),
    ]
    assert [line.startswith(begin) for line, begin in zip(lines, begins, strict=True)] == [True] * 4


def test_the_runbook__is_of_these_alerts_in_their_order() -> None:
    assert [name for name, _ in RUNBOOK] == list(RULES)


def test_each_alert__is_fired_by_a_story() -> None:
    """Of a test that is marked so: it evaluates the expression on what the fault makes of the
    metrics.
    """
    fired = set[str]()
    for file in (ROOT / "tests").rglob("test_*_alerts.py"):
        fired |= _fired(file)
    assert fired | _fired(ROOT / "tests/integration/keeper/test_keeper_at_cost.py") == set(RULES)


def _fired(file: Path) -> set[str]:
    return {
        argument.value
        for function in ast.walk(ast.parse(file.read_text()))
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_")
        for mark in function.decorator_list
        if isinstance(mark, ast.Call)
        and isinstance(mark.func, ast.Name)
        and mark.func.id == "fires"
        for argument in mark.args
        if isinstance(argument, ast.Constant)
    }


def test_there_is_an_alert__for_every_trouble_that_must_not_be_silent() -> None:
    assert {
        "IndexerMakesNoProgress",
        "IndexerIsLate",
        "DeepReorg",
        "IndexerHalted",
        "NobodyLeadsTheIndexer",
        "NodeFails",
        "AuditFoundAMismatch",
        "AuditStandsStill",
        "KeeperMakesNoTick",
        "NobodyLeadsTheKeeper",
        "StopIsNotMined",
        "IntentIsOld",
        "KeeperCannotPay",
        "FactoryNamesAnotherKeeper",
        "JobFails",
        "JobIsLate",
        "RequestsGasIsUsedUp",
        "SettlerGasIsUsedUp",
    } <= set(RULES)


def test_each_days_gas__asks_for_somebody_at_half_of_it_and_wakes_somebody_at_nine_tenths() -> None:
    budgets = {name for name in exported() if name.endswith("_gas_budget_wei")}
    assert len(budgets) == 2
    for budget in budgets:
        of_budget = [rule for rule in RULES.values() if budget in NAMED.findall(rule["expr"])]
        asked = {(rule["labels"]["severity"], rule["expr"].split()[-1]) for rule in of_budget}
        assert asked == {("ticket", "0.5"), ("page", "0.9")}, budget


def test_the_depth_that_wakes_somebody__is_a_bound_of_the_histogram() -> None:
    metrics = IndexerMetrics(lambda: 0)
    metrics.unwound(1, 4, 0)
    assert metrics.registry.get_sample_value(PREFIX + "reorg_depth_bucket", {"le": "3.0"}) == 0
    assert 'reorg_depth_bucket{le="3.0"}' in RULES["DeepReorg"]["expr"]


def test_every_metric__says_what_it_means() -> None:
    assert [family.name for family in families() if not family.documentation] == []


def test_the_latency_that_asks_for_somebody__is_a_bound_of_the_histogram() -> None:
    bounds = {
        sample.labels.get("le")
        for family in keeper_metrics.row_figures()
        for sample in family.samples
    }
    assert "2.0" in bounds
    assert 'stop_latency_blocks_bucket{le="2.0"}' in RULES["StopsAreMinedLate"]["expr"]


def test_every_log_line_of_the_keeper__stands_in_its_page() -> None:
    """What it says at level warning or above asks something of somebody."""
    said = {
        node.args[0].value
        for file in (ROOT / "keeper").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("warning", "error", "exception", "critical")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    assert sorted(line for line in said if f"`{line}`" not in KEEPER_PAGE) == []
