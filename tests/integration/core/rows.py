"""Accounts, mandates and rows that the tests of the ledgers write down.

Amounts are USDC base units.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from core.db.engine import WriteSession
from core.identity.tables import Account
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.tables import Mandate
from core.money import UsdcE6

NOW = datetime(2026, 2, 2, 9, tzinfo=UTC)
BUDGET = 100_000_000
BLOCK_A = "0x" + "aa" * 32
BLOCK_B = "0x" + "bb" * 32
VAULT = "0x" + "5A" * 20
CHAIN = 84532


def add_account(session: WriteSession, kind: str = "owner") -> int:
    account = Account(kind=kind, name=kind, created_at=NOW)
    session.add(account)
    session.flush()
    return account.id


def add_mandate(
    session: WriteSession,
    public_id: str = "m_aaaaaaaaaa",
    market_mode: str = "testnet",
    owner_id: int | None = None,
) -> int:
    """`owner_id` None: of an owner of its own."""
    mandate = Mandate(
        public_id=public_id,
        owner_id=owner_id or add_account(session),
        open_board=False,
        status="draft",
        market_mode=market_mode,
        purpose="lend",
        budget_usdc_e6=BUDGET,
        horizon_days=30,
        stop_floor_bps=1000,
        payout_rule={},
        allowed_targets=[],
        on_floor="keep",
        chain_id=CHAIN,
        terms={},
        rules=[],
        guard_targets=[],
        terms_digest=b"\x01" * 32,
        terms_version=2,
        created_at=NOW,
        updated_at=NOW,
    )
    session.add(mandate)
    session.flush()
    return mandate.id


def signed(at: datetime = NOW) -> NewRow:
    payload = {"terms_digest": "0x" + "01" * 32, "version": 2}
    return NewRow(
        kind=RowKind.SIGNED,
        reported_by=ReportedBy.OWNER,
        occurred_at=at,
        base_key="signed",
        payload=payload,
    )


def note(number: int) -> NewRow:
    return NewRow(
        kind=RowKind.NOTE,
        reported_by=ReportedBy.AGENT,
        occurred_at=NOW + timedelta(seconds=number),
        base_key=f"report:{number}",
        payload={"why": f"step {number}"},
    )


def log(
    log_index: int, kind: RowKind, payload: dict[str, Any], cash: int = 0, block: str = BLOCK_A
) -> NewRow:
    """A row of a vault log. The transaction is the same whatever block holds it."""
    tx_hash = "0x" + f"{log_index:064x}"
    return NewRow(
        kind=kind,
        reported_by=ReportedBy.CHAIN,
        occurred_at=NOW + timedelta(minutes=1),
        base_key=f"log:{tx_hash}:{log_index}",
        amount_usdc_e6=UsdcE6(abs(cash)) if cash else None,
        cash_delta_usdc_e6=cash,
        chain_id=CHAIN,
        tx_hash=tx_hash,
        log_index=log_index,
        block_number=7,
        block_hash=block,
        payload=payload,
    )


def vault_created(block: str = BLOCK_A) -> NewRow:
    created = {
        "vault": VAULT,
        "terms_digest": "0x" + "01" * 32,
        "owner": "0x" + "0B" * 20,
        "agent": "0x" + "0A" * 20,
    }
    return log(1, RowKind.NOTE, {"vault_created": created}, block=block)


def deposited(amount: int = BUDGET, block: str = BLOCK_A) -> NewRow:
    return log(
        2,
        RowKind.DEPOSIT,
        {"from": "0x" + "0B" * 20, "balance": "100.000000"},
        cash=amount,
        block=block,
    )
