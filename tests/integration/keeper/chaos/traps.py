"""The keeper's commit points (tests/integration/chaos/traps.py holds them).

Laws
- The same triggers write down what must never be: an intent that an older epoch wrote, but for a
  stop that was sent, and bytes that change.
"""

from enum import StrEnum

from tests.integration.chaos.traps import VIOLATIONS, hold_function


class Point(StrEnum):
    """The transaction that writes an intent or an attempt in this state; `judged` writes marks down
    and maybe more.
    """

    JUDGED = "judged"
    PLANNED = "planned"
    SIGNED = "signed"
    BROADCAST = "broadcast"
    MINED = "mined"
    LEAD = "lead"  # the epoch raised
    BEAT = "beat"


SETUP = f"""
{VIOLATIONS}
{hold_function(Point)}
create function chaos_intent() returns trigger language plpgsql as $$
declare leads bigint := (select epoch from leader where name = 'keeper');
begin
  if new.epoch <> leads and not (new.kind = 'stop' and new.state in ('planned', 'signed', 'broadcast')) then
    insert into chaos_violation values (format('epoch %s wrote intent %s %s while %s leads', new.epoch, new.id, new.state, leads));
  end if;
  if tg_op = 'INSERT' or new.state <> old.state then perform chaos_hold(new.state); end if;
  return null;
end $$;

create function chaos_tx() returns trigger language plpgsql as $$
begin
  if (new.raw, new.hash, new.signer, new.nonce) is distinct from (old.raw, old.hash, old.signer, old.nonce) then
    insert into chaos_violation values (format('attempt %s was changed', new.id));
  end if;
  return null;
end $$;

create function chaos_leader() returns trigger language plpgsql as $$
begin
  if new.name <> 'keeper' then return null; end if;
  if tg_op = 'UPDATE' and new.epoch = old.epoch then perform chaos_hold('beat'); else perform chaos_hold('lead'); end if;
  return null;
end $$;

create function chaos_judged() returns trigger language plpgsql as $$
begin
  perform chaos_hold('judged');
  return null;
end $$;

create constraint trigger chaos_intent after insert or update on keeper_intent
  deferrable initially deferred for each row execute function chaos_intent();
create trigger chaos_tx after update on keeper_tx for each row execute function chaos_tx();
create constraint trigger chaos_leader after insert or update on leader
  deferrable initially deferred for each row execute function chaos_leader();
create constraint trigger chaos_judged after insert on vault_mark
  deferrable initially deferred for each row execute function chaos_judged();
"""
