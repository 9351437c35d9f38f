create table published_day (
    subject text not null,
    day date not null,
    version integer not null,
    as_of timestamptz not null,
    computed_at timestamptz not null,
    cause text not null
        constraint ck_published_day_cause check (cause in ('first', 'late_inputs', 'correction')),
    rules text not null,
    figures jsonb not null,
    constraint pk_published_day primary key (subject, day, version),
    constraint ck_published_day_version check (version >= 1 and (version = 1) = (cause = 'first'))
);
