"""Receipts of rows: their one form, what is signed, and the example of docs/record.md."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from eth_account.messages import _hash_eip191_message, encode_typed_data

from core.anchors.rules import EPOCH_S
from core.chain.signatures import HALF_ORDER, recovered_address
from core.chain.signer import LocalKeySigner
from core.errors import InvalidParameterError
from core.mandate.chain.typed_data import (
    RECORD_RECEIPT,
    record_receipt_digest,
    row_domain,
    typed_data,
)
from core.mandate.rules.receipts import RecordReceipt, unsigned_receipt
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import PAPER, PUBLIC_ID, SampleLedger

PAGE = Path(__file__).parents[5] / "docs" / "record.md"
SERVICE = LocalKeySigner("0x" + "11" * 32)
EXAMPLE = RecordReceipt(
    mandate_id="m_abcdefghij",
    chain_id=84532,
    factory="0x5FbDB2315678afecb367f032d93F642f64180aa3",
    seq=2,
    row_hash="0x6bce682c98ffb2ff2d86cf52439ba229585c97ea964b56f3e0d8bd2bdcad772a",
    epoch=int(datetime(2026, 2, 2, 9, 2, tzinfo=UTC).timestamp()) // EPOCH_S,
    signer=SERVICE.address,
    signature="",
)
SIGNED = replace(EXAMPLE, signature=SERVICE.sign_digest(record_receipt_digest(EXAMPLE)))


def test_the_example_of_the_page__is_what_the_service_signs() -> None:
    page = PAGE.read_text()
    told = (str(EXAMPLE.epoch), record_receipt_digest(EXAMPLE), SIGNED.signature)
    assert [one for one in told if f"`{one}`" not in page and f"epoch {one}" not in page] == []


def test_the_digest__is_that_of_a_wallet() -> None:
    message = {"mandate": "m_abcdefghij", "seq": 2, "rowHash": EXAMPLE.row_hash}
    document = typed_data(
        row_domain(EXAMPLE.factory, EXAMPLE.chain_id),
        "RecordReceipt",
        RECORD_RECEIPT,
        message | {"epoch": EXAMPLE.epoch},
    )
    signable = encode_typed_data(full_message=document)
    assert "0x" + _hash_eip191_message(signable).hex() == record_receipt_digest(EXAMPLE)


def test_a_signature__is_the_same_each_time_and_not_malleable() -> None:
    digest = record_receipt_digest(EXAMPLE)
    assert SERVICE.sign_digest(digest) == SIGNED.signature
    assert int(SIGNED.signature[66:130], 16) <= HALF_ORDER
    assert recovered_address(digest, SIGNED.signature) == SERVICE.address


@each(
    "changed",
    [
        {"mandate_id": "m_abcdefghik"},
        {"chain_id": 1},
        {"factory": SERVICE.address},
        {"seq": 3},
        {"row_hash": "0x" + "11" * 32},
        {"epoch": EXAMPLE.epoch + 1},
    ],
)
def test_each_field__is_signed(changed: dict[str, Any]) -> None:
    digest = record_receipt_digest(replace(SIGNED, **changed))
    assert recovered_address(digest, SIGNED.signature) != SERVICE.address


def test_a_receipt__is_written_and_read_again() -> None:
    assert RecordReceipt.of_json(SIGNED.to_json()) == SIGNED


@each("key", SIGNED.to_json())
@each("value", [None, True, 1.0, -1, "", "\x1b", [], {}, 2**64])
def test_a_field_of_another_form__is_refused_by_its_name(key: str, value: object) -> None:
    with pytest.raises(InvalidParameterError, match=key):
        RecordReceipt.of_json(SIGNED.to_json() | {key: value})


def test_the_receipt_of_a_row__names_the_hour_in_which_it_was_written() -> None:
    ledger = SampleLedger(PAPER)
    ledger.sign()
    row = ledger.rows[-1]
    found = unsigned_receipt(row, PUBLIC_ID, 84532, EXAMPLE.factory, SERVICE.address)
    assert (found.seq, found.row_hash) == (row.seq, row.row_hash)
    start_s = found.epoch * EPOCH_S
    assert start_s <= row.created_at.timestamp() < start_s + EPOCH_S


def test_keys_that_are_no_receipts__the_first_is_named() -> None:
    with pytest.raises(InvalidParameterError, match=r"^receipt: a1 is missing"):
        RecordReceipt.of_json(dict.fromkeys(("a4", "a2", "a1", "a3")))
