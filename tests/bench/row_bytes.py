"""What a row of each table takes on disk, with its indexes: two fillings of an empty database, and
the slope between them by pg_total_relation_size.

Rows are made from the columns' types. Keys and hashes are spread as hashes are, texts and documents
are as wide as WIDTHS says: means of columns of a stack that had worked (tests.drill.drill, the simulated
world), or the bound where the code has one. What is wide does not compress: that is the dear case.
"""

import re
from typing import Any, Final

import psycopg
from psycopg import sql

from api.tables import import_tables
from core.db.base import Base
from tests.bench.place import a_database, url_of

FEW, MANY = 500, 2_500
TEXT, JSON, BYTES = 14, 60, 32
ADDRESSES: Final = re.compile(
    r"address|vault|agent|to|owner|buyer|recipient|sender|party|holder|asset|payer|sponsor|factory|pay_to|signer"
    r"|signed_by|account|treasury|reserve_token|batch|cloid|wallet|\w+_address"
)
# bytes of a column of a row
WIDTHS: Final[dict[tuple[str, str], int]] = {
    ("adapter", "rules"): 600,
    ("agent_self_version", "record"): 1_500,
    ("agent_policy", "policy"): 400,
    ("agent_policy_change", "changes"): 120,
    ("arb_multi", "legs"): 300,
    ("credit_entry", "payload"): 60,
    ("custodial_wallet", "ciphertext"): 92,
    ("fund_rules", "document"): 1_500,
    ("gallery_listing", "summary"): 300,
    ("hall_agent", "record"): 900,
    ("hall_mandate", "standing"): 500,
    ("hall_past", "windows"): 700,
    ("idempotency_record", "body"): 700,
    ("job_run", "did"): 80,
    ("keeper_intent", "data"): 100,
    ("keeper_intent", "reason"): 150,
    ("keeper_tx", "raw"): 220,
    ("kg_claim", "claim"): 200,
    ("kg_claim", "source_url"): 60,
    ("kg_export", "content"): 20_000,
    ("mandate", "terms"): 900,
    ("mandate", "rules"): 400,
    ("mandate", "purpose"): 80,
    ("mandate_event", "payload"): 330,
    ("mandate_event", "base_key"): 72,
    ("mandate_head", "state"): 900,
    ("mandate_undo", "state"): 900,
    ("mandate_week", "state"): 900,
    ("microburst", "samples"): 4_000,
    ("mining_entry", "evidence_url"): 60,
    ("outbox", "data"): 200,
    ("owner_alert", "payload"): 200,
    ("pair_report", "pdf"): 60_000,
    ("published_day", "figures"): 6_000,
    ("quarantined_fact", "fact"): 600,
    ("raw_log", "data"): 160,
    ("reverted_tx", "input"): 260,
    ("room_message", "text"): 200,
    ("shadow_trade", "fingerprint"): 160,
    ("signed_resource", "resource"): 80,
    ("sign_in_nonce", "message"): 300,
    ("task_proof", "source_url"): 60,
    ("transfer_entry", "base_key"): 72,
    ("transfer_entry", "payload"): 60,
    ("vault_payment", "resource"): 80,
    ("warning_event", "evidence"): 160,
    ("warning_standing", "evidence"): 160,
    ("x402_payment", "resource"): 80,
}
COLUMNS = """
    select a.attname, t.typname, t.typcategory, a.attidentity <> '', coalesce(e.typname, '')
    from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_type e on e.oid = t.typelem
    where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    order by a.attnum
"""
CHECKS = "select conrelid::regclass::text, conname from pg_constraint where contype = 'c' and conrelid <> 0"
UNIQUE = """
    select distinct a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
    where i.indrelid = %s::regclass and i.indisunique
"""
# of what is partitioned, the parts hold the rows
SIZE = """
    select pg_total_relation_size(%(t)s::regclass) + coalesce((
        select sum(pg_total_relation_size(relid)) from pg_partition_tree(%(t)s::regclass) where relid <> %(t)s::regclass), 0)
"""
OTHERS: Final = {
    "numeric": "g * 1000003::numeric",
    "float8": "g / 7.0",
    "float4": "g / 7.0",
    "bool": "g % 2 = 0",
    "timestamptz": "timestamptz '2026-11-26 00:00Z' + g * interval '7 seconds'",
}
EPOCH = "timestamptz '2026-11-26 00:00Z'"


