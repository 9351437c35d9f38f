"""What the metrics of every process share: a port of their own with Prometheus text on it, and the
figures of the nodes' pool.
"""

from collections.abc import Iterable

import structlog
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from core.chain.nodes import Nodes

UNKNOWN = float("nan")  # a figure that is not known yet: no alert fires on it, as it would on 0

log = structlog.get_logger("metrics")


def serve_or_log(registry: CollectorRegistry, address: str, port: int, variable: str) -> None:
    """Listen for scrapes on a thread of its own until the process ends. It does not when no port is set,
    or when it is taken: a process that nobody can watch is better than none.
    """
    if port == 0:
        return
    try:
        start_http_server(port, address, registry)
    except OSError as error:
        log.error(
            f"metrics are not served; set {variable} to a free port", port=port, error=str(error)
        )


class RpcFigures(Collector):
    """The RPC pool's own counts at the moment of the scrape. `prefix` begins every name."""

    def __init__(self, prefix: str, rpc: Nodes) -> None:
        self._prefix = prefix
        self._rpc = rpc

    def collect(self) -> Iterable[Metric]:
        requests = self._counter("rpc_requests", "Requests sent to a node.")
        calls = self._counter(
            "rpc_calls", "JSON-RPC calls sent to a node, each of a batch counted."
        )
        failures = self._counter("rpc_failures", "Requests that a node failed.", "kind")
        seconds = self._counter("rpc_seconds", "Sum of the waits for a node's answers.")
        is_open = GaugeMetricFamily(
            self._prefix + "rpc_provider_open", "1 while a node is left alone.", labels=["provider"]
        )
        for node in self._rpc.stats():
            requests.add_metric([node.name], node.requests)
            calls.add_metric([node.name], node.calls)
            for kind, count in node.failures.items():
                failures.add_metric([node.name, kind], count)
            seconds.add_metric([node.name], node.seconds)
            is_open.add_metric([node.name], node.is_open)
        return requests, calls, failures, seconds, is_open

    def _counter(self, name: str, says: str, *labels: str) -> CounterMetricFamily:
        return CounterMetricFamily(self._prefix + name, says, labels=["provider", *labels])
