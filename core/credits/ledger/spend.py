"""Spending in one statement: what `credit_ledger.spend` does on an account that can pay, in one
round trip that commits itself.

    head under its lock -> drawn by bucket -> linked to the row before -> head moved, entry inserted

Laws
- The row is the one that `credit_ledger.spend` writes, hash included; the order of buckets is
  core.credits.rules.buckets'.
- It is a short cut: where it does not apply (too little credit, no ledger yet, the key stands) it
  writes nothing, answers False, and `credit_ledger.spend` decides.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from psycopg.errors import UniqueViolation
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from core.canonical import canonical_json
from core.credits.rules.buckets import BUCKETS, SPEND_ORDER
from core.times import exact_instant_text


def _drawn(bucket: str) -> str:
    """What comes from a bucket: all that those before it leave, as far as it reaches."""
    before = " - ".join(["%(amount)s", *SPEND_ORDER[: SPEND_ORDER.index(bucket)]])
    return f"least({bucket}, greatest({before}, 0))"


# The entry's columns as SQL, and what is hashed of them as text of canonical JSON: names in order,
# integers as they print.
_NAMED: Final = ("kind", "base_key", "counter")
_DELTAS: Final = {
    f"{bucket}_delta": f"-from_{bucket}" if bucket in SPEND_ORDER else "0" for bucket in BUCKETS
}
_COLUMNS: Final = {
    "account_id": "account_id",
    "seq": "seq",
    **{name: f"%({name})s" for name in _NAMED},
    **_DELTAS,
    "counter_delta": "%(amount)s",
    "payload": "%(payload_json)s::jsonb",
    "created_at": "%(created_at)s",
    "prev_hash": "prev_hash",
    "row_hash": "row_hash",
}
_HASHED: Final = {
    "seq": "seq::text",
    **{name: f"({delta})::text" for name, delta in _DELTAS.items()},
    "counter_delta": "%(amount)s::bigint::text",
    **{name: f"%({name}_json)s" for name in (*_NAMED, "payload", "created_at")},
}
_BODY: Final = " || ',' || ".join(f"""'"{name}":' || {_HASHED[name]}""" for name in sorted(_HASHED))

_CAN_PAY: Final = f"account_id = %(account_id)s and {' + '.join(SPEND_ORDER)} >= %(amount)s"
_IS_NEW: Final = """
and not exists (select from credit_entry where account_id = %(account_id)s and base_key = %(base_key)s)"""


def _ctes(head: str, sale: str = "", due: str = "true") -> str:
    """Up to the row that is linked and the head that is moved."""
    return f"""
head as ({head}
), {sale}drawn as (
    select account_id, seq + 1 as seq, row_hash as prev_hash, {", ".join(f"{_drawn(name)} as from_{name}" for name in SPEND_ORDER)}
    from head where {due}
), linked as (
    select *, sha256(prev_hash || convert_to('{{' || {_BODY} || '}}', 'UTF8')) as row_hash from drawn
), moved as (
    update credit_head h set seq = l.seq, row_hash = l.row_hash, updated_at = %(created_at)s,
           {", ".join(f"{name} = h.{name} - l.from_{name}" for name in SPEND_ORDER)}
    from linked l where h.account_id = l.account_id
)"""  # noqa: S608 (as below)


_INSERT: Final = f"""
insert into credit_entry ({", ".join(_COLUMNS)}) select {", ".join(_COLUMNS.values())} from linked"""  # noqa: S608 (made of this module's constants alone)


_SPEND: Final = f"""
with {_ctes(f"select * from credit_head where {_CAN_PAY} for update")}{_INSERT} returning seq"""  # noqa: S608 (as above)


def spending(after: str, sale: str, due: str) -> str:
    """The same as parts of a larger statement: `head` has a row once `after` has one, where the account
    can pay and the key is new; it is spent where `due` holds, which may read `sale`, a part that reads
    `head`. The values are those of `spend_values`.
    """
    head = f"select h.* from {after}, credit_head h where {_CAN_PAY}{_IS_NEW} for update of h"  # noqa: S608 (as above)
    return f"{_ctes(head, f'{sale}, ', due)}, spent as ({_INSERT})"


def spend_at_once(
    connection: Connection,
    account_id: int,
    amount: int,
    names: Mapping[str, str],
    payload: Mapping[str, Any],
    now: datetime,
) -> bool:
    """Whether it was posted. `connection`: one of Database.statements, which commits it.

    `names`: the entry's kind, base_key and counter.

    Errors: InvalidParameterError for the payload.
    """
    values = spend_values(account_id, amount, names, payload, now)
    try:
        return amount > 0 and connection.exec_driver_sql(_SPEND, values).first() is not None
    except IntegrityError as error:
        if isinstance(error.orig, UniqueViolation):
            return False
        raise


def spend_values(
    account_id: int,
    amount: int,
    names: Mapping[str, str],
    payload: Mapping[str, Any],
    now: datetime,
) -> dict[str, Any]:
    """Errors: InvalidParameterError for the payload."""
    created_at = now.astimezone(UTC)
    said = {**names, "payload": payload, "created_at": exact_instant_text(created_at)}
    texts = {f"{name}_json": canonical_json(value).decode() for name, value in said.items()}
    return {
        **names,
        **texts,
        "account_id": account_id,
        "amount": amount,
        "created_at": created_at,
    }
