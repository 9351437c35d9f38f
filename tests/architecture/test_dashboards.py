"""Dashboards show metrics that exist, and all of them, and are what their source says."""

import json
import re

import pytest

from scripts.export_dashboards import COLUMNS, DASHBOARDS, FOLDER, dashboard, text_of
from tests.architecture.test_alerts import NAMED, exported


def shown(name: str) -> set[str]:
    targets = [one for panel in dashboard(name)["panels"] for one in panel["targets"]]
    return {metric for one in targets for metric in NAMED.findall(one["expr"])}


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard__names_only_metrics_that_are_exported(name: str) -> None:
    assert shown(name)
    assert shown(name) - exported() == set()


def test_every_metric__is_shown_by_its_process() -> None:
    # a histogram is shown by its buckets, or by what they sum to
    def whole(names: set[str]) -> set[str]:
        return {re.sub("_(bucket|count|sum)$", "", one) for one in names}

    shown_by_all = set().union(*map(shown, DASHBOARDS))
    assert whole(exported()) - whole(shown_by_all) == set()


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard__is_what_its_source_says(name: str) -> None:
    assert (FOLDER / f"{name}.json").read_text() == text_of(name)
    panels = json.loads(text_of(name))["panels"]
    places = [panel["gridPos"] for panel in panels]
    assert len({(one["x"], one["y"]) for one in places}) == len(places)
    assert all(one["x"] + one["w"] <= COLUMNS for one in places)
    assert all(
        one["expr"].count("(") == one["expr"].count(")")
        for panel in panels
        for one in panel["targets"]
    )
