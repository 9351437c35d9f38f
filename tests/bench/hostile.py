"""What one hostile caller costs the others: `python -m tests.bench.hostile`, a part of `make
bench-api`. The last line is a JSON object.

    quiet        8 callers with keys, each from an address of its own, read their mandates
    bodies       the same, while one address sends the most that a body may hold on 16 connections: objects, fractions, names given twice
    payments     the same, while it sends payments that are well written and badly signed
    signatures   the same, while it signs in with long messages and bad signatures

The real process, a real Postgres, a real anvil. Rounds alternate; `hostile_p99_ratio` is the worst
kind's median p99 over the quiet one's.
"""

import base64
import json
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from api.client.client import KEY_HEADER
from core.db import embedded, migrate
from scripts._ports import free_port
from tests.bench.payments import HEAP, PAGE, served
from tests.integration.chain_fixtures import (
    CHAIN_ID,
    ROOT,
    DeployedChain,
    deploy_contracts,
    start_anvil,
)
from tests.personas import STRANGER

PATH = "/mandate-wallet/mandates"
OTHERS, HOSTILES = 8, 16
ROUNDS, SECONDS = 5, 3.0
HOSTILE_ADDRESS = "203.0.113.66"
TILL = "0x" + "7a" * 20
VALUES = 19_990


def request(
    method: str, path: str, address: str, headers: Mapping[str, str] | None = None, body: str = ""
) -> str:
    """Head and body as they go over the wire."""
    lines = {"Host": "bench", "X-Forwarded-For": address, **(headers or {})}
    if body:
        lines |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    return (
        f"{method} {path} HTTP/1.1\r\n"
        + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        + "\r\n"
        + body
    )


def bodies() -> list[str]:
    """Each is as much work as 256 KiB can be."""
    lists = ["{}", "1.5", "[]", '"\\n"', "1e9"]
    full = ['{"agent_name":[' + ",".join([item] * VALUES) + "]}" for item in lists]
    names = [f'"{number:06x}":1' for number in range(VALUES)]
    twice = "{" + ",".join([*names[:-1], names[-2]]) + "}"
    return [
        request("POST", path, HOSTILE_ADDRESS, body=body)
        for body in (*full, twice)
        for path in ("/auth/agent/connect", "/mcp")
    ]


def payments(offer: Mapping[str, Any]) -> list[str]:
    """What only the chain and the curve can refuse."""
    return [
        request("GET", PAGE, HOSTILE_ADDRESS, {"PAYMENT-SIGNATURE": _payment(offer)})
        for _ in range(64)
    ]


def _payment(offer: Mapping[str, Any]) -> str:
    payer, nonce = "0x" + secrets.token_hex(20), "0x" + secrets.token_hex(32)
    authorization = {
        "from": payer,
        "to": offer["payTo"],
        "value": offer["amount"],
        "validAfter": "0",
        "validBefore": str(int(time.time()) + 3_600),
        "nonce": nonce,
    }
    signature = "0x" + secrets.token_hex(64) + "1b"
    sent = {
        "x402Version": 2,
        "accepted": dict(offer),
        "payload": {"authorization": authorization, "signature": signature},
    }
    return base64.b64encode(json.dumps(sent).encode()).decode()


def signatures(port: int) -> list[str]:
    """Texts that were issued, with a signature of nobody; and texts as long as the limit lets them
    be.
    """
    sent = []
    for number in range(16):
        wallet = "0x" + secrets.token_hex(20)
        asked = {"wallet_address": wallet, "purpose": "login"}
        message = httpx.post(
            f"http://127.0.0.1:{port}/auth/wallet/nonce", json=asked, timeout=10
        ).json()["message"]
        long = message + "\nResources:" + "\n- https://example.com/" * 70
        text = message if number % 2 else long[:2_040]
        body = json.dumps({"message": text, "signature": "0x" + secrets.token_hex(64) + "1b"})
        sent.append(request("POST", "/auth/owner/login", HOSTILE_ADDRESS, body=body))
    return sent


