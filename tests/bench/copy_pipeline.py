"""The bare pipeline that the backfill is compared with: logs and headers in, one table out, no
decoding, no ledgers.

A range at a time: eth_getLogs of everything watched, the headers of the range in one batch, COPY
into a staging table, INSERT .. SELECT .. ON CONFLICT DO NOTHING, a cursor, commit.
"""

import json
import time
from collections.abc import Sequence
from typing import Any

import httpx
import psycopg

RANGE = 500
COLUMNS = "number, log_index, block_hash, tx_hash, address, data"
TABLES = """
    create schema bench;
    create table bench.raw (number bigint, log_index int, block_hash bytea, tx_hash bytea, address bytea, data bytea,
                            primary key (block_hash, log_index));
    create table bench.cursor (number bigint);
    insert into bench.cursor values (0);
"""


class Node:
    def __init__(self, url: str) -> None:
        self.http = httpx.Client(timeout=60)
        self.url = url

    def batch(self, calls: Sequence[tuple[str, list[Any]]]) -> list[Any]:
        body = [
            {"jsonrpc": "2.0", "id": index, "method": method, "params": params}
            for index, (method, params) in enumerate(calls)
        ]
        answers = json.loads(self.http.post(self.url, json=body).content)
        return [
            answer["result"] for answer in sorted(answers, key=lambda answer: int(answer["id"]))
        ]


def measure(
    rpc_url: str, database_url: str, last: int, filters: Sequence[dict[str, Any]]
) -> tuple[int, float]:
    """(logs written, seconds) of blocks 1 to `last`."""
    node = Node(rpc_url)
    with psycopg.connect(database_url) as connection:
        connection.execute(TABLES)
        connection.commit()
        begun, written = time.monotonic(), 0
        for first in range(1, last + 1, RANGE):
            written += _take(node, connection, first, min(last, first + RANGE - 1), filters)
        return written, time.monotonic() - begun


def _take(
    node: Node,
    connection: psycopg.Connection[Any],
    first: int,
    last: int,
    filters: Sequence[dict[str, Any]],
) -> int:
    span = {"fromBlock": hex(first), "toBlock": hex(last)}
    answers = node.batch([("eth_getLogs", [span | wanted]) for wanted in filters])
    headers = node.batch(
        [("eth_getBlockByNumber", [hex(number), False]) for number in range(first, last + 1)]
    )
    hashes = {header["number"]: header["hash"] for header in headers}
    logs = [log for answer in answers for log in answer]
    assert all(hashes[log["blockNumber"]] == log["blockHash"] for log in logs)
    with connection.cursor() as cursor:
        cursor.execute("create temp table staging (like bench.raw) on commit drop")
        with cursor.copy(f"copy staging ({COLUMNS}) from stdin") as copy:
            copy.write("".join(map(_line, logs)))
        cursor.execute("insert into bench.raw select * from staging on conflict do nothing")
        cursor.execute("update bench.cursor set number = %s", [last])
    connection.commit()
    return len(logs)


def _line(log: dict[str, Any]) -> str:
    cells = [str(int(log["blockNumber"], 16)), str(int(log["logIndex"], 16))]
    cells += [
        "\\\\x" + log[name][2:] for name in ("blockHash", "transactionHash", "address", "data")
    ]
    return "\t".join(cells) + "\n"
