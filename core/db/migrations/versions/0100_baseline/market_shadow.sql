create table shadow_trade (
    episode_id bigint constraint pk_shadow_trade primary key,
    asset_id bigint not null constraint fk_shadow_trade_asset_id references market_asset,
    token text not null,
    buy_id bigint not null constraint fk_shadow_trade_buy_id references market_listing,
    sell_id bigint not null constraint fk_shadow_trade_sell_id references market_listing,
    buy_exchange text not null,
    sell_exchange text not null,
    chain text,
    fingerprint jsonb not null,
    coins float8,
    fee_coins float8,
    buy_fee_bps float8,
    sell_fee_bps float8,
    sigma_24h float8,
    is_simulated boolean not null,
    state text not null
        constraint ck_shadow_trade_state
        check (state in ('open', 'settled', 'returned', 'void', 'skipped')),
    reason text,
    pnl_usd_e6 bigint,
    entered_at timestamptz not null,
    due_at timestamptz not null,
    closed_at timestamptz,
    constraint ck_shadow_trade_coins check ((state = 'skipped') = (coins is null)),
    constraint ck_shadow_trade_fee_bps
        check (state = 'skipped' or (buy_fee_bps is not null and sell_fee_bps is not null)),
    constraint ck_shadow_trade_pnl_usd_e6
        check ((state in ('settled', 'returned')) = (pnl_usd_e6 is not null))
);
create index ix_shadow_trade_buy_id_sell_id_entered_at
    on shadow_trade (buy_id, sell_id, entered_at);
create index ix_shadow_trade_entered_at on shadow_trade (entered_at);
create index ix_shadow_trade_open on shadow_trade (due_at, episode_id) where state = 'open';

create table shadow_venue (
    exchange text constraint pk_shadow_venue primary key,
    usd_e6 bigint not null,
    opportunity_usd float8 not null,
    opportunity_at timestamptz not null,
    quote text not null,
    usd_per_quote float8,
    rate_at timestamptz,
    settled bigint not null,
    returned bigint not null,
    voided bigint not null,
    skipped bigint not null,
    hits bigint not null,
    pnl_usd_e6 bigint not null,
    worst_usd_e6 bigint
);

create table shadow_bin (
    pnl_bps integer constraint pk_shadow_bin primary key,
    n bigint not null
);

create table shadow_slice (
    gap_cause text not null,
    deviation_pattern text not null,
    venue_pair text not null,
    chain text not null,
    grade_pair text not null,
    session text not null,
    n bigint not null,
    hits bigint not null,
    pnl_usd_e6 bigint not null,
    constraint pk_shadow_slice
        primary key (gap_cause, deviation_pattern, venue_pair, chain, grade_pair, session)
);

create table shadow_asset (
    asset_id bigint
        constraint pk_shadow_asset primary key
        constraint fk_shadow_asset_asset_id references market_asset,
    n bigint not null,
    hits bigint not null,
    pnl_usd_e6 bigint not null,
    since timestamptz not null
);

create table shadow_move (
    id bigint generated always as identity constraint pk_shadow_move primary key,
    from_exchange text not null,
    to_exchange text not null,
    usd_e6 bigint not null,
    fee_usd_e6 bigint not null,
    takes_s integer not null,
    at timestamptz not null
);
create index ix_shadow_move_at on shadow_move (at);

create table shadow_book (
    id integer
        constraint pk_shadow_book primary key
        constraint ck_shadow_book_one_row check (id = 1),
    episode_id bigint not null,
    unplaced_usd_e6 bigint not null,
    rebalanced_on date,
    is_simulated boolean not null,
    computed_at timestamptz not null
);

create table market_insight (
    id bigint generated always as identity constraint pk_market_insight primary key,
    key text not null constraint uq_market_insight_key unique,
    kind text not null
        constraint ck_market_insight_kind
        check (kind in ('venue_drain', 'venue_risk', 'mm_exit', 'mm_enter')),
    exchange text not null,
    token text,
    day date not null,
    headline text not null,
    evidence jsonb not null,
    is_suppressed boolean not null,
    is_simulated boolean not null,
    at timestamptz not null,
    updated_at timestamptz not null
);
create index ix_market_insight_exchange_day_id on market_insight (exchange, day, id);
create index ix_market_insight_updated_at_id on market_insight (updated_at, id);
