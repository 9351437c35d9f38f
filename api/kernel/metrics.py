"""The API in figures: a registry of its own, served as Prometheus text on a port of its own
(API_METRICS_PORT).

Labels are few and ours: the operation's key, the status, the reason of a refusal. Nothing that a
caller sends becomes a label.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from core.db.engine import Database
from core.errors import InvalidParameterError

PREFIX = "mandate_api_"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
NO_REASON = "none"

log = structlog.get_logger("api")


@dataclass(slots=True)
class Served:
    """What became of one call.

    At first it says what is left when nothing answers it: a defect.
    """

    status: int = 500
    reason: str = "internal_error"
    seconds: float = 0.0

    def answered(self, status: int, body: Mapping[str, Any]) -> None:
        service = body.get("service")
        self.status = status
        self.reason = (
            str(service["reason"])
            if isinstance(service, Mapping) and "reason" in service
            else NO_REASON
        )


def log_call(operation: str, served: Served, request_id: str, agent_id: int | None = None) -> None:
    """One line for each call that was served. `agent_id`: of its key."""
    log.info(
        "call",
        operation=operation,
        status=served.status,
        reason=None if served.reason == NO_REASON else served.reason,
        agent_id=agent_id,
        request_id=request_id,
        ms=round(served.seconds * 1000, 1),
    )


class ApiMetrics:
    """Every figure of one API process. Counting is thread-safe."""

    def __init__(self, database: Database) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self.calls = Counter(
            PREFIX + "calls",
            "Calls served, by operation, status and reason.",
            ["operation", "status", "reason"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            PREFIX + "call_seconds",
            "From pipeline in to answer out.",
            ["operation"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            PREFIX + "calls_in_flight", "Calls that are being served now.", registry=self.registry
        )
        connections = Gauge(
            PREFIX + "database_connections_in_use",
            "Connections of the pool in use.",
            registry=self.registry,
        )
        connections.set_function(lambda: database.connections_in_use)

    @contextmanager
    def serving(self, operation: str) -> Iterator[Served]:
        """Counts and times the call that the block serves, whatever becomes of it."""
        began, served = time.monotonic(), Served()
        self.in_flight.inc()
        try:
            yield served
        finally:
            self.in_flight.dec()
            served.seconds = time.monotonic() - began
            self.calls.labels(operation, served.status, served.reason).inc()
            self.seconds.labels(operation).observe(served.seconds)

    def listen(self, host: str, port: int) -> None:
        """Serve scrapes on a thread of its own, until the process ends.

        Errors: InvalidParameterError when the port is taken.
        """
        try:
            start_http_server(port, host, self.registry)
        except OSError as error:
            rule = (
                f"cannot listen on {host}:{port} ({error.strerror}); set it to a free port, or "
                "to 0 for none"
            )
            raise InvalidParameterError("API_METRICS_PORT", rule) from error
