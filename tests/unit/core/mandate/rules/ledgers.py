"""A mandate's ledger in memory, for tests: it prices, numbers and chains rows as
core.mandate.ledger does.
"""

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

from core.mandate.rules import events as ev
from core.mandate.rules.cash import priced, signed_rows
from core.mandate.rules.fold import fold
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.new_rows import row_from_event
from core.mandate.rules.record import canonical_row, genesis_hash, row_hash
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy, RowKind
from core.mandate.rules.state import MandateFacts, MandateState, PositionRules
from core.mandate.rules.terms import MandateTerms
from core.money import UsdcE6, usdc_e6_from_text

OWNER = "0x00000000000000000000000000000000000000A1"
AGENT = "0x00000000000000000000000000000000000000A2"
KEEPER = "0x00000000000000000000000000000000000000A3"
STRANGER = "0x00000000000000000000000000000000000000a4"
VAULT = "0x00000000000000000000000000000000000000b1"
VENUE = "0x00000000000000000000000000000000000000C1"
X402 = "0x00000000000000000000000000000000000000c2"
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
PUBLIC_ID = "m_abcdefghij"
MONDAY = datetime(2026, 2, 2, tzinfo=UTC)  # the start of 2026-W06
START = MONDAY + timedelta(hours=9)
DAY = timedelta(days=1)

TESTNET = MandateFacts(
    market_mode=MarketMode.TESTNET,
    budget_usdc_e6=1_000_000_000,
    positions=PositionRules(valued=frozenset({VENUE.lower()})),
)
PAPER = MandateFacts(
    market_mode=MarketMode.PAPER, budget_usdc_e6=1_000_000_000, positions=PositionRules()
)


def e6(text: str) -> UsdcE6:
    return usdc_e6_from_text(text)


def terms(**changes: Any) -> MandateTerms:
    """A budget of 1000 USDC, 100 an action, 250 a day, stop line at 800, 30 days, 10 % of the
    gain.
    """
    issued_at = int(START.timestamp())
    standard: dict[str, Any] = {
        "public_id": PUBLIC_ID,
        "owner": OWNER,
        "agent": AGENT,
        "budget_usdc": e6("1000"),
        "per_tx_cap": e6("100"),
        "daily_cap": e6("250"),
        "stop_floor": e6("800"),
        "stop_floor_bps": 2000,
        "horizon_days": 30,
        "ends_at": issued_at + 30 * 86_400,
        "agent_fee_bps": 1000,
        "approval_above": 0,
        "on_floor": 0,
        "allowed_targets_hash": "0x" + "11" * 32,
        "guard_targets_hash": "0x" + "22" * 32,
        "issued_at": issued_at,
        "nonce": 1,
    }
    return MandateTerms(**standard | changes)


def tx(number: int) -> str:
    return f"0x{number:064x}"


