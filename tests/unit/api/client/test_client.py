"""Credentials, paths, fields, refusals and pages, as they go over the wire."""

import json
import subprocess
import sys
from datetime import UTC, datetime

import httpx
import pytest

from api.client import Refused
from api.client.client import fill_path
from tests.each import each
from tests.unit.api.client.service import Service, ok, refusal

KEY = "X-SVC-User-Key"


def sent_credentials(service: Service) -> list[tuple[str | None, str | None]]:
    return [(call.headers.get(KEY), call.headers.get("Authorization")) for call in service.calls]


def test_each_call_carries_the_one_credential_that_its_route_takes() -> None:
    service = Service([ok()] * 6)
    client = service.client(key="k", session="s", bearer="b")

    client.mandates.me()  # key
    client.mandates.read("m_aaaaaaaaaa")  # key or owner
    client.mandates.statement("m_aaaaaaaaaa")  # owner
    client.identity.wallet_status()  # bearer
    client.identity.connect(agent_name="quant")  # none or owner
    client.mandates.board()  # none

    assert sent_credentials(service) == [
        ("k", None),
        ("k", None),
        (None, "Bearer s"),
        (None, "Bearer b"),
        (None, "Bearer s"),
        (None, None),
    ]


def test_without_the_credential_of_a_route__none_is_sent() -> None:
    service = Service([ok()])

    service.client(key="k").mandates.statement("m_aaaaaaaaaa")

    assert sent_credentials(service) == [(None, None)]


def test_fields_go_into_path_query_or_body() -> None:
    service = Service([ok(), ok()])
    client = service.client(key="k", session="s")

    client.mandates.ledger("m_aaaaaaaaaa", limit=2)
    client.agents.scopes_set(7, scopes=None)

    assert (
        str(service.calls[0].url)
        == "http://service.example/mandate-wallet/mandates/m_aaaaaaaaaa/ledger?limit=2"
    )
    assert service.calls[0].content == b""
    assert service.calls[1].url.path == "/agents/7/scopes"
    assert json.loads(service.calls[1].content) == {"scopes": None}


@each(
    ("path", "value", "filled"),
    [
        ("/a/{id}", "x/../y", "/a/x%2F..%2Fy"),
        ("/a/{id}", "ü ?", "/a/%C3%BC%20%3F"),
        ("/a/{id:path}", "x/y", "/a/x/y"),
        ("/a/{id}/b", 7, "/a/7/b"),
    ],
)
def test_a_path__takes_what_is_no_path_as_text(path: str, value: object, filled: str) -> None:
    assert fill_path(path, {"id": value, "rest": 1}) == (filled, {"rest": 1})


def test_a_refusal__has_every_word_of_the_service() -> None:
    next_call = {"method": "GET", "path": "/agent/catalog", "auth": "optional", "cost": 0}
    answer = refusal(
        402,
        "mandate_budget_exceeded",
        retry_safe=True,
        who_fixes="owner",
        next=[next_call],
        retry_at="2026-11-22T00:00:00Z",
        remaining={"left_total": "3.000000"},
    )
    service = Service([answer])

    with pytest.raises(Refused) as caught:
        service.client(key="k").mandates.me()

    refused = caught.value
    assert (refused.status, refused.reason, refused.detail) == (
        402,
        "mandate_budget_exceeded",
        "It is mandate_budget_exceeded.",
    )
    assert (refused.retry_safe, refused.who_fixes, refused.next) == (True, "owner", [next_call])
    assert refused.retry_at == datetime(2026, 11, 22, tzinfo=UTC)
    assert refused.remaining == {"left_total": "3.000000"}
    assert refused.is_payable is False
    assert str(refused) == (
        "402 mandate_budget_exceeded: It is mandate_budget_exceeded.\n"
        "  who fixes it: owner; the same call can succeed later: yes\n"
        "  retry at 2026-11-22T00:00:00+00:00\n"
        '  remaining: {"left_total": "3.000000"}\n'
        "  next: GET /agent/catalog"
    )


def test_a_refusal_without_the_block__is_its_sentence() -> None:
    service = Service([httpx.Response(403, json={"detail": "not authorized"})])

    with pytest.raises(Refused) as caught:
        service.client(key="k").safety.defense_set(level=1)

    assert (caught.value.reason, str(caught.value)) == (None, "403 refused: not authorized")


