create table leader (
    name text constraint pk_leader primary key,
    epoch bigint not null,
    holder text not null,
    backend_pid integer not null,
    since timestamptz not null,
    beat_at timestamptz not null,
    status jsonb not null
);
