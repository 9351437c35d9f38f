"""A row, written as a line of the public record and read again."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from core.errors import MandateError
from core.mandate.rules.record import (
    VERSION,
    AnchorLine,
    canonical_row,
    genesis_hash,
    is_first_line,
    is_head,
    record_line,
    row_hash,
    row_of_line,
)
from core.mandate.rules.rows import LedgerRow, ReportedBy, RowKind
from core.money import UsdcE6
from tests.each import each

AT = datetime(2026, 2, 2, 9, 0, 0, 500_000, tzinfo=UTC)
ROW = LedgerRow(
    kind=RowKind.MOVE,
    reported_by=ReportedBy.CHAIN,
    occurred_at=AT,
    base_key="log:0x" + "01" * 32 + ":3",
    amount_usdc_e6=UsdcE6(12_500_000),
    cash_delta_usdc_e6=-12_500_000,
    chain_id=84532,
    tx_hash="0x" + "01" * 32,
    log_index=3,
    block_number=7,
    block_hash="0x" + "02" * 32,
    payload={"executed": {"nonce": 0}},
    id=4,
    mandate_id=0,
    seq=4,
    incarnation=1,
    reverses_id=None,
    created_at=AT,
    prev_hash=genesis_hash("m_abcdefghij"),
    row_hash="0x" + "03" * 32,
)


FIRST: dict[str, Any] = {
    **dict.fromkeys(("mandate_id", "market_mode", "factory", "terms_digest", "genesis_hash"), ""),
    **dict.fromkeys(("vault", "signature")),
    "format": "mandate-record",
    "version": 2,
    "chain_id": 1,
    "terms_version": 2,
    "rules": [],
    "guard_targets": [],
    "terms": {},
}


def line(**changes: Any) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(record_line(ROW))
    written["body"] |= changes
    return written


def test_a_row__comes_back_as_it_was() -> None:
    assert row_of_line(line()) == ROW


def test_a_row_that_was_read__is_written_as_the_same_bytes() -> None:
    assert record_line(row_of_line(line())) == record_line(ROW)


@each("hashed", ["", "0x" + "0A" * 32, 5, None])
def test_a_hash_of_another_form__is_named(hashed: Any) -> None:
    with pytest.raises(MandateError, match="row_hash"):
        row_of_line(line() | {"row_hash": hashed})


def test_a_row_that_was_read__gives_the_same_hash() -> None:
    assert row_hash(ROW.prev_hash, canonical_row(row_of_line(line()))) == row_hash(
        ROW.prev_hash, canonical_row(ROW)
    )


@each(
    ("changes", "named"),
    [
        ({"kind": "gift"}, "body.kind"),
        ({"reported_by": "nobody"}, "body.reported_by"),
        ({"amount_usdc": "12.5"}, "body.amount_usdc"),
        ({"amount_usdc": 12}, "body.amount_usdc"),
        ({"seq": "4"}, "body.seq"),
        ({"seq": True}, "body.seq"),
        ({"payload": []}, "body.payload"),
        ({"occurred_at": "2026-02-02T09:00:00Z"}, "body.occurred_at"),
        ({"occurred_at": "2026-02-30T09:00:00.000000Z"}, "body.occurred_at"),
        ({"occurred_at": "2026-W06-1T09:00:00.000000Z"}, "body.occurred_at"),
        ({"occurred_at": "\uff12026-02-02T09:00:00.000000Z"}, "body.occurred_at"),
        ({"occurred_at": "2026-02-02 09:00:00.000000Z"}, "body.occurred_at"),
        ({"created_at": "2026-02-02T09:00:00.00000\u202eZ"}, "body.created_at"),
        ({"amount_usdc": "\uff112.500000"}, "amount_usdc"),
        ({"amount_usdc": "-0.000000"}, "body.amount_usdc"),
        ({"tx_hash": "0x" + "AB" * 32}, "body.tx_hash"),
        ({"tx_hash": "0x" + "ab" * 31}, "body.tx_hash"),
        ({"block_hash": "0x" + "ab" * 32 + "\n"}, "body.block_hash"),
        ({"block_number": -1}, "body.block_number"),
        ({"log_index": False}, "body.log_index"),
        ({"incarnation": 0}, "body.incarnation"),
        ({"chain_id": 0}, "body.chain_id"),
        ({"reverses_seq": 3}, "body.reverses_seq"),
        ({"reverses_seq": 1, "payload": {"reverses_seq": True}}, "body.reverses_seq"),
        ({"comment": "x"}, "comment"),
    ],
)
def test_a_field_of_another_form__is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(MandateError, match=named):
        row_of_line(line(**changes))


def test_a_line_without_its_hash__names_it() -> None:
    written = line()
    del written["row_hash"]
    with pytest.raises(MandateError, match="row_hash"):
        row_of_line(written)


def test_a_first_line_of_another_form__is_none() -> None:
    first = FIRST
    assert is_first_line(first)
    for wrong in (
        {},
        first | {"more": 1},
        first | {"format": "x"},
        first | {"version": VERSION + 1},
        first | {"chain_id": True},
    ):
        assert not is_first_line(wrong), wrong


HASH = "0x" + "01" * 32
ANCHOR = {
    **dict.fromkeys(("block_hash", "root", "root_before", "row_hash", "tx_hash"), HASH),
    **dict.fromkeys(("block_number", "epoch", "seq"), 3),
    "proof": "p",
}


def test_an_anchor__is_read_as_it_is_written() -> None:
    assert AnchorLine.of_json({"anchor": ANCHOR}).to_json() == {"anchor": ANCHOR}


def test_a_head__has_two_heights_that_are_whole_numbers() -> None:
    as_of = {"block_hash": HASH, "block_number": 1, "reverts_block_number": 0}
    head = {"as_of": as_of, "row_hash": HASH, "seq": 1, "totals": {}}
    assert is_head(head)
    for height in ("block_number", "reverts_block_number"):
        assert not is_head({**head, "as_of": {**as_of, height: -1}})
        assert not is_head({**head, "as_of": {**as_of, height: True}})
