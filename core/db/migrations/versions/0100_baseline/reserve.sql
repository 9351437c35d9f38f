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
    right_number bigint,
    locked_e6 numeric(78, 0) not null default 0,
    locked_until_ns numeric(78, 0) not null default 0
);
