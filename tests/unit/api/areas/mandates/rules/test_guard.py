"""Hosts and payees that the guard signs for, and every way around them that is known."""

from typing import Any

import pytest

from api.areas.mandates.rules.guard import (
    MAX_URL_CHARACTERS,
    OwnService,
    guard_refusal,
    host_of,
    is_own,
)
from core.errors import InvalidParameterError
from tests.each import each

OURS, THEIRS, AGENTS = "0x" + "11" * 20, "0x" + "22" * 20, "0x" + "33" * 20
OWN = OwnService("https://wallet.example", OURS)


def x402(hosts: list[str] | None = None, payees: list[str] | None = None) -> list[dict[str, Any]]:
    return [{"kind": "x402", "hosts": hosts or [], "payees": payees or []}]


@each(
    ("url", "host"),
    [
        ("https://api.example.com/a?b=c", "api.example.com"),
        ("https://API.example.com", "api.example.com"),
        ("https://api.example.com:443/", "api.example.com"),
        ("http://127.0.0.1:8000/x", "127.0.0.1:8000"),
        ("https://api.example.com:80/", "api.example.com:80"),
    ],
)
def test_host_of__a_url__is_its_host_and_any_port_of_its_own(url: str, host: str) -> None:
    assert host_of(url) == host


@each(
    "url",
    [
        "", "api.example.com", "ftp://api.example.com", "https://", "https://a@api.example.com",
        "https://api.example.com\\@evil.example",
        "https://api.example.com#@evil.example", "https://api.example.com:99999/",
        "https://exämple.com", "https://api.example.com/ x",
        "https://api.example.com/\n", "https://a.example/" + "x" * MAX_URL_CHARACTERS,
        "https://[::1",
    ],
)  # fmt: skip
def test_host_of__no_plain_url__is_refused(url: str) -> None:
    with pytest.raises(InvalidParameterError, match="resource"):
        host_of(url)


def test_lists_that_are_empty__are_this_service_alone() -> None:
    assert guard_refusal(x402(), OWN, "https://wallet.example/playbooks/a/b", OURS) is None
    assert "the host api.example.com; it lists wallet.example" in str(
        guard_refusal(x402(), OWN, "https://api.example.com/", OURS)
    )
    assert f"the payee {AGENTS}; it lists {OURS}" in str(
        guard_refusal(x402(), OWN, "https://wallet.example/a", AGENTS)
    )


def test_listed_hosts_and_payees__are_signed_for_and_no_others() -> None:
    lists = x402(["api.example.com"], [THEIRS])
    assert (
        guard_refusal(
            lists, OWN, "https://api.example.com/report", THEIRS.upper().replace("0X", "0x")
        )
        is None
    )
    assert guard_refusal(lists, OWN, "https://api.example.com:8443/report", THEIRS) is not None
    assert guard_refusal(lists, OWN, "https://api.example.com.evil.example/", THEIRS) is not None
    assert guard_refusal(lists, OWN, "https://api.example.com/report", AGENTS) is not None
    assert guard_refusal(lists, OWN, "https://wallet.example/a", OURS) is not None


def test_a_host_without_payees__is_paid_by_paying_this_service_alone() -> None:
    assert (
        guard_refusal(x402(["api.example.com"]), OWN, "https://api.example.com/", AGENTS)
        is not None
    )
    assert guard_refusal(x402(["api.example.com"]), OWN, "https://api.example.com/", OURS) is None


def test_beyond_this_service__http_is_refused() -> None:
    lists = x402(["api.example.com", "127.0.0.1:8000"], [THEIRS])
    assert "only for https" in str(guard_refusal(lists, OWN, "http://api.example.com/", THEIRS))
    local = OwnService("http://127.0.0.1:8000", THEIRS)
    assert guard_refusal(lists, local, "http://127.0.0.1:8000/page", THEIRS) is None


@pytest.mark.parametrize("targets", [[], [{"kind": "contract"}]])
def test_a_mandate_without_an_entry__allows_no_payment(targets: list[dict[str, Any]]) -> None:
    assert (
        guard_refusal(targets, OWN, "https://wallet.example/a", OURS)
        == "The mandate allows no payments for web resources."
    )


def test_a_service_that_takes_no_payments__is_no_payee() -> None:
    assert "it lists none" in str(
        guard_refusal(
            x402(), OwnService("https://wallet.example", None), "https://wallet.example/a", OURS
        )
    )


@pytest.mark.parametrize("url", ["http://wallet.example/a", "https://other.example/a"])
def test_this_service__is_scheme_and_host(url: str) -> None:
    assert is_own(OWN, "https://wallet.example/a")
    assert not is_own(OWN, url)
