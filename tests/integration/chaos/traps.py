"""Commit points of a process, held open from inside the test's database; the product knows nothing
of them.

A deferred constraint trigger runs when its transaction commits, after the last statement and before
the commit itself. Here it takes an advisory lock, shared: nobody waits until the test holds that
lock. Then the first transaction that passes the point stands still, and the test does to its
process or its connection what it likes.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import psycopg

Connection = psycopg.Connection[tuple[object, ...]]
TEST = "chaos-test"  # the application whose own writes are never held
FIRST_KEY = 7_000

# What must never be is written down here, by the triggers of a suite.
VIOLATIONS = "create table chaos_violation (what text not null);"


def keys_of(points: Iterable[str]) -> dict[str, int]:
    """The advisory lock of each point."""
    return {point: FIRST_KEY + index for index, point in enumerate(points)}


def hold_function(points: Iterable[str]) -> str:
    """SQL of `chaos_hold(point text)`, which the triggers call; a point that is not named here
    holds nobody.
    """
    locks = "\n".join(
        f"    when '{point}' then perform pg_advisory_xact_lock_shared({key});"
        for point, key in keys_of(points).items()
    )
    return f"""
create function chaos_hold(point text) returns void language plpgsql as $$
begin
  if current_setting('application_name') = '{TEST}' then return; end if;
  case point
{locks}
    else null;
  end case;
end $$;
"""


@dataclass(slots=True)
class Traps:
    """The test's own connection to a database; opened again after each restart of Postgres.

    `application` is the name under which the processes connect, `points` are all of their commit
    points.
    """

    dsn: str
    application: str
    points: tuple[str, ...]

    def connect(self) -> Connection:
        return psycopg.connect(self.dsn, autocommit=True, connect_timeout=5)

    def spring(
        self,
        point: str,
        meanwhile: Callable[[], None],
        caught: Callable[[], None],
        *,
        commits: bool,
        wait_s: float,
    ) -> bool:
        """Hold the point while `meanwhile` makes work; at the first transaction that stands there
        do `caught`.

        `commits`: the transaction then commits, though nobody may hear of it; else its connection
        is cut and it is rolled back.
        False: nobody came by in time.
        """
        with self.connect() as holder:
            holder.execute("select pg_advisory_lock(%s)", [self._key(point)])
            meanwhile()
            waiting = self._waiting(holder, point, wait_s)
            if waiting is None:
                return False
            caught()
            if not commits:
                holder.execute("select pg_terminate_backend(%s, 2000)", [waiting])
        return True

    def lose_answer(self, work: Callable[[], None], wait_s: float) -> bool:
        """Cut the connection of a transaction that is committed and has not been told so; its
        process lives.

        Postgres waits here, after the commit, for a standby that does not exist. `work` must not
        write to the database itself.
        """
        with self.connect() as connection:
            connection.execute("set synchronous_commit = local")
            connection.execute("alter system set synchronous_standby_names = 'nobody'")
            connection.execute("select pg_reload_conf()")
            try:
                work()
                found = _first(
                    connection,
                    "select pid from pg_stat_activity where wait_event = 'SyncRep' and "
                    f"application_name = '{self.application}'",
                    wait_s,
                )
                if found is not None:
                    connection.execute("select pg_terminate_backend(%s, 2000)", [found])
            finally:
                connection.execute("alter system reset synchronous_standby_names")
                connection.execute("select pg_reload_conf()")
        return found is not None

    def _key(self, point: str) -> int:
        return keys_of(self.points)[point]

    def _waiting(self, holder: Connection, point: str, wait_s: float) -> object | None:
        """The backend that stands at the point."""
        waits = (
            "select pid from pg_locks where locktype = 'advisory' and classid = 0 and objsubid = "
            "1 and not granted"
        )
        return _first(holder, f"{waits} and objid = {self._key(point)}", wait_s)


def _first(connection: Connection, query: str, wait_s: float) -> object | None:
    """What the query finds, once it finds something in time."""
    until = time.monotonic() + wait_s
    while (found := connection.execute(query).fetchone()) is None:
        if time.monotonic() > until:
            return None
        time.sleep(0.005)
    return found[0]
