"""Mandates and their ledgers, written without a chain: what benches of the record read."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import insert

from api.kernel.tokens import token_hash
from core.db.engine import Database
from core.identity import queries as identity
from core.identity.tables import Account
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.rules.targets import parse_targets, targets_to_json
from core.mandate.rules.terms import MandateTerms, terms_to_json
from core.mandate.tables import Mandate
from core.money import UsdcE6, usdc_text
from tests.bench.place import CHAIN_ID, PEPPER, USDC

OWNER, AGENT, KEEPER, VENUE, VAULT, TOKEN = (f"0x{n:040x}" for n in range(0x10, 0x16))
BUDGET: Final = 1_000 * USDC
ZERO: Final = "0x" + "00" * 32
BUY, SELL = "0xd96a094a", "0xe4849b32"
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"


def public_id(number: int) -> str:
    return "m_bench" + "".join(LETTERS[number >> shift & 31] for shift in (20, 15, 10, 5, 0))


def terms_of(name: str, began: datetime) -> MandateTerms:
    return MandateTerms(
        public_id=name,
        owner=OWNER,
        agent=AGENT,
        budget_usdc=BUDGET,
        per_tx_cap=10 * USDC,
        daily_cap=50 * USDC,
        stop_floor=BUDGET // 2,
        stop_floor_bps=5_000,
        horizon_days=365,
        ends_at=int(began.timestamp()) + 365 * 86_400,
        agent_fee_bps=0,
        approval_above=0,
        on_floor=0,
        allowed_targets_hash=ZERO,
        guard_targets_hash=ZERO,
        issued_at=int(began.timestamp()),
        nonce=0,
    )


def mandate_row(name: str, owner_id: int, began: datetime, **more: Any) -> dict[str, Any]:
    """Of the table; a draft on testnet unless `more` says otherwise."""
    terms = terms_of(name, began)
    return {
        "public_id": name,
        "owner_id": owner_id,
        "open_board": False,
        "status": "draft",
        "market_mode": "testnet",
        "purpose": "bench",
        "budget_usdc_e6": BUDGET,
        "horizon_days": terms.horizon_days,
        "stop_floor_bps": terms.stop_floor_bps,
        "payout_rule": {},
        "allowed_targets": targets_to_json(parse_targets(None, CHAIN_ID)),
        "on_floor": "keep",
        "chain_id": CHAIN_ID,
        "terms": terms_to_json(terms),
        "rules": [{"target": VENUE, "selector": BUY, "recipient_word": 255, "kind": 2}],
        "guard_targets": [],
        "terms_digest": name.encode().ljust(32, b"\0"),
        "terms_version": 2,
        "created_at": began,
        "updated_at": began,
        **more,
    }


@dataclass(frozen=True, slots=True)
class Added:
    id: int
    public_id: str


def add_mandates(database: Database, agent_id: int, count: int) -> tuple[list[Added], int]:
    """Signed ones on paper, which the agent works under, with a note each; and their owner."""
    now = datetime.now(UTC) - timedelta(weeks=52)
    names = [public_id(agent_id * 64 + n) for n in range(count)]
    with database.write() as session:
        owner = {
            "kind": "owner",
            "name": "o",
            "created_at": now,
            "wallet_address": agent_id.to_bytes(20),
        }
        owner_id = session.scalars(insert(Account).returning(Account.id), [owner]).one()
        more = {"market_mode": "paper", "agent_id": agent_id, "signature": b"\1" * 65}
        rows = [mandate_row(name, owner_id, now, **more) for name in names]
        ids = session.scalars(
            insert(Mandate).returning(Mandate.id, sort_by_parameter_order=True), rows
        ).all()
        signed = said(RowKind.SIGNED, ReportedBy.OWNER, now, {"terms_digest": ZERO, "version": 2})
        for mandate_id in ids:
            mandate_ledger.append(session, mandate_id, signed, now)
            mandate_ledger.append(session, mandate_id, note(0, now), now)
    return [Added(*one) for one in zip(ids, names, strict=True)], owner_id


def owner_session(database: Database, owner_id: int) -> dict[str, str]:
    """The headers of a session of the owner."""
    token, now = "own_" + secrets.token_hex(32), datetime.now(UTC)
    with database.write() as session:
        hashed = token_hash(PEPPER.encode(), token)
        identity.add_session(session, "owner", owner_id, hashed, now, now + timedelta(hours=5))
    return {"Authorization": f"Bearer {token}"}


# Rows of ledgers


def word(number: int, prefix: str = "") -> str:
    """32 bytes as hex, unlike those of another prefix."""
    return "0x" + prefix + f"{number:0{64 - len(prefix)}x}"


def said(kind: RowKind, by: ReportedBy, at: datetime, payload: dict[str, Any]) -> NewRow:
    key = f"{kind}:{secrets.token_hex(8)}"
    return NewRow(kind=kind, reported_by=by, occurred_at=at, base_key=key, payload=payload)


def note(number: int, at: datetime) -> NewRow:
    return said(RowKind.NOTE, ReportedBy.AGENT, at, {"why": f"Look {number}."})


def of_chain(
    kind: RowKind, block: int, at: datetime, payload: dict[str, Any], cash: int, ledger: int = 0
) -> NewRow:
    """The one row that this ledger has of the block."""
    tx_hash = word(ledger, f"{block:06x}")
    return NewRow(
        kind=kind,
        reported_by=ReportedBy.CHAIN,
        occurred_at=at,
        base_key=f"log:{tx_hash}:1",
        amount_usdc_e6=UsdcE6(abs(cash)) if cash else None,
        cash_delta_usdc_e6=cash,
        chain_id=CHAIN_ID,
        tx_hash=tx_hash,
        log_index=1,
        block_number=block,
        block_hash=word(block, "b"),
        payload=payload,
    )


def executed(block: int, at: datetime, spent: int, ledger: int = 0) -> NewRow:
    """An action at the venue; what was spent is negative where something was received."""
    call = {
        "target": VENUE,
        "selector": BUY if spent > 0 else SELL,
        "spent": usdc_text(max(spent, 0)),
        "received": usdc_text(max(-spent, 0)),
        "nonce": block,
    }
    return of_chain(RowKind.MOVE, block, at, {"executed": call}, -spent, ledger)
