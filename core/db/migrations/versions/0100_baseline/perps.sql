create table perps_leg (
    id bigint generated always as identity constraint pk_perps_leg primary key,
    mandate_id bigint not null constraint fk_perps_leg_mandate_id references mandate,
    status text not null constraint ck_perps_leg_status check (status in ('bound', 'unbound')),
    owner_address bytea not null,
    agent_address bytea not null,
    dex text not null,
    bound_at timestamptz not null,
    unbound_at timestamptz,
    last_worth_usdc_e6 numeric(78, 0),
    last_read_at timestamptz,
    last_reason text
        constraint ck_perps_leg_last_reason
        check (last_reason in ('hl_unreadable', 'hl_account_mode', 'hl_key_lost')),
    degraded_ticks integer not null,
    source text,
    next_read_at timestamptz not null,
    constraint ck_perps_leg_unbound_at check ((status = 'bound') = (unbound_at is null))
);
create index ix_perps_leg_due on perps_leg (next_read_at) where status = 'bound';
create index ix_perps_leg_mandate_id_id on perps_leg (mandate_id, id);
create unique index uq_perps_leg_live_mandate on perps_leg (mandate_id) where status = 'bound';
create unique index uq_perps_leg_live_owner on perps_leg (owner_address) where status = 'bound';

create table perps_order (
    id bigint generated always as identity constraint pk_perps_order primary key,
    leg_id bigint not null constraint fk_perps_order_leg_id references perps_leg,
    mandate_id bigint not null constraint fk_perps_order_mandate_id references mandate,
    seq integer not null,
    cloid bytea not null constraint uq_perps_order_cloid unique,
    asset integer not null,
    coin text not null,
    side text not null constraint ck_perps_order_side check (side in ('buy', 'sell')),
    size_e8 numeric(78, 0) not null,
    limit_px_e8 numeric(78, 0) not null,
    reduce_only boolean not null,
    placed_at timestamptz not null,
    expires_at timestamptz not null,
    outcome text not null
        constraint ck_perps_order_outcome
        check (outcome in ('sending', 'accepted', 'rejected', 'unknown')),
    constraint uq_perps_order_mandate_id_seq unique (mandate_id, seq)
);
create index ix_perps_order_mandate_id_placed_at on perps_order (mandate_id, placed_at);
create index ix_perps_order_open on perps_order (leg_id) where outcome in ('sending', 'unknown');

create table perps_operator_order (
    id bigint generated always as identity constraint pk_perps_operator_order primary key,
    by_id bigint not null constraint fk_perps_operator_order_by_id references account,
    account bytea not null,
    cloid bytea not null constraint uq_perps_operator_order_cloid unique,
    nonce_ms bigint not null,
    asset integer not null,
    coin text not null,
    side text not null constraint ck_perps_operator_order_side check (side in ('buy', 'sell')),
    kind text not null constraint ck_perps_operator_order_kind check (kind in ('market', 'limit')),
    size_e8 numeric(78, 0) not null,
    limit_px_e8 numeric(78, 0) not null,
    reduce_only boolean not null,
    largest_usdc_e6 numeric(78, 0) not null,
    placed_at timestamptz not null,
    expires_at timestamptz not null,
    state text not null
        constraint ck_perps_operator_order_state
        check (state in ('prepared', 'accepted', 'rejected', 'unknown', 'never_arrived')),
    avg_px_e8 numeric(78, 0),
    total_sz_e8 numeric(78, 0),
    oid bigint,
    reported text
        constraint ck_perps_operator_order_reported
        check (reported in ('accepted', 'rejected', 'not_sent')),
    reported_at timestamptz,
    signal_seq bigint constraint fk_perps_operator_order_signal_seq references fund_signal,
    asked_at timestamptz,
    venue_words text,
    constraint uq_perps_operator_order_account_nonce_ms unique (account, nonce_ms),
    constraint ck_perps_operator_order_reported_at
        check ((reported is null) = (reported_at is null))
);
create index ix_perps_operator_order_account_placed_at on perps_operator_order (account, placed_at);

create table perps_closing (
    leg_id bigint
        constraint pk_perps_closing primary key
        constraint fk_perps_closing_leg_id references perps_leg,
    status text not null
        constraint ck_perps_closing_status check (status in ('pending', 'closed', 'left_open')),
    is_transient boolean not null,
    is_key_lost boolean not null,
    why text constraint ck_perps_closing_why check (why in ('no_key', 'unbound')),
    rows integer not null,
    tries integer not null,
    next_try_at timestamptz not null
);
create index ix_perps_closing_due on perps_closing (next_try_at) where status = 'pending';
