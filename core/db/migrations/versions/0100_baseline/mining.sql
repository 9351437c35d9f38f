create table mining_submission (
    id bigint generated always as identity constraint pk_mining_submission primary key,
    listing_id bigint not null constraint fk_mining_submission_listing_id references listing,
    agent_id bigint not null constraint fk_mining_submission_agent_id references account,
    person text not null,
    pool text not null,
    room_id bigint not null,
    submitted_at timestamptz not null
);
create index ix_mining_submission_agent_id_id on mining_submission (agent_id, id);
create index ix_mining_submission_person_submitted_at on mining_submission (person, submitted_at);
create index ix_mining_submission_pool_submitted_at on mining_submission (pool, submitted_at);

create table mining_entry (
    id bigint generated always as identity constraint pk_mining_entry primary key,
    submission_id bigint not null
        constraint fk_mining_entry_submission_id references mining_submission,
    listing_id bigint not null constraint fk_mining_entry_listing_id references listing,
    agent_id bigint not null constraint fk_mining_entry_agent_id references account,
    field_name text not null,
    value text not null,
    chain text,
    evidence_url text not null,
    status text not null
        constraint ck_mining_entry_status check (status in ('pending', 'approved', 'rejected')),
    reason_code text
        constraint ck_mining_entry_reason_code
        check (
            reason_code in ('value_wrong', 'evidence_insufficient', 'out_of_date',
            'not_allowed', 'superseded', 'reversed')
        ),
    task_id bigint,
    submitted_at timestamptz not null,
    reviewed_at timestamptz,
    groups text[] not null default '{}',
    constraint ck_mining_entry_rejected check ((reason_code is not null) = (status = 'rejected')),
    constraint ck_mining_entry_reviewed_at check ((reviewed_at is null) = (status = 'pending'))
);
create index ix_mining_entry_agent_id_id on mining_entry (agent_id, id);
create index ix_mining_entry_agent_id_reviewed_at on mining_entry (agent_id, reviewed_at);
create index ix_mining_entry_pending on mining_entry (id) where status = 'pending';
create index ix_mining_entry_pending_groups on mining_entry using gin (groups)
    where status = 'pending';
create index ix_mining_entry_submission_id on mining_entry (submission_id);
create index ix_mining_entry_wrong_groups on mining_entry using gin (groups)
    where reason_code = 'value_wrong';
create unique index uq_mining_entry_pending_value
    on mining_entry (listing_id, field_name, value, chain) nulls not distinct
    where status = 'pending';

create table mining_review (
    id bigint generated always as identity constraint pk_mining_review primary key,
    entry_id bigint not null constraint fk_mining_review_entry_id references mining_entry,
    verdict text not null
        constraint ck_mining_review_verdict
        check (verdict in ('approved', 'rejected', 'reversed')),
    reviewer_id bigint not null constraint fk_mining_review_reviewer_id references account,
    operator text not null,
    method text constraint ck_mining_review_method check (method in ('reproduced', 're_observed')),
    source text,
    observed_at timestamptz,
    observed_result text,
    reason_code text,
    note text,
    at timestamptz not null,
    constraint ck_mining_review_reason_code_of_an_end
        check ((verdict = 'approved') = (reason_code is null)),
    constraint ck_mining_review_record
        check (
            (verdict = 'approved') = (method is not null and source is not null and observed_at
            is not null and observed_result is not null)
        )
);
create index ix_mining_review_entry_id_id on mining_review (entry_id, id);

create table mining_fact (
    listing_id bigint not null constraint fk_mining_fact_listing_id references listing,
    field_name text not null,
    entry_id bigint not null
        constraint fk_mining_fact_entry_id references mining_entry
        constraint uq_mining_fact_entry_id unique,
    value text not null,
    approved_at timestamptz not null,
    is_clearing boolean not null,
    constraint pk_mining_fact primary key (listing_id, field_name)
);
create index ix_mining_fact_approved_at on mining_fact (approved_at);
create index ix_mining_fact_clearing on mining_fact (listing_id) where is_clearing;

create table mining_figure (
    name text constraint pk_mining_figure primary key,
    n bigint not null constraint ck_mining_figure_n check (n >= 0)
);

create table mining_gold (
    entry_id bigint
        constraint pk_mining_gold primary key
        constraint fk_mining_gold_entry_id references mining_entry,
    made_by bigint not null constraint fk_mining_gold_made_by references account,
    operator text not null,
    rejects_at timestamptz not null,
    is_open boolean not null
);
create index ix_mining_gold_open on mining_gold (entry_id) where is_open;

insert into mining_figure (name, n) values ('tokens_with_facts', 0);
