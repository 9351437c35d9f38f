"""Write Grafana dashboards of the three processes into docs/operations/dashboards.

Import the files into Grafana and choose the Prometheus data source that scrapes the processes.
tests/architecture/test_dashboards.py holds the panels to what is exported: each names metrics that
exist, and each metric that exists is shown.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "operations" / "dashboards"
COLUMNS, WIDTH, HEIGHT = 24, 8, 7
SCHEMA = 39  # of Grafana 10 and 11


@dataclass(frozen=True, slots=True)
class Panel:
    """`lines`: PromQL without the prefix of the names, by legend; `$` stands for it."""

    title: str
    says: str
    unit: str
    lines: dict[str, str]


RPC = (
    Panel(
        "Calls to nodes", "Calls and requests a second by node.", "reqps",
        {
            "{{provider}} calls": "sum by (provider) (rate($rpc_calls_total[5m]))",
            "{{provider}} requests": "sum by (provider) (rate($rpc_requests_total[5m]))",
        },
    ),
    Panel(
        "Nodes that fail", "Failures a second by node and kind; 1: the node is left alone for now.", "short",
        {
            "{{provider}} {{kind}}": "sum by (provider, kind) (rate($rpc_failures_total[5m]))",
            "{{provider}} left alone": "$rpc_provider_open",
        },
    ),
    Panel(
        "A request's time", "Mean seconds of a request by node.", "s",
        {"{{provider}}": "sum by (provider) (rate($rpc_seconds_total[5m])) / sum by (provider) (rate($rpc_requests_total[5m]))"},
    ),
)  # fmt: skip
LEADERS = Panel(
    "Who leads", "1 for the process that leads; its epoch grows with each change.", "short",
    {"{{instance}}": "$leads", "{{instance}} epoch": "$leader_epoch"},
)  # fmt: skip
INDEXER = (
    Panel(
        "Behind the chain", "Seconds and blocks that the record is behind. Seconds without blocks: the chain stands still.", "short",
        {"{{instance}} s": "$lag_seconds", "{{instance}} blocks": "$lag_blocks"},
    ),
    Panel(
        "Heights", "What the node calls by each tag, and what is written.", "short",
        {"{{tag}}": "$head_number", "written {{name}}": "$cursor_number"},
    ),
    LEADERS,
    Panel(
        "Progress", "Seconds since a block was written; 1: halted, nothing may be written.", "s",
        {"{{instance}}": "time() - $last_progress_timestamp_seconds", "{{instance}} halted": "$halted"},
    ),
    Panel(
        "Rounds", "Looks at the chain a second, and those that failed, by kind.", "ops",
        {"well": "sum(rate($rounds_total[5m]))", "failed {{kind}}": "sum by (kind) (rate($round_failures_total[5m]))"},
    ),
    Panel(
        "Written", "Blocks and rows of ledgers a second.", "ops",
        {"blocks": "sum(rate($blocks_written_total[5m]))", "rows": "sum(rate($rows_written_total[5m]))"},
    ),
    Panel(
        "A transaction of the database", "Seconds of a write: median and 99th percentile.", "s",
        {
            "p50": "histogram_quantile(0.5, sum by (le) (rate($database_write_seconds_bucket[5m])))",
            "p99": "histogram_quantile(0.99, sum by (le) (rate($database_write_seconds_bucket[5m])))",
        },
    ),
    Panel(
        "Reorgs", "Rollbacks in an hour, those deeper than 3 blocks, and the rows that they took back.", "short",
        {
            "rollbacks": "sum(increase($reorgs_total[1h]))",
            "deeper than 3": 'sum(increase($reorg_depth_bucket{le="+Inf"}[1h])) - sum(increase($reorg_depth_bucket{le="3.0"}[1h]))',
            "rows": "sum(increase($rows_unwound_total[1h]))",
        },
    ),
    Panel(
        "Held", "Facts that ledgers refuse, and the ledgers.", "short",
        {"facts": "$held_facts", "ledgers": "$held_ledgers"},
    ),
    Panel(
        "Reverted calls and odd logs", "In an hour.", "short",
        {
            "reverts": "sum(increase($reverts_found_total[1h]))",
            "explained": "sum(increase($reverts_explained_total[1h]))",
            "logs that fit no ABI": "sum(increase($undecodable_logs_total[1h]))",
        },
    ),
    Panel(
        "Audit", "Open findings by kind, and seconds since a round of the auditor succeeded.", "short",
        {"{{kind}}": "$audit_mismatch", "age in s": "$audit_age_seconds"},
    ),
    Panel(
        "What the auditor compared", "Blocks and books a second.", "ops",
        {"blocks": "sum(rate($audit_blocks_total[5m]))", "books": "sum(rate($audit_books_total[5m]))"},
    ),
    Panel(
        "Reserve token", "Open findings, and seconds since it was compared with its contract.", "short",
        {"findings": "$reserve_mismatch", "age in s": "$reserve_age_seconds"},
    ),
    Panel(
        "Conversions", "Looked at in an hour, and those that wait, by what became of them.", "short",
        {"{{status}} in 1 h": "sum by (status) (increase($conversions_total[1h]))", "{{status}}": "$reserve_conversions"},
    ),
    Panel(
        "Sponsored buys", "Uses in safe blocks that are not proved, and authorizations that nodes disagree about.", "short",
        {"not proved": "$sponsored_unproved", "disputed": "$sponsored_disputes"},
    ),
    *RPC,
)  # fmt: skip
KEEPER = (
    Panel(
        "Ticks", "Seconds since the last tick and age of the head that it saw.", "s",
        {"{{instance}} tick": "$tick_age_seconds", "{{instance}} head": "$head_age_seconds"},
    ),
    Panel(
        "A tick's time", "Median and 99th percentile, and ticks a second that failed.", "s",
        {
            "p50": "histogram_quantile(0.5, sum by (le) (rate($tick_seconds_bucket[5m])))",
            "p99": "histogram_quantile(0.99, sum by (le) (rate($tick_seconds_bucket[5m])))",
            "failed": "sum(rate($tick_failures_total[5m]))",
        },
    ),
    LEADERS,
    Panel(
        "Stops", "Blocks that the longest waits now, and 99th percentile of a day.", "short",
        {
            "waits": "$stop_waits_blocks",
            "p99": "histogram_quantile(0.99, sum by (le) (increase($stop_latency_blocks_bucket[1d])))",
        },
    ),
    Panel(
        "Vaults", "Judged, of these with unknown worth, and of these valued at cost.", "short",
        {"all": "$vaults", "unknown": "$vaults_unknown", "at cost": "$vaults_at_cost"},
    ),
    Panel(
        "Intents", "Under way by kind and state, and seconds of the oldest.", "short",
        {
            "{{kind}} {{state}}": "$intents_live",
            "oldest {{kind}} {{state}} in s": "$intents_live_oldest_seconds",
        },
    ),
    Panel(
        "Accounts", "Stops that each account can pay for, and gaps of its nonces.", "short",
        {"{{role}} stops": "$stops_left", "{{role}} gap": "$nonce_gap"},
    ),
    Panel("Balances", "ETH of each account.", "short", {"{{role}}": "$signer_balance_wei / 1e18"}),
    Panel(
        "Offices", "1: the factory obeys this account.", "short",
        {"keeper": "$is_named_by_factory", "pauser": "$is_pauser"},
    ),
    Panel(
        "Gas of requests", "Share of the day's budget that is used, and requests that wait.", "short",
        {"used": "sum($requests_gas_wei) / max($requests_gas_budget_wei)", "waiting": "$requests_waiting"},
    ),
    Panel(
        "Slow jobs, late", "Seconds since the last start, over what is due.", "s",
        {"{{job}}": "time() - $job_last_start_timestamp_seconds - $job_every_seconds"},
    ),
    Panel(
        "Slow jobs, failures and time", "Runs that failed in a row, and seconds of the last run.", "short",
        {"{{job}} failures": "$job_failures", "{{job}} s": "$job_duration_seconds"},
    ),
    *RPC,
)  # fmt: skip
API = (
    Panel(
        "Calls", "A second, by status.", "reqps",
        {"{{status}}": "sum by (status) (rate($calls_total[5m]))"},
    ),
    Panel(
        "A call's time", "Median and 99th percentile of all calls.", "s",
        {
            "p50": "histogram_quantile(0.5, sum by (le) (rate($call_seconds_bucket[5m])))",
            "p99": "histogram_quantile(0.99, sum by (le) (rate($call_seconds_bucket[5m])))",
        },
    ),
    Panel(
        "Slowest operations", "99th percentile of the ten slowest.", "s",
        {"{{operation}}": "topk(10, histogram_quantile(0.99, sum by (le, operation) (rate($call_seconds_bucket[5m]))))"},
    ),
    Panel(
        "Refusals", "A second, by reason.", "reqps",
        {"{{reason}}": 'sum by (reason) (rate($calls_total{reason!="none"}[5m]))'},
    ),
    Panel(
        "At once", "Calls in flight, and connections of the pool in use.", "short",
        {"{{instance}} calls": "$calls_in_flight", "{{instance}} connections": "$database_connections_in_use"},
    ),
    Panel(
        "Gas of settling", "Share of the day's budget that is used.", "percentunit",
        {"{{of}}": "$settler_gas_wei / $settler_gas_budget_wei"},
    ),
)  # fmt: skip
DASHBOARDS = {
    "indexer": ("mandate_indexer_", INDEXER),
    "keeper": ("mandate_keeper_", KEEPER),
    "api": ("mandate_api_", API),
}


def dashboard(name: str) -> dict[str, Any]:
    """As Grafana imports it."""
    prefix, panels = DASHBOARDS[name]
    source = {"type": "prometheus", "uid": "${source}"}
    per_row = COLUMNS // WIDTH
    return {
        "uid": f"mandate-{name}",
        "title": f"Mandate Wallet: {name}",
        "schemaVersion": SCHEMA,
        "refresh": "10s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [
                {"name": "source", "type": "datasource", "query": "prometheus", "label": "Source"}
            ]
        },
        "panels": [
            {
                "id": number + 1,
                "type": "timeseries",
                "title": panel.title,
                "description": panel.says,
                "datasource": source,
                "gridPos": {
                    "x": number % per_row * WIDTH,
                    "y": number // per_row * HEIGHT,
                    "w": WIDTH,
                    "h": HEIGHT,
                },
                "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
                "targets": [
                    {
                        "refId": chr(ord("A") + place),
                        "datasource": source,
                        "expr": line.replace("$", prefix),
                        "legendFormat": legend,
                    }
                    for place, (legend, line) in enumerate(panel.lines.items())
                ],
            }
            for number, panel in enumerate(panels)
        ],
    }


def text_of(name: str) -> str:
    return json.dumps(dashboard(name), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in DASHBOARDS:
        (FOLDER / f"{name}.json").write_text(text_of(name))


if __name__ == "__main__":
    main()
