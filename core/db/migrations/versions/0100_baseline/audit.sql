create table audit_finding (
    id bigint generated always as identity constraint pk_audit_finding primary key,
    chain_id bigint not null,
    dedupe_key text not null,
    incarnation integer not null,
    kind text not null
        constraint ck_audit_finding_kind
        check (
            kind in ('block', 'log', 'revert', 'vault', 'cash', 'totals', 'book', 'reserve',
            'key')
        ),
    what text not null,
    place jsonb not null,
    seen_at timestamptz not null,
    constraint uq_audit_finding_dedupe_key_incarnation unique (dedupe_key, incarnation)
);

create table audit_resolution (
    id bigint generated always as identity constraint pk_audit_resolution primary key,
    finding_id bigint not null
        constraint fk_audit_resolution_finding_id references audit_finding
        constraint uq_audit_resolution_finding_id unique,
    how text not null
        constraint ck_audit_resolution_how check (how in ('acknowledged', 'rebuilt', 'explained')),
    note text,
    at timestamptz not null
);

create table audit_state (
    chain_id bigserial not null constraint pk_audit_state primary key,
    round_at timestamptz not null,
    is_same_provider boolean not null,
    blocks_total bigint not null,
    books_total bigint not null
);

create table audit_book (
    mandate_id bigint
        constraint pk_audit_book primary key
        constraint fk_audit_book_mandate_id references mandate,
    verified_at timestamptz not null
);

create table audit_key (
    chain_id bigint not null,
    address bytea not null,
    role text not null,
    nonce bigint not null,
    block_number bigint not null,
    since_id bigint not null,
    constraint pk_audit_key primary key (chain_id, address)
);
