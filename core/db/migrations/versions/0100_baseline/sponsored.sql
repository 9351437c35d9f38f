create table sponsored_buy (
    id text constraint pk_sponsored_buy primary key,
    chain_id bigint not null,
    account_id bigint not null constraint fk_sponsored_buy_account_id references account,
    buyer bytea not null,
    recipient bytea not null,
    reserve_token bytea not null,
    batch bytea not null,
    treasury bytea not null,
    amount_usdc_e6 numeric(78, 0) not null,
    fee_usdc_e6 numeric(78, 0) not null,
    credit_usdc_e6 numeric(78, 0) not null,
    tokens numeric(78, 0) not null,
    min_tokens numeric(78, 0) not null,
    salt bytea not null,
    buy_nonce bytea not null constraint uq_sponsored_buy_buy_nonce unique,
    fee_nonce bytea not null constraint uq_sponsored_buy_fee_nonce unique,
    covers_wei numeric(78, 0) not null,
    valid_before bigint not null,
    expires_at timestamptz not null,
    created_at timestamptz not null,
    purchase_signature bytea,
    fee_signature bytea,
    accepted_at timestamptz,
    requests bigint not null,
    gas_scopes text[],
    constraint ck_sponsored_buy_counted check ((accepted_at is null) = (gas_scopes is null)),
    constraint ck_sponsored_buy_signed
        check (
            (accepted_at is null) = (purchase_signature is null) and (accepted_at is null) =
            (fee_signature is null)
        )
);
create index ix_sponsored_buy_accepted_at on sponsored_buy (accepted_at)
    where accepted_at is not null;
create index ix_sponsored_buy_account_id_accepted_at on sponsored_buy (account_id, accepted_at);
create index ix_sponsored_buy_buyer on sponsored_buy (buyer) where accepted_at is not null;
create index ix_sponsored_buy_prepared on sponsored_buy (valid_before) where accepted_at is null;
create index ix_sponsored_buy_valid_before on sponsored_buy (valid_before);

create table sponsored_use (
    chain_id bigint not null,
    block_hash bytea not null,
    log_index bigint not null,
    number bigint not null,
    tx_hash bytea not null,
    nonce bytea not null,
    use text not null
        constraint ck_sponsored_use_use check (use in ('paid', 'elsewhere', 'cancelled')),
    tokens numeric(78, 0),
    constraint pk_sponsored_use primary key (chain_id, block_hash, log_index)
);
create index ix_sponsored_use_nonce on sponsored_use (nonce);

create table sponsored_proof (
    chain_id bigint not null,
    nonce bytea not null,
    block_hash bytea not null,
    is_used boolean not null,
    by text not null
        constraint ck_sponsored_proof_by check (by in ('receipts', 'nodes', 'one_node')),
    at timestamptz not null,
    constraint pk_sponsored_proof primary key (chain_id, nonce, block_hash)
);

create table sponsored_dispute (
    chain_id bigint not null,
    nonce bytea not null,
    why text not null,
    since timestamptz not null,
    tries bigint not null,
    next_at timestamptz not null,
    constraint pk_sponsored_dispute primary key (chain_id, nonce)
);

create table sponsor_heartbeat (
    chain_id bigint constraint pk_sponsor_heartbeat primary key,
    sponsor bytea not null,
    balance_wei numeric(78, 0) not null,
    at timestamptz not null
);