def p99_ms(port: int, others: Sequence[str], hostile: Sequence[str] | None) -> float:
    """Of the others' answers, while the hostile caller sends; each must be a 200."""
    attack = None if hostile is None else begin_load(port, hostile, HOSTILES, SECONDS + 2)
    time.sleep(0 if attack is None else 1)
    answered = answer_of(begin_load(port, others, OTHERS, SECONDS))
    if attack is not None:
        statuses = answer_of(attack)["statuses"]
        assert statuses and not {"200", "500"} & set(statuses), statuses
    assert set(answered["statuses"]) == {"200"}, answered
    return float(answered["p99_ms"])


def begin_load(
    port: int, heads: Sequence[str], clients: int, seconds: float, a_second: float = 0.0
) -> subprocess.Popen[bytes]:
    """`a_second`: of each client; 0: as fast as it is answered."""
    figures = (str(port), str(clients), str(seconds), str(a_second))
    command = [sys.executable, "-m", "tests.bench.load", *figures]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(list(heads)).encode())
    process.stdin.close()
    return process


def answer_of(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    with process.stdout as out:
        answered = json.loads(out.read())
    assert process.wait() == 0
    return dict(answered)


def _measured(port: int) -> dict[str, Any]:
    base_url = f"http://127.0.0.1:{port}"
    keys = [
        httpx.post(f"{base_url}/auth/agent/connect", json={"agent_name": f"a{n}"}).json()["api_key"]
        for n in range(OTHERS)
    ]
    others = [
        request("GET", PATH, f"198.51.100.{number}", {KEY_HEADER: key})
        for number, key in enumerate(keys)
    ]
    offer = httpx.get(f"{base_url}{PAGE}").json()["accepts"][0]
    kinds = {
        "quiet": None,
        "bodies": bodies(),
        "payments": payments(offer),
        "signatures": signatures(port),
    }
    rounds: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(ROUNDS):
        for kind, sent in kinds.items():
            rounds[kind].append(p99_ms(port, others, sent))
        print(
            f"round {number + 1}: p99 "
            + ", ".join(f"{kind} {times[-1]} ms" for kind, times in rounds.items()),
            flush=True,
        )
    found = {kind: statistics.median(times) for kind, times in rounds.items()}
    ratios = {
        kind: round(time_ms / found["quiet"], 2)
        for kind, time_ms in found.items()
        if kind != "quiet"
    }
    print(f"p99 of other callers over the quiet {found['quiet']} ms: {ratios}")
    return {
        "quiet_p99_ms": found["quiet"],
        "hostile_p99_ratio": max(ratios.values()),
        "hostile_p99_ratios": ratios,
    }


def _environment(
    folder: Path, chain: DeployedChain, database_url: str, port: int
) -> dict[str, str]:
    record = folder / "deployment.json"
    contracts = [{"name": name, "address": address} for name, address in chain.contracts.items()]
    record.write_text(
        json.dumps({"chain_id": CHAIN_ID, "block": 1, "commit": "", "contracts": contracts})
    )
    return {
        "DATABASE_URL": database_url,
        "RPC_URLS": chain.anvil.url,
        "DEPLOYMENT_FILE": str(record),
        "PORT": str(port),
        "KEY_PEPPER": "p" * 32,
        "LOG_FORMAT": "json",
        "TRUSTED_PROXIES": "127.0.0.1",
        "X402_PAY_TO": TILL,
        "X402_SETTLE_PRIVATE_KEY": STRANGER.private_key,
        "X402_GAS_WEI_PER_USDC": str(10**18),
        "X402_GAS_WEI_PER_DAY": str(10**20),
        "DAILY_CEILING": str(HEAP),
        **dict.fromkeys(("REGISTRATIONS_PER_MINUTE", "REGISTRATIONS_PER_DAY"), "1000"),
    }


def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp") as name:
        Path(name).chmod(0o755)  # The database runs under an account of its own.
        anvil, server = start_anvil(), embedded.start(Path(name) / "postgres")
        try:
            migrate.upgrade(server.url)
            port = free_port()
            with served(
                ["api.main"],
                _environment(Path(name), deploy_contracts(anvil), server.url, port),
                port,
                "/health/live",
            ):
                return _measured(port)
        finally:
            server.stop()
            anvil.stop()


def main() -> None:
    print(json.dumps(measure()))


if __name__ == "__main__":
    main()
