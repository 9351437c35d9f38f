create table task (
    id bigint generated always as identity constraint pk_task primary key,
    category text not null,
    title text not null,
    subject text,
    tenths bigint not null constraint ck_task_tenths check (tenths between 1 and 1000),
    created_by bigint constraint fk_task_created_by references account,
    entry_id bigint constraint uq_task_entry_id unique,
    token_id text,
    field_name text,
    submitter_id bigint constraint fk_task_submitter_id references account,
    submitter_person text,
    state text not null
        constraint ck_task_state check (state in ('open', 'held', 'closing', 'settled')),
    truth text constraint ck_task_truth check (truth in ('match', 'mismatch', 'void')),
    reviewed_at timestamptz,
    settles_at timestamptz,
    open_claims bigint not null,
    proofs bigint not null,
    participants bigint not null,
    created_at timestamptz not null,
    constraint ck_task_counts check (open_claims >= 0 and proofs >= 0 and participants >= 0),
    constraint ck_task_entry_id check ((category = 'reobserve') = (entry_id is not null)),
    constraint ck_task_of_an_entry
        check (
            entry_id is null or (token_id is not null and field_name is not null and
            submitter_id is not null and submitter_person is not null)
        ),
    constraint ck_task_settles_at check ((state = 'closing') = (settles_at is not null)),
    constraint ck_task_subject check ((entry_id is null) = (subject is not null))
);
create index ix_task_closing on task (settles_at) where state = 'closing';
create index ix_task_open on task (id) where state = 'open';
create index ix_task_open_category on task (category, id) where state = 'open';

create table task_claim (
    id bigint generated always as identity constraint pk_task_claim primary key,
    task_id bigint not null constraint fk_task_claim_task_id references task,
    agent_id bigint not null constraint fk_task_claim_agent_id references account,
    person text not null,
    is_exclusive boolean not null,
    stage text not null
        constraint ck_task_claim_stage
        check (
            stage in ('claimed', 'submitted', 'verified', 'points_recorded', 'expired',
            'rejected', 'void')
        ),
    tenths bigint not null,
    bond_credits bigint not null constraint ck_task_claim_bond_credits check (bond_credits >= 0),
    is_bond_held boolean not null,
    claimed_at timestamptz not null,
    expires_at timestamptz,
    changed_at timestamptz not null,
    groups text[] not null default '{}',
    constraint ck_task_claim_expires_at check (is_exclusive = (expires_at is not null)),
    constraint ck_task_claim_is_bond_held check (bond_credits > 0 or not is_bond_held)
);
create index ix_task_claim_agent_id_id on task_claim (agent_id, id);
create index ix_task_claim_agent_id_stage on task_claim (agent_id, stage);
create index ix_task_claim_awaits on task_claim (id) where is_exclusive and stage = 'submitted';
create index ix_task_claim_expires_at on task_claim (expires_at)
    where is_exclusive and stage = 'claimed';
create index ix_task_claim_held_groups on task_claim using gin (groups)
    where is_exclusive and stage in ('claimed', 'submitted');
create index ix_task_claim_lapsed on task_claim (task_id) where is_exclusive and stage = 'expired';
create index ix_task_claim_may_lapse on task_claim (id) where is_exclusive and stage = 'claimed';
create index ix_task_claim_recorded on task_claim (task_id) where stage = 'points_recorded';
create index ix_task_claim_task_id_id on task_claim (task_id, id) where stage <> 'expired';
create index ix_task_claim_unproven on task_claim (task_id, agent_id) where stage = 'claimed';
create unique index uq_task_claim_held on task_claim (task_id)
    where is_exclusive and stage in ('claimed', 'submitted');
create unique index uq_task_claim_task_id_agent_id on task_claim (task_id, agent_id)
    where stage <> 'expired';

create table task_proof (
    id bigint generated always as identity constraint pk_task_proof primary key,
    claim_id bigint not null
        constraint fk_task_proof_claim_id references task_claim
        constraint uq_task_proof_claim_id unique,
    task_id bigint not null constraint fk_task_proof_task_id references task,
    agent_id bigint not null constraint fk_task_proof_agent_id references account,
    person text not null,
    verdict text
        constraint ck_task_proof_verdict check (verdict in ('match', 'mismatch', 'unverifiable')),
    observed_at timestamptz not null,
    observed_result text not null
        constraint ck_task_proof_observed_result
        check (char_length(observed_result) between 1 and 500),
    source_url text constraint ck_task_proof_source_url check (char_length(source_url) <= 500),
    is_evidence boolean not null,
    received_at timestamptz not null,
    constraint uq_task_proof_task_id_person unique (task_id, person)
);

create table task_verdict (
    id bigint generated always as identity constraint pk_task_verdict primary key,
    claim_id bigint not null constraint fk_task_verdict_claim_id references task_claim,
    verdict text not null
        constraint ck_task_verdict_verdict check (verdict in ('verified', 'rejected', 'reversed')),
    note text not null,
    operator_id bigint not null constraint fk_task_verdict_operator_id references account,
    at timestamptz not null
);
create unique index uq_task_verdict_claim_id_decided on task_verdict (claim_id)
    where verdict <> 'reversed';
create unique index uq_task_verdict_claim_id_reversed on task_verdict (claim_id)
    where verdict = 'reversed';

create table task_review (
    id bigint generated always as identity constraint pk_task_review primary key,
    task_id bigint not null constraint fk_task_review_task_id references task,
    event text not null constraint ck_task_review_event check (event in ('ended', 'reversed')),
    truth text not null
        constraint ck_task_review_truth check (truth in ('match', 'mismatch', 'void')),
    granted_tenths bigint not null,
    owed_tenths bigint not null,
    at timestamptz not null,
    constraint uq_task_review_task_id_event unique (task_id, event)
);
