"""The primary dies, freezes, is cut off, runs full, is exchanged: nothing that was acknowledged is
lost, nothing is there twice, and everything goes on by itself.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster import faults
from tests.cluster.cluster import ClusterNode
from tests.cluster.service import STOPPED_S, Service, waited

CRASH_S, LOST_S = 10.0, 35.0
WRITER_S, FOLLOWS_S = 90.0, 45.0


class Endured:
    """What a test does while a fault stands, and what it measured."""

    def __init__(self, service: Service) -> None:
        service.cluster.wait_whole()
        self.service = service
        self.chain, self.vault = service.vault()
        found = service.cluster.primary()
        assert found is not None
        self.primary: ClusterNode = found
        self.began = time.monotonic()

    def outlast(self) -> None:
        """A vault falls; until somebody takes writes again, it is stopped, and the record follows."""
        service = self.service
        service.let_fall(self.chain)
        waited("a writer", lambda: service.writer.has_written(self.began + 1), WRITER_S)
        stopped_s = waited("the stop", lambda: service.is_stopped(self.vault), STOPPED_S)
        waited("the record", service.follows, FOLLOWS_S)
        print(
            f"without a writer {service.writer.gap_s(self.began):.1f} s; the stop was mined "
            f"{stopped_s:.1f} s later; {len(service.writer.acks)} writes acknowledged, "
            f"{len(service.callers.registered)} agents registered, {service.callers.refused} of "
            f"{service.callers.calls} calls refused"
        )

    def require_replaced(self) -> None:
        """Another leads, and the old one follows it."""
        self.service.cluster.wait_whole()
        assert self.service.cluster.primary() is not self.primary


@contextmanager
def endured(service: Service, within_s: float) -> Iterator[Endured]:
    told = Endured(service)
    yield told
    service.cluster.wait_whole()
    assert service.wrong() == []
    assert service.stops_of(told.vault) == 1
    assert service.writer.gap_s(told.began) <= within_s


def test_a_primary_that_crashes__is_back_within_ten_seconds(service: Service) -> None:
    with endured(service, CRASH_S) as told:
        faults.crash_postgres(told.primary)
        told.outlast()


def test_a_primary_that_is_exchanged_on_purpose__costs_seconds(service: Service) -> None:
    with endured(service, CRASH_S) as told:
        to = service.cluster.switch_over()
        told.outlast()
        assert service.cluster.primary() is to


def test_a_machine_that_is_lost__is_replaced_within_35_seconds(service: Service) -> None:
    with endured(service, LOST_S) as told, faults.lost(service.cluster, told.primary):
        told.outlast()
        assert service.cluster.primary() is not told.primary


def test_a_postgres_that_freezes__is_replaced_and_does_not_lead_when_it_thaws(
    service: Service,
) -> None:
    with endured(service, LOST_S) as told:
        with faults.paused(told.primary.of_postgres()):
            told.outlast()
        told.require_replaced()


def test_a_machine_that_freezes__is_replaced_and_does_not_lead_when_it_thaws(
    service: Service,
) -> None:
    with endured(service, LOST_S) as told:
        with faults.paused(told.primary.pids()):
            told.outlast()
        told.require_replaced()


def test_a_machine_that_is_cut_off__stops_leading_by_itself(service: Service) -> None:
    with endured(service, LOST_S) as told, faults.cut_off(service.cluster, told.primary):
        told.outlast()
        assert not faults.says_primary(told.primary)


def test_a_full_disk__is_left_by_the_lead(service: Service) -> None:
    with endured(service, LOST_S) as told, faults.full(service.cluster, told.primary):
        faults.use_up_log(service.cluster, told.primary)
        told.outlast()
        assert service.cluster.primary() is not told.primary


def test_after_all_of_it__the_record_is_what_a_rescan_finds(service: Service) -> None:
    service.end()
    assert service.rescanned() == ""
