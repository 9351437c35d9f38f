create table market_asset (
    id bigint generated always as identity constraint pk_market_asset primary key,
    ticker text not null constraint uq_market_asset_ticker unique
);

create table market_listing (
    listing_id bigint
        constraint pk_market_listing primary key
        constraint fk_market_listing_listing_id references listing,
    asset_id bigint not null constraint fk_market_listing_asset_id references market_asset,
    exchange text not null,
    native_id text not null,
    native_base text not null,
    native_quote text not null,
    base text not null,
    quote text not null,
    asset_class text,
    status text
        constraint ck_market_listing_status check (status in ('trading', 'halted', 'delisted')),
    has_st_tag boolean,
    has_caution boolean,
    min_size_quote float8,
    listed_at timestamptz,
    first_seen_at timestamptz not null,
    seen_at timestamptz not null,
    delisted_at timestamptz,
    constraint uq_market_listing_exchange_native_id unique (exchange, native_id)
);
create index ix_market_listing_asset_id_exchange on market_listing (asset_id, exchange);

create table market_count (
    name text constraint pk_market_count primary key,
    n bigint not null
);

create table market_tag (
    exchange text not null,
    native_base text not null,
    first_seen_at timestamptz not null,
    with_at timestamptz,
    without_at timestamptz,
    constraint pk_market_tag primary key (exchange, native_base)
);

create table snap_1m (
    listing_id bigint not null,
    ts timestamptz not null,
    every_s integer not null,
    fault text,
    mid float8,
    spread_bps float8,
    bid_05_usd float8,
    ask_05_usd float8,
    bid_1_usd float8,
    ask_1_usd float8,
    bid_2_usd float8,
    ask_2_usd float8,
    slip_buy_1k_bps float8,
    slip_sell_1k_bps float8,
    slip_buy_10k_bps float8,
    slip_sell_10k_bps float8,
    imbalance float8,
    usd_per_quote float8,
    fx_source text,
    is_truncated boolean,
    volume_24h_usd float8,
    can_deposit boolean,
    can_withdraw boolean,
    venue_at timestamptz,
    received_at timestamptz,
    constraint pk_snap_1m primary key (listing_id, ts),
    constraint ck_snap_1m_fault check ((fault is null) = (mid is not null))
) partition by range (ts);
create index ix_snap_1m_ts
    on snap_1m using brin (ts) with (pages_per_range = 32, autosummarize = on);

create table snap_2h (
    listing_id bigint not null,
    bucket timestamptz not null,
    expected integer not null,
    n integer not null,
    rejected integer not null,
    gaps integer not null,
    skew_ms integer,
    open float8,
    high float8,
    low float8,
    close float8,
    usd_per_quote float8,
    spread_p5_bps float8,
    spread_p50_bps float8,
    spread_p95_bps float8,
    depth_1_usd float8,
    depth_2_usd float8,
    slip_1k_bps float8,
    slip_10k_bps float8,
    volume_24h_usd float8,
    rv float8,
    deposit_share float8,
    withdraw_share float8,
    truncated_share float8,
    coverage float8 not null,
    constraint pk_snap_2h primary key (listing_id, bucket)
) partition by range (bucket);

create table grade_hour (
    listing_id bigint not null,
    hour timestamptz not null,
    letter text constraint ck_grade_hour_letter check (letter in ('A', 'B', 'C', 'D', 'F')),
    score float8,
    part_depth float8,
    part_spread float8,
    part_slippage float8,
    part_volume float8,
    part_uptime float8,
    is_provisional boolean not null,
    version text not null,
    constraint pk_grade_hour primary key (listing_id, hour),
    constraint ck_grade_hour_score check ((letter is null) = (score is null))
) partition by range (hour);
create index ix_grade_hour_hour_listing_id on grade_hour (hour, listing_id);

