create table room (
    id bigint generated always as identity constraint pk_room primary key,
    token_id text not null constraint uq_room_token_id unique,
    message_count bigint not null,
    last_message_id bigint,
    last_message_at timestamptz,
    opened_at timestamptz not null,
    constraint ck_room_counted check ((message_count = 0) = (last_message_id is null))
);
create index ix_room_last_message_id on room (last_message_id) where last_message_id is not null;

create table room_bond (
    id bigint generated always as identity constraint pk_room_bond primary key,
    account_id bigint not null constraint fk_room_bond_account_id references account,
    credits bigint not null constraint ck_room_bond_credits check (credits > 0),
    held_at timestamptz not null,
    due_at timestamptz not null,
    returned_at timestamptz,
    case_id bigint constraint fk_room_bond_case_id references violation_case,
    constraint ck_room_bond_due_at check (due_at > held_at)
);
create index ix_room_bond_case_id on room_bond (case_id) where case_id is not null;
create index ix_room_bond_due_at on room_bond (due_at)
    where returned_at is null and case_id is null;

create table room_message (
    id bigint generated always as identity constraint pk_room_message primary key,
    room_id bigint not null constraint fk_room_message_room_id references room,
    seq bigint not null,
    kind text not null constraint ck_room_message_kind check (kind in ('post', 'summary')),
    author_id bigint not null constraint fk_room_message_author_id references account,
    text text not null
        constraint ck_room_message_text check (char_length(text) between 1 and 4000),
    reply_to bigint constraint fk_room_message_reply_to references room_message,
    is_first_reply boolean not null,
    entry_id bigint constraint uq_room_message_entry_id unique,
    bond_id bigint
        constraint fk_room_message_bond_id references room_bond
        constraint uq_room_message_bond_id unique,
    created_at timestamptz not null,
    constraint uq_room_message_room_id_seq unique (room_id, seq),
    constraint ck_room_message_entry_id check ((kind = 'summary') = (entry_id is not null)),
    constraint ck_room_message_is_first_reply check (reply_to is not null or not is_first_reply),
    constraint ck_room_message_of_posts
        check (kind = 'post' or (reply_to is null and bond_id is null))
);
create index ix_room_message_author_id_created_at on room_message (author_id, created_at)
    where kind = 'post';
create unique index uq_room_message_first_reply on room_message (reply_to) where is_first_reply;

create table room_release (
    message_id bigint
        constraint pk_room_release primary key
        constraint fk_room_release_message_id references room_message,
    released_by bigint not null constraint fk_room_release_released_by references account,
    kind text constraint ck_room_release_kind check (kind is null or kind in ('insightful')),
    tenths integer not null constraint ck_room_release_tenths check (tenths > 0),
    released_at timestamptz not null
);

create table room_entry (
    account_id bigint
        constraint pk_room_entry primary key
        constraint fk_room_entry_account_id references account,
    fee_credits bigint not null constraint ck_room_entry_fee_credits check (fee_credits >= 0),
    entered_at timestamptz not null
);
