create table priority_target (
    id bigint generated always as identity constraint pk_priority_target primary key,
    account_id bigint not null constraint fk_priority_target_account_id references account,
    listing_id bigint not null constraint fk_priority_target_listing_id references listing,
    microburst_hf_captures integer not null
        constraint ck_priority_target_microburst_hf_captures
        check (microburst_hf_captures between 0 and 100),
    captures_day date,
    captures_used integer not null
        constraint ck_priority_target_captures_used check (captures_used >= 0),
    added_at timestamptz not null,
    constraint uq_priority_target_account_id_listing_id unique (account_id, listing_id)
);
create index ix_priority_target_listing_id on priority_target (listing_id);
