"""The hash chain: anyone can make every hash again, and any change is found."""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from core.errors import InvalidParameterError
from core.mandate.rules.record import (
    canonical_row,
    chain_faults,
    genesis_hash,
    record_line,
    row_hash,
)
from core.mandate.rules.rows import LedgerRow, RowKind
from core.money import UsdcE6
from core.times import exact_instant_text
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import PUBLIC_ID, SampleLedger, executed, working


def _ledger() -> SampleLedger:
    ledger = working()
    lost = ledger.chain(executed("10"))
    ledger.report(RowKind.NOTE, payload={"text": "gross", "n": 3})
    ledger.reverse(lost)
    return ledger


def test_genesis__is_the_hash_of_the_public_id() -> None:
    assert (
        genesis_hash(PUBLIC_ID)
        == "0x" + hashlib.sha256(b"mandate-ledger:v1:m_abcdefghij").hexdigest()
    )


def test_record__read_by_a_stranger_with_sha256_and_rfc_8785_alone__holds() -> None:
    prev = hashlib.sha256(b"mandate-ledger:v1:" + PUBLIC_ID.encode()).digest()
    for line in [record_line(row) for row in _ledger().rows]:
        entry = json.loads(line)
        assert entry["prev_hash"] == "0x" + prev.hex()
        prev = hashlib.sha256(prev + rfc8785.dumps(entry["body"])).digest()
        assert entry["row_hash"] == "0x" + prev.hex()


def test_body__has_money_and_times_as_text_and_no_ids() -> None:
    row = _ledger().rows[2]
    body = json.loads(canonical_row(row))
    assert (body["amount_usdc"], body["cash_delta_usdc"]) == ("1000.000000", "1000.000000")
    assert body["occurred_at"] == "2026-02-02T09:03:00.000000Z"
    assert not {"id", "mandate_id", "reverses_id"} & body.keys()


def test_body__of_a_reversal__names_the_seq_it_reverses() -> None:
    rows = _ledger().rows
    assert json.loads(canonical_row(rows[-1]))["reverses_seq"] == 4
    with pytest.raises(ValueError, match="reverses_seq"):
        canonical_row(replace(rows[-1], payload={}))


def test_canonical_row__a_float_in_the_payload__is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"payload\.mark"):
        canonical_row(replace(_ledger().rows[0], payload={"mark": 1.5}))


def test_utc_text__the_same_instant_in_any_zone__is_the_same_text() -> None:
    at = datetime(2026, 2, 2, 9, 0, 0, 5, tzinfo=UTC)
    assert (
        exact_instant_text(at)
        == exact_instant_text(at.astimezone(timezone(timedelta(hours=9))))
        == "2026-02-02T09:00:00.000005Z"
    )


def test_chain_faults__a_sound_ledger__has_none() -> None:
    assert chain_faults(_ledger().rows, PUBLIC_ID) == []


CHANGES: list[dict[str, Any]] = [
    {"amount_usdc_e6": UsdcE6(999_999_999)},
    {"cash_delta_usdc_e6": 0},
    {"payload": {"from": "somebody else"}},
    {"occurred_at": datetime(2026, 1, 1, tzinfo=UTC)},
    {"created_at": datetime(2026, 1, 1, tzinfo=UTC)},
    {"kind": RowKind.NOTE},
    {"tx_hash": None},
    {"base_key": "log:other"},
    {"incarnation": 2},
]


@each("change", CHANGES, ids=lambda change: next(iter(change)))
def test_chain_faults__any_changed_field__is_found(change: dict[str, Any]) -> None:
    rows = _ledger().rows
    rows[2] = replace(rows[2], **change)
    assert any(fault.startswith("seq 3: row_hash") for fault in chain_faults(rows, PUBLIC_ID))


def test_chain_faults__a_row_dropped_or_rehashed_or_moved__is_found() -> None:
    rows = _ledger().rows
    assert chain_faults(rows[:2] + rows[3:], PUBLIC_ID)[0] == "seq 4: expected seq 3"
    assert chain_faults([rows[1], rows[0], *rows[2:]], PUBLIC_ID)
    forged = replace(rows[2], amount_usdc_e6=UsdcE6(1))
    forged = replace(forged, row_hash=row_hash(forged.prev_hash, canonical_row(forged)))
    assert any(
        fault.startswith("seq 4: prev_hash")
        for fault in chain_faults([*rows[:2], forged, *rows[3:]], PUBLIC_ID)
    )


def test_chain_faults__another_mandates_ledger__is_found_at_its_first_row() -> None:
    assert chain_faults(_ledger().rows, "m_zzzzzzzzzz")[0].startswith("seq 1: prev_hash")


def test_chain_faults__a_reversal_that_points_elsewhere__is_found() -> None:
    rows = _ledger().rows
    moved: list[LedgerRow] = [*rows[:-1], replace(rows[-1], reverses_id=rows[2].id)]
    assert chain_faults(moved, PUBLIC_ID) == ["seq 6: reverses seq 3, its payload says 4"]


def test_docs_record__the_example_line__is_what_this_code_writes_and_holds() -> None:
    page = (Path(__file__).parents[5] / "docs" / "record.md").read_text()
    line = page.split("```json\n")[1].split("\n```")[0]
    ledger = SampleLedger()
    ledger.sign()
    assert line.encode() == record_line(ledger.rows[0])
    assert chain_faults(ledger.rows, PUBLIC_ID) == []
