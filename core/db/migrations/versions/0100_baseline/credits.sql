create table credit_entry (
    id bigint generated always as identity constraint pk_credit_entry primary key,
    account_id bigint not null constraint fk_credit_entry_account_id references account,
    seq bigint not null,
    kind text not null,
    base_key text not null,
    counter text not null,
    welcome_delta bigint not null,
    earned_delta bigint not null,
    converted_delta bigint not null,
    bonded_delta bigint not null,
    owed_delta bigint not null,
    counter_delta bigint not null,
    payload jsonb not null,
    created_at timestamptz not null,
    prev_hash bytea not null,
    row_hash bytea not null,
    constraint uq_credit_entry_account_id_base_key unique (account_id, base_key),
    constraint uq_credit_entry_account_id_seq unique (account_id, seq),
    constraint ck_credit_entry_sums_to_zero
        check (
            welcome_delta + earned_delta + converted_delta + bonded_delta - owed_delta +
            counter_delta = 0
        )
);
create index ix_credit_entry_reserve on credit_entry (account_id) where counter = 'reserve';

create table credit_head (
    account_id bigint
        constraint pk_credit_head primary key
        constraint fk_credit_head_account_id references account,
    seq bigint not null,
    row_hash bytea not null,
    welcome bigint not null constraint ck_credit_head_welcome check (welcome >= 0),
    earned bigint not null constraint ck_credit_head_earned check (earned >= 0),
    converted bigint not null constraint ck_credit_head_converted check (converted >= 0),
    bonded bigint not null constraint ck_credit_head_bonded check (bonded >= 0),
    owed bigint not null constraint ck_credit_head_owed check (owed >= 0),
    updated_at timestamptz not null
);

create table free_read_count (
    account_id bigint not null constraint fk_free_read_count_account_id references account,
    day date not null,
    n integer not null,
    constraint pk_free_read_count primary key (account_id, day)
);

create table free_read_pool (
    pool text not null,
    day date not null,
    n integer not null,
    constraint pk_free_read_pool primary key (pool, day)
);
