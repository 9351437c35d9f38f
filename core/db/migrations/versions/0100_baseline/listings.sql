create table listing (
    id bigint generated always as identity constraint pk_listing primary key,
    token_id text not null constraint uq_listing_token_id unique,
    exchange text not null,
    base text not null,
    quote text not null,
    is_simulated boolean not null,
    created_at timestamptz not null,
    constraint uq_listing_exchange_base_quote unique (exchange, base, quote),
    constraint ck_listing_token_id
        check (token_id = lower(exchange || '_' || base || '_' || quote))
);

create table listing_count (
    exchange text constraint pk_listing_count primary key,
    listings bigint not null,
    simulated bigint not null,
    tokens bigint not null default 0
);

create table listing_token (
    token text constraint pk_listing_token primary key,
    facts bigint not null default 0
);
