"""The perpetuals venue through its official SDK (hyperliquid-python-sdk): readings of accounts without
a key, and orders.

Laws
- The action, its hash and what is signed are the SDK's; sizes and prices are texts of ours, so that
  no float comes between a row and the wire.
- Nothing here holds a key: a signature is asked for, of one digest.
- An order carries its cloid and `expiresAfter`: the venue takes it once, and no later.
- What fails is an OutsideError, and says nothing of whether an order arrived.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from eth_account.messages import encode_typed_data
from eth_utils.conversions import to_hex
from eth_utils.crypto import keccak
from hyperliquid.info import Info
from hyperliquid.utils.signing import (
    action_hash,
    construct_phantom_agent,
    l1_payload,
    order_wires_to_order_action,
)
from hyperliquid.utils.types import Cloid

from core.hexes import bytes_of, hex_of
from core.money import USDC_E6_PER_USDC, UsdcE6
from core.perps.hyperliquid_http import (
    ANSWER_S,
    FAILURES,
    BoundedSession,
    VenueUnreachableError,
    bare_info,
)
from core.perps.rules.answers import VenueAnswerError, is_agent_of, reading_of
from core.perps.rules.leg import MAINNET_URL, NETWORKS, AccountReading
from core.perps.rules.operator_orders import OperatorCaps
from core.perps.rules.order_answers import (
    answer_by_cloid,
    answer_of_send,
    asset_offset,
    market_of,
    positions_of,
)
from core.perps.rules.orders import (
    OrderAnswer,
    Side,
    VenueMarket,
    VenueOrder,
    VenuePosition,
    e8_text,
)
from core.perps_settings import PerpsSettings

IMMEDIATE = {"limit": {"tif": "Ioc"}}
RESTING = {"limit": {"tif": "Gtc"}}


Sign = Callable[[str], str]  # a 0x digest into a 0x signature of 65 bytes r, s, v


@dataclass(frozen=True, slots=True, kw_only=True)
class ToSign:
    """What a key signs for an order: EIP-712 typed data, and its digest, 0x and 64 hex digits."""

    digest: str
    typed_data: Mapping[str, Any]


class HyperliquidDesk:
    """Errors of its calls: VenueUnreachableError, VenueAnswerError; of `send` also those of `sign`.

    A signature covers order, cloid, nonce and expiry, and the venue takes a nonce once: the same order
    relayed again is never a second one.
    """

    def __init__(self, url: str, answer_s: float = ANSWER_S) -> None:
        self._url = url
        self._info = bare_info(url, BoundedSession(answer_s))
        self._last_nonce = 0

    @property
    def source(self) -> str:
        return f"hyperliquid:{NETWORKS.get(self._url, 'simulated')}"

    def read_account(self, owner: str, agent: str, dex: str) -> AccountReading:
        """Four requests; the first that fails ends the reading."""
        return reading_of(
            owner_role=self._asked(lambda info: info.user_role(owner)),
            mode=self._asked(lambda info: info.query_user_abstraction_state(owner)),
            agent_role=self._asked(lambda info: info.user_role(agent)),
            state=self._asked(lambda info: info.user_state(owner, dex)),
            owner=owner,
        )

    def takes_key(self, owner: str, agent: str) -> bool:
        """Whether the venue takes orders of the agent's key for the owner's account."""
        return is_agent_of(self._asked(lambda info: info.user_role(agent)), owner)

    def positions(self, owner: str, dex: str) -> tuple[VenuePosition, ...]:
        """The account's open positions."""
        return positions_of(self._asked(lambda info: info.user_state(owner, dex)))

    def markets(self, coins: Collection[str], dex: str) -> Mapping[str, VenueMarket]:
        """By coin; one whose market can't be read is left out."""
        meta = self._asked(lambda info: info.meta(dex))
        mids = self._asked(lambda info: info.all_mids(dex))
        offset = asset_offset(self._asked(lambda info: info.perp_dexs()), dex) if dex else 0
        found: dict[str, VenueMarket] = {}
        for coin in coins:
            try:
                found[coin] = market_of(meta, mids, coin, offset)
            except VenueAnswerError:
                continue  # the others are closed all the same; this one is tried again
        return found

    def find(self, owner: str, cloid: str) -> OrderAnswer | None:
        """What became of an order; None: the venue does not know it."""
        asked = Cloid.from_str(cloid)
        return answer_by_cloid(self._asked(lambda info: info.query_order_by_cloid(owner, asked)))

    def send(
        self,
        order: VenueOrder,
        cloid: str,
        *,
        placed_at: datetime,
        expires_at: datetime,
        sign: Sign,
    ) -> OrderAnswer:
        """Send once. An error says nothing of whether the order arrived."""
        self._last_nonce = nonce = max(self._last_nonce + 1, _ms(placed_at))
        digest = self.to_sign(order, cloid, nonce_ms=nonce, expires_at=expires_at).digest
        return self.relay(
            order, cloid, nonce_ms=nonce, expires_at=expires_at, signature=sign(digest)
        )

    def to_sign(
        self, order: VenueOrder, cloid: str, *, nonce_ms: int, expires_at: datetime
    ) -> ToSign:
        """Asks nothing of the venue."""
        hashed = action_hash(_action(order, cloid), None, nonce_ms, _ms(expires_at))
        agent = construct_phantom_agent(hashed, self._url == MAINNET_URL)
        data = l1_payload(agent)
        signable = encode_typed_data(full_message=data)
        digest = keccak(b"\x19" + signable.version + signable.header + signable.body)
        shown = {**data, "message": {**agent, "connectionId": hex_of(hashed)}}
        return ToSign(digest=hex_of(digest), typed_data=shown)

    def relay(
        self,
        order: VenueOrder,
        cloid: str,
        *,
        nonce_ms: int,
        expires_at: datetime,
        signature: str,
    ) -> OrderAnswer:
        """`signature`: 65 bytes r, s, v."""
        raw = bytes_of(signature)
        r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:64], "big")
        body = {
            "action": _action(order, cloid),
            "nonce": nonce_ms,
            "signature": {"r": to_hex(r), "s": to_hex(s), "v": raw[64]},
            "vaultAddress": None,
            "expiresAfter": _ms(expires_at),
        }
        return answer_of_send(self._asked(lambda info: info.post("/exchange", body)))

    def _asked(self, ask: Callable[[Info], Any]) -> Any:
        try:
            return ask(self._info)
        except FAILURES as error:
            raise VenueUnreachableError(f"no answer ({type(error).__name__})") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorDesk:
    """Where the operator's own orders go: its one account, and what its orders may open."""

    venue: HyperliquidDesk
    account: str  # checksummed
    caps: OperatorCaps
    allowance_bps: int


