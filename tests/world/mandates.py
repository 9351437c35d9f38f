"""A simulated world: agents, their mandates and a year of ledgers, the same for the same seed.

    250 days ago        165                80                 now
    |--- mandate 1 -----|--- mandate 2 ----|--- mandate 3 ... |     of each agent, one after the other

Each day an agent buys, sells the next step at a gain or a loss of its own temper, and the keeper marks;
now and then a call is refused. Nothing of it is on a chain: the vaults are addresses that nobody made.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from core.identity.names import SIMULATED
from core.mandate.chain.calldata import vault_address
from core.mandate.chain.typed_data import guard_targets_hash, rules_hash, terms_digest
from core.mandate.queries import SAMPLE_ID
from core.mandate.rules import events as ev
from core.mandate.rules.new_rows import revert_note, row_from_event
from core.mandate.rules.rows import NewRow
from core.mandate.rules.targets import parse_targets, targets_to_json
from core.mandate.rules.terms import (
    SHARE_OF_VERIFIED_GAIN,
    MandateTerms,
    Rule,
    RuleKind,
    TermsDraft,
    rules_to_json,
    terms_from_draft,
    terms_to_json,
)
from core.money import UsdcE6
from core.selectors import selector_of
from core.times import DAY_S

AGENTS, MANDATES_OF_ONE, DAYS = 50, 4, 365
USDC: Final = 1_000_000
TERMS_VERSION: Final = 2
BLOCK: Final = 1  # of all rows: final, and of no block that the chain has
BLOCK_HASH: Final = "0x" + keccak(b"simulated").hex()
BUY, SELL = selector_of("buy(uint256)"), selector_of("sell(uint256)")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the world stands: the stack's contracts."""

    chain_id: int
    factory: str
    usdc: str
    adapter: str


@dataclass(frozen=True, slots=True)
class SimulatedMandate:
    """`values`: the mandate's own columns but for owner and agent. `rows`: its ledger."""

    agent: int
    values: dict[str, Any]
    rows: list[NewRow]


def address(*words: object) -> str:
    """An address that nobody has the key of."""
    said = " ".join(map(str, (SIMULATED, *words))).encode()
    return str(to_checksum_address("0x" + keccak(said)[-20:].hex()))


def world(
    place: Place, now: datetime, agents: int = AGENTS, days: int = DAYS, seed: int = 1
) -> Iterator[SimulatedMandate]:
    """Mandates of each agent, one after the other; the last one works yet."""
    span = days // MANDATES_OF_ONE
    for agent in range(agents):
        for turn in range(MANDATES_OF_ONE):
            luck = random.Random(f"{seed} {agent} {turn}")
            began = now - timedelta(days=span * (MANDATES_OF_ONE - turn))
            yield _Life(place, agent, turn, began, span, luck).told(now)


