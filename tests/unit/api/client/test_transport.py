"""What is sent again, with what, and after which wait."""

import httpx
import pytest

from api.client import Refused, Unreachable
from tests.each import each
from tests.unit.api.client.service import Service, ok, refusal

IDEMPOTENCY = "Idempotency-Key"
DOWN = httpx.ConnectError("connection refused")


def keys(service: Service) -> list[str]:
    return [call.headers[IDEMPOTENCY] for call in service.calls]


def test_a_write_without_an_answer__is_sent_again_with_the_same_key() -> None:
    service = Service([DOWN, httpx.ReadTimeout("no answer"), ok(mandate={})])

    service.client(key="k").mandates.accept("m_aaaaaaaaaa")

    assert len(service.calls) == 3
    assert len(set(keys(service))) == 1
    assert {call.content for call in service.calls} == {b"{}"}


def test_two_writes__have_two_keys() -> None:
    service = Service([ok(), ok()])
    client = service.client(key="k")

    client.mandates.accept("m_aaaaaaaaaa")
    client.mandates.accept("m_aaaaaaaaaa")

    assert len(set(keys(service))) == 2


def test_a_key_that_is_given__is_sent() -> None:
    service = Service([ok()])

    service.client(key="k").mandates.accept("m_aaaaaaaaaa", idempotency_key="mine-1")

    assert keys(service) == ["mine-1"]


def test_a_write_that_takes_no_key__is_sent_once() -> None:
    service = Service([DOWN])

    with pytest.raises(Unreachable) as caught:
        service.client().identity.nonce(wallet_address="0x" + "11" * 20, purpose="login")

    assert len(service.calls) == 1
    assert IDEMPOTENCY not in service.calls[0].headers
    assert caught.value.idempotency_key is None


def test_no_answer_at_all__says_with_which_key_to_send_it_again() -> None:
    service = Service([DOWN] * 5)

    with pytest.raises(Unreachable, match="idempotency_key='mine-1'") as caught:
        service.client(key="k").mandates.accept("m_aaaaaaaaaa", idempotency_key="mine-1")

    assert len(service.calls) == 5
    assert caught.value.idempotency_key == "mine-1"


def test_waits__double_and_are_half_random() -> None:
    service = Service([DOWN] * 5, jitter=lambda: 0.0)
    with pytest.raises(Unreachable):
        service.client().safety.board()
    assert service.waits == [0.1, 0.2, 0.4, 0.8]

    service = Service([DOWN] * 5, jitter=lambda: 1.0)
    with pytest.raises(Unreachable):
        service.client().safety.board()
    assert service.waits == [0.2, 0.4, 0.8, 1.6]


def test_a_read_at_503__is_sent_again_after_the_time_that_it_names() -> None:
    unavailable = refusal(503, "temporarily_unavailable", headers={"Retry-After": "7"})
    service = Service([unavailable, ok(notices=[], next_cursor=None)])

    assert service.client().safety.board() == {"notices": [], "next_cursor": None}
    assert service.waits == [7]


def test_a_wait_of_20_s_is_waited_and_one_of_21_s_is_the_callers() -> None:
    def answers(seconds: int) -> Service:
        return Service(
            [refusal(503, "temporarily_unavailable", headers={"Retry-After": str(seconds)}), ok()]
        )

    patient, impatient = answers(20), answers(21)

    patient.client().safety.board()
    with pytest.raises(Refused, match="temporarily_unavailable"):
        impatient.client().safety.board()

    assert patient.waits == [20]
    assert impatient.waits == []


def test_a_write_in_flight__is_sent_again_with_the_same_key() -> None:
    service = Service([refusal(409, "idempotency_in_flight", retry_safe=True), ok()])

    service.client(key="k").mandates.accept("m_aaaaaaaaaa")

    assert len(set(keys(service))) == 1
    assert len(service.calls) == 2


@each(
    ("status", "reason"),
    [
        (409, "wrong_status"),
        (409, "idempotency_key_reused"),
        (429, "rate_limited"),
        (402, "mandate_budget_exceeded"),
        (500, "internal_error"),
    ],
)
def test_another_refusal__is_never_repeated(status: int, reason: str) -> None:
    service = Service([refusal(status, reason, retry_safe=True, headers={"Retry-After": "1"})])

    with pytest.raises(Refused, match=reason):
        service.client(key="k").mandates.accept("m_aaaaaaaaaa")

    assert len(service.calls) == 1


def test_the_fifth_503__is_the_answer() -> None:
    service = Service([refusal(503, "temporarily_unavailable")] * 5)

    with pytest.raises(Refused) as caught:
        service.client().safety.board()

    assert caught.value.status == 503
    assert len(service.calls) == 5


def test_readiness__is_an_answer_at_503_too() -> None:
    service = Service([httpx.Response(503, json={"status": "down", "parts": {}})])

    assert service.client().discovery.ready()["status"] == "down"
    assert len(service.calls) == 1