class SampleLedger:
    """`clock` moves one minute a row unless `at` is given."""

    def __init__(self, facts: MandateFacts = TESTNET, start: datetime = START) -> None:
        self.facts = facts
        self.rows: list[LedgerRow] = []
        self.clock = start
        self.agent: str | None = None
        self._log = 0

    @property
    def state(self) -> MandateState:
        return fold(self.rows, self.facts)

    def add(self, row: NewRow) -> LedgerRow:
        return self._append(priced(row, self.state, self.facts), None)

    def sign(self) -> None:
        for row in signed_rows(
            self.facts, terms_digest="0x" + "33" * 32, version=2, now=self._tick()
        ):
            self.add(row)

    def chain(
        self, event: ev.ChainEvent, tx_number: int | None = None, at: datetime | None = None
    ) -> LedgerRow:
        """A log in a block of its own, numbered by its transaction."""
        self._log += 1
        number = self._log + 1000 if tx_number is None else tx_number
        ref = ev.LogRef(
            chain_id=84532,
            block_number=number,
            block_hash=f"0x{number:064x}",
            at=int((at or self._tick()).timestamp()),
            tx_hash=tx(number),
            log_index=self._log,
            address=X402 if isinstance(event, ev.X402Paid) else VAULT,
        )
        row = row_from_event(event, ref, KEEPER, OWNER, self.state.agent_on_chain, usdc=USDC)
        assert row is not None
        return self.add(row)

    def report(
        self,
        kind: RowKind,
        amount: str | None = None,
        tx_number: int | None = None,
        payload: Mapping[str, Any] | None = None,
        at: datetime | None = None,
    ) -> LedgerRow:
        return self.add(
            NewRow(
                kind=kind,
                reported_by=ReportedBy.AGENT,
                occurred_at=at or self._tick(),
                base_key=f"report:{len(self.rows)}",
                amount_usdc_e6=None if amount is None else e6(amount),
                tx_hash=None if tx_number is None else tx(tx_number),
                payload=payload or {},
            )
        )

    def reverse(self, row: LedgerRow) -> LedgerRow:
        """The compensating row of a reorg."""
        known = {field.name: getattr(row, field.name) for field in fields(NewRow)}
        changes = {
            "occurred_at": self._tick(),
            "base_key": f"reversal:{row.base_key}",
            "cash_delta_usdc_e6": -row.cash_delta_usdc_e6,
            "payload": {"reversal": True, "reverses_seq": row.seq, "cause": "reorg"},
        }
        return self._append(NewRow(**known | changes), row.id)

    def _tick(self) -> datetime:
        self.clock += timedelta(minutes=1)
        return self.clock

    def _append(self, row: NewRow, reverses_id: int | None) -> LedgerRow:
        known = {field.name: getattr(row, field.name) for field in fields(NewRow)}
        seq = len(self.rows) + 1
        prev = self.rows[-1].row_hash if self.rows else genesis_hash(PUBLIC_ID)
        bare = LedgerRow(
            **known,
            id=5000 + seq,
            mandate_id=7,
            seq=seq,
            incarnation=1,
            reverses_id=reverses_id,
            created_at=row.occurred_at,
            prev_hash=prev,
            row_hash="",
        )
        chained = LedgerRow(
            **{field.name: getattr(bare, field.name) for field in fields(bare)}
            | {"row_hash": row_hash(prev, canonical_row(bare))}
        )
        self.rows.append(chained)
        return chained


# Events, amounts as text


def created(agent: str = AGENT) -> ev.VaultCreated:
    return ev.VaultCreated(VAULT, "0x" + "33" * 32, OWNER, agent, PUBLIC_ID, terms(), ())


def deposited(amount: str) -> ev.Deposited:
    return ev.Deposited(OWNER, e6(amount), e6(amount), e6(amount))


def executed(
    spent: str = "0", received: str = "0", nonce: int = 0, target: str = VENUE
) -> ev.Executed:
    return ev.Executed(nonce, target, "0xd96a094a", e6(spent), e6(received), 0)


def paid(amount: str) -> ev.X402Paid:
    return ev.X402Paid(VAULT, STRANGER, e6(amount), "0x" + "44" * 32)


def marked(worth: str, unvalued_out: str = "0") -> ev.Marked:
    return ev.Marked(e6(worth), e6(unvalued_out))


def stopped(by: str = KEEPER, reason: str = "stop_line", worth: str | None = None) -> ev.Stopped:
    word = "0x" + reason.encode().hex().ljust(64, "0")
    return ev.Stopped(by, word, e6(worth or "0"), 0, worth is not None)


def unwound(received: str) -> ev.Unwound:
    return ev.Unwound(OWNER, VENUE, "0xe4849b32", e6(received), 0)


def settled(fee: str, gain: str = "0") -> ev.Settled:
    return ev.Settled(AGENT, e6(gain), e6(fee), 0)


def withdrawn(amount: str, token: str = USDC) -> ev.Withdrawn:
    return ev.Withdrawn(token, OWNER, e6(amount), 0)


def working(facts: MandateFacts = TESTNET) -> SampleLedger:
    """A signed mandate with a funded vault (paper: just signed), clock at START and some
    minutes.
    """
    ledger = SampleLedger(facts)
    ledger.sign()
    if facts.market_mode is MarketMode.TESTNET:
        ledger.chain(created(), 1)
        ledger.chain(deposited("1000"), 1)
    return ledger
