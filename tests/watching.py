"""What a Prometheus would have scraped, and what it would have fired: the rules of
docs/operations/alerts.yml are evaluated by promtool, the engine itself, without a server and without
waiting.

A scrape stands until the next one, as a fault that lasts does. promtool's clock begins at 0, so that
figures that are unix times are moved by the time of the first scrape.
"""

import json
import math
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "docs" / "operations" / "alerts.yml"
UNPACKED = ROOT / ".build" / "promtool" / "usr" / "bin" / "promtool"
EVERY_S = 5
WITHIN_S = 60
Key = tuple[str, tuple[tuple[str, str], ...]]


def fires(*alerts: str) -> Callable[[Any], Any]:
    """The alerts that a story fires; tests/architecture/test_alerts.py misses no one."""
    return pytest.mark.fires(*alerts)


def expression(alert: str) -> str:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    (found,) = [rule for group in groups for rule in group["rules"] if rule["alert"] == alert]
    return str(found["expr"])


def promtool() -> str:
    found = str(UNPACKED) if UNPACKED.exists() else shutil.which("promtool")
    assert found, "promtool is missing: run `scripts/require.sh promtool`"
    return found


@dataclass
class AlertWatch:
    """Scrapes at increasing times, in whole seconds from the first one."""

    folder: Path
    scrapes: list[tuple[int, dict[Key, float]]] = field(default_factory=list)
    began_at: float | None = None

    def scrape(
        self,
        *sources: CollectorRegistry | str,
        at: float,
        instance: str = "one",
        beside: bool = False,
    ) -> None:
        """What these say at the unix time `at`, or nobody does: then every series is gone.

        `beside`: another instance of the same time; else all that was scraped before is replaced.
        """
        self.began_at = at if self.began_at is None else self.began_at
        offset = int(at - self.began_at) // EVERY_S * EVERY_S
        found = dict(self.scrapes[-1][1]) if beside and self.scrapes else {}
        for source in sources:
            shown = source if isinstance(source, str) else generate_latest(source).decode()
            for family in text_string_to_metric_families(shown):
                for sample in family.samples:
                    if sample.name.startswith("mandate_"):
                        labels = sample.labels | {"instance": instance}
                        value = float(sample.value)
                        if sample.name.endswith("_timestamp_seconds"):
                            value -= self.began_at
                        found[(sample.name, tuple(sorted(labels.items())))] = value
        if self.scrapes and offset <= self.scrapes[-1][0]:
            assert beside or offset == self.scrapes[-1][0]
            self.scrapes[-1] = (self.scrapes[-1][0], found)
        else:
            self.scrapes.append((offset, found))

    def is_firing(self, alert: str, *, at: float) -> bool:
        """Whether it fires at the unix time `at`, when the last scrape stands until then."""
        assert self.began_at is not None
        until = int(at - self.began_at) // EVERY_S * EVERY_S
        named = set(re.findall(r"\bmandate_\w+", expression(alert)))
        keys = sorted({key for _, found in self.scrapes for key in found if key[0] in named})
        test = {
            "interval": f"{EVERY_S}s",
            "input_series": [
                {"series": _series(key), "values": self._values(key, until)} for key in keys
            ],
            "promql_expr_test": [
                {
                    "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) > bool 0',
                    "eval_time": f"{until}s",
                    "exp_samples": [{"labels": "{}", "value": 1}],
                }
            ],
        }
        file = self.folder / "alerts_test.json"  # which is YAML too
        whole = {"rule_files": [str(RULES)], "evaluation_interval": f"{EVERY_S}s", "tests": [test]}
        file.write_text(json.dumps(whole))
        done = subprocess.run(
            [promtool(), "test", "rules", str(file)],
            capture_output=True, text=True, check=False, timeout=WITHIN_S,
        )  # fmt: skip
        said = done.stdout + done.stderr
        if done.returncode == 0:
            return True
        assert "exp:" in said and "got:" in said, said
        return False

    def _values(self, key: Key, until: int) -> str:
        words = []
        at, values = -1, dict[Key, float]()
        for offset in range(0, until + 1, EVERY_S):
            while at + 1 < len(self.scrapes) and self.scrapes[at + 1][0] <= offset:
                at += 1
                values = self.scrapes[at][1]
            gone = "_" if offset == 0 else "stale"
            words.append(_number(values[key]) if key in values else gone)
        return " ".join(words)


def _series(key: Key) -> str:
    name, labels = key
    return name + "{" + ",".join(f"{label}={json.dumps(value)}" for label, value in labels) + "}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return f"{value:.6f}" if value % 1 else f"{value:.0f}"
