"""A bound leg whose agent's starter wallet is the API wallet, an account with positions at a local
exchange, and keepers that close it through the SDK.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from eth_account import Account

from core.custody import queries as custody
from core.custody.keys import CustodySigner, KeyRing
from core.jobs.schedule import JobDatabase
from core.mandate import queries as mandates
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules import events as ev
from core.perps.hyperliquid_desk import HyperliquidDesk
from keeper.perps_closing import ClosingPlace, Closings
from tests.hl_exchange import Exchange, Holder
from tests.integration.api.mandates.stage import Stage

RING = KeyRing([b"\x07" * 32])
SIGNER = CustodySigner(RING)
WALLET = Account.from_key("0x" + "44" * 32)
WORDS = ("hl_order", "hl_order_result", "hl_stop_line")


@dataclass
class LegStage:
    """`rows`: what the record says of the leg, (word, payload), the oldest first."""

    stage: Stage
    mandate_id: str
    exchange: Exchange
    url: str

    @property
    def holder(self) -> Holder:
        return self.exchange.holder(self.stage.owner_wallet.address)

    @property
    def path(self) -> str:
        return f"/mandates/{self.mandate_id}/hl-leg"

    def holds(self, **positions: str) -> None:
        self.holder.positions = {coin: Decimal(size) for coin, size in positions.items()}

    def bind(self, **changed: str) -> None:
        body = {
            "owner_address": self.stage.owner_wallet.address,
            "agent_address": WALLET.address,
        } | changed
        self.stage.post(self.path, self.stage.owner, body, status=201)

    def unbind(self) -> None:
        assert self.stage.call("DELETE", self.path, self.stage.owner).status_code == 200

    def has_starter_wallet(self) -> None:
        """Of the mandate's agent."""
        sealed = RING.seal(bytes(WALLET.key), int(self.stage.agent_id))
        with self.stage.database.write() as session:
            assert custody.add_wallet(session, sealed, self.stage.clock.now)

    def stop(self, by: str = "public") -> None:
        """By anyone at the stop line, or by the owner."""
        who = self.stage.owner_wallet.address if by == "owner" else "0x" + "99" * 20
        reason = "0x" + by.encode().ljust(32, b"\0").hex()
        self.stage.chain_says(self.mandate_id, ev.Stopped(who, reason, 0, 0, False))

    def roll_back(self) -> None:
        """The newest block of the chain is taken back."""
        block = "0x" + f"{self.stage.log_index:064x}"
        with self.stage.database.write() as session:
            mandate_ledger.reverse_blocks(session, [block], self.stage.clock.now)

    def keeper(
        self,
        desk: HyperliquidDesk | None = None,
        database: JobDatabase | None = None,
        signer: CustodySigner = SIGNER,
    ) -> Closings:
        return Closings(
            ClosingPlace(
                database=database or self.stage.database,
                desk=desk or HyperliquidDesk(self.url, answer_s=1.0),
                custody=signer,
                clock=lambda: self.stage.clock.now,
                exit_allowance_bps=100,
            )
        )

    def run(self, desk: HyperliquidDesk | None = None) -> dict[str, Any]:
        return dict(self.keeper(desk).run(self.stage.clock.now))

    def later(self, seconds: float = 15) -> "LegStage":
        self.stage.clock.pass_(seconds=seconds)
        return self

    @property
    def rows(self) -> list[tuple[str, dict[str, Any]]]:
        with self.stage.database.read() as session:
            mandate = mandates.find_mandate(session, self.mandate_id)
            assert mandate is not None
            found = mandate_ledger.load_rows(session, mandate.id)
        assert all(
            row.reported_by == "keeper"
            for row in found
            if any(word in row.payload for word in WORDS)
        )
        return [
            (word, dict(row.payload[word]))
            for row in found
            for word in WORDS
            if word in row.payload
        ]

    @property
    def words(self) -> list[tuple[str, str]]:
        return [(word.removeprefix("hl_"), payload["status"]) for word, payload in self.rows]
