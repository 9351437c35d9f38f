"""What one hostile caller costs the others: `python -m tests.bench.hostile`, a part of `make bench-api`.
The last line is one JSON object.

    quiet        8 callers with keys, each from an address of its own, read their mandates
    bodies       the same, while one address sends the most that a body may hold on 16 connections
    payments     the same, while it sends payments that are well written and badly signed
    signatures   the same, while it signs in with long messages and bad signatures
    paced        the same, while one without a key sends the tool endpoint 5 messages a second on 32 connections
    fast         the same, as fast as it is answered, most of it 429

The real process, a real Postgres, a real anvil. Rounds alternate, and medians of p99 count. Each round of
messages comes from another address, whose rate is not used up.
"""

import base64
import json
import secrets
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import httpx

from tests.bench.load import answer_of, begin, load, request
from tests.bench.place import KEY, Place, migrated, product, served, url_of
from tests.integration.chain_fixtures import deploy_contracts, start_anvil
from tests.personas import STRANGER

Attack = tuple[Sequence[str], int, float]
"""What is sent, on how many connections, how often a second each (0: as fast as it is answered)."""

PATH: Final = "/mandate-wallet/mandates"
PAGE: Final = "/playbooks/first-hour/loop.md"
OTHERS, HOSTILES, MESSENGERS, ROUNDS, SECONDS = 8, 16, 32, 5, 3.0
HOSTILE_ADDRESS: Final = "203.0.113.66"
VALUES: Final = 19_990
MESSAGES: Final[Sequence[tuple[str, dict[str, Any]]]] = (  # of a client that connects
    (
        "initialize",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    ),
    ("tools/list", {}),
    ("ping", {}),
    ("resources/list", {}),
    ("tools/call", {"name": "get_rules", "arguments": {}}),
)


def from_address(address: str, method: str, path: str, body: object = None, **headers: str) -> str:
    lines = {name.replace("_", "-"): value for name, value in headers.items()}
    return request(method, path, {"X-Forwarded-For": address, **lines}, body)


hostile = partial(from_address, HOSTILE_ADDRESS)


def bodies() -> list[str]:
    """Each is as much work as 256 KiB can be: objects, fractions, names given twice."""
    lists = ["{}", "1.5", "[]", '"\\n"', "1e9"]
    full = ['{"agent_name":[' + ",".join([item] * VALUES) + "]}" for item in lists]
    names = [f'"{number:06x}":1' for number in range(VALUES)]
    twice = "{" + ",".join([*names[:-1], names[-2]]) + "}"
    paths = ("/auth/agent/connect", "/mcp")
    return [hostile("POST", path, body) for body in (*full, twice) for path in paths]


def payments(offer: Mapping[str, Any]) -> list[str]:
    """What only the chain and the curve can refuse."""
    return [hostile("GET", PAGE, PAYMENT_SIGNATURE=_payment(offer)) for _ in range(64)]


def _payment(offer: Mapping[str, Any]) -> str:
    authorization = {
        "from": "0x" + secrets.token_hex(20),
        "to": offer["payTo"],
        "value": offer["amount"],
        "validAfter": "0",
        "validBefore": str(int(time.time()) + 3_600),
        "nonce": "0x" + secrets.token_hex(32),
    }
    payload = {"authorization": authorization, "signature": "0x" + secrets.token_hex(64) + "1b"}
    sent = {"x402Version": 2, "accepted": dict(offer), "payload": payload}
    return base64.b64encode(json.dumps(sent).encode()).decode()


def signatures(where: Place) -> list[str]:
    """Texts that were issued, with a signature of nobody; and texts as long as the limit lets them
    be.
    """
    sent = []
    for number in range(16):
        asked = {"wallet_address": "0x" + secrets.token_hex(20), "purpose": "login"}
        message = str(where.post("/auth/wallet/nonce", asked)["message"])
        long = message + "\nResources:" + "\n- https://example.com/" * 70
        text = message if number % 2 else long[:2_040]
        body = {"message": text, "signature": "0x" + secrets.token_hex(64) + "1b"}
        sent.append(hostile("POST", "/auth/owner/login", body))
    return sent


def messages(port: int, address: str) -> list[str]:
    return [
        from_address(
            address,
            "POST",
            f"/mcp?profile={profile}",
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
            Host=f"127.0.0.1:{port}",
            Accept="application/json, text/event-stream",
        )
        for method, params in MESSAGES
        for profile in ("connector", "claw", "full")
    ]


def p99_ms(port: int, others: Sequence[str], attack: Attack | None) -> float:
    """Of the others' answers, while the hostile caller sends; each must be a 200."""
    if attack is None:
        return float(load(port, others, OTHERS, SECONDS)["p99_ms"])
    sent, clients, a_second = attack
    under_way = begin(port, sent, clients, SECONDS + 2, a_second)
    time.sleep(1)
    answered = load(port, others, OTHERS, SECONDS)
    assert "500" not in answer_of(under_way)["statuses"]
    return float(answered["p99_ms"])


def attacks(where: Place, number: int) -> dict[str, Attack | None]:
    """Of one round."""
    offer = httpx.get(f"http://127.0.0.1:{where.port}{PAGE}").json()["accepts"][0]
    flood = [messages(where.port, f"203.0.113.{10 * number + n}") for n in range(2)]
    return {
        "quiet": None,
        "bodies": (bodies(), HOSTILES, 0.0),
        "payments": (payments(offer), HOSTILES, 0.0),
        "signatures": (signatures(where), HOSTILES, 0.0),
        "paced": (flood[0], MESSENGERS, 5.0),
        "fast": (flood[1], MESSENGERS, 0.0),
    }


@contextmanager
def attacked() -> Iterator[Place]:
    anvil = start_anvil()
    try:
        chain = deploy_contracts(anvil)
        settings = {
            "RPC_URLS": anvil.url,
            "TRUSTED_PROXIES": "127.0.0.1",
            "X402_PAY_TO": "0x" + "7a" * 20,
            "X402_SETTLE_PRIVATE_KEY": STRANGER.private_key,
            "X402_GAS_WEI_PER_USDC": str(10**18),
            "X402_GAS_WEI_PER_DAY": str(10**20),
        }
        with (
            served() as server,
            migrated(server) as database,
            product(url_of(database), settings, chain.contracts) as where,
        ):
            yield where
    finally:
        anvil.stop()


def measure() -> dict[str, Any]:
    rounds: dict[str, list[float]] = {}
    with attacked() as where:
        others = [
            from_address(f"198.51.100.{number}", "GET", PATH, None, **{KEY: agent.key})
            for number, agent in enumerate(where.agents(OTHERS))
        ]
        for number in range(ROUNDS):
            for kind, attack in attacks(where, number).items():
                rounds.setdefault(kind, []).append(p99_ms(where.port, others, attack))
            said = {kind: times[-1] for kind, times in rounds.items()}
            print(f"round {number + 1}: p99 in ms {said}", flush=True)
    quiet, *worse = (statistics.median(times) for times in rounds.values())
    ratios = dict(zip(list(rounds)[1:], (round(one / quiet, 2) for one in worse), strict=True))
    return {
        "quiet_p99_ms": quiet,
        "hostile_p99_ratio": max(ratios[kind] for kind in ("bodies", "payments", "signatures")),
        "hostile_p99_ratios": ratios,
        "mcp_flood_p99_ratio": ratios["paced"],
        "mcp_flood_fast_p99_ratio": ratios["fast"],
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
