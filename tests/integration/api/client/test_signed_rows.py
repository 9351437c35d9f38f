"""Rows of a record that their authors sign, through the client and over the bare API."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount

from api.client import Client
from api.client.authoring import EVENTS, REFUSALS, row_of, row_typed_data
from api.client.signing import sign_typed_data
from core.mandate.chain.typed_data import record_row
from core.mandate.rules.new_rows import event_row, refusal_note
from core.mandate.rules.record import NO_ROW_BEFORE
from core.mandate.rules.rows import RowAuthor, refusal_report
from core.money import UsdcE6
from tests.integration.api.client.conftest import Connect
from tests.integration.api.conftest import KEY
from tests.integration.api.mandates.stage import ADAPTER, Stage, reason
from tests.unit.core.chain.test_signatures import written_otherwise

TX = "0x" + "ab" * 32


@pytest.fixture
def agent(caller: Connect, stage: Stage) -> Client:
    return caller(key=stage.agent[KEY], signer=stage.agent_wallet)


@pytest.fixture
def silent(caller: Connect, stage: Stage) -> Client:
    """The same agent, without its wallet."""
    return caller(key=stage.agent[KEY])


def note(client: Client, mandate_id: str, text: str = "It holds.") -> Any:
    return client.mandates.report_event(mandate_id, kind="note", payload={"text": text})["event"]


def signed_fields(
    stage: Stage, mandate_id: str, wallet: LocalAccount | None = None, **place: Any
) -> dict[str, Any]:
    """A report as the bare API takes it, signed by hand at a place that may be wrong."""
    fields = {"id": mandate_id, "kind": "note", "payload": {"text": "By hand."}}
    found = stage.get(f"/mandates/{mandate_id}/author", stage.agent) | place
    row = row_of(EVENTS, fields, found)
    assert row is not None
    signer = wallet or stage.agent_wallet
    author = {
        "signer": signer.address,
        "sequence": found["sequence"],
        "prev": found["prev"],
        "signature": sign_typed_data(signer, row_typed_data(mandate_id, row, found)),
    }
    return {"kind": "note", "payload": fields["payload"], "author": author}


def send(stage: Stage, mandate_id: str, body: dict[str, Any]) -> httpx.Response:
    return stage.call("POST", f"/mandates/{mandate_id}/events", stage.agent, body)


def test_words_and_numbers_of_a_signed_report__are_signed_as_they_are_kept(
    stage: Stage, agent: Client, mandate_id: str
) -> None:
    payload = {"text": "u\u0308ber", "list": ["e\u0301", 5.0, 1e3, -0.0]}
    event = agent.mandates.report_event(mandate_id, kind="note", payload=payload, why="cafe\u0301")[
        "event"
    ]
    assert event["signed_by"] == stage.agent_wallet.address
    kept = {"text": "\u00fcber", "list": ["\u00e9", 5, 1000, 0], "why": "caf\u00e9"}
    assert event["payload"] == kept


@pytest.mark.slow
def test_a_client_with_a_wallet__signs_each_report_after_the_one_before(
    stage: Stage, agent: Client, mandate_id: str
) -> None:
    first, second = note(agent, mandate_id), note(agent, mandate_id)

    assert (first["signed_by"], second["signed_by"]) == (stage.agent_wallet.address,) * 2
    place = agent.mandates.author(mandate_id)
    assert (place["sequence"], place["prev"]) == (3, second["row_hash"])
    assert stage.faults(mandate_id) == []


def test_a_row__signed_in_another_form__is_kept_in_the_records(
    stage: Stage, mandate_id: str
) -> None:
    body = signed_fields(stage, mandate_id)
    signature = body["author"]["signature"]
    body["author"]["signature"] = written_otherwise(signature)["64 bytes"]
    assert send(stage, mandate_id, body).status_code == 200
    assert stage.faults(mandate_id) == []
    record = stage.call("GET", f"/mandates/{mandate_id}/record", stage.agent)
    assert signature in record.text


def test_a_report_without_a_wallet__says_that_nobody_signed_it(
    silent: Client, mandate_id: str
) -> None:
    assert note(silent, mandate_id)["signed_by"] is None
    place = silent.mandates.author(mandate_id)
    assert (place["sequence"], place["prev"]) == (1, NO_ROW_BEFORE)


def test_the_client_and_the_service__sign_the_same_of_every_kind_of_report(
    stage: Stage, agent: Client, mandate_id: str
) -> None:
    told = agent.mandates.report_event(
        mandate_id,
        kind="resolve",
        amount_usdc="-2.5",
        tx_hash="0x" + "AB" * 32,
        why="Köln, \u20ac 2.50 lost",
        payload={"target": ADAPTER, "n": [1, {"b": None, "a": True}]},
        detail={"x": "y"},
    )
    refused = agent.mandates.report_refusal(
        mandate_id, reason="OverPerTxCap", tx_hash=TX, amount_usdc="500"
    )
    asked = agent.mandates.stop(mandate_id)

    assert told["event"]["signed_by"] == refused["event"]["signed_by"] == stage.agent_wallet.address
    assert asked["status"] == "working"
    newest = agent.mandates.ledger(mandate_id)["events"][0]
    assert (newest["payload"], newest["signed_by"]) == (
        {"stop_requested": True},
        stage.agent_wallet.address,
    )


def test_a_report_that_breaks_a_rule__is_signed_without_the_flag_that_the_service_adds(
    agent: Client, mandate_id: str
) -> None:
    told = agent.mandates.report_event(
        mandate_id, kind="buy", amount_usdc="200.000001", tx_hash=TX, payload={"target": ADAPTER}
    )
    assert told["violation"] is True
    assert told["event"]["signed_by"] is not None


def test_an_owner__signs_the_stop_of_a_paper_mandate(stage: Stage, caller: Connect) -> None:
    mandate_id = stage.paper()
    owner = caller()
    owner.sign_in(stage.owner_wallet)

    assert owner.mandates.stop(mandate_id)["status"] == "stopped"
    newest = owner.mandates.ledger(mandate_id)["events"][0]
    assert (newest["kind"], newest["signed_by"]) == ("stop", stage.owner_wallet.address)


def test_an_owner__signs_the_cancellation_of_a_draft(stage: Stage, caller: Connect) -> None:
    mandate_id = stage.draft()
    owner = caller()
    owner.sign_in(stage.owner_wallet)

    assert owner.mandates.cancel(mandate_id)["status"] == "cancelled"
    newest = owner.mandates.ledger(mandate_id)["events"][0]
    assert newest["signed_by"] == stage.owner_wallet.address


def test_an_unsigned_report__after_a_signed_one__is_refused_with_the_next_place(
    stage: Stage, agent: Client, mandate_id: str
) -> None:
    event = note(agent, mandate_id)

    answer = send(stage, mandate_id, {"kind": "note", "payload": {"text": "Unsigned."}})

    assert reason(answer) == (409, "author_signature_missing")
    body = answer.json()
    assert (body["field"], body["expected"]) == (
        "author",
        {"sequence": 2, "prev": event["row_hash"]},
    )
    assert body["service"]["next"][0]["path"] == f"/mandate-wallet/mandates/{mandate_id}/author"


@pytest.mark.parametrize(
    ("field", "wrong"), [("sequence", 1), ("sequence", 3), ("prev", "0x" + "11" * 32)]
)
def test_a_report_signed_for_another_place__is_refused_by_the_field_with_the_right_one(
    stage: Stage, agent: Client, mandate_id: str, field: str, wrong: Any
) -> None:
    event = note(agent, mandate_id)

    answer = send(stage, mandate_id, signed_fields(stage, mandate_id, **{field: wrong}))

    assert reason(answer) == (409, "author_out_of_order")
    assert (answer.json()["field"], answer.json()["expected"]) == (
        f"author.{field}",
        {"sequence": 2, "prev": event["row_hash"]},
    )
    assert len(agent.mandates.ledger(mandate_id, limit=200)["events"]) == event["id"]


def test_a_report_signed_by_another_key__is_refused(stage: Stage, mandate_id: str) -> None:
    stranger = Account.from_key("0x" + "44" * 32)
    answer = send(stage, mandate_id, signed_fields(stage, mandate_id, stranger))
    assert reason(answer) == (400, "author_signature_invalid")
    assert answer.json()["field"] == "author.signer"
    assert stage.agent_wallet.address in answer.json()["detail"]


def test_a_report_signed_by_another_key_in_the_agents_name__is_refused(
    stage: Stage, mandate_id: str
) -> None:
    body = signed_fields(stage, mandate_id, Account.from_key("0x" + "44" * 32))
    body["author"]["signer"] = stage.agent_wallet.address
    # a signature that no key explains is put to the wallet's code, and this chain is out of reach
    stage.chain.__dict__["code_at"] = lambda *_: b""
    answer = send(stage, mandate_id, body)
    assert (reason(answer), answer.json()["field"]) == (
        (400, "author_signature_invalid"),
        "author.signature",
    )


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "fee"},
        {"amount_usdc": "0.000001"},
        {"tx_hash": TX},
        {"why": "another"},
        {"payload": {"text": "By hand?"}},
    ],
)
def test_a_report_changed_after_it_was_signed__is_refused(
    stage: Stage, mandate_id: str, change: dict[str, Any]
) -> None:
    stage.chain.__dict__["code_at"] = lambda *_: b""
    answer = send(stage, mandate_id, signed_fields(stage, mandate_id) | change)
    assert (reason(answer), answer.json()["field"]) == (
        (400, "author_signature_invalid"),
        "author.signature",
    )


def test_a_report_signed_again_under_its_key__is_answered_again_and_written_once(
    stage: Stage, agent: Client, mandate_id: str
) -> None:
    sent = [
        agent.mandates.report_event(
            mandate_id, kind="note", payload={"text": "Once."}, idempotency_key="note-1"
        )
        for _ in range(2)
    ]
    assert sent[0] == sent[1]
    assert note(agent, mandate_id)["signed_by"] is not None
    assert agent.mandates.author(mandate_id)["sequence"] == 3
    assert stage.faults(mandate_id) == []


@pytest.mark.slow
def test_reports_at_once__take_a_place_each(stage: Stage, agent: Client, mandate_id: str) -> None:
    texts = [f"Note {number}." for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda text: note(agent, mandate_id, text), texts))

    assert agent.mandates.author(mandate_id)["sequence"] == 5
    signed = [one["signed_by"] for one in agent.mandates.ledger(mandate_id)["events"][:4]]
    assert signed == [stage.agent_wallet.address] * 4
    assert stage.faults(mandate_id) == []


def test_an_event_of_the_client__has_the_digest_of_the_ledgers_row(stage: Stage) -> None:
    place = {
        "sequence": 7,
        "prev": "0x" + "12" * 32,
        "domain": {
            "name": "Mandate Wallet Record",
            "version": "1",
            "chainId": 84532,
            "verifyingContract": ADAPTER,
        },
    }
    fields = {"kind": "buy", "amount_usdc": "1", "tx_hash": TX, "why": "w", "payload": {"a": 1}}
    row = event_row(
        kind="buy",
        amount_usdc_e6=UsdcE6(1_000_000),
        tx_hash=TX,
        why="w",
        payload={"a": 1},
        violation=None,
        fact="f",
        now=stage.clock.now,
        is_unseen=True,
    )
    told = row_of(EVENTS, fields, place)
    assert told is not None
    author = RowAuthor(signer=ADAPTER, sequence=7, prev=str(place["prev"]), signature="0x")
    ours = row_typed_data("m_aaaaaaaaaa", told, place)
    signed = record_row("m_aaaaaaaaaa", row, author, ADAPTER, 84532)
    theirs = signed.typed_data
    assert ours["message"] | {"sequence": "7"} == theirs["message"]
    assert ours["types"] == theirs["types"]
    digest = signed.digest
    signature = sign_typed_data(stage.agent_wallet, ours)
    recovered = Account._recover_hash(bytes.fromhex(digest[2:]), signature=signature)
    assert recovered == stage.agent_wallet.address


def test_a_refusal__without_an_amount__is_what_the_client_makes_of_it() -> None:
    report = refusal_report("OverDailyCap", TX, None)
    row = refusal_note(report, fact="f", now=datetime(2026, 2, 2, tzinfo=UTC))
    told = row_of(REFUSALS, {"reason": "OverDailyCap", "tx_hash": TX}, {})
    assert told is not None
    assert told["payload"] == dict(row.payload)
