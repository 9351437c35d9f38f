"""What a migration takes from the processes of the release before it, which run beside the new ones
while both stand on the new schema (docs/operations.md, section Upgrading).

    expand     a new table; a new column that may be null or has a default; a wider type or check
    contract   a column, table or key gone, NOT NULL, a check, a new key: only of what the release before
               does not use any more, declared as UNUSED_SINCE in the migration

Not seen: what a trigger refuses, and how long a lock is held.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from sqlalchemy import Connection, text

COLUMNS = """
select c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       a.atthasdef or a.attidentity <> '' or a.attgenerated <> ''
  from pg_attribute a join pg_class c on c.oid = a.attrelid
 where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0
   and not a.attisdropped and not c.relispartition
"""
RULES = """
select c.relname, k.conname, pg_get_constraintdef(k.oid),
       array(select attname::text from pg_attribute where attrelid = k.conrelid and attnum = any(k.conkey))
  from pg_constraint k join pg_class c on c.oid = k.conrelid
 where c.relnamespace = current_schema()::regnamespace and k.contype in ('c', 'f', 'u', 'x', 'p') and not c.relispartition
union all
select c.relname, i.relname, pg_get_indexdef(x.indexrelid),
       array(select attname::text from pg_attribute where attrelid = x.indrelid and attnum = any(x.indkey))
  from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
 where c.relnamespace = current_schema()::regnamespace and x.indisunique and not c.relispartition
   and not exists (select from pg_constraint k where k.conindid = x.indexrelid)
"""
WIDER = {
    ("smallint", "integer"),
    ("smallint", "bigint"),
    ("integer", "bigint"),
    ("character varying", "text"),
    ("json", "jsonb"),
}
ARGUMENTS = re.compile(r"\(.*?\)")
LITERAL = re.compile(r"'[^']*'(::\w+(?: \w+)?(?:\[\])?)?,? ?")
OF_MIGRATIONS = "alembic_version"


@dataclass(frozen=True, slots=True)
class Column:
    type: str
    is_required: bool  # NOT NULL
    has_default: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """A check, a key or a unique index, with the columns that it names."""

    says: str
    columns: frozenset[str]


@dataclass
class Schema:
    columns: dict[str, dict[str, Column]] = field(default_factory=dict)
    rules: dict[str, dict[str, Rule]] = field(default_factory=dict)


def schema_of(connection: Connection) -> Schema:
    found = Schema()
    for table, name, kind, is_required, has_default in connection.execute(text(COLUMNS)):
        column = Column(kind, is_required, has_default)
        found.columns.setdefault(table, {})[name] = column
    for table, name, says, columns in connection.execute(text(RULES)):
        found.rules.setdefault(table, {})[name] = Rule(says, frozenset(columns))
    found.columns.pop(OF_MIGRATIONS, None)
    return found


def taken(before: Schema, after: Schema, unused: Collection[str] = ()) -> list[str]:
    """What the release before may use and finds no more, as sentences; `unused`: `table`,
    `table.column` or `table.constraint` that it is declared not to use.
    """
    found = dict[str, str]()
    for table, columns in before.columns.items():
        if table not in after.columns:
            found[table] = "the table is gone"
            continue
        now = after.columns[table]
        for name, column in columns.items():
            why = "it is gone" if name not in now else _narrower(column, now[name])
            if why is not None:
                found[f"{table}.{name}"] = why
        for name in now.keys() - columns.keys():
            if now[name].is_required and not now[name].has_default:
                found[f"{table}.{name}"] = "it is new and required, and has no default"
        found |= _tighter(table, before, after) | _no_conflict(table, before, after)
    return sorted(f"{name}: {why}" for name, why in found.items() if name not in unused)


def _narrower(before: Column, after: Column) -> str | None:
    if after.is_required and not before.is_required:
        return "it may be null no more"
    if before.has_default and after.is_required and not after.has_default:
        return "it has a default no more"
    kinds = ARGUMENTS.sub("", before.type), ARGUMENTS.sub("", after.type)
    if before.type != after.type and kinds not in WIDER and after.type != kinds[0]:
        return f"it was {before.type} and is {after.type}"
    return None


def _tighter(table: str, before: Schema, after: Schema) -> dict[str, str]:
    """Rules of an old table that were not there, but for those of new columns alone."""
    old, columns = before.rules.get(table, {}), before.columns[table].keys()
    unique = {_unique(rule) for rule in old.values()} - {None}
    return {
        f"{table}.{name}": "it refuses what was written before"
        for name, rule in after.rules.get(table, {}).items()
        if rule.columns & columns
        and _unique(rule) not in unique
        and not _is_as_wide(old.get(name), rule)
    }


def _no_conflict(table: str, before: Schema, after: Schema) -> dict[str, str]:
    """Unique keys that are gone: an `on conflict` that names their columns is an error."""
    now = {_unique(rule) for rule in after.rules.get(table, {}).values()}
    return {
        f"{table}.{name}": "an `on conflict` of its columns fails"
        for name, rule in before.rules.get(table, {}).items()
        if _unique(rule) is not None and _unique(rule) not in now
    }


def _unique(rule: Rule) -> str | None:
    """What it makes unique, whatever it is called; None: it is no key."""
    kind, _, columns = rule.says.partition(" USING btree ")
    if columns:
        return columns
    return rule.says.partition("KEY ")[2] or kind.partition("UNIQUE ")[2] or None


def _is_as_wide(old: Rule | None, new: Rule) -> bool:
    """The same rule, or the same with more values."""
    if old is None:
        return False
    if LITERAL.sub("", old.says) != LITERAL.sub("", new.says):
        return False
    values = [
        {one.group(0).strip(" ,") for one in LITERAL.finditer(rule.says)} for rule in (old, new)
    ]
    return values[0] <= values[1]
