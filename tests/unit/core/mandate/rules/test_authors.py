"""Signed rows: how they are written and read, who may be missing a signature, and the example of
docs/record.md.
"""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from core.canonical import canonical_json
from core.chain.signatures import recovered_address
from core.errors import InvalidParameterError
from core.ledger.chain import plain_payload
from core.mandate.chain.typed_data import record_row
from core.mandate.rules.cash import cancelled_note, signed_rows, stop_row
from core.mandate.rules.new_rows import (
    after_stop_note,
    event_row,
    guard_refusal_note,
    stop_request_note,
)
from core.mandate.rules.record import (
    NO_ROW_BEFORE,
    NextSignature,
    authored_payload,
    canonical_row,
    is_own_word,
    next_signature,
    record_line,
    row_body,
    row_of_line,
)
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy, RowAuthor, RowKind
from core.mandate.rules.violations import Violation
from tests.each import each
from tests.personas import AGENT
from tests.unit.core.mandate.rules.ledgers import PAPER, PUBLIC_ID, START, SampleLedger, e6

PAGE = Path(__file__).parents[5] / "docs" / "record.md"
FACTORY = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
CHAIN_ID = 84532
AUTHOR = RowAuthor(signer=AGENT.address, sequence=1, prev=NO_ROW_BEFORE, signature="0x" + "11" * 65)


def example() -> NewRow:
    """The report of docs/record.md, not signed."""
    return event_row(
        kind="buy",
        amount_usdc_e6=e6("30"),
        tx_hash="0x" + "44" * 32,
        why="30 is below the cap of clause 2.",
        payload={},
        violation=None,
        fact="0f8b3f0a5d4e4b0c9b1a6f2d7c3e5a91",
        now=START + timedelta(minutes=2),
        chain_id=CHAIN_ID,
    )


def line(**changes: Any) -> dict[str, Any]:
    """The example's line, signed with some values of another form."""
    ledger = SampleLedger()
    ledger.sign()
    row = ledger.add(replace(example(), author=AUTHOR))
    written: dict[str, Any] = json.loads(record_line(row))
    written["body"]["author"] |= changes
    return written


def test_a_signed_row__comes_back_as_it_was() -> None:
    assert row_of_line(line()).author == AUTHOR


def test_a_signed_row__is_hashed_as_its_body_is_written() -> None:
    row = row_of_line(line())
    assert canonical_row(row) == canonical_json(row_body(row))
    assert b'"amount_usdc":"30.000000","author":{"prev":"0x' in canonical_row(row)


def test_an_unsigned_row__has_the_bytes_that_it_had_before_rows_were_signed() -> None:
    row = replace(row_of_line(line()), author=None)
    assert "author" not in row_body(row)
    assert canonical_row(row) == canonical_json(row_body(row))


@each(
    ("key", "value"),
    [
        ("signer", AGENT.address.lower()),
        ("signer", None),
        ("signer", "0x"),
        ("sequence", 0),
        ("sequence", True),
        ("sequence", "1"),
        ("sequence", 2**53),
        ("prev", "0x" + "AB" * 32),
        ("prev", "0x00"),
        ("signature", "11" * 65),
        ("signature", "0x1"),
        ("signature", "0x" + "11" * 8192),
        ("more", 1),
    ],
)
def test_an_author_of_another_form__is_refused(key: str, value: Any) -> None:
    with pytest.raises(InvalidParameterError):
        row_of_line(line(**{key: value}))


def test_an_author_that_is_null__is_refused() -> None:
    written = line()
    written["body"]["author"] = None
    with pytest.raises(InvalidParameterError):
        row_of_line(written)


def test_next_signature__before_the_first__is_1_after_nothing() -> None:
    assert next_signature(None) == NextSignature(1, "0x" + "00" * 32)


def test_next_signature__after_a_signed_row__is_one_more_and_its_hash() -> None:
    row: LedgerRow = row_of_line(line())
    assert next_signature(row) == NextSignature(2, row.row_hash)


def test_authored_payload__leaves_out_what_the_service_adds() -> None:
    violation = Violation(("over_per_tx_cap",), {})
    flagged = event_row(
        kind="buy",
        amount_usdc_e6=e6("30"),
        tx_hash=None,
        why="cheap",
        payload={"target": "0x"},
        violation=violation,
        fact="f",
        now=START,
        is_unseen=True,
    )
    assert plain_payload(flagged.payload).keys() == {"target", "why", "violation", "unseen"}
    assert authored_payload(flagged.payload) == {"target": "0x", "why": "cheap"}


@each(
    ("row", "expected"),
    [
        (example(), True),
        (stop_request_note(why=None, fact="f", now=START), True),
        (stop_row(by=ReportedBy.OWNER, reason="owner", now=START), True),
        (cancelled_note(START), True),
        (guard_refusal_note(detail="no", fact="f", now=START), False),
        (
            after_stop_note(
                kind=RowKind.BUY, amount_usdc_e6=None, tx_hash=None, why=None, fact="f", now=START
            ),
            False,
        ),
        (replace(example(), reported_by=ReportedBy.CHAIN), False),
        (replace(example(), block_hash="0x" + "55" * 32), False),
        *(
            (row, False)
            for row in signed_rows(PAPER, terms_digest="0x" + "33" * 32, version=2, now=START)
        ),
    ],
)
def test_is_own_word__is_what_only_its_author_can_have_said(row: NewRow, expected: bool) -> None:
    assert is_own_word(row) is expected


def test_docs_record__the_signed_line__is_what_this_code_writes_and_its_agent_signed() -> None:

    ledger, row = SampleLedger(), example()
    ledger.sign()
    digest = record_row(PUBLIC_ID, row, AUTHOR, FACTORY, CHAIN_ID).digest
    signature = Account.unsafe_sign_hash(digest, AGENT.private_key).signature.to_0x_hex()
    author = replace(AUTHOR, signature=signature)
    written = record_line(ledger.add(replace(row, author=author))).decode()

    page = PAGE.read_text()
    assert written == page.split("```json\n")[2].split("\n```")[0]
    assert f"`{digest}`" in page
    assert recovered_address(digest, signature) == AGENT.address
