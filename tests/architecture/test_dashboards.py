"""Dashboards show metrics that exist, and all of them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.test_alerts import NAMED, exported

FOLDER = Path(__file__).parents[2] / "docs" / "operations" / "dashboards"
NAMES = ("api", "indexer", "keeper")
COLUMNS = 24  # of a dashboard


def panels(name: str) -> list[dict[str, Any]]:
    return list(json.loads((FOLDER / f"{name}.json").read_text())["panels"])


def queries(name: str) -> list[str]:
    return [one["expr"] for panel in panels(name) for one in panel["targets"]]


def shown(name: str) -> set[str]:
    return {metric for query in queries(name) for metric in NAMED.findall(query)}


@pytest.mark.parametrize("name", NAMES)
def test_a_dashboard__names_only_metrics_that_are_exported(name: str) -> None:
    assert shown(name)
    assert shown(name) - exported() == set()


def test_every_metric__is_shown_by_its_process() -> None:
    # a histogram is shown by its buckets, or by what they sum to
    def whole(names: set[str]) -> set[str]:
        return {re.sub("_(bucket|count|sum)$", "", one) for one in names}

    shown_by_all = set().union(*map(shown, NAMES))
    assert whole(exported()) - whole(shown_by_all) == set()


@pytest.mark.parametrize("name", NAMES)
def test_panels_of_a_dashboard__lie_beside_one_another_with_whole_queries(name: str) -> None:
    places = [panel["gridPos"] for panel in panels(name)]
    assert len({(one["x"], one["y"]) for one in places}) == len(places)
    assert all(one["x"] + one["w"] <= COLUMNS for one in places)
    assert all(query.count("(") == query.count(")") for query in queries(name))
