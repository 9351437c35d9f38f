"""The tables beside the fold: what is missing, what is too much, and the laws that hold whatever
the chain did.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from eth_utils.address import to_checksum_address
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.db.engine import Database
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.lifecycle import OF_VAULT
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.indexer.chaos.fold import Expected, Row, Sums

SHOWN = 5

# The columns of each table whose rows must be the fold's, the height first; and which column names
# the row's block.
COLUMNS = {
    "chain_block": ("number, hash, parent_hash, ts", "hash"),
    "raw_log": (
        "number, block_hash, log_index, tx_hash, tx_index, address, topics, data",
        "block_hash",
    ),
    "vault": (
        "created_number, address, created_block_hash, terms_digest, mandate_id",
        "created_block_hash",
    ),
    "vault_agent": ("since_number, vault, agent, since_block_hash", "since_block_hash"),
    "adapter": (
        (
            "listed_number, address, listed_block_hash, (select hash from chain_block where hash "
            "= t.delisted_block_hash and canonical)"
        ),
        "listed_block_hash",
    ),
    "reverted_tx": ("number, block_hash, tx_hash, sender, vault, gas_used, reason", "block_hash"),
}
CANONICAL = (
    "select {} from {} t where exists (select 1 from chain_block b where b.chain_id = t.chain_id "
    "and b.hash = t.{} and b.canonical)"
)
STANDING = """
    select block_number, block_hash, tx_hash, log_index, kind, reported_by, amount_usdc_e6, cash_delta_usdc_e6,
           case when base_key like 'revert:%' then payload -> 'refusal' ->> 'reason' end
    from mandate_event e
    where mandate_id = :mandate and block_hash is not null and reverses_id is null
      and not exists (select 1 from mandate_event r where r.reverses_id = e.id)
"""
HEADS = """
    select status, deposited_usdc_e6, spent_usdc_e6, received_usdc_e6, withdrawn_usdc_e6, paid_out_usdc_e6, cash_usdc_e6
    from mandate_head where mandate_id = :mandate
"""
DEPOSITS = """
    select (payload ->> 'block_number')::bigint, payload ->> 'block_hash', tx_hash, (payload ->> 'log_index')::bigint, idle_delta_e6
    from transfer_entry e
    where account_id = :account and reverses_id is null and not exists (select 1 from transfer_entry r where r.reverses_id = e.id)