def measured() -> dict[str, float]:
    """Bytes a row, by table, of every table."""
    import_tables()
    names = sorted(Base.metadata.tables)
    with (
        a_database() as database,
        psycopg.connect(url_of(database).replace("+psycopg", ""), autocommit=True) as connection,
    ):
        connection.execute("set session_replication_role = replica")
        connection.execute("set timezone = 'UTC'")
        for table, name in connection.execute(CHECKS).fetchall():
            if not str(table).startswith("market_parts."):
                drop = sql.SQL("alter table {} drop constraint {}")
                connection.execute(drop.format(sql.Identifier(table), sql.Identifier(name)))
        _partitions(connection)
        return {name: _bytes_of(connection, name) for name in names}


def _partitions(connection: psycopg.Connection[Any]) -> None:
    for table in ("snap_1m", "snap_2h", "grade_hour"):
        connection.execute(
            f"select market_ensure_parts(%s, {EPOCH}, {EPOCH} + interval '2 days')", (table,)
        )


def _bytes_of(connection: psycopg.Connection[Any], table: str) -> float:
    connection.execute(sql.SQL("truncate {} cascade").format(sql.Identifier(table)))
    sizes = []
    for first, last in ((1, FEW), (FEW + 1, MANY)):
        connection.execute(_insert(connection, table, first, last))
        found = connection.execute(SIZE, {"t": table}).fetchone()
        assert found is not None
        sizes.append(int(found[0]))
    connection.execute(sql.SQL("truncate {} cascade").format(sql.Identifier(table)))
    return round((sizes[1] - sizes[0]) / (MANY - FEW), 1)


def _insert(connection: psycopg.Connection[Any], table: str, first: int, last: int) -> sql.Composed:
    unique = {row[0] for row in connection.execute(UNIQUE, (table,))}
    names, values = [], []
    for name, type_, category, _, element in connection.execute(COLUMNS, (table,)).fetchall():
        names.append(sql.Identifier(name))
        width = WIDTHS.get((table, name))
        if ADDRESSES.fullmatch(name) and type_ == "bytea":
            width = 20
        value = _value(type_, category, element, width, name in unique)
        values.append(sql.SQL(value))
    return sql.SQL(
        "insert into {} ({}) overriding system value select {} from generate_series({}, {}) g"
    ).format(
        sql.Identifier(table),
        sql.SQL(", ").join(names),
        sql.SQL(", ").join(values),
        sql.Literal(first),
        sql.Literal(last),
    )


def _value(type_: str, category: str, element: str, width: int | None, is_unique: bool) -> str:
    """SQL of a column's value in row g."""
    if type_ == "bytea":
        return _wide_bytes(width or BYTES)
    if type_ == "text":
        wide = _wide_text(width or TEXT)
        return f"g || ' ' || {wide}" if is_unique else wide
    if type_ == "jsonb":
        return f"jsonb_build_object('said', {_wide_text(width or JSON)})"
    if category == "A":
        one = _value(element, "", "", width, False)
        return f"array[{one}, {one}, {one}]"
    if type_ in ("int8", "int4", "int2"):
        return "g" if is_unique else "1 + (g * 7919::bigint) % 1000"
    if type_ == "date":
        return "date '2026-01-01' + g" if is_unique else "date '2026-11-26'"
    return OTHERS[type_]


def _wide_bytes(width: int) -> str:
    """Bytes that do not compress."""
    pieces = " || ".join(
        f"sha256(int8send(g * 1000 + {n}))" for n in range(-(-min(width, 640) // 32))
    )
    if width > 640:
        pieces = f"(select string_agg(sha256(int8send(g * 10000 + n)), '') from generate_series(1, {-(-width // 32)}) n)"
    return f"substring({pieces} for {width})"


def _wide_text(width: int) -> str:
    return f"left(encode({_wide_bytes(-(-width * 3 // 4))}, 'base64'), {width})"
