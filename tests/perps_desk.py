"""A desk at the local exchange that knows accounts and orders and no wire format; the contract of
desks (tests/integration/perps/test_desk_contract.py) holds it to what the SDK's does.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from core.chain.signatures import recovered_address
from core.errors import OutsideError
from core.perps.rules.orders import (
    OrderAnswer,
    OrderOutcome,
    Side,
    VenueMarket,
    VenueOrder,
    VenuePosition,
    e8_text,
)
from core.perps.venue import Sign, ToSign
from tests.hl_exchange import UNIVERSE, Exchange

E8 = Decimal(10) ** 8


def rejected(words: str, oid: int | None = None) -> OrderAnswer:
    return OrderAnswer(outcome=OrderOutcome.REJECTED, oid=oid, venue_words=words)


@dataclass
class FakeDesk:
    """`down`: names of calls that fail. `loses_answers`: what is relayed arrives, its answer does
    not. `relayed`: how often something was.
    """

    exchange: Exchange
    source: str = "hyperliquid:simulated"
    down: set[str] = field(default_factory=set)
    loses_answers: bool = False
    relayed: int = 0

    def takes_key(self, owner: str, agent: str) -> bool:
        self._ask("takes_key")
        return self.exchange.owner_of(agent) == owner.lower()

    def positions(self, owner: str, dex: str) -> tuple[VenuePosition, ...]:
        self._ask("positions")
        held = self.exchange.holder(owner).positions
        return tuple(
            VenuePosition(coin=coin, size_e8=int(size * E8)) for coin, size in held.items() if size
        )

    def markets(self, coins: Collection[str], dex: str) -> Mapping[str, VenueMarket]:
        self._ask("markets")
        return {
            str(row["name"]): VenueMarket(
                asset=number,
                size_decimals=int(str(row["szDecimals"])),
                mid_e8=int(Decimal(self.exchange.mids[str(row["name"])]) * E8),
            )
            for number, row in enumerate(UNIVERSE)
            if row["name"] in coins
        }

    def find(self, owner: str, cloid: str) -> OrderAnswer | None:
        self._ask("find")
        rows = (one for one in self.exchange.orders if one.get("c") == cloid)
        row = next((one for one in rows if one["account"] == owner.lower()), None)
        if row is None:
            return None
        if row["status"].endswith("Rejected"):
            return rejected(row["status"], row["oid"])
        filled = int((Decimal(row["origSz"]) - Decimal(row["sz"])) * E8)
        return OrderAnswer(outcome=OrderOutcome.ACCEPTED, total_sz_e8=filled, oid=row["oid"])

    def to_sign(
        self, order: VenueOrder, cloid: str, *, nonce_ms: int, expires_at: datetime
    ) -> ToSign:
        text = repr((order, cloid, nonce_ms, expires_at))
        digest = "0x" + hashlib.sha256(text.encode()).hexdigest()
        return ToSign(digest=digest, typed_data={"primaryType": "Agent", "message": text})

    def relay(
        self, order: VenueOrder, cloid: str, *, nonce_ms: int, expires_at: datetime, signature: str
    ) -> OrderAnswer:
        self._ask("relay")
        self.relayed += 1
        digest = self.to_sign(order, cloid, nonce_ms=nonce_ms, expires_at=expires_at).digest
        signer = str(recovered_address(digest, signature)).lower()
        said = self._taken(order, cloid, signer, nonce_ms, int(expires_at.timestamp() * 1_000))
        if self.loses_answers:
            raise OutsideError("the answer was lost")
        return said

    def send(
        self,
        order: VenueOrder,
        cloid: str,
        *,
        placed_at: datetime,
        expires_at: datetime,
        sign: Sign,
    ) -> OrderAnswer:
        nonce_ms = int(placed_at.timestamp() * 1_000)
        digest = self.to_sign(order, cloid, nonce_ms=nonce_ms, expires_at=expires_at).digest
        return self.relay(
            order, cloid, nonce_ms=nonce_ms, expires_at=expires_at, signature=sign(digest)
        )

    def _taken(
        self, order: VenueOrder, cloid: str, signer: str, nonce_ms: int, expires_ms: int
    ) -> OrderAnswer:
        owner, spent = self.exchange.owner_of(signer), (signer, nonce_ms)
        is_late = self.exchange.now_ms() > expires_ms
        if owner is None:
            return rejected(f"User or API Wallet {signer} does not exist.")
        if is_late:
            return rejected("Action expired.")
        if spent in self.exchange.nonces:
            return rejected("Invalid nonce: duplicate nonce")
        self.exchange.nonces.add(spent)
        said: dict[str, Any] = self.exchange.take(
            {
                "a": order.asset, "b": order.side is Side.BUY, "p": e8_text(order.limit_px_e8),
                "s": e8_text(order.size_e8), "r": order.reduce_only, "c": cloid,
                "t": {"limit": {"tif": "Gtc" if order.rests else "Ioc"}},
            },
            owner,
        )  # fmt: skip
        if "error" in said:
            return rejected(said["error"])
        if "resting" in said:
            oid = said["resting"]["oid"]
            return OrderAnswer(outcome=OrderOutcome.ACCEPTED, total_sz_e8=0, oid=oid)
        filled = said["filled"]
        return OrderAnswer(
            outcome=OrderOutcome.ACCEPTED,
            avg_px_e8=int(Decimal(filled["avgPx"]) * E8),
            total_sz_e8=int(Decimal(filled["totalSz"]) * E8),
            oid=filled["oid"],
        )

    def _ask(self, name: str) -> None:
        if name in self.down:
            raise OutsideError(f"{name} is down")