create table listing_state (
    listing_id bigint
        constraint pk_listing_state primary key
        constraint fk_listing_state_listing_id references market_listing,
    asset_id bigint not null,
    exchange text not null,
    token text not null,
    symbol text not null,
    token_id text not null constraint uq_listing_state_token_id unique,
    source text not null
        constraint ck_listing_state_source check (source in ('live', 'simulated')),
    is_simulated boolean not null,
    status text,
    asset_class text,
    has_st_tag boolean,
    has_caution boolean,
    first_seen_at timestamptz not null,
    every_s integer,
    price_usd float8,
    sampled_at timestamptz,
    fault text,
    fault_at timestamptz,
    grade text constraint ck_listing_state_grade check (grade in ('A', 'B', 'C', 'D', 'F')),
    grade_streak smallint not null default 0,
    score float8,
    is_provisional boolean,
    gates text[] not null default '{}',
    part_depth float8,
    part_spread float8,
    part_slippage float8,
    part_volume float8,
    part_uptime float8,
    in_depth_usd float8,
    in_spread_bps float8,
    in_slip_10k_bps float8,
    in_volume_24h_usd float8,
    in_volume_30d_usd float8,
    in_uptime float8,
    in_hours float8,
    in_coverage float8,
    gpa_7d float8,
    graded_at timestamptz,
    grade_version text,
    strong_group text,
    order_usd float8 not null default 0,
    updated_at timestamptz not null,
    mid float8,
    spread_bps float8,
    bid_05_usd float8,
    ask_05_usd float8,
    bid_1_usd float8,
    ask_1_usd float8,
    bid_2_usd float8,
    ask_2_usd float8,
    slip_buy_1k_bps float8,
    slip_sell_1k_bps float8,
    slip_buy_10k_bps float8,
    slip_sell_10k_bps float8,
    imbalance float8,
    usd_per_quote float8,
    fx_source text,
    is_truncated boolean,
    volume_24h_usd float8,
    can_deposit boolean,
    can_withdraw boolean,
    venue_at timestamptz,
    received_at timestamptz,
    best_24h text
) with (fillfactor = 45);
create index ix_listing_state_asset_id on listing_state (asset_id);
create index ix_listing_state_exchange_order
    on listing_state (exchange, order_usd desc, listing_id);
create index ix_listing_state_order on listing_state (order_usd desc, listing_id);
create index ix_listing_state_strong_group_token on listing_state (strong_group, token)
    where strong_group is not null;
create index ix_listing_state_symbol on listing_state (symbol text_pattern_ops);

create table asset_state (
    asset_id bigint
        constraint pk_asset_state primary key
        constraint fk_asset_state_asset_id references market_asset,
    token text not null constraint uq_asset_state_token unique,
    grade text constraint ck_asset_state_grade check (grade in ('A', 'B', 'C', 'D', 'F')),
    grade_worst text
        constraint ck_asset_state_grade_worst check (grade_worst in ('A', 'B', 'C', 'D', 'F')),
    gpa_7d float8,
    graded_venues integer not null default 0,
    graded_at timestamptz,
    identity text,
    transfer text,
    exchanges text[] not null default '{}',
    contracts jsonb not null default '[]',
    groups jsonb not null default '[]',
    links jsonb not null default '[]',
    is_simulated boolean not null,
    updated_at timestamptz not null
);
create index ix_asset_state_watch on asset_state (gpa_7d, grade_worst desc, token)
    where gpa_7d is not null;

create table network_status (
    exchange text not null,
    native_base text not null,
    chain text not null,
    asset_id bigint not null constraint fk_network_status_asset_id references market_asset,
    can_deposit boolean,
    can_withdraw boolean,
    contract text,
    is_native boolean not null,
    withdraw_fee float8,
    deposit_since timestamptz not null,
    withdraw_since timestamptz not null,
    scans integer not null,
    seen_at timestamptz not null,
    constraint pk_network_status primary key (exchange, native_base, chain)
);
create index ix_network_status_asset_id on network_status (asset_id);

create table transfer_event (
    id bigint generated always as identity constraint pk_transfer_event primary key,
    exchange text not null,
    native_base text not null,
    chain text not null,
    asset_id bigint not null constraint fk_transfer_event_asset_id references market_asset,
    direction text not null
        constraint ck_transfer_event_direction check (direction in ('deposit', 'withdraw')),
    was_open boolean,
    is_open boolean,
    at timestamptz not null,
    constraint ck_transfer_event_changed check (is_open is distinct from was_open)
);
create index ix_transfer_event_asset_id_id on transfer_event (asset_id, id);
create index ix_transfer_event_at_id on transfer_event (at, id);