@each(
    "answer",
    [
        httpx.Response(502, text="<html>bad gateway</html>", headers={"content-type": "text/html"}),
        httpx.Response(500, content=b"{", headers={"content-type": "application/json"}),
        httpx.Response(302, headers={"location": "http://elsewhere.example"}),
        httpx.Response(404, json=["no object"]),
    ],
)
def test_an_answer_of_somebody_else__is_a_refusal_that_says_so(answer: httpx.Response) -> None:
    with pytest.raises(Refused, match="the answer is not this service's"):
        Service([answer]).client(key="k").mandates.me()


@each("block", ["x", None, {"next": None, "retry_at": "soon"}, {"next": ["x"], "reason": 7}])
def test_a_block_of_another_shape__is_a_refusal_all_the_same(block: object) -> None:
    service = Service([httpx.Response(400, json={"detail": "It is wrong.", "service": block})])

    with pytest.raises(Refused, match=r"It is wrong\."):
        service.client(key="k").mandates.me()


def test_text_of_another_kind__comes_as_text() -> None:
    service = Service(
        [
            httpx.Response(
                200, text="# Limits", headers={"content-type": "text/markdown; charset=utf-8"}
            )
        ]
    )

    assert service.client(key="k").mandates.me() == {
        "content_type": "text/markdown",
        "text": "# Limits",
    }


def test_an_answer_of_a_pdf__comes_as_its_bytes_and_csv_as_text() -> None:
    pdf = httpx.Response(200, content=b"%PDF-1.7 \xff", headers={"content-type": "application/pdf"})
    csv = httpx.Response(
        200, text="line,name\r\n", headers={"content-type": "text/csv; charset=utf-8"}
    )
    service = Service([pdf, csv])
    owner = service.client(session="s").mandates

    assert owner.statement("m_aaaaaaaaaa", format="pdf") == {
        "content_type": "application/pdf",
        "content": b"%PDF-1.7 \xff",
    }
    assert owner.statement_all(format="csv") == {
        "content_type": "text/csv",
        "text": "line,name\r\n",
    }
    assert [dict(call.url.params) for call in service.calls] == [
        {"format": "pdf"},
        {"format": "csv"},
    ]


def test_items__follow_the_cursor_to_the_last_page() -> None:
    service = Service([ok(events=[1, 2], next_cursor="9"), ok(events=[3], next_cursor=None)])
    client = service.client(key="k")

    assert list(client.items(client.mandates.ledger, "events", "m_aaaaaaaaaa", limit=2)) == [
        1,
        2,
        3,
    ]
    assert [dict(call.url.params) for call in service.calls] == [
        {"limit": "2"},
        {"limit": "2", "cursor": "9"},
    ]


OWNER_KEY = "0x" + "22" * 32
TERMS = {
    "primaryType": "MandateTerms",
    "message": {"publicId": "m_aaaaaaaaaa", "owner": "0x1563915e194D8CfBA1943570603F7606A3115508"},
}


@pytest.mark.parametrize(
    "offered",
    [
        TERMS | {"primaryType": "ReceiveWithAuthorization"},
        TERMS
        | {
            "message": {
                "publicId": "m_bbbbbbbbbb",
                "owner": "0x1563915e194D8CfBA1943570603F7606A3115508",
            }
        },
        TERMS | {"message": {"publicId": "m_aaaaaaaaaa", "owner": "0x" + "11" * 20}},
    ],
)
def test_what_is_not_the_terms_of_this_mandate_and_owner__is_not_signed(
    offered: dict[str, object],
) -> None:
    service = Service([ok(typed_data=offered)])

    with pytest.raises(ValueError, match="not signed"):
        service.client(session="s").sign_terms("m_aaaaaaaaaa", OWNER_KEY)

    assert len(service.calls) == 1


def test_signing__without_eth_account__says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "eth_account", None)

    with pytest.raises(ImportError, match="pip install eth-account"):
        Service([]).client().sign_in(OWNER_KEY)


def test_importing_the_client__needs_neither_the_service_nor_eth_account() -> None:
    heavy = (
        "eth_account",
        "web3",
        "fastapi",
        "pydantic",
        "sqlalchemy",
        "core",
        "api.kernel",
        "api.catalogue",
    )
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys, api.client; print([name for name in {heavy!r} if name in sys.modules])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout.strip() == "[]"
