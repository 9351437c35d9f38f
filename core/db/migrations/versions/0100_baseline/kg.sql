create table kg_export (
    id integer constraint pk_kg_export primary key constraint ck_kg_export_one_row check (id = 1),
    made_at timestamptz not null,
    notes integer not null,
    content bytea not null
);
alter table kg_export alter column content set storage external;

create table kg_link (
    target text not null,
    token text not null,
    constraint pk_kg_link primary key (target, token)
);

create table kg_claim (
    id bigint generated always as identity constraint pk_kg_claim primary key,
    token text not null,
    kind text not null
        constraint ck_kg_claim_kind
        check (kind in ('project', 'backer', 'event', 'risk', 'other')),
    claim text not null,
    words text not null,
    source_url text not null
        constraint ck_kg_claim_source_url check (source_url like 'https://%'),
    agent_id bigint not null constraint fk_kg_claim_agent_id references account,
    person text not null,
    state text not null
        constraint ck_kg_claim_state check (state in ('unverified', 'verified', 'rejected')),
    made_at timestamptz not null,
    decided_at timestamptz,
    groups text[] not null default '{}',
    counted_as text
);
create index ix_kg_claim_person_made_at on kg_claim (person, made_at);
create index ix_kg_claim_published on kg_claim (id) where state in ('unverified', 'verified');
create index ix_kg_claim_published_token_id on kg_claim (token, id)
    where state in ('unverified', 'verified');
create index ix_kg_claim_token_state_id on kg_claim (token, state, id);
create index ix_kg_claim_waiting on kg_claim (id) where state = 'unverified';
create index ix_kg_claim_waiting_groups on kg_claim using gin (groups) where state = 'unverified';
create unique index uq_kg_claim_words on kg_claim (token, words)
    where state in ('unverified', 'verified');

create table kg_claim_verdict (
    id bigint generated always as identity constraint pk_kg_claim_verdict primary key,
    claim_id bigint not null constraint fk_kg_claim_verdict_claim_id references kg_claim,
    verdict text not null
        constraint ck_kg_claim_verdict_verdict check (verdict in ('verified', 'rejected')),
    operator_id bigint not null constraint fk_kg_claim_verdict_operator_id references account,
    note text,
    at timestamptz not null
);
create index ix_kg_claim_verdict_claim_id_id on kg_claim_verdict (claim_id, id);
