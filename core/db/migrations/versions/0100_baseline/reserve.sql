create table reserve_event (
    chain_id bigint not null,
    block_hash bytea not null,
    log_index integer not null,
    number bigint not null,
    at bigint not null,
    tx_hash bytea not null,
    kind text not null
        constraint ck_reserve_event_kind
        check (
            kind in ('bought', 'redeemed', 'converted', 'treasury_paid', 'treasury_changed',
            'paused', 'unpaused')
        ),
    party bytea,
    recipient bytea,
    account_ref bytea,
    tokens numeric(78, 0) not null,
    usdc_e6 numeric(78, 0) not null,
    reserve_after_e6 numeric(78, 0) not null,
    supply_after numeric(78, 0) not null,
    owed_after_e6 numeric(78, 0) not null,
    is_paused_after boolean not null,
    treasury_after bytea,
    lock_after_e6 numeric(78, 0) not null default 0,
    lock_since_after bigint not null default 0,
    lock_until_after_ns bigint not null default 0,
    constraint pk_reserve_event primary key (chain_id, block_hash, log_index)
);
create index ix_reserve_event_buyer on reserve_event (party, number, log_index)
    where kind = 'bought';
create index ix_reserve_event_chain_id_number_log_index
    on reserve_event (chain_id, number, log_index);
create index ix_reserve_event_recipient on reserve_event (recipient, number, log_index)
    where recipient is not null;
create index ix_reserve_event_tx_hash on reserve_event (tx_hash);

create table reserve_conversion (
    chain_id bigint not null,
    block_hash bytea not null,
    log_index integer not null,
    number bigint not null,
    tx_hash bytea not null,
    holder bytea not null,
    account_ref bytea not null,
    tokens numeric(78, 0) not null,
    usdc_e6 numeric(78, 0) not null,
    status text not null
        constraint ck_reserve_conversion_status
        check (status in ('waiting', 'credited', 'held', 'set_aside', 'reversed')),
    occurrence integer not null,
    account_id bigint constraint fk_reserve_conversion_account_id references account,
    credits bigint,
    trouble text,
    tries integer not null default 0,
    due_at timestamptz,
    seen_at timestamptz not null,
    credited_at timestamptz,
    constraint pk_reserve_conversion primary key (chain_id, block_hash, log_index),
    constraint ck_reserve_conversion_credited
        check ((status <> 'credited') or (account_id is not null and credits is not null))
);
create index ix_reserve_conversion_account_id on reserve_conversion (account_id, number, log_index)
    where account_id is not null;
create index ix_reserve_conversion_account_ref
    on reserve_conversion (account_ref, number, log_index);
create index ix_reserve_conversion_chain_id_number on reserve_conversion (chain_id, number);
create index ix_reserve_conversion_due on reserve_conversion (holder, number, log_index)
    where status in ('waiting', 'set_aside');
create index ix_reserve_conversion_holder on reserve_conversion (holder, number, log_index);
create unique index uq_reserve_conversion_credited
    on reserve_conversion (chain_id, tx_hash, log_index)
    where status = 'credited';

create table reserve_ref (
    account_ref bytea constraint pk_reserve_ref primary key,
    account_id bigint not null
        constraint fk_reserve_ref_account_id references account
        constraint uq_reserve_ref_account_id unique,
    issued_at timestamptz not null
);

create table reserve_claim (
    account_ref bytea not null,
    holder bytea not null,
    account_id bigint not null constraint fk_reserve_claim_account_id references account,
    claimed_at timestamptz not null,
    constraint pk_reserve_claim primary key (account_ref, holder)
);
create index ix_reserve_claim_account_id on reserve_claim (account_id);

create table reserve_converted (
    account_id bigint not null constraint fk_reserve_converted_account_id references account,
    account_ref bytea not null,
    usdc_e6 numeric(78, 0) not null constraint ck_reserve_converted_usdc_e6 check (usdc_e6 >= 0),
    constraint pk_reserve_converted primary key (account_id, account_ref)
);

create table reserve_reading (
    chain_id bigint constraint pk_reserve_reading primary key,
    number bigint not null,
    block_hash bytea not null,
    at bigint not null,
    reserve_e6 numeric(78, 0) not null,
    supply numeric(78, 0) not null,
    owed_e6 numeric(78, 0) not null,
    usdc_e6 numeric(78, 0) not null,
    is_reconciled boolean not null,
    read_at timestamptz not null,
    audited_number bigint,
    audited_at timestamptz,
    compared_account_id bigint,
    right_number bigint,
    locked_e6 numeric(78, 0) not null default 0,
    locked_until_ns numeric(78, 0) not null default 0
);

create table reserve_total (
    chain_id bigint not null,
    part text not null,
    rows bigint not null,
    amount numeric(78, 0) not null,
    id bigint generated always as identity constraint pk_reserve_total primary key
);

create table reserve_touched (
    account_id bigint constraint pk_reserve_touched primary key,
    touches bigint not null,
    touched_by bigint
);

