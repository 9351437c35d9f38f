create table venue_state (
    exchange text constraint pk_venue_state primary key,
    source text not null,
    state text not null
        constraint ck_venue_state_state check (state in ('ok', 'degraded', 'down')),
    reason text,
    since timestamptz not null,
    lag_s float8,
    skew_ms bigint,
    books_per_minute bigint not null,
    listings bigint not null,
    networks bigint,
    capabilities jsonb not null,
    markets_at timestamptz,
    networks_at timestamptz,
    notices_at timestamptz,
    answered_at timestamptz,
    updated_at timestamptz not null
);

create table scan_run (
    exchange text not null,
    minute timestamptz not null,
    planned integer not null,
    measured integer not null,
    rejected integer not null,
    targets integer not null,
    targets_measured integer not null,
    reason text,
    constraint pk_scan_run primary key (exchange, minute)
);
create index ix_scan_run_minute on scan_run (minute);

create table arb_observation (
    buy_id bigint not null constraint fk_arb_observation_buy_id references market_listing,
    sell_id bigint not null constraint fk_arb_observation_sell_id references market_listing,
    asset_id bigint not null,
    token text not null,
    buy_exchange text not null,
    sell_exchange text not null,
    gross_bps float8 not null,
    net_1k_bps float8,
    net_5k_bps float8,
    net_10k_bps float8,
    transferable text not null,
    chains text[] not null,
    is_actionable boolean not null,
    suspect text,
    fx_source text not null,
    buy_at timestamptz not null,
    sell_at timestamptz not null,
    observed_at timestamptz not null,
    constraint pk_arb_observation primary key (buy_id, sell_id)
);
create index ix_arb_observation_asset_id on arb_observation (asset_id);
create index ix_arb_observation_order
    on arb_observation (net_1k_bps desc nulls last, buy_id, sell_id);

create table arb_multi (
    asset_id bigint
        constraint pk_arb_multi primary key
        constraint fk_arb_multi_asset_id references market_asset,
    token text not null,
    venues integer not null,
    dispersion float8 not null,
    size_usd float8,
    profit_usd float8,
    legs jsonb not null,
    is_actionable boolean not null,
    observed_at timestamptz not null,
    actionable_profit_usd float8
);
create index ix_arb_multi_profit_usd on arb_multi (profit_usd desc nulls last, asset_id);

create table arb_change (
    id bigint generated always as identity constraint pk_arb_change primary key,
    asset_id bigint not null,
    token text not null,
    buy_exchange text not null,
    sell_exchange text not null,
    gross_bps float8 not null,
    was_bps float8,
    net_1k_bps float8,
    at timestamptz not null
);
create index ix_arb_change_asset_id_id on arb_change (asset_id, id);
create index ix_arb_change_at on arb_change (at);

create table arb_episode (
    id bigint generated always as identity constraint pk_arb_episode primary key,
    asset_id bigint not null,
    buy_id bigint not null,
    sell_id bigint not null,
    began_at timestamptz not null,
    last_at timestamptz not null,
    ended_at timestamptz,
    best_net_1k_bps float8 not null,
    buy_fee_bps float8,
    sell_fee_bps float8,
    net_1k_bps float8,
    chain text,
    withdraw_fee float8
);
create index ix_arb_episode_asset_id_last_at on arb_episode (asset_id, last_at);
create index ix_arb_episode_last_at on arb_episode (last_at);
create unique index uq_arb_episode_open on arb_episode (buy_id, sell_id) where ended_at is null;

create table arb_hour (
    hour timestamptz constraint pk_arb_hour primary key,
    gaps bigint not null,
    actionable bigint not null
);

create table arb_asset_hour (
    asset_id bigint not null,
    hour timestamptz not null,
    gaps bigint not null,
    actionable bigint not null,
    constraint pk_arb_asset_hour primary key (asset_id, hour)
);
create index ix_arb_asset_hour_hour on arb_asset_hour (hour);

create table microburst (
    id bigint generated always as identity constraint pk_microburst primary key,
    listing_id bigint not null constraint fk_microburst_listing_id references market_listing,
    trigger text not null,
    began_at timestamptz not null,
    ended_at timestamptz not null,
    count integer not null,
    max_move_bps float8,
    max_spread_bps float8,
    min_depth_usd float8,
    recovery_s float8,
    samples bytea not null
);
create index ix_microburst_began_at on microburst (began_at);
create index ix_microburst_listing_id_began_at on microburst (listing_id, began_at desc);

create table onchain_day (
    asset_id bigint not null constraint fk_onchain_day_asset_id references market_asset,
    chain text not null,
    day date not null,
    supply float8,
    holders bigint,
    top10_share float8,
    transfers_24h bigint,
    at timestamptz not null,
    constraint pk_onchain_day primary key (asset_id, chain, day)
);

create table market_summary (
    id integer
        constraint pk_market_summary primary key
        constraint ck_market_summary_one_row check (id = 1),
    figures jsonb not null,
    computed_at timestamptz not null
);

create table market_history (
    id integer
        constraint pk_market_history primary key
        constraint ck_market_history_one_row check (id = 1),
    seed bigint not null,
    origin timestamptz not null,
    size bigint not null,
    imported_at timestamptz not null
);

create table listing_state_turn (
    id integer
        constraint pk_listing_state_turn primary key
        constraint ck_listing_state_turn_one_row check (id = 1),
    at timestamptz not null
);
