create table earn_award (
    id bigint generated always as identity constraint pk_earn_award primary key,
    ref text not null constraint uq_earn_award_ref unique,
    kind text not null constraint ck_earn_award_kind check (kind in ('award', 'charge')),
    account_id bigint not null constraint fk_earn_award_account_id references account,
    source text not null
        constraint ck_earn_award_source check (source in ('mining', 'task', 'reobserve', 'room')),
    tenths bigint not null,
    credits bigint not null,
    repaid_credits bigint not null,
    paid_credits bigint not null,
    queued_credits bigint not null,
    at timestamptz not null,
    independent_of bigint[] not null default '{}',
    constraint ck_earn_award_credits check (tenths > 0 and credits = tenths * 2),
    constraint ck_earn_award_parts
        check (
            repaid_credits >= 0 and paid_credits >= 0 and queued_credits >= 0 and (kind =
            'charge' or credits = repaid_credits + paid_credits + queued_credits)
        )
);
create index ix_earn_award_account_id_id on earn_award (account_id, id);

create table earn_cancellation (
    award_id bigint
        constraint pk_earn_cancellation primary key
        constraint fk_earn_cancellation_award_id references earn_award,
    account_id bigint not null constraint fk_earn_cancellation_account_id references account,
    credits bigint not null constraint ck_earn_cancellation_credits check (credits > 0),
    at timestamptz not null
);
create index ix_earn_cancellation_account_id on earn_cancellation (account_id);

create table earn_group_debt (
    account_id bigint not null constraint fk_earn_group_debt_account_id references account,
    key text not null,
    left_credits bigint not null
        constraint ck_earn_group_debt_left_credits check (left_credits >= 0),
    constraint pk_earn_group_debt primary key (account_id, key)
);
create index ix_earn_group_debt_key on earn_group_debt (key, account_id) where left_credits > 0;

create table earn_reversal (
    id bigint generated always as identity constraint pk_earn_reversal primary key,
    award_id bigint not null
        constraint fk_earn_reversal_award_id references earn_award
        constraint uq_earn_reversal_award_id unique,
    reason text not null,
    withdrawn_credits bigint not null,
    owed_credits bigint not null,
    restored_credits bigint not null,
    at timestamptz not null
);

create table earn_queue (
    award_id bigint
        constraint pk_earn_queue primary key
        constraint fk_earn_queue_award_id references earn_award,
    account_id bigint not null constraint fk_earn_queue_account_id references account,
    is_room boolean not null,
    left_credits bigint not null constraint ck_earn_queue_left_credits check (left_credits > 0),
    not_before date not null
);
create index ix_earn_queue_account_id_award_id on earn_queue (account_id, award_id);
create index ix_earn_queue_not_before_award_id on earn_queue (not_before, award_id);

create table earn_total (
    name text constraint pk_earn_total primary key,
    n bigint not null constraint ck_earn_total_n check (n >= 0)
);

create table earn_day (
    day date not null,
    name text not null,
    credits bigint not null constraint ck_earn_day_credits check (credits >= 0),
    constraint pk_earn_day primary key (day, name)
);

create table earn_claim (
    ref text constraint pk_earn_claim primary key,
    account_id bigint not null constraint fk_earn_claim_account_id references account,
    verified_at timestamptz not null,
    taken_back_at timestamptz
);

create table earn_standing (
    account_id bigint
        constraint pk_earn_standing primary key
        constraint fk_earn_standing_account_id references account,
    verified_claims bigint not null
        constraint ck_earn_standing_verified_claims check (verified_claims >= 0)
);

create table earn_feed (
    id bigint generated always as identity constraint pk_earn_feed primary key,
    kind text not null
        constraint ck_earn_feed_kind
        check (
            kind in ('mine_submit', 'mine_approved', 'mine_rejected', 'mine_reversed',
            'task_claimed', 'task_submitted', 'task_verified', 'task_rejected',
            'reobserve_settled', 'room_released', 'paid', 'repaid', 'debt', 'restored',
            'withdrawn')
        ),
    account_id bigint not null constraint fk_earn_feed_account_id references account,
    ref text not null,
    at timestamptz not null,
    token_id text,
    field_name text,
    shown_value text,
    evidence_host text,
    tenths bigint,
    credits bigint,
    task_id bigint,
    room_id bigint
);
create index ix_earn_feed_account_id_id on earn_feed (account_id, id);
create index ix_earn_feed_account_id_kind_id on earn_feed (account_id, kind, id);
create index ix_earn_feed_kind_id on earn_feed (kind, id);
create index ix_earn_feed_ref_id on earn_feed (ref, id);

insert into earn_total (name, n) values ('queued', 0), ('queued_credits', 0);
