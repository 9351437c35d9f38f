"""Receipts of rows: what the service signs, and what the client takes of it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from api.client import BadReceipt, Client, NotKept, Refused
from api.client.authoring import EVENTS
from api.client.receipts import Receipts, signer_of
from api.kernel.operation import Deps
from api.main import create_app
from api.shared.signers import OwnSigners
from core.anchors.rules import epoch_of
from core.chain.signatures import HALF_ORDER, recovered_address
from core.db.engine import WriteSession
from core.mandate.chain.typed_data import record_receipt_digest
from core.mandate.rules.receipts import RecordReceipt
from tests.integration.api.client.conftest import Connect
from tests.integration.api.conftest import KEY, RECEIPTS
from tests.integration.api.in_process import AppClient
from tests.integration.api.mandates.stage import Stage
from tests.integration.api.tools.conftest import call
from tests.personas import STRANGER

ORDER = 2 * HALF_ORDER + 1
NOTE = {"kind": "note", "payload": {"text": "It holds."}}


def send(stage: Stage, mandate_id: str, key: str | None = None) -> httpx.Response:
    headers = stage.agent | ({} if key is None else {"Idempotency-Key": key})
    return stage.call("POST", f"/mandates/{mandate_id}/events", headers, NOTE)


@pytest.fixture
def paper_id(stage: Stage) -> str:
    return stage.paper()


@pytest.fixture
def agent(caller: Connect, stage: Stage) -> Client:
    return caller(key=stage.agent[KEY], receipt_signer=RECEIPTS.address)


def test_a_reports_receipt__is_of_the_row_and_its_hour_and_signed_by_the_service(
    stage: Stage, mandate_id: str
) -> None:
    answer = send(stage, mandate_id).json()
    receipt = RecordReceipt.of_json(answer["receipt"])
    assert (receipt.mandate_id, receipt.seq) == (mandate_id, answer["event"]["id"])
    assert receipt.row_hash == answer["event"]["row_hash"]
    assert receipt.epoch == epoch_of(stage.clock.now)
    assert recovered_address(record_receipt_digest(receipt), receipt.signature) == RECEIPTS.address


def test_the_row_of_a_receipt__is_committed(stage: Stage, mandate_id: str) -> None:
    answer = send(stage, mandate_id).json()
    rows = stage.get(f"/mandates/{mandate_id}/ledger", stage.agent)["events"]
    assert (rows[0]["id"], rows[0]["row_hash"]) == (
        answer["receipt"]["seq"],
        answer["receipt"]["row_hash"],
    )


def test_a_repeated_call__gets_the_very_same_receipt(stage: Stage, mandate_id: str) -> None:
    first, again = (send(stage, mandate_id, "key-of-this-report-0001") for _ in range(2))
    assert again.headers["Idempotent-Replay"] == "true"
    assert again.json()["receipt"] == first.json()["receipt"]


def test_a_refusal_that_the_record_has__gets_the_receipt_of_its_row(
    stage: Stage, mandate_id: str
) -> None:
    body = {"reason": "OverPerTxCap", "tx_hash": "0x" + "ab" * 32}
    path = f"/mandates/{mandate_id}/refusals"
    first, again = (stage.call("POST", path, stage.agent, body).json() for _ in range(2))
    assert (first["is_new"], again["is_new"]) == (True, False)
    assert again["receipt"] == first["receipt"] is not None


def test_without_a_key__there_is_no_receipt(stage: Stage, mandate_id: str, deps: Deps) -> None:
    stage.client = AppClient(
        create_app(deps.with_part(OwnSigners, replace(deps.parts.of(OwnSigners), receipts=None)))
    )
    assert stage.client.get("/.well-known/service.json").json()["receipt_signer"] is None
    answer = send(stage, mandate_id).json()
    assert answer["receipt"] is None
    assert answer["record_line"]["row_hash"] == answer["event"]["row_hash"]


def test_every_call_that_writes_a_row__has_a_receipt_in_the_client(
    agent: Client, mandate_id: str
) -> None:
    agent.mandates.report_event(mandate_id, kind="note", payload={"n": [1, {"b": None}]})
    agent.mandates.report_refusal(mandate_id, reason="OverPerTxCap", amount_usdc="500")
    agent.mandates.stop(mandate_id)
    kept = list(agent.receipts.kept)
    assert [signer_of(one) for one in kept] == [RECEIPTS.address] * 3
    assert [one["seq"] for one in kept] == sorted({one["seq"] for one in kept})


def test_a_file_of_receipts__has_a_line_each(
    caller: Connect, stage: Stage, mandate_id: str, tmp_path: Path
) -> None:
    file = tmp_path / "receipts.ndjson"
    client = caller(key=stage.agent[KEY], receipts=file)
    client.mandates.report_event(mandate_id, **NOTE)
    client.mandates.report_event(mandate_id, **NOTE)
    assert [json.loads(line) for line in file.read_text().splitlines()] == list(
        client.receipts.kept
    )


def test_a_line_that_a_kill_cut_off__takes_no_receipt_with_it(
    caller: Connect, stage: Stage, mandate_id: str, tmp_path: Path
) -> None:
    """Before, the next receipt was written behind it, and both were lost."""
    file = tmp_path / "receipts.ndjson"
    file.write_text('{"chain_id":845')
    client = caller(key=stage.agent[KEY], receipts=file)
    client.mandates.report_event(mandate_id, **NOTE)
    cut, line = file.read_text().splitlines()
    assert (cut, json.loads(line)) == ('{"chain_id":845', client.receipts.kept[0])


def test_a_file_that_cannot_be_written__is_said_before_anything_is_sent(
    caller: Connect, stage: Stage, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError):
        caller(key=stage.agent[KEY], receipts=tmp_path / "none" / "receipts")


def test_a_receipt_that_cannot_be_written__comes_with_the_answer_and_the_head(
    caller: Connect, stage: Stage, mandate_id: str
) -> None:
    """Before, the caller learned nothing of the row, and wrote it twice."""
    client = caller(key=stage.agent[KEY], receipts="/dev/full")
    with pytest.raises(NotKept) as raised:
        client.mandates.report_event(mandate_id, **NOTE)
    answer = raised.value.answer
    assert raised.value.receipt == answer["receipt"] == client.receipts.kept[0]
    assert client.heads.of(mandate_id)[-1].row_hash == answer["event"]["row_hash"]


def test_around_a_rotation__both_keys_count(stage: Stage, mandate_id: str) -> None:
    answer, sent = send(stage, mandate_id).json(), {"id": mandate_id, **NOTE}
    Receipts(signer=[STRANGER.address, RECEIPTS.address.lower()]).take(EVENTS, sent, answer)
    with pytest.raises(BadReceipt, match="its signer is"):
        Receipts(signer=[STRANGER.address]).take(EVENTS, sent, answer)


def test_the_owners_signature_of_terms__has_the_receipt_of_its_newest_row(stage: Stage) -> None:
    mandate_id = stage.draft(market_mode="paper")
    body = {"signature": stage.sign_terms(mandate_id)}
    answer = stage.post(f"/mandates/{mandate_id}/sign", stage.owner, body)
    newest = stage.get(f"/mandates/{mandate_id}/ledger", stage.owner)["events"][0]
    assert answer["receipt"]["row_hash"] == newest["row_hash"]


def test_a_call_that_writes_no_row__has_no_receipt(stage: Stage, mandate_id: str) -> None:
    answer = stage.post(f"/mandates/{mandate_id}/stop", stage.owner)
    assert (answer["receipt"], answer["record_line"]) == (None, None)


def test_the_tool__answers_with_the_same_receipt(stage: Stage, mandate_id: str) -> None:
    key = "key-of-this-report-0002"
    tool = "mandate_report_event"
    done = call(stage.client, tool, stage.agent, id=mandate_id, idempotency_key=key, **NOTE)
    told = json.loads(done["content"][0]["text"])
    assert told["receipt"] == send(stage, mandate_id, key).json()["receipt"]


@contextmanager
def commit_lost(rows_before: int) -> Iterator[list[int]]:
    """The database is lost in the commit of a new row; what is yielded fills with how many there
    were.
    """
    seen = list[int]()

    def lose(session: Session) -> None:
        rows = session.execute(text("select count(*) from mandate_event")).scalar_one()
        if rows > rows_before:
            seen.append(rows)
            raise OperationalError("commit", None, Exception("the server closed the connection"))

    event.listen(WriteSession, "before_commit", lose)
    try:
        yield seen
    finally:
        event.remove(WriteSession, "before_commit", lose)


def test_a_row_that_cannot_be_committed__leaves_no_receipt(stage: Stage, mandate_id: str) -> None:
    with stage.database.read() as session:
        before = session.execute(text("select count(*) from mandate_event")).scalar_one()
    with commit_lost(before) as seen:
        answer = send(stage, mandate_id, "key-of-this-report-0003")
    assert seen == [before + 1]
    assert (answer.status_code, "receipt" in answer.text) == (503, False)
    again = send(stage, mandate_id, "key-of-this-report-0003")
    assert "Idempotent-Replay" not in again.headers
    rows = stage.get(f"/mandates/{mandate_id}/ledger", stage.agent)["events"]
    assert again.json()["receipt"]["row_hash"] == rows[0]["row_hash"]


# What the client refuses


Lie = Callable[[dict[str, Any]], object]


def _malleable(answer: dict[str, Any]) -> None:
    raw = bytes.fromhex(answer["receipt"]["signature"][2:])
    twin = ORDER - int.from_bytes(raw[32:64])
    high = raw[:32] + twin.to_bytes(32) + bytes([55 - raw[64]])
    answer["receipt"]["signature"] = "0x" + high.hex()


LIES: dict[str, Lie] = {
    "receipt withheld": lambda answer: answer.update(receipt=None),
    "receipt and line withheld": lambda answer: [answer.pop("receipt"), answer.pop("record_line")],
    "of another row": lambda answer: answer["receipt"].update(seq=99),
    "of another hash": lambda answer: answer["receipt"].update(row_hash="0x" + "11" * 32),
    "of another hour": lambda answer: answer["receipt"].update(epoch=1),
    "of another mandate": lambda answer: answer["receipt"].update(mandate_id="m_othermand2"),
    "of another signer": lambda answer: answer["receipt"].update(signer="0x" + "22" * 20),
    "signed for another chain": lambda answer: answer["receipt"].update(chain_id=1),
    "a number as text": lambda answer: answer["receipt"].update(seq=str(answer["receipt"]["seq"])),
    "a number too large": lambda answer: answer["receipt"].update(chain_id=2**300),
    "no signature": lambda answer: answer["receipt"].update(signature="0x"),
    "no text": lambda answer: answer["receipt"].update(signature=None),
    "a list": lambda answer: answer.update(receipt=[1]),
    "a malleable signature": _malleable,
    "the row altered": lambda answer: answer["record_line"]["body"].update(kind="buy"),
    "the row of another event": lambda answer: answer["event"].update(id=99),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_receipt_that_lies__is_refused_and_not_kept(
    stage: Stage, mandate_id: str, lie: str
) -> None:
    answer = send(stage, mandate_id).json()
    receipts = Receipts(signer=RECEIPTS.address)
    LIES[lie](answer)
    with pytest.raises(BadReceipt) as raised:
        receipts.take(EVENTS, {"id": mandate_id, **NOTE}, answer)
    assert raised.value.answer["event"] == answer["event"]
    assert list(receipts.kept) == []


def test_a_row_that_is_not_what_was_sent__is_refused(stage: Stage, mandate_id: str) -> None:
    answer = send(stage, mandate_id).json()
    sent = {"id": mandate_id, "kind": "note", "payload": {"text": "Something else."}}
    with pytest.raises(BadReceipt, match="another payload than was sent"):
        Receipts().take(EVENTS, sent, answer)


def test_a_report_after_the_end__is_refused_with_a_receipt(
    stage: Stage, caller: Connect, paper_id: str
) -> None:
    client = caller(key=stage.agent[KEY], receipt_signer=RECEIPTS.address)
    client.mandates.stop(paper_id)
    with pytest.raises(Refused) as refused:
        client.mandates.report_event(paper_id, kind="buy", amount_usdc="5")
    assert refused.value.body["receipt"] == client.receipts.kept[-1]


def test_the_service_says__whose_receipts_count(stage: Stage) -> None:
    found = stage.client.get("/.well-known/service.json").json()
    assert found["receipt_signer"] == RECEIPTS.address
