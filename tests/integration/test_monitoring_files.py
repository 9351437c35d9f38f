"""Prometheus's own tool reads what operators load: its configuration, the alert rules and each
expression of a dashboard.
"""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from core.settings import Settings
from tests.watching import ROOT, promtool

FOLDER = ROOT / "docs" / "operations"
DASHBOARDS = sorted((FOLDER / "dashboards").glob("*.json"))


def check(*words: str | Path) -> str:
    done = subprocess.run(
        [promtool(), "check", *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_configuration__loads_the_rules_and_scrapes_as_often_as_they_need() -> None:
    said = check("config", FOLDER / "prometheus.yml")
    rules = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    assert f"{sum(len(group['rules']) for group in rules)} rules found" in said
    configured = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    assert configured["global"]["scrape_interval"] == "5s"
    # a port for each process that has one
    ports = [name for name in Settings.model_fields if name.endswith("metrics_port")]
    assert len(configured["scrape_configs"]) == len(ports)


@pytest.mark.slow
@pytest.mark.parametrize("file", DASHBOARDS, ids=lambda file: str(file.stem))
def test_a_dashboard__asks_what_prometheus_understands(file: Path, tmp_path: Path) -> None:
    dashboard = json.loads(file.read_text())
    expressions = [one["expr"] for panel in dashboard["panels"] for one in panel["targets"]]
    rules = [{"record": f"panel:{n}", "expr": one} for n, one in enumerate(expressions)]
    content = tmp_path / "rules.yml"
    content.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    assert f"{len(rules)} rules found" in check("rules", content)
    # what an import needs: panels that differ by id, and one variable that is the source of each
    identities = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(identities)) == len(identities) > 0
    (variable,) = dashboard["templating"]["list"]
    assert (variable["type"], variable["query"]) == ("datasource", "prometheus")
    sources = {
        json.dumps(one["datasource"])
        for panel in dashboard["panels"]
        for one in (panel, *panel["targets"])
    }
    assert sources == {json.dumps({"type": "prometheus", "uid": f"${{{variable['name']}}}"})}
