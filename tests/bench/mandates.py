"""Mandates and their ledgers, written without a chain: what the benches of the record read."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import insert

from core.db.engine import Database
from core.identity.tables import Account
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.ledger import NewRow, ReportedBy, RowKind
from core.mandate.rules.targets import parse_targets, targets_to_json
from core.mandate.rules.terms import MandateTerms, terms_to_json
from core.mandate.tables import Mandate
from tests.bench.place import CHAIN_ID, USDC

OWNER, AGENT, KEEPER, VENUE, VAULT, TOKEN = (f"0x{n:040x}" for n in range(0x10, 0x16))
BUDGET: Final = 1_000 * USDC
ZERO: Final = "0x" + "00" * 32
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
        "rules": [{"target": VENUE, "selector": "0xd96a094a", "recipient_word": 255, "kind": 2}],
        "guard_targets": [],
        "terms_digest": name.encode().ljust(32, b"\0"),
        "terms_version": 2,
        "created_at": began,
        "updated_at": began,
        **more,
    }


def add_mandates(database: Database, agent_id: int, count: int) -> list[str]:
    """Signed ones on paper, which the agent works under, with a note each."""
    now = datetime.now(UTC) - timedelta(minutes=1)
    names = [public_id(agent_id * 64 + n) for n in range(count)]
    with database.write() as session:
        owner = {"kind": "owner", "name": "owner", "created_at": now}
        owner_id = session.scalars(insert(Account).returning(Account.id), [owner]).one()
        more = {"market_mode": "paper", "agent_id": agent_id, "signature": b"\1" * 65}
        rows = [mandate_row(name, owner_id, now, **more) for name in names]
        ids = session.scalars(insert(Mandate).returning(Mandate.id), rows).all()
        for mandate_id in ids:
            for row in (_signed(now), _note(now)):
                mandate_ledger.append(session, mandate_id, row, now)
    return names


def _signed(at: datetime) -> NewRow:
    return NewRow(
        kind=RowKind.SIGNED,
        reported_by=ReportedBy.OWNER,
        occurred_at=at,
        base_key="signed",
        payload={"terms_digest": ZERO, "version": 2},
    )


def _note(at: datetime) -> NewRow:
    return NewRow(
        kind=RowKind.NOTE,
        reported_by=ReportedBy.AGENT,
        occurred_at=at,
        base_key="report:0",
        payload={"why": "The first look."},
    )
