"""The indexer's commit points (tests/integration/chaos/traps.py holds them).

Laws
- The same triggers write down what must never be: a position that an older epoch moved, or one that
  does not lead.
"""

from enum import StrEnum

from tests.integration.chaos.traps import VIOLATIONS, hold_function


class Point(StrEnum):
    """`ledgers` stands in the middle of a transaction, the others at its commit."""

    START = "start"  # the first position
    BLOCK = "block"
    UNWIND = "unwind"
    FINALIZED = "finalized"
    REASON = "reason"  # a reverted call explained
    LEAD = "lead"  # the epoch raised
    BEAT = "beat"
    LEDGERS = "books"


SETUP = f"""
{VIOLATIONS}
{hold_function(Point)}
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
