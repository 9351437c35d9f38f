create table warning_event (
    seq bigint constraint pk_warning_event primary key,
    action text not null
        constraint ck_warning_event_action check (action in ('issued', 'cleared', 'reopened')),
    clears_seq bigint,
    reopens_seq bigint,
    exchange text not null,
    asset_id bigint not null constraint fk_warning_event_asset_id references market_asset,
    token text not null,
    listing_id bigint constraint fk_warning_event_listing_id references market_listing,
    type text not null,
    severity text not null,
    is_predictive boolean not null,
    at timestamptz not null,
    evidence jsonb not null,
    rule_version text not null,
    source_event text,
    is_imported boolean not null,
    prev_hash bytea not null,
    row_hash bytea not null,
    constraint ck_warning_event_clears_seq check ((action = 'cleared') = (clears_seq is not null)),
    constraint ck_warning_event_reopens_seq
        check ((action = 'reopened') = (reopens_seq is not null))
);
create index ix_warning_event_asset_id_seq on warning_event (asset_id, seq);
create index ix_warning_event_at_seq on warning_event (at, seq);
create index ix_warning_event_clears_seq on warning_event (clears_seq);
create index ix_warning_event_exchange_seq on warning_event (exchange, seq)
    where action = 'issued';
create index ix_warning_event_severity_seq on warning_event (severity, seq)
    where action = 'issued';
create index ix_warning_event_type_seq on warning_event (type, seq) where action = 'issued';

create table warning_head (
    id integer
        constraint pk_warning_head primary key
        constraint ck_warning_head_one_row check (id = 1),
    seq bigint not null,
    row_hash bytea not null
);

create table warning_standing (
    seq bigint
        constraint pk_warning_standing primary key
        constraint fk_warning_standing_seq references warning_event,
    exchange text not null,
    asset_id bigint not null,
    token text not null,
    listing_id bigint,
    type text not null,
    severity text not null,
    issued_at timestamptz not null,
    evidence jsonb not null,
    constraint uq_warning_standing_exchange_asset_id_type unique (exchange, asset_id, type)
);
create index ix_warning_standing_asset_id on warning_standing (asset_id);
create index ix_warning_standing_exchange_seq on warning_standing (exchange, seq);
create index ix_warning_standing_issued_at_seq on warning_standing (issued_at desc, seq desc);
create index ix_warning_standing_severity_seq on warning_standing (severity, seq);
create index ix_warning_standing_type_seq on warning_standing (type, seq);

-- No warning is dated back: the database holds each row to its own clock and to the row before it.
-- Imported history comes before every other row, so nothing can be slipped in later.
create function refuse_dated_warning() returns trigger
language plpgsql as $$
declare
    prior record;
begin
    select at, row_hash, is_imported into prior from warning_event where seq = new.seq - 1;
    if found is distinct from (new.seq > 1) then
        raise exception 'warning_event: seq % does not follow the last row', new.seq;
    end if;
    if new.seq > 1 and (prior.row_hash <> new.prev_hash or new.at < prior.at) then
        raise exception 'warning_event: seq % does not continue the row before it', new.seq;
    end if;
    if new.is_imported and (new.at > clock_timestamp() or (new.seq > 1 and not prior.is_imported)) then
        raise exception 'warning_event: history is past, and imported before any other row';
    end if;
    if not new.is_imported and new.at not between clock_timestamp() - interval '1 minute' and clock_timestamp() then
        raise exception 'warning_event: a warning is dated when it is written';
    end if;
    return new;
end $$;
create trigger warning_event_is_dated before insert on warning_event
for each row execute function refuse_dated_warning();
