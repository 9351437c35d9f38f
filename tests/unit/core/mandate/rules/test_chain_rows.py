"""Every chain event as a row, exactly."""

import dataclasses
import typing
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_utils.crypto import keccak

from core.mandate.rules import events as ev
from core.mandate.rules.new_rows import ROLE_NAMES, bytes32_word, revert_note, row_from_event
from core.mandate.rules.record import canonical_row
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import (
    AGENT,
    KEEPER,
    OWNER,
    STRANGER,
    USDC,
    VAULT,
    VENUE,
    X402,
    SampleLedger,
    created,
    e6,
    executed,
    marked,
    paid,
    settled,
    stopped,
    tx,
    unwound,
    withdrawn,
)

REF = ev.LogRef(
    chain_id=84532,
    block_number=12,
    block_hash="0x" + "b1" * 32,
    at=1_770_022_800,
    tx_hash="0x" + "AB" * 32,
    log_index=3,
    address=X402,
)
DIGEST = "0x" + "33" * 32
SELECTOR = "0xd96a094a"


def _row(event: ev.ChainEvent) -> NewRow:
    row = row_from_event(event, REF, KEEPER, OWNER, AGENT, usdc=USDC)
    assert row is not None
    return row


@pytest.mark.row("6 one vault log is one row")
def test_row__stands_where_its_log_stands() -> None:
    row = _row(executed("1"))
    assert (row.chain_id, row.block_number, row.block_hash, row.log_index) == (
        84532,
        12,
        "0x" + "b1" * 32,
        3,
    )
    assert row.tx_hash == "0x" + "ab" * 32
    assert row.base_key == f"log:0x{'ab' * 32}:3"
    assert row.occurred_at == datetime(2026, 2, 2, 9, 0, tzinfo=UTC)


Told = tuple[ev.ChainEvent, RowKind, str, str | None, str, dict[str, Any]]


def note(event: ev.ChainEvent, payload: dict[str, Any], by: str = "chain") -> Told:
    """Of which no money moves."""
    return event, RowKind.NOTE, by, None, "0", payload