"""
BALANCES = "select idle_e6 from transfer_balance where account_id = :account"
# Of a stranger's vault only the registry's row and the logs must stand there: the column that names
# the vault in the rest.
NAMES_VAULT = {"vault_agent": 1, "reverted_tx": 4}
# What must answer no row at all, by the sentence that a row contradicts.
LAWS = {
    "a row of an orphaned block that stands": """
        select e.mandate_id, e.seq from mandate_event e join chain_block b on b.hash = e.block_hash
        where not b.canonical and e.reverses_id is null and not exists (select 1 from mandate_event r where r.reverses_id = e.id)""",
    "a row whose block nobody knows": """
        select mandate_id, seq from mandate_event e
        where block_hash is not null and not exists (select 1 from chain_block b where b.hash = e.block_hash)""",
    "a row that was reversed twice": """
        select reverses_id, count(*) from mandate_event where reverses_id is not null group by 1 having count(*) > 1""",
    "a reversal that is not the opposite of its row": """
        select r.mandate_id, r.seq from mandate_event r join mandate_event e on e.id = r.reverses_id
        where (r.mandate_id, r.block_hash, r.tx_hash, r.kind, -r.cash_delta_usdc_e6)
              is distinct from (e.mandate_id, e.block_hash, e.tx_hash, e.kind, e.cash_delta_usdc_e6)
           or e.reverses_id is not null or r.seq <= e.seq""",
    "a fact that stands twice": """
        select mandate_id, base_key, count(*) from mandate_event e
        where reverses_id is null and not exists (select 1 from mandate_event r where r.reverses_id = e.id)
        group by 1, 2 having count(*) > 1""",
    "an incarnation that was left out": """
        select mandate_id, base_key, count(*), max(incarnation) from mandate_event
        where reverses_id is null group by 1, 2 having count(*) <> max(incarnation) or count(distinct incarnation) <> count(*)""",
    # there are more where the proof of logs wrote a ledger again
    "a reorg that counted reversals that are not there": """
        select a, b from (select (select count(*) from mandate_event where reverses_id is not null)
                                 + (select count(*) from transfer_entry where reverses_id is not null) a,
                                 (select coalesce(sum(rows_reversed), 0) from reorg) b) s where a < b""",
    "a final mark off the chain": """
        select number from chain_cursor c where name = 'finalized'
          and not exists (select 1 from chain_block b where b.hash = c.hash and b.canonical)""",
    "a break in the chain of blocks": """
        select b.number from chain_block b where canonical and b.number > (select min(number) from chain_block)
          and not exists (select 1 from chain_block p where p.canonical and p.hash = b.parent_hash and p.number = b.number - 1)""",
    "a write that the fence let through": "select what from chaos_violation",
}


def differences(database: Database, chain: DeployedChain, expected: Expected) -> list[str]:
    """What the tables say otherwise than the chain, one line each; empty when they agree."""
    with database.read() as session:
        found = [*_cursor(session, expected), *_laws(session)]
        for table, rows in expected.tables.items():
            found += _compared(
                table,
                *(
                    _without_foreign(table, side, expected.foreign)
                    for side in (rows, _canonical(session, table))
                ),
            )
        for mandate, rows in expected.ledger.items():
            found += _compared(
                f"mandate_event of {mandate}", rows, _rows(session, STANDING, mandate=mandate)
            )
            found += [
                f"book {mandate}: {fault}" for fault in mandate_ledger.verify(session, mandate)
            ]
            found += _head(session, chain, mandate, expected.sums[mandate], expected.head[1])
        for account, rows in expected.deposits.items():
            found += _compared(
                f"transfer_entry of {account}", rows, _rows(session, DEPOSITS, account=account)
            )
            found += _balance(session, account, sum(row[-1] for row in rows))
    return found


def _balance(session: Session, account: int, idle: int) -> list[str]:
    found = _rows(session, BALANCES, account=account)
    return (
        []
        if found == [(idle,)] or (idle == 0 and not found)
        else [f"balance of account {account}: {found}, the fold says {idle}"]
    )


def _cursor(session: Session, expected: Expected) -> list[str]:
    found = _rows(session, "select number, hash from chain_cursor where name = 'tip'")
    return [] if found == [expected.head] else [f"cursor: {found}, the head is {expected.head}"]


def _laws(session: Session) -> list[str]:
    return [f"{law}: {row}" for law, query in LAWS.items() for row in _rows(session, query)[:SHOWN]]


def _compared(table: str, expected: Sequence[Row], found: Sequence[Row]) -> list[str]:
    """The first rows of each kind of difference, the lowest height first."""
    wanted, there = Counter(expected), Counter(found)
    lines = []
    for word, rows in (("missing", wanted - there), ("too much", there - wanted)):
        listed = sorted(rows.elements(), key=repr)
        listed.sort(key=lambda row: row[0])
        lines += [f"{table}: {word} {row}" for row in listed[:SHOWN]]
        if len(listed) > SHOWN:
            lines.append(f"{table}: {word} {len(listed) - SHOWN} more")
    return lines


def _without_foreign(table: str, rows: Sequence[Row], foreign: frozenset[str]) -> list[Row]:
    column = NAMES_VAULT.get(table)
    return [row for row in rows if column is None or row[column] not in foreign]


def _head(session: Session, chain: DeployedChain, mandate: int, sums: Sums, at: str) -> list[str]:
    wanted = (
        sums.status,
        sums.deposited,
        sums.spent,
        sums.received,
        sums.withdrawn,
        sums.paid_out,
        sums.cash,
    )
    found = _rows(session, HEADS, mandate=mandate)
    # said once a safe block is past the end
    right = [wanted, ("cancelled", *wanted[1:])] if sums.may_have_expired else [wanted]
    lines = (
        []
        if found in ([one] for one in right)
        else [f"head of {mandate}: {found}, the fold says {wanted}"]
    )
    if sums.vault is not None:
        balance, status = (
            chain.reader.usdc_balance(sums.vault, at),
            chain.reader.status(sums.vault, at),
        )
        if balance != sums.cash:
            lines.append(f"fold of {mandate}: cash {sums.cash}, the vault holds {balance}")
        if OF_VAULT[status] != sums.status:
            lines.append(f"fold of {mandate}: {sums.status}, the vault is {status.word}")
    return lines


def _rows(session: Session, query: str, **arguments: Any) -> list[Row]:
    return [tuple(map(_plain, row)) for row in session.execute(text(query), arguments)]


def _canonical(session: Session, table: str) -> list[Row]:
    columns, block = COLUMNS[table]
    return _rows(session, CANONICAL.format(columns, table, block))


def _plain(value: Any) -> Any:
    """As the fold writes it: hashes as hex, addresses with checksum, whole numbers as int."""
    if isinstance(value, list):
        return "".join("0x" + bytes(item).hex() for item in value)
    if isinstance(value, bytes | memoryview):
        raw = bytes(value)
        return to_checksum_address(raw) if len(raw) == 20 else "0x" + raw.hex()
    return int(value) if value is not None and type(value).__name__ == "Decimal" else value


def pending(database: Database) -> tuple[tuple[int, str] | None, int]:
    """(the cursor, how many reverted calls of the canonical chain are still to be looked up or lack
    their reason, and blocks owe notes).
    """
    with database.read() as session:
        cursor = _rows(session, "select number, hash from chain_cursor where name = 'tip'")
        owed = len(_rows(session, "select 1 from chain_cursor where name = 'reverts'"))
        owed += int(_rows(session, "select count(*) from owed_note")[0][0])
        return (cursor[0] if cursor else None), owed + sum(
            row[-1] is None for row in _canonical(session, "reverted_tx")
        )


def unwinds(database: Database) -> int:
    """How many reorgs the indexer believes to have seen."""
    with database.read() as session:
        return int(_rows(session, "select count(*) from reorg")[0][0])