-- Running totals, kept by the transaction that changes them. A row counts in one part or in none; a
-- chain's block that is replaced moves the events in it.
insert into reserve_total (chain_id, part, rows, amount)
values (0, 'sums', 0, 0), (0, 'worth', 0, 0), (0, 'credits', 0, 0);

create function reserve_count(chain bigint, counted text, d_rows bigint, d_amount numeric) returns void
language sql as $$
insert into reserve_total (chain_id, part, rows, amount) values (chain, counted, d_rows, d_amount)
$$;

create function reserve_touch(account bigint) returns void
language sql as $$
insert into reserve_touched as seen (account_id, touches, touched_by)
values (account, 1, pg_current_xact_id()::text::bigint)
on conflict (account_id) do update set touches = seen.touches + 1, touched_by = excluded.touched_by
where seen.touched_by is distinct from excluded.touched_by
$$;

create function reserve_event_part(event reserve_event) returns text
language sql stable as $$
select case when event.kind <> 'converted' then null
  when exists (select from chain_block b where b.chain_id = event.chain_id and b.hash = event.block_hash and not b.canonical)
  then 'replaced' else 'events' end
$$;

create function reserve_event_counted() returns trigger
language plpgsql as $$
declare part text;
begin
  if tg_op <> 'INSERT' then
    part := reserve_event_part(old);
    if part is not null then perform reserve_count(old.chain_id, part, -1, -old.usdc_e6); end if;
  end if;
  if tg_op <> 'DELETE' then
    part := reserve_event_part(new);
    if part is not null then perform reserve_count(new.chain_id, part, 1, new.usdc_e6); end if;
  end if;
  return null;
end $$;

create trigger reserve_event_is_counted after insert or update or delete on reserve_event
for each row execute function reserve_event_counted();

create function reserve_block_counted() returns trigger
language plpgsql as $$
declare
  block chain_block := case when tg_op = 'DELETE' then old else new end;
  is_replaced boolean := tg_op <> 'DELETE' and not block.canonical;
  events bigint;
  usdc numeric;
begin
  select count(*), coalesce(sum(usdc_e6), 0) into events, usdc from reserve_event
   where chain_id = block.chain_id and block_hash = block.hash and kind = 'converted';
  if events > 0 then
    perform reserve_count(block.chain_id, case when is_replaced then 'events' else 'replaced' end, -events, -usdc);
    perform reserve_count(block.chain_id, case when is_replaced then 'replaced' else 'events' end, events, usdc);
  end if;
  return null;
end $$;

create trigger reserve_block_is_counted after update on chain_block
for each row when (old.canonical is distinct from new.canonical)
execute function reserve_block_counted();
create trigger reserve_orphan_is_counted after insert on chain_block
for each row when (not new.canonical) execute function reserve_block_counted();
create trigger reserve_dropped_orphan_is_counted after delete on chain_block
for each row when (not old.canonical) execute function reserve_block_counted();

create function reserve_conversion_count(one reserve_conversion, sign integer) returns void
language plpgsql as $$
begin
  perform reserve_count(one.chain_id, case when one.status = 'reversed' then 'reversed' else 'conversions' end,
                        sign, sign * one.usdc_e6);
  if one.status = 'credited' then
    perform reserve_count(one.chain_id, 'credited', sign, sign * one.usdc_e6);
    perform reserve_touch(one.account_id);
  end if;
end $$;

create function reserve_conversion_counted() returns trigger
language plpgsql as $$
begin
  if tg_op <> 'INSERT' then perform reserve_conversion_count(old, -1); end if;
  if tg_op <> 'DELETE' then perform reserve_conversion_count(new, 1); end if;
  return null;
end $$;

create trigger reserve_conversion_is_counted after insert or delete on reserve_conversion
for each row execute function reserve_conversion_counted();
create trigger reserve_changed_conversion_is_counted after update on reserve_conversion
for each row when (old.status in ('credited', 'reversed') or new.status in ('credited', 'reversed')
                   or (old.chain_id, old.usdc_e6) is distinct from (new.chain_id, new.usdc_e6))
execute function reserve_conversion_counted();

create function reserve_converted_count(one reserve_converted, sign integer) returns void
language plpgsql as $$
begin
  perform reserve_count(0, 'sums', sign, sign * one.usdc_e6);
  perform reserve_count(0, 'worth', sign, sign * div(one.usdc_e6, 10000));
  perform reserve_touch(one.account_id);
end $$;

create function reserve_converted_counted() returns trigger
language plpgsql as $$
begin
  if tg_op <> 'INSERT' then perform reserve_converted_count(old, -1); end if;
  if tg_op <> 'DELETE' then perform reserve_converted_count(new, 1); end if;
  return null;
end $$;

create trigger reserve_converted_is_counted after insert or update or delete on reserve_converted
for each row execute function reserve_converted_counted();

create function reserve_credit_counted() returns trigger
language plpgsql as $$
begin
  perform reserve_count(0, 'credits', 1, -new.counter_delta);
  perform reserve_touch(new.account_id);
  return null;
end $$;

create trigger reserve_credit_is_counted after insert on credit_entry
for each row when (new.counter = 'reserve') execute function reserve_credit_counted();