class _Life:
    """One mandate from its terms to its end."""

    def __init__(
        self, place: Place, agent: int, turn: int, began: datetime, span: int, luck: random.Random
    ) -> None:
        self.place, self.agent, self.turn, self.span, self.luck = place, agent, turn, span, luck
        self.began = began.replace(microsecond=0)
        self.public_id = _public_id(agent, turn)
        self.owner, self.wallet = address("owner", agent), address("agent", agent)
        self.budget = luck.choice([500, 1_000, 5_000]) * USDC
        self.temper = luck.uniform(-0.004, 0.008)  # of a trade, on average
        self.cash, self.place_of_row = self.budget, 0
        self.rules = tuple(
            sorted(
                (
                    Rule(place.adapter, BUY, 255, RuleKind.VALUED),
                    Rule(place.adapter, SELL, 255, RuleKind.EXIT),
                ),
                key=lambda rule: rule.selector,
            )
        )
        self.terms = self._terms()
        self.digest = terms_digest(self.terms, place.factory, place.chain_id, TERMS_VERSION)
        self.vault = vault_address(place.factory, self.digest)
        self.rows: list[NewRow] = []

    def told(self, now: datetime) -> SimulatedMandate:
        self._begin()
        for day in range(self.span):
            if not self._day(self.began + timedelta(days=day, hours=1)):
                break
        else:
            if self.turn < MANDATES_OF_ONE - 1:
                self._settle(self.began + timedelta(days=self.span) - timedelta(minutes=5))
        return SimulatedMandate(self.agent, self._values(), self.rows)

    def _terms(self) -> MandateTerms:
        draft = TermsDraft(
            public_id=self.public_id,
            owner=self.owner,
            agent=self.wallet,
            budget_usdc_e6=UsdcE6(self.budget),
            horizon_days=self.span + 30,
            stop_floor_bps=1_000,
            per_tx_cap_usdc_e6=UsdcE6(self.budget // 2),
        )
        return terms_from_draft(
            draft,
            issued_at=int(self.began.timestamp()),
            nonce=self.turn,
            allowed_targets_hash=rules_hash(self.rules),
            guard_targets_hash=guard_targets_hash([]),
        )

    def _begin(self) -> None:
        created = ev.VaultCreated(
            self.vault,
            self.digest,
            self.owner,
            self.wallet,
            self.public_id,
            self.terms,
            self.rules,
        )
        self._say(created, self.began)
        self._say(ev.Deposited(self.owner, self.budget, self.budget, self.budget), self.began)

    def _day(self, at: datetime) -> bool:
        """A round trip and a mark. False: the mark was at the floor, and the vault stopped."""
        if self.luck.random() < 0.01:
            self._refuse(at)
        spent = min(self.cash, self.budget // self.luck.randint(4, 10))
        back = int(spent * (1 + self.luck.gauss(self.temper, 0.03)))
        self.cash -= spent
        self._say(ev.Executed(2 * len(self.rows), self.place.adapter, BUY, spent, 0, self.cash), at)
        self.cash += back
        sold = ev.Executed(2 * len(self.rows), self.place.adapter, SELL, 0, back, self.cash)
        self._say(sold, at + timedelta(hours=self.luck.randint(1, 20)))
        marked = at + timedelta(hours=22)
        self._say(ev.Marked(self.cash, 0), marked)
        if self.cash > self.terms.stop_floor:
            return True
        reason = "0x" + b"stop_line".ljust(32, b"\0").hex()
        self._say(ev.Stopped(address("keeper"), reason, self.cash, 0, True), marked)
        return False

    def _settle(self, at: datetime) -> None:
        gain = max(0, self.cash - self.budget)
        fee = gain // 10
        self._say(ev.Settled(self.wallet, gain, fee, self.cash - fee), at)
        taken = self.cash - fee
        self._say(ev.Withdrawn(self.place.usdc, self.owner, taken, 0), at + timedelta(minutes=1))

    def _refuse(self, at: datetime) -> None:
        note = revert_note(
            chain_id=self.place.chain_id,
            tx_hash=self._tx_hash(),
            block_number=BLOCK,
            block_hash=BLOCK_HASH,
            at=int(at.timestamp()),
            reason=self.luck.choice(["OverPerTxCap", "OverDailyCap", "TargetNotAllowed"]),
        )
        self.rows.append(note)

    def _say(self, said: Any, at: datetime) -> None:
        ref = ev.LogRef(
            self.place.chain_id,
            BLOCK,
            BLOCK_HASH,
            int(at.timestamp()),
            self._tx_hash(),
            0,
            self.vault,
        )
        row = row_from_event(
            said, ref, address("keeper"), self.owner, self.wallet, usdc=self.place.usdc
        )
        assert row is not None
        self.rows.append(row)

    def _tx_hash(self) -> str:
        return "0x" + keccak(f"{self.public_id} {len(self.rows)}".encode()).hex()

    def _values(self) -> dict[str, Any]:
        return {
            "public_id": self.public_id,
            "open_board": False,
            "accepted_at": self.began,
            "status": "draft",
            "market_mode": "testnet",
            "purpose": f"Simulated: {self.span} days of round trips at the test venue.",
            "budget_usdc_e6": self.budget,
            "horizon_days": self.terms.horizon_days,
            "stop_floor_bps": self.terms.stop_floor_bps,
            "per_tx_cap_usdc_e6": self.terms.per_tx_cap,
            "payout_rule": {"kind": SHARE_OF_VERIFIED_GAIN, "bps": self.terms.agent_fee_bps},
            "allowed_targets": targets_to_json(parse_targets(None, self.place.chain_id)),
            "on_floor": "keep",
            "chain_id": self.place.chain_id,
            "terms": terms_to_json(self.terms),
            "rules": rules_to_json(self.rules),
            "guard_targets": [],
            "terms_digest": bytes.fromhex(self.digest[2:]),
            "terms_version": TERMS_VERSION,
            "created_at": self.began,
            "updated_at": self.began,
            "ends_at": self.began + timedelta(seconds=self.terms.horizon_days * DAY_S),
        }


def marked(worth_usdc_e6: int, at: datetime, number: int) -> NewRow:
    """A mark of the keeper as a row; `number` tells it from others of the world."""
    tx_hash = "0x" + keccak(f"{SIMULATED} mark {number}".encode()).hex()
    ref = ev.LogRef(84532, BLOCK, BLOCK_HASH, int(at.timestamp()), tx_hash, 0, address("vault"))
    said = ev.Marked(worth_usdc_e6, 0)
    row = row_from_event(said, ref, address("keeper"), address("owner"), None, usdc=address("usdc"))
    assert row is not None
    return row


def _public_id(agent: int, turn: int) -> str:
    """m_sim, the agent in base 32 and its turn; ten characters in all. The first agent's mandate that
    works yet is the sample.
    """
    if (agent, turn) == (0, MANDATES_OF_ONE - 1):
        return SAMPLE_ID
    digits = "abcdefghijklmnopqrstuvwxyz234567"
    number = agent * MANDATES_OF_ONE + turn
    text = "".join(digits[number >> shift & 31] for shift in (30, 25, 20, 15, 10, 5, 0))
    return f"m_sim{text}"
