"""Alert rules name metrics that exist, fire for every trouble that has to wake somebody, and say what to do."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.chain.rpc import Rpc
from indexer.metrics import PREFIX, Metrics

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text()
GROUPS: list[dict[str, Any]] = yaml.safe_load((ROOT / "docs" / "operations" / "alerts.yml").read_text())["groups"]
RULES = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
NAMED = re.compile(rf"\b{PREFIX}\w+")


def exported() -> set[str]:
    """Names of all series, those of the RPC pool included."""
    metrics = Metrics(lambda: 0)
    metrics.count_rpc(Rpc(["http://127.0.0.1:1"]))
    names = set()
    for family in metrics.registry.collect():
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}.get(family.type, ("",))
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
    assert set(rule["annotations"]) == {"summary", "action"}
    assert rule["expr"].count("(") == rule["expr"].count(")")


def test_there_is_an_alert__for_every_trouble_that_must_not_be_silent() -> None:
    assert {
        "IndexerMakesNoProgress",
        "IndexerIsLate",
        "DeepReorg",
        "IndexerHalted",
        "NobodyLeadsTheIndexer",
        "NodeFails",
    } <= set(RULES)


def test_the_depth_that_wakes_somebody__is_a_bound_of_the_histogram() -> None:
    metrics = Metrics(lambda: 0)
    metrics.unwound(1, 4, 0)
    assert metrics.registry.get_sample_value(PREFIX + "reorg_depth_bucket", {"le": "3.0"}) == 0
    assert 'reorg_depth_bucket{le="3.0"}' in RULES["DeepReorg"]["expr"]


def test_every_metric__stands_in_operations() -> None:
    short = {re.sub("_(bucket|count|sum)$", "", name.removeprefix(PREFIX)) for name in exported()}
    assert sorted(name for name in short if f"`{name}" not in PAGE) == []
