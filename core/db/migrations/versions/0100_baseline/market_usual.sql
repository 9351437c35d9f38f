create table market_usual (
    listing_id bigint
        constraint pk_market_usual primary key
        constraint fk_market_usual_listing_id references market_listing,
    bucket timestamptz not null,
    began timestamptz not null,
    depth_usd float8,
    spread_bps float8,
    spread_mad_bps float8,
    spread_p95_bps float8,
    first_price_usd float8,
    starts timestamptz[] not null,
    depths_usd float8[] not null,
    spreads_bps float8[] not null,
    first_prices_usd float8[] not null default '{}'
) with (fillfactor = 45);

create table market_peers (
    exchange text constraint pk_market_peers primary key,
    spread_bps float8[] not null,
    depth_usd float8[] not null,
    slip_10k_bps float8[] not null,
    volume_24h_usd float8[] not null,
    spread_n bigint not null,
    depth_n bigint not null,
    slip_n bigint not null,
    volume_n bigint not null,
    computed_at timestamptz not null
);
