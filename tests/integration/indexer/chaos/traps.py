"""Commit points of the indexer, held open from inside the test's database; the product knows nothing of them.

A deferred constraint trigger runs when its transaction commits, after the last statement and before the commit itself. Here
it takes an advisory lock, shared: nobody waits until the test holds that lock. Then the first transaction that passes the
point stands still, and the test does to its process or its connection what it likes.

Laws
- The same triggers write down what must never be: a position that an older epoch moved, or one that does not lead.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import psycopg

Connection = psycopg.Connection[tuple[object, ...]]
TEST = "chaos-test"  # the application whose own writes are never held


class Point(StrEnum):
    """`books` stands in the middle of a transaction, the others at its commit."""

    START = "start"  # the first position
    BLOCK = "block"
    UNWIND = "unwind"
    FINALIZED = "finalized"
    REASON = "reason"  # a reverted call explained
    LEAD = "lead"  # the epoch raised
    BEAT = "beat"
    BOOKS = "books"


KEYS = {point: 7_000 + index for index, point in enumerate(Point)}
_LOCKS = "\n".join(f"    when '{point}' then perform pg_advisory_xact_lock_shared({key});" for point, key in KEYS.items())

SETUP = f"""
create table chaos_violation (what text not null);

create function chaos_hold(point text) returns void language plpgsql as $$
begin
  if current_setting('application_name') = '{TEST}' then return; end if;
  case point
{_LOCKS}
  end case;
end $$;

create function chaos_cursor() returns trigger language plpgsql as $$
declare leads bigint := (select epoch from leader where name = 'indexer');
begin
  if new.epoch <> leads then
    insert into chaos_violation values (format('epoch %s moved %s while %s leads', new.epoch, new.name, leads));
  end if;
  if new.name = 'finalized' then perform chaos_hold('finalized');
  elsif tg_op = 'INSERT' then perform chaos_hold('start');
  elsif new.number < old.number then perform chaos_hold('unwind');
  else perform chaos_hold('block');
  end if;
  return null;
end $$;

create function chaos_leader() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.epoch = old.epoch then perform chaos_hold('beat');
  else perform chaos_hold('lead');
  end if;
  return null;
end $$;

create function chaos_point() returns trigger language plpgsql as $$
begin
  perform chaos_hold(tg_argv[0]);
  return null;
end $$;

create constraint trigger chaos_cursor after insert or update on chain_cursor
  deferrable initially deferred for each row execute function chaos_cursor();
create constraint trigger chaos_leader after insert or update on leader
  deferrable initially deferred for each row execute function chaos_leader();
create constraint trigger chaos_reason after update on reverted_tx
  deferrable initially deferred for each row when (new.reason is not null) execute function chaos_point('reason');
create trigger chaos_books after insert on mandate_event execute function chaos_point('books');
"""


@dataclass(slots=True)
class Traps:
    """The test's own connection to a database; opened anew after each restart of Postgres."""

    dsn: str

    def connect(self) -> Connection:
        return psycopg.connect(self.dsn, autocommit=True, connect_timeout=5)

    def spring(self, point: Point, meanwhile: Callable[[], None], caught: Callable[[], None], *, commits: bool, wait_s: float) -> bool:
        """Hold the point while `meanwhile` makes work; at the first transaction that stands there do `caught`.

        `commits`: the transaction then commits, though nobody may hear of it; else its connection is cut and it is rolled back.
        False: nobody came by in time.
        """
        with self.connect() as holder:
            holder.execute("select pg_advisory_lock(%s)", [KEYS[point]])
            meanwhile()
            waiting = self._waiting(holder, point, wait_s)
            if waiting is None:
                return False
            caught()
            if not commits:
                holder.execute("select pg_terminate_backend(%s, 2000)", [waiting])
        return True

    def lose_answer(self, work: Callable[[], None], wait_s: float) -> bool:
        """Cut the connection of a transaction that is committed and has not been told so; its process lives.

        Postgres waits here, after the commit, for a standby that does not exist. `work` must not write to the database itself.
        """
        with self.connect() as connection:
            connection.execute("set synchronous_commit = local")
            connection.execute("alter system set synchronous_standby_names = 'nobody'")
            connection.execute("select pg_reload_conf()")
            try:
                work()
                found = _first(
                    connection, "select pid from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'indexer'", wait_s
                )
                if found is not None:
                    connection.execute("select pg_terminate_backend(%s, 2000)", [found])
            finally:
                connection.execute("alter system reset synchronous_standby_names")
                connection.execute("select pg_reload_conf()")
        return found is not None

    def _waiting(self, holder: Connection, point: Point, wait_s: float) -> object | None:
        """The backend that stands at the point."""
        waits = "select pid from pg_locks where locktype = 'advisory' and classid = 0 and objsubid = 1 and not granted"
        return _first(holder, f"{waits} and objid = {KEYS[point]}", wait_s)


def _first(connection: Connection, query: str, wait_s: float) -> object | None:
    """What the query finds, once it finds something in time."""
    until = time.monotonic() + wait_s
    while (found := connection.execute(query).fetchone()) is None:  # type: ignore[arg-type]  # composed above, of no input
        if time.monotonic() > until:
            return None
        time.sleep(0.005)
    return found[0]