EVENTS: list[Told] = [
    note(
        created(),
        {"vault_created": {"vault": VAULT, "terms_digest": DIGEST, "owner": OWNER, "agent": AGENT}},
    ),
    (
        ev.Deposited(OWNER, e6("5"), e6("7"), e6("8")),
        RowKind.DEPOSIT,
        "chain",
        "5",
        "5",
        {"from": OWNER, "balance": "8.000000"},
    ),
    (
        ev.Executed(4, VENUE, SELECTOR, e6("5"), e6("2"), e6("9")),
        RowKind.MOVE,
        "chain",
        "5",
        "-3",
        {
            "executed": {
                "target": VENUE,
                "selector": SELECTOR,
                "spent": "5.000000",
                "received": "2.000000",
                "nonce": 4,
                "balance": "9.000000",
            }
        },
    ),
    (
        ev.Executed(5, VENUE, SELECTOR, 0, e6("2"), e6("9")),
        RowKind.MOVE,
        "chain",
        "2",
        "2",
        {
            "executed": {
                "target": VENUE,
                "selector": SELECTOR,
                "spent": "0.000000",
                "received": "2.000000",
                "nonce": 5,
                "balance": "9.000000",
            }
        },
    ),
    (
        paid("0.01"),
        RowKind.FEE,
        "chain",
        "0.01",
        "0",
        {"fee_kind": "x402", "resource": "0x" + "44" * 32, "pay_to": STRANGER, "adapter": X402},
    ),
    note(
        marked("799"),
        {"mark": {"worth_usdc": "799.000000", "unvalued_out_usdc": "0.000000"}},
        by="keeper",
    ),
    (
        stopped(KEEPER, worth="799"),
        RowKind.STOP,
        "keeper",
        None,
        "0",
        {
            "stopped": {
                "by": KEEPER,
                "reason": "stop_line",
                "worth_usdc": "799.000000",
                "unvalued_out_usdc": "0.000000",
            }
        },
    ),
    (
        stopped(OWNER, "owner"),
        RowKind.STOP,
        "owner",
        None,
        "0",
        {
            "stopped": {
                "by": OWNER,
                "reason": "owner",
                "worth_usdc": None,
                "unvalued_out_usdc": None,
            }
        },
    ),
    note(ev.AgentSet(AGENT), {"agent_set": {"agent": AGENT}, "note": "Agent set on chain"}),
    note(
        ev.AgentRemoved(AGENT, OWNER),
        {"agent_removed": {"agent": AGENT, "by": OWNER}, "note": "Paused: agent removed on chain"},
    ),
    (
        unwound("6"),
        RowKind.NOTE,
        "chain",
        "6",
        "6",
        {
            "unwound": {
                "by": OWNER,
                "target": VENUE,
                "selector": "0xe4849b32",
                "received": "6.000000",
                "balance": "0.000000",
            }
        },
    ),
    (
        ev.ProceedsReceived(X402, e6("6"), e6("7")),
        RowKind.NOTE,
        "chain",
        "6",
        "6",
        {"proceeds": {"adapter": X402, "balance": "7.000000"}},
    ),
    (
        settled("3", "30"),
        RowKind.PAYOUT,
        "chain",
        "3",
        "-3",
        {
            "settled": {
                "payee": AGENT,
                "gain": "30.000000",
                "fee": "3.000000",
                "balance": "0.000000",
            }
        },
    ),
    (
        withdrawn("9"),
        RowKind.WITHDRAW,
        "chain",
        "9",
        "-9",
        {"withdrawn": {"token": USDC, "to": OWNER, "balance": "0.000000"}},
    ),
    note(
        ev.PayeeChanged(AGENT, STRANGER),
        {"payee_changed": {"previous_payee": AGENT, "new_payee": STRANGER}},
    ),
    note(
        ev.TermsCancelled(DIGEST, OWNER),
        {"terms_cancelled": {"terms_digest": DIGEST, "owner": OWNER}},
    ),
    note(
        ev.KeeperProposed(KEEPER, 1_770_022_800),
        {
            "factory": True,
            "event": "KeeperProposed",
            "args": {"proposedKeeper": KEEPER, "eta": "1770022800"},
        },
    ),
    note(
        ev.KeeperChanged(KEEPER, STRANGER),
        {
            "factory": True,
            "event": "KeeperChanged",
            "args": {"previousKeeper": KEEPER, "newKeeper": STRANGER},
        },
    ),
    note(
        ev.RoleGranted("0x" + "00" * 32, STRANGER, OWNER),
        {
            "factory": True,
            "event": "RoleGranted",
            "args": {"role": "DEFAULT_ADMIN_ROLE", "account": STRANGER, "sender": OWNER},
        },
    ),
    note(
        ev.RoleRevoked("0x" + "77" * 32, STRANGER, OWNER),
        {
            "factory": True,
            "event": "RoleRevoked",
            "args": {"role": "0x" + "77" * 32, "account": STRANGER, "sender": OWNER},
        },
    ),
]


@each(
    ("event", "kind", "by", "amount", "delta", "payload"),
    EVENTS,
    ids=lambda value: type(value).__name__,
)
def test_row_from_event__is_exactly(
    event: ev.ChainEvent,
    kind: RowKind,
    by: str,
    amount: str | None,
    delta: str,
    payload: dict[str, Any],
) -> None:
    row = _row(event)
    assert (row.kind, row.reported_by.value) == (kind, by)
    assert row.amount_usdc_e6 == (None if amount is None else e6(amount))
    assert row.cash_delta_usdc_e6 == e6(delta)
    assert row.payload == payload


ZERO = "0x0000000000000000000000000000000000000000"
SILENT = [
    ev.AdapterListed(VENUE),
    ev.AdapterDelisted(VENUE),
    ev.KeeperChanged(ZERO, KEEPER),
    ev.GuardChanged(ZERO, KEEPER),
]