create table market_notice (
    id bigint generated always as identity constraint pk_market_notice primary key,
    exchange text not null,
    notice_id text not null,
    kind text not null
        constraint ck_market_notice_kind
        check (
            kind in ('st_tag', 'caution_designation', 'delist_notice', 'suspend_notice',
            'delisting_confirmed', 'resume_notice', 'maintenance', 'quote_pair_removal',
            'other', 'unsure')
        ),
    scope text not null
        constraint ck_market_notice_scope check (scope in ('spot', 'margin', 'futures', 'loan')),
    native_bases text[] not null,
    title text not null,
    url text,
    published_at timestamptz not null,
    effective_at timestamptz,
    received_at timestamptz not null,
    constraint uq_market_notice_exchange_notice_id unique (exchange, notice_id)
);
create index ix_market_notice_published_at_id on market_notice (published_at, id);
create index ix_market_notice_unsure on market_notice (published_at) where kind = 'unsure';

create table market_outcome (
    id bigint generated always as identity constraint pk_market_outcome primary key,
    exchange text not null,
    asset_id bigint not null constraint fk_market_outcome_asset_id references market_asset,
    kind text,
    exclusion text,
    is_genuine boolean not null,
    at timestamptz not null,
    notice_id bigint constraint fk_market_outcome_notice_id references market_notice,
    constraint ck_market_outcome_kind check ((kind is null) = (exclusion is not null))
);
create index ix_market_outcome_asset_id_id on market_outcome (asset_id, id);
create unique index uq_market_outcome
    on market_outcome (exchange, asset_id, kind, notice_id) nulls not distinct;

-- Whoever writes samples need not own the tables: these functions act as their owner does, on these
-- three tables alone. A partition is made beside its parent and then attached, for which neither
-- readers nor writers wait.
create schema market_parts;

create function market_ensure_parts(parent text, first timestamptz, last timestamptz) returns integer
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
    unit text := case parent when 'snap_1m' then 'day'
                             when 'snap_2h' then 'month'
                             when 'grade_hour' then 'month' end;
    since timestamptz;
    name text;
    made integer := 0;
begin
    if unit is null then
        raise exception 'market_ensure_parts: % has no partitions', parent;
    end if;
    if last - first > interval '400 days' then
        raise exception 'market_ensure_parts: % to % is too long', first, last;
    end if;
    since := date_trunc(unit, first);
    while since <= last loop
        name := parent || to_char(since, case unit when 'day' then '_YYYYMMDD' else '_YYYYMM' end);
        if to_regclass('market_parts.' || name) is null then
            execute format('lock table public.%I in share update exclusive mode', parent);
            if to_regclass('market_parts.' || name) is null then
                execute format('create table market_parts.%I (like public.%I including all)', name, parent);
                execute format(
                    'alter table public.%I attach partition market_parts.%I for values from (%L) to (%L)',
                    parent, name, since, since + ('1 ' || unit)::interval);
                made := made + 1;
            end if;
        end if;
        since := since + ('1 ' || unit)::interval;
    end loop;
    return made;
end $$;

create function market_drop_parts(parent text, before timestamptz) returns integer
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
    part record;
    gone integer := 0;
begin
    if parent not in ('snap_1m', 'snap_2h', 'grade_hour') then
        raise exception 'market_drop_parts: % has no partitions', parent;
    end if;
    for part in
        select c.relname as name,
               (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz as ends
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = ('public.' || parent)::regclass
    loop
        if part.ends <= before then
            execute format('drop table market_parts.%I', part.name);
            gone := gone + 1;
        end if;
    end loop;
    return gone;
end $$;

create function market_thin_parts(parent text, before timestamptz, keep bigint[]) returns integer
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
    part record;
    thinned integer := 0;
begin
    if parent <> 'snap_1m' then
        raise exception 'market_thin_parts: % is not thinned', parent;
    end if;
    for part in
        select c.relname as name, b.found[1]::timestamptz as since, b.found[2]::timestamptz as ends
        from pg_inherits i join pg_class c on c.oid = i.inhrelid,
             regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''([^'']+)''\) TO \(''([^'']+)''\)') b(found)
        where i.inhparent = ('public.' || parent)::regclass and c.relname not like '%\_kept'
    loop
        if part.ends <= before then
            execute format('create table market_parts.%I (like public.%I including all)', part.name || '_kept', parent);
            execute format('insert into market_parts.%I select * from market_parts.%I where listing_id = any($1)',
                           part.name || '_kept', part.name) using keep;
            execute format('drop table market_parts.%I', part.name);
            execute format(
                'alter table public.%I attach partition market_parts.%I for values from (%L) to (%L)',
                parent, part.name || '_kept', part.since, part.ends);
            thinned := thinned + 1;
        end if;
    end loop;
    return thinned;
end $$;

revoke all on function market_ensure_parts from public;
revoke all on function market_drop_parts from public;
revoke all on function market_thin_parts from public;
