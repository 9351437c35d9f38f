create table custodial_wallet (
    account_id bigint
        constraint pk_custodial_wallet primary key
        constraint fk_custodial_wallet_account_id references account,
    address bytea not null constraint uq_custodial_wallet_address unique,
    ciphertext bytea not null,
    key_version text not null,
    created_at timestamptz not null
);
create index ix_custodial_wallet_key_version_account_id
    on custodial_wallet (key_version, account_id);

create table custodial_transfer (
    outbox_id bigint
        constraint pk_custodial_transfer primary key
        constraint fk_custodial_transfer_outbox_id references outbox,
    account_id bigint not null
        constraint fk_custodial_transfer_account_id references custodial_wallet,
    "to" bytea not null,
    amount_usdc_e6 numeric(78, 0) not null
        constraint ck_custodial_transfer_amount_usdc_e6 check (amount_usdc_e6 > 0),
    expires_at timestamptz not null,
    created_at timestamptz not null,
    generation bigint not null default 0
);
create index ix_custodial_transfer_account_id_outbox_id
    on custodial_transfer (account_id, outbox_id);
