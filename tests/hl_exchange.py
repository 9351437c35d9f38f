"""A local perpetuals exchange: it speaks the wire format of Hyperliquid's /info and /exchange on a
free loopback port, so that the SDK itself is tested.

An order is taken when EIP-712 recovery of its action's hash gives an agent that the account
approved; the account is the one that approved it.
"""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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


@dataclass
class Holder:
    """An account at the exchange."""

    value: str = "0.0"
    role: str = "user"
    mode: str = "default"
    agents: set[str] = field(default_factory=set)


@dataclass
class Exchange:
    """`lies` answers a type of /info with these bytes instead; `slow_s` makes every answer late."""

    holders: dict[str, Holder] = field(default_factory=dict)
    lies: dict[str, bytes] = field(default_factory=dict)
    orders: list[dict[str, Any]] = field(default_factory=list)
    nonces: set[tuple[str, int]] = field(default_factory=set)
    slow_s: float = 0
    asked: int = 0

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
                value = self.holder(user).value
                summary = {"accountValue": value, "totalMarginUsed": "0.0", "totalNtlPos": "0.0"}
                return {"marginSummary": summary, "assetPositions": [], "withdrawable": value}
        return None

    def exchange(self, sent: dict[str, Any]) -> Any:
        signer = signer_of(sent)
        owner = self.owner_of(signer)
        if owner is None:
            return {"status": "err", "response": f"User or API Wallet {signer} does not exist."}
        if (signer, sent["nonce"]) in self.nonces:
            return {"status": "err", "response": "Invalid nonce: duplicate nonce"}
        self.nonces.add((signer, sent["nonce"]))
        self.orders += [order | {"account": owner} for order in sent["action"]["orders"]]
        filled = [
            {"filled": {"totalSz": order["s"], "avgPx": order["p"], "oid": len(self.orders)}}
            for order in sent["action"]["orders"]
        ]
        return {"status": "ok", "response": {"type": "order", "data": {"statuses": filled}}}


def signer_of(sent: dict[str, Any]) -> str:
    """The account that signed an action of the testnet."""
    packed = msgpack.packb(sent["action"]) + int(sent["nonce"]).to_bytes(8, "big") + b"\x00"
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
        return exchange.exchange(await request.json())

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
