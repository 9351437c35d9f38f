create table anchor_epoch (
    epoch bigint constraint pk_anchor_epoch primary key,
    root bytea not null,
    root_before bytea not null,
    seen_block bigint not null,
    block_number bigint,
    block_hash bytea,
    tx_hash bytea,
    created_at timestamptz not null
);

create table anchor_leaf (
    public_id text constraint pk_anchor_leaf primary key,
    key bytea not null,
    seq bigint not null,
    leaf bytea not null
);
create index ix_anchor_leaf_key on anchor_leaf (key);

create table anchor_head (
    public_id text not null,
    epoch bigint not null,
    seq bigint not null,
    row_hash bytea not null,
    constraint pk_anchor_head primary key (public_id, epoch)
);

create table anchor_node (
    path bytea not null,
    epoch bigint not null,
    left_hash bytea not null,
    right_hash bytea not null,
    constraint pk_anchor_node primary key (path, epoch)
);

create table anchor_foreign (
    epoch bigint constraint pk_anchor_foreign primary key,
    root bytea not null,
    block_number bigint not null,
    tx_hash bytea not null
);
