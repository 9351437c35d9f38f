create table quarantined_fact (
    id bigint generated always as identity constraint pk_quarantined_fact primary key,
    ledger text not null
        constraint ck_quarantined_fact_ledger check (ledger in ('mandate', 'account')),
    ledger_id bigint not null,
    base_key text not null,
    chain_id bigint not null,
    block_number bigint not null,
    block_hash bytea not null,
    tx_hash bytea not null,
    log_index integer,
    address bytea,
    topic bytea,
    reason text not null
        constraint ck_quarantined_fact_reason
        check (reason in ('database', 'domain', 'undecodable', 'behind', 'incomplete')),
    note text not null,
    fact bytea not null,
    created_at timestamptz not null,
    tries integer not null,
    released_at timestamptz,
    withdrawn_at timestamptz,
    constraint ck_quarantined_fact_one_end check (released_at is null or withdrawn_at is null)
);
create index ix_quarantined_fact_block_hash on quarantined_fact (block_hash)
    where released_at is null and withdrawn_at is null;
create index ix_quarantined_fact_queue on quarantined_fact (ledger, ledger_id, id)
    where released_at is null and withdrawn_at is null;
create unique index uq_quarantined_fact_held on quarantined_fact (ledger, ledger_id, base_key)
    where released_at is null and withdrawn_at is null;