@each("event", SILENT, ids=lambda event: type(event).__name__)
def test_row_from_event__what_is_no_news_for_a_mandate__has_no_row(event: ev.ChainEvent) -> None:
    assert row_from_event(event, REF, KEEPER, OWNER, AGENT, usdc=USDC) is None


def _sample(event_type: type) -> Any:
    """An instance of any event, by the types of its fields."""
    samples: dict[Any, Any] = {str: VENUE, int: 5, bool: True}
    hints = typing.get_type_hints(event_type)
    return event_type(
        **{
            field.name: samples.get(hints[field.name], ())
            for field in dataclasses.fields(event_type)
        }
    )


def test_row_from_event__every_event_of_the_contracts__is_settled_and_can_be_hashed() -> None:
    ledger = SampleLedger()
    for event_type in typing.get_args(ev.ChainEvent):
        row = row_from_event(_sample(event_type), REF, KEEPER, OWNER, AGENT, usdc=USDC)
        assert (row is None) == (event_type in (ev.AdapterListed, ev.AdapterDelisted))
        if row is not None:
            assert canonical_row(ledger.add(dataclasses.replace(row, base_key=event_type.__name__)))


def test_stop_by_anyone__is_the_chains() -> None:
    assert _row(stopped(STRANGER)).reported_by is ReportedBy.CHAIN


def test_open_board_vault__agent_is_none_not_the_zero_address() -> None:
    assert _row(created(ZERO)).payload["vault_created"]["agent"] is None


def test_role_names__are_the_hashes_of_their_names() -> None:
    for name in ("PAUSER_ROLE", "KEEPER_ADMIN_ROLE"):
        assert ROLE_NAMES["0x" + keccak(text=name).hex()] == name


@each(
    ("word", "text"),
    [
        ("0x" + b"stop_line".hex().ljust(64, "0"), "stop_line"),
        ("0x" + "00" * 32, "0x" + "00" * 32),
        ("0x" + "ff" * 32, "0x" + "ff" * 32),
        ("0x07" + "00" * 31, "0x07" + "00" * 31),
        ("owner", "owner"),
        ("0x" + b"stop_line ".hex().ljust(64, "0"), "0x" + b"stop_line ".hex().ljust(64, "0")),
        ("0x" + b"price fell".hex().ljust(64, "0"), "price fell"),
    ],
)
def test_bytes32_word__reads_words_and_leaves_the_rest(word: str, text: str) -> None:
    assert bytes32_word(word) == text


def _note(reason: str, **more: Any) -> NewRow:
    return revert_note(
        chain_id=84532,
        tx_hash=tx(7).upper().replace("X", "x"),
        block_number=7,
        block_hash=tx(8),
        at=REF.at,
        reason=reason,
        **more,
    )


def test_revert_note__a_known_reason__is_confirmed_by_the_block_scan() -> None:
    row = _note(
        "OverPerTxCap",
        attempted={"target": VENUE, "selector": SELECTOR, "amount_usdc": "150.000000"},
        proves_event_id=4,
    )
    assert (row.kind, row.reported_by, row.base_key, row.cash_delta_usdc_e6) == (
        RowKind.NOTE,
        ReportedBy.CHAIN,
        f"revert:{tx(7)}",
        0,
    )
    assert row.payload == {
        "refusal": {
            "reason": "OverPerTxCap",
            "source": "chain",
            "reason_source": "chain",
            "check": "block_scan",
            "server_check": "confirmed",
            "attempted": {"target": VENUE, "selector": SELECTOR, "amount_usdc": "150.000000"},
        },
        "reverted": True,
        "proves_event_id": 4,
    }


@pytest.mark.parametrize(
    ("reason", "beside"), [("OverBudget", {"contract_error": "OverBudget"}), ("unknown", {})]
)
def test_revert_note__another_reason__reads_unknown(reason: str, beside: dict[str, str]) -> None:
    assert _note(reason).payload["refusal"] == {
        "reason": "unknown",
        "source": "chain",
        "reason_source": "unknown",
        "check": "block_scan",
        "server_check": "confirmed",
        **beside,
    }
