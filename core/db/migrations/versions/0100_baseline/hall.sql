create table hall_mandate (
    mandate_id bigint
        constraint pk_hall_mandate primary key
        constraint fk_hall_mandate_mandate_id references mandate,
    agent_id bigint not null,
    owner_id bigint not null,
    wallet bytea,
    is_paper boolean not null,
    is_held boolean not null,
    seq bigint not null,
    head_seq bigint not null,
    standing jsonb not null,
    violations integer not null,
    trouble text
);
create index ix_hall_mandate_agent_id on hall_mandate (agent_id);
create index ix_hall_mandate_wallet on hall_mandate (wallet);

create table hall_day (
    mandate_id bigint not null constraint fk_hall_day_mandate_id references mandate,
    day date not null,
    owner_id bigint not null,
    flow_usdc_e6 numeric(78, 0) not null,
    result_usdc_e6 numeric(78, 0) not null,
    capital_usdc_e6 numeric(78, 0) not null,
    least_usdc_e6 numeric(78, 0) not null,
    worth_usdc_e6 numeric(78, 0) not null,
    growth bigint not null,
    high bigint not null,
    low bigint not null,
    kept bigint not null,
    trades integer not null,
    sides jsonb,
    said_trades integer not null,
    said_result_usdc_e6 numeric(78, 0) not null,
    said_fees_usdc_e6 numeric(78, 0) not null,
    washed_trades integer not null default 0,
    washed_result_usdc_e6 numeric(78, 0) not null default 0,
    constraint pk_hall_day primary key (mandate_id, day)
);
create index ix_hall_day_owner_id_day on hall_day (owner_id, day) where sides is not null;

create table hall_past (
    mandate_id bigint
        constraint pk_hall_past primary key
        constraint fk_hall_past_mandate_id references mandate,
    day date not null,
    funded bytea not null,
    windows jsonb not null,
    together jsonb not null,
    worth_usdc_e6 numeric(78, 0) not null
);

create table hall_agent (
    agent_id bigint
        constraint pk_hall_agent primary key
        constraint fk_hall_agent_agent_id references account,
    is_listed boolean not null,
    ranked boolean not null,
    rank integer,
    days_live integer not null,
    trades integer not null,
    sorts numeric[],
    record jsonb,
    as_of timestamptz,
    constraint ck_hall_agent_rank check ((rank is not null) <= ranked)
);
create index ix_hall_agent_listed on hall_agent (ranked desc, days_live desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_0
    on hall_agent (ranked desc, coalesce(sorts[1], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_1
    on hall_agent (ranked desc, coalesce(sorts[2], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_10
    on hall_agent (ranked desc, coalesce(sorts[11], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_11
    on hall_agent (ranked desc, coalesce(sorts[12], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_12
    on hall_agent (ranked desc, coalesce(sorts[13], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_13
    on hall_agent (ranked desc, coalesce(sorts[14], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_14
    on hall_agent (ranked desc, coalesce(sorts[15], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_15
    on hall_agent (ranked desc, coalesce(sorts[16], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_2
    on hall_agent (ranked desc, coalesce(sorts[3], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_3
    on hall_agent (ranked desc, coalesce(sorts[4], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_4
    on hall_agent (ranked desc, coalesce(sorts[5], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_5
    on hall_agent (ranked desc, coalesce(sorts[6], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_6
    on hall_agent (ranked desc, coalesce(sorts[7], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_7
    on hall_agent (ranked desc, coalesce(sorts[8], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_8
    on hall_agent (ranked desc, coalesce(sorts[9], '-Infinity'::numeric) desc, agent_id)
    where is_listed;
create index ix_hall_agent_sort_9
    on hall_agent (ranked desc, coalesce(sorts[10], '-Infinity'::numeric) desc, agent_id)
    where is_listed;

create table hall_due (
    agent_id bigint constraint pk_hall_due primary key
);

create table hall_build (
    id integer
        constraint pk_hall_build primary key
        constraint ck_hall_build_one_row check (id = 1),
    event_id bigint not null,
    account_id bigint not null,
    day date not null,
    computed_at timestamptz not null
);
