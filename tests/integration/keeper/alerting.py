"""The keeper's own loop in the test's process, scraped as a Prometheus would."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Select, func, select, update

from core.chain.nodes import Nodes
from core.jobs.tables import JobRun
from core.startup import read_settings
from keeper import funds
from keeper import main as keeper_main
from keeper.main import Keeper
from keeper.metrics import KeeperMetrics
from tests.integration.chaos.server import Answer, DropError, Server, capped
from tests.integration.keeper.conftest import Stage
from tests.integration.keeper.processes import environment_of
from tests.watching import AlertWatch

WITHIN_S = 20.0


class Keeping:
    """A keeper whose ticks the test makes. `passed_s` seconds have passed for its clocks, its
    scrapes and the rows, but not for the chain.
    """

    def __init__(
        self, stage: Stage, watch: AlertWatch, folder: Path, patch: pytest.MonkeyPatch
    ) -> None:
        self.passed_s = 0.0
        self.stage, self.watch, self._patch = stage, watch, patch
        self._environment = environment_of(stage, folder)
        self.metrics = self._fresh()
        patch.setattr(keeper_main, "now_utc", self.now)
        patch.setattr(keeper_main, "Nodes", partial(Nodes, clock=self._seconds))

    def _seconds(self) -> float:
        return time.monotonic() + self.passed_s

    def _fresh(self) -> KeeperMetrics:
        made = KeeperMetrics(self._seconds)
        made.read_rows(self.stage.database, self.stage.chain.chain_id, self.now)
        return made

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.passed_s)

    @contextmanager
    def keeper(self, metrics: KeeperMetrics | None = None, **changes: str) -> Iterator[Keeper]:
        for name, value in (self._environment | changes).items():
            self._patch.setenv(name, value)
        if metrics is None:
            self.metrics = metrics = self._fresh()
        made = Keeper(read_settings(), metrics)
        try:
            yield made
        finally:
            if made._schedule is not None:
                made._schedule._scheduler.shutdown(wait=True)
            for loop in made.loops:
                loop.stop()
            made.close()

    def tick(self, keeper: Keeper, until: Callable[[], bool] | None = None) -> None:
        """Ticks until something is true, by default one."""
        end = time.monotonic() + WITHIN_S
        keeper.job()
        while until is not None and not until():
            assert time.monotonic() < end, "it did not come true in time"
            time.sleep(0.05)
            keeper.job()

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value("mandate_keeper_" + name, labels)

    def scrape(self) -> None:
        self.watch.scrape(self.metrics.registry, at=self.now().timestamp())

    def fires(self, alert: str, after_s: float = 0) -> bool:
        return self.watch.is_firing(alert, at=self.now().timestamp() + after_s)


def read_balances(keeper: Keeper) -> None:
    """The slow job that the keeper itself runs each half minute: half a minute has passed."""
    assert keeper._schedule is not None
    (job,) = [one for one in keeper._schedule.jobs if one.name == funds.NAME]
    ran = select(func.count()).where(JobRun.name == funds.NAME, JobRun.outcome.is_not(None))
    earlier = JobRun.started_at - timedelta(seconds=funds.EVERY_S)
    before = _counted(keeper, ran)
    ends = time.monotonic() + WITHIN_S
    while before == _counted(keeper, ran):  # the keeper's own thread may hold the job's lock
        assert time.monotonic() < ends, "the job did not run"
        with keeper._database.write() as session:
            old = update(JobRun).where(JobRun.name == funds.NAME)
            session.execute(old.values(started_at=earlier))
        keeper._schedule.run(job)


def _counted(keeper: Keeper, counted: Select[tuple[int]]) -> int:
    with keeper._database.read() as session:
        return session.scalars(counted).one()


class Passing:
    """A node that is anvil, until it is dead."""

    def __init__(self, stage: Stage) -> None:
        self.is_dead = False
        self.upstream_port = int(stage.chain.anvil.url.rsplit(":", 1)[1])

    def answer(self, raw: bytes, ask: Callable[[object], object]) -> Answer:
        if self.is_dead:
            raise DropError
        asked = json.loads(raw)
        calls = [capped(call) for call in asked] if isinstance(asked, list) else capped(asked)
        return Answer(200, json.dumps(ask(calls)).encode())


@contextmanager
def node(stage: Stage) -> Iterator[tuple[str, Passing]]:
    """Its address, and what answers there."""
    passing = Passing(stage)
    server = Server(passing)
    try:
        yield server.url, passing
    finally:
        server.stop()
