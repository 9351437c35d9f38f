"""A local perpetuals exchange: it speaks the wire format of Hyperliquid's /info and /exchange on a
free loopback port, so that the SDK itself is tested.

An order is taken when EIP-712 recovery of its action's hash gives an agent that the account
approved; the account is the one that approved it. Its price and size have to be on the grid, and its
value is 10 USDC at least, except of one that closes a position whole. Orders fill at the mid, up to
`liquidity`, when their limit reaches it; else a GTC order rests. Source: the venue's API pages "Tick
and lot size" and "Error responses".
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgpack
import uvicorn
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils.crypto import keccak
from fastapi import FastAPI, Request, Response

PHANTOM = {
    "domain": {
        "chainId": 1337,
        "name": "Exchange",
        "verifyingContract": "0x" + "00" * 20,
        "version": "1",
    },
    "types": {
        "Agent": [
            {"name": "source", "type": "string"},
            {"name": "connectionId", "type": "bytes32"},
        ],
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
            {"name": "verifyingContract", "type": "address"},
        ],
    },
    "primaryType": "Agent",
}
UNIVERSE = (
    {"name": "BTC", "szDecimals": 5},
    {"name": "ETH", "szDecimals": 4},
    {"name": "SOL", "szDecimals": 2},
    {"name": "XRP", "szDecimals": 0},
    {"name": "ATOM", "szDecimals": 1},
)
MIDS = {"BTC": "60000.0", "ETH": "3000.0", "SOL": "99.99", "XRP": "0.99123", "ATOM": "9.8765"}
LEAST = Decimal(10)
WRONG_PRICE = "Price must be divisible by tick size."
WRONG_SIZE = "Order has invalid size."
TOO_SMALL = "Order must have minimum value of $10."
NO_MATCH = "Order could not immediately match against any resting orders."
WOULD_INCREASE = "Reduce only order would increase position."


@dataclass
class Holder:
    """An account at the exchange. `positions`: signed sizes by coin."""

    value: str = "0.0"
    role: str = "user"
    mode: str = "default"
    agents: set[str] = field(default_factory=set)
    positions: dict[str, Decimal] = field(default_factory=dict)


@dataclass
class Exchange:
    """`lies` answers a type of /info, or "exchange", with these bytes instead, after the call did
    what it does; `slow_s` makes every answer late; `refuses` an order with this error.
    `liquidity`: how much of an order fills at most. `before`: called with each action.
    """

    holders: dict[str, Holder] = field(default_factory=dict)
    lies: dict[str, bytes] = field(default_factory=dict)
    orders: list[dict[str, Any]] = field(default_factory=list)
    nonces: set[tuple[str, int]] = field(default_factory=set)
    slow_s: float = 0
    asked: int = 0
    mids: dict[str, str] = field(default_factory=lambda: dict(MIDS))
    liquidity: Decimal | None = None
    refuses: str | None = None
    is_deaf: bool = False  # actions are lost on their way
    before: Callable[[dict[str, Any]], None] = lambda _: None
    now_ms: Callable[[], int] = lambda: int(time.time() * 1_000)

    def reset(self) -> None:
        for name, value in vars(Exchange()).items():
            setattr(self, name, value)

    def holder(self, address: str) -> Holder:
        return self.holders.setdefault(address.lower(), Holder())

    def owner_of(self, agent: str) -> str | None:
        found = (who for who, one in self.holders.items() if agent.lower() in one.agents)
        return next(found, None)

    def info(self, asked: dict[str, Any]) -> Any:
        user = str(asked.get("user", "")).lower()
        match asked["type"]:
            case "userRole":
                owner = self.owner_of(user)
                if owner is not None:
                    return {"role": "agent", "data": {"user": owner}}
                return {"role": self.holders[user].role if user in self.holders else "missing"}
            case "userAbstraction":
                return self.holder(user).mode
            case "clearinghouseState":
                return self._state(self.holder(user), asked.get("dex", ""))
            case "meta":
                return {"universe": [self._named(one, asked.get("dex", "")) for one in UNIVERSE]}
            case "allMids":
                dex = asked.get("dex", "")
                return {_in(dex, coin): mid for coin, mid in self.mids.items()}
            case "perpDexs":
                return [None, {"name": "abc"}, {"name": "xyz"}]
            case "orderStatus":
                return self._status(user, asked["oid"])
        return None

    def _named(self, asset: dict[str, Any], dex: str) -> dict[str, Any]:
        return asset | {"name": _in(dex, asset["name"])}

    def _state(self, holder: Holder, dex: str) -> Any:
        value = holder.value
        summary = {"accountValue": value, "totalMarginUsed": "0.0", "totalNtlPos": "0.0"}
        rows = [
            {"type": "oneWay", "position": {"coin": coin, "szi": str(size)}}
            for coin, size in holder.positions.items()
            if size and coin.rpartition(":")[0] == dex
        ]
        return {"marginSummary": summary, "assetPositions": rows, "withdrawable": value}

    def _status(self, user: str, cloid: str) -> Any:
        for order in self.orders:
            if order["account"] == user and order.get("c") == cloid:
                shown = {name: order[name] for name in ("coin", "oid", "origSz", "sz")}
                return {
                    "status": "order",
                    "order": {"order": shown, "status": order["status"], "statusTimestamp": 1},
                }
        return {"status": "unknownOid"}

    def exchange(self, sent: dict[str, Any]) -> Any:
        self.before(sent)
        if self.is_deaf:
            return None
        signer = signer_of(sent)
        owner = self.owner_of(signer)
        if owner is None:
            return {"status": "err", "response": f"User or API Wallet {signer} does not exist."}
        if sent.get("expiresAfter") is not None and self.now_ms() > sent["expiresAfter"]:
            return {"status": "err", "response": "Action expired."}
        if (signer, sent["nonce"]) in self.nonces:
            return {"status": "err", "response": "Invalid nonce: duplicate nonce"}
        self.nonces.add((signer, sent["nonce"]))
        statuses = [self.take(order, owner) for order in sent["action"]["orders"]]
        return {"status": "ok", "response": {"type": "order", "data": {"statuses": statuses}}}

    def take(self, order: dict[str, Any], owner: str) -> Any:
        if self.refuses is not None:
            return {"error": self.refuses}
        if any(one.get("c") == order.get("c") for one in self.orders if order.get("c")):
            return {"error": "Cannot place order with a duplicate cloid"}
        coin = coin_of(order["a"])
        mid = Decimal(self.mids[coin.rpartition(":")[2]])
        size, held = Decimal(order["s"]), self.holder(owner).positions.get(coin, Decimal(0))
        if order["r"]:
            if held == 0 or (held > 0) == order["b"]:
                return {"error": WOULD_INCREASE}
            size = min(size, abs(held))
        wrong = self._wrong(order, is_whole=bool(order["r"]) and size == abs(held))
        if wrong is not None:
            return {"error": wrong}
        row = order | {"account": owner, "coin": coin, "oid": len(self.orders) + 1}
        row |= {"origSz": order["s"], "sz": order["s"], "status": "iocCancelRejected"}
        self.orders.append(row)
        limit = Decimal(order["p"])
        filled = size if self.liquidity is None else min(size, self.liquidity)
        if not filled or (limit < mid if order["b"] else limit > mid):
            if order["t"]["limit"]["tif"] == "Gtc":
                row["status"] = "open"
                return {"resting": {"oid": row["oid"]}}
            return {"error": NO_MATCH}
        self.holder(owner).positions[coin] = held + (filled if order["b"] else -filled)
        row |= {"sz": str(Decimal(order["s"]) - filled), "status": "filled"}
        row["status"] = "filled" if filled == Decimal(order["s"]) else "canceled"
        return {"filled": {"totalSz": str(filled), "avgPx": str(mid), "oid": row["oid"]}}

    def _wrong(self, order: dict[str, Any], *, is_whole: bool) -> str | None:
        """What is wrong with its price, size and value. `is_whole`: it closes a whole position."""
        decimals = size_decimals(order["a"])
        if not is_on_grid(order["p"], decimals):
            return WRONG_PRICE
        if fraction_of(order["s"]) > decimals or Decimal(order["s"]) <= 0:
            return WRONG_SIZE
        is_small = Decimal(order["s"]) * Decimal(order["p"]) < LEAST
        return TOO_SMALL if is_small and not is_whole else None


def coin_of(asset: int) -> str:
    if asset < 110_000:
        return str(UNIVERSE[asset]["name"])
    dex = ("abc", "xyz")[(asset - 110_000) // 10_000]
    return _in(dex, str(UNIVERSE[asset % 10_000]["name"]))


def size_decimals(asset: int) -> int:
    return int(str(UNIVERSE[asset % 10_000]["szDecimals"]))


def is_on_grid(px: str, decimals: int) -> bool:
    """Whether a price is one that the venue takes, by its digits: above 0 and whole, or of five
    significant figures at most, and 6 less the size decimals after the point.
    """
    figures = px.replace(".", "").strip("0")
    if fraction_of(px) == 0:
        return figures != ""
    return len(figures) <= 5 and fraction_of(px) <= 6 - decimals


def fraction_of(text: str) -> int:
    """How many digits stand after the point, trailing zeros left out."""
    return len(text.partition(".")[2].rstrip("0"))


def _in(dex: str, coin: str) -> str:
    return f"{dex}:{coin}" if dex else coin


def signer_of(sent: dict[str, Any]) -> str:
    """The account that signed an action of the testnet."""
    packed = msgpack.packb(sent["action"]) + int(sent["nonce"]).to_bytes(8, "big") + b"\x00"
    if sent.get("expiresAfter") is not None:
        packed += b"\x00" + int(sent["expiresAfter"]).to_bytes(8, "big")
    message = {"source": "b", "connectionId": keccak(packed)}
    signable = encode_typed_data(full_message=PHANTOM | {"message": message})
    signature = sent["signature"]
    vrs = (signature["v"], int(signature["r"], 16), int(signature["s"], 16))
    return str(Account.recover_message(signable, vrs=vrs)).lower()


def app_of(exchange: Exchange) -> FastAPI:
    app = FastAPI()

    @app.post("/info")
    async def info(request: Request) -> Any:
        asked, exchange.asked = await request.json(), exchange.asked + 1
        if exchange.slow_s:
            await asyncio.sleep(exchange.slow_s)
        if asked["type"] in exchange.lies:
            return Response(exchange.lies[asked["type"]], media_type="application/json")
        return exchange.info(asked)

    @app.post("/exchange")
    async def act(request: Request) -> Any:
        # what it calls may ask this server
        said = await asyncio.to_thread(exchange.exchange, await request.json())
        if "exchange" in exchange.lies:
            return Response(exchange.lies["exchange"], media_type="application/json")
        return said

    return app


@contextmanager
def serving(exchange: Exchange) -> Iterator[str]:
    """Its URL."""
    config = uvicorn.Config(app_of(exchange), host="127.0.0.1", port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 10
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(5)
