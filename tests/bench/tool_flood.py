"""What one address without a key costs the others at the tool endpoint: `python -m
tests.bench.tool_flood`, a part of `make bench-api`. The last line is a JSON object.

    quiet    8 callers with keys, each from an address of its own, read their mandates
    paced    the same, while one address sends 5 messages a second on each of 32 connections
    fast     the same, while it sends as fast as it is answered, most of it 429

Each round comes from another address, whose rate is not used up.

The messages are those of a client that connects: initialize, tools/list of all profiles, ping,
resources/list, a tool's call. The real process, a real Postgres; rounds alternate, medians of p99
count.
"""

import json
import statistics
from typing import Any

from tests.bench import api
from tests.bench.hostile import OTHERS, SECONDS, answer_of, begin_load, request

PATH = "/mandate-wallet/mandates"
CONNECTIONS, A_SECOND, ROUNDS = 32, 5.0, 5
KINDS = {"quiet": None, "paced": A_SECOND, "fast": 0.0}
MOST_RATIO = {"mcp_flood_p99_ratio": 1.5, "mcp_flood_fast_p99_ratio": 3.0}


def messages(port: int, address: str) -> list[str]:
    headers = {"Host": f"127.0.0.1:{port}", "Accept": "application/json, text/event-stream"}
    who = {"name": "bench", "version": "1"}
    first = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("initialize", first),
        ("tools/list", {}),
        ("ping", {}),
        ("resources/list", {}),
        ("tools/call", {"name": "get_rules", "arguments": {}}),
    ]
    return [
        request(
            "POST",
            f"/mcp?profile={profile}",
            address,
            headers,
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
        )
        for method, params in asked
        for profile in ("connector", "claw", "full")
    ]


def p99_ms(port: int, others: list[str], address: str, a_second: float | None) -> float:
    flood = (
        None
        if a_second is None
        else begin_load(port, messages(port, address), CONNECTIONS, SECONDS + 2, a_second)
    )
    answered = answer_of(begin_load(port, others, OTHERS, SECONDS))
    if flood is not None:
        print(f"  {a_second or 'as many as it can'} a second each: {answer_of(flood)}", flush=True)
    assert set(answered["statuses"]) == {"200"}, answered
    return float(answered["p99_ms"])


def measure() -> dict[str, Any]:
    with api.place(TRUSTED_PROXIES="127.0.0.1") as where:
        keys = [
            str(where.post("/auth/agent/connect", {"agent_name": f"bench-{n}"})["api_key"])
            for n in range(OTHERS)
        ]
        others = [
            request("GET", PATH, f"198.51.100.{number}", {"X-SVC-User-Key": key})
            for number, key in enumerate(keys)
        ]
        rounds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for number in range(ROUNDS):
            for place, (kind, a_second) in enumerate(KINDS.items()):
                address = f"203.0.113.{10 * number + place}"
                rounds[kind].append(p99_ms(where.product_port, others, address, a_second))
            print(
                f"round {number + 1}: p99 in ms { {k: t[-1] for k, t in rounds.items()} }",
                flush=True,
            )
    found = {kind: statistics.median(times) for kind, times in rounds.items()}
    figures = {
        "mcp_flood_p99_ratio": round(found["paced"] / found["quiet"], 2),
        "mcp_flood_fast_p99_ratio": round(found["fast"] / found["quiet"], 2),
    }
    print(f"p99 over the quiet {found['quiet']} ms: {figures}; at most {MOST_RATIO}")
    return figures


def main() -> None:
    print(json.dumps(measure()))


if __name__ == "__main__":
    main()