def operator_desk(settings: PerpsSettings) -> OperatorDesk | None:
    """None: the operator's orders are off."""
    if settings.hl_url is None or settings.hl_operator_account is None:
        return None
    return OperatorDesk(
        venue=HyperliquidDesk(settings.hl_url),
        account=settings.hl_operator_account,
        caps=OperatorCaps(
            per_order_usdc_e6=UsdcE6(settings.hl_order_usdc * USDC_E6_PER_USDC),
            per_day_usdc_e6=UsdcE6(settings.hl_orders_usdc_per_day * USDC_E6_PER_USDC),
        ),
        allowance_bps=settings.hl_exit_allowance_bps,
    )


def _action(order: VenueOrder, cloid: str) -> Any:
    return order_wires_to_order_action([_wire(order, cloid)])


def _wire(order: VenueOrder, cloid: str) -> Any:
    """The SDK's OrderWire; its keys in the order that the venue hashes them."""
    return {
        "a": order.asset,
        "b": order.side is Side.BUY,
        "p": e8_text(order.limit_px_e8),
        "s": e8_text(order.size_e8),
        "r": order.reduce_only,
        "t": RESTING if order.rests else IMMEDIATE,
        "c": cloid,
    }


def _ms(at: datetime) -> int:
    return int(at.timestamp()) * 1_000 + at.microsecond // 1_000
