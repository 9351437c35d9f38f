create table pair_report (
    id bigint generated always as identity constraint pk_pair_report primary key,
    listing_id bigint not null constraint fk_pair_report_listing_id references listing,
    version text not null constraint ck_pair_report_version check (version in ('v1', 'v2')),
    lang text not null constraint ck_pair_report_lang check (lang in ('en', 'ko')),
    bucket timestamptz not null,
    state text not null
        constraint ck_pair_report_state
        check (state in ('queued', 'rendering', 'ready', 'failed')),
    state_at timestamptz not null,
    attempts integer not null,
    failure text
        constraint ck_pair_report_failure
        check (failure in ('no_data', 'library_missing', 'gave_up')),
    grade text,
    score bigint,
    probability float8,
    coverage float8,
    is_simulated boolean,
    sha256 bytea,
    pdf bytea,
    requested_at timestamptz not null,
    constraint uq_pair_report_listing_id_version_lang_bucket
        unique (listing_id, version, lang, bucket),
    constraint ck_pair_report_failed check ((state = 'failed') = (failure is not null)),
    constraint ck_pair_report_ready
        check ((state = 'ready') = (pdf is not null) and (pdf is null) = (sha256 is null))
);
create index ix_pair_report_bucket on pair_report (bucket);
create index ix_pair_report_state_id on pair_report (state, id);

create table pair_report_holder (
    account_id bigint not null constraint fk_pair_report_holder_account_id references account,
    report_id bigint not null constraint fk_pair_report_holder_report_id references pair_report,
    requested_at timestamptz not null,
    constraint pk_pair_report_holder primary key (account_id, report_id)
);
create index ix_pair_report_holder_account_id_requested_at
    on pair_report_holder (account_id, requested_at);
