create table fund_index (
    id bigint generated always as identity constraint pk_fund_index primary key,
    key text not null constraint uq_fund_index_key unique,
    name text not null,
    delivery_chain text not null,
    registered_at timestamptz not null
);

create table fund_vault (
    id bigint generated always as identity constraint pk_fund_vault primary key,
    name text not null,
    kind text not null constraint ck_fund_vault_kind check (kind in ('spot', 'perp')),
    is_paused boolean not null default false,
    rules_version integer not null,
    maker_id bigint constraint fk_fund_vault_maker_id references account,
    is_simulated boolean not null,
    created_at timestamptz not null,
    index_id bigint constraint fk_fund_vault_index_id references fund_index
);
create index ix_fund_vault_index_id_id on fund_vault (index_id, id);
create index ix_fund_vault_maker_id on fund_vault (maker_id);

create table fund_application (
    id bigint generated always as identity constraint pk_fund_application primary key,
    index_id bigint not null constraint fk_fund_application_index_id references fund_index,
    account_id bigint not null constraint fk_fund_application_account_id references account,
    state text not null
        constraint ck_fund_application_state
        check (state in ('submitted', 'approved', 'rejected')),
    categories text[] not null,
    fund_type text not null
        constraint ck_fund_application_fund_type check (fund_type in ('passive', 'active')),
    plan_text text not null,
    cadence text not null
        constraint ck_fund_application_cadence
        check (cadence in ('daily', 'weekly', 'monthly', 'quarterly')),
    leverage_e2 integer not null,
    fee_bps integer not null,
    tvl_cap_usdc_e6 numeric(78, 0) not null,
    bond_currency text not null
        constraint ck_fund_application_bond_currency check (bond_currency in ('usdc', 'credit')),
    bond_usdc_e6 numeric(78, 0),
    bond_credits bigint,
    bond_tx bytea constraint uq_fund_application_bond_tx unique,
    bond_from bytea,
    bond_to bytea,
    is_bond_returned boolean not null default false,
    vault_id bigint
        constraint fk_fund_application_vault_id references fund_vault
        constraint uq_fund_application_vault_id unique,
    submitted_at timestamptz not null,
    decided_at timestamptz,
    constraint ck_fund_application_bond
        check (
            (bond_currency = 'usdc') = (bond_usdc_e6 is not null) and (bond_currency = 'credit')
            = (bond_credits is not null)
        ),
    constraint ck_fund_application_bond_tx
        check (
            (bond_currency = 'usdc') = (bond_tx is not null) and (bond_tx is null) = (bond_from
            is null) and (bond_tx is null) = (bond_to is null)
        ),
    constraint ck_fund_application_vault_id check ((vault_id is not null) = (state = 'approved'))
);
create index ix_fund_application_account_id_id on fund_application (account_id, id);
create index ix_fund_application_bond_held on fund_application (id)
    where bond_currency = 'credit' and not is_bond_returned;
create index ix_fund_application_bond_owed on fund_application (id)
    where bond_currency = 'usdc' and not is_bond_returned and state <> 'submitted';
create index ix_fund_application_waiting on fund_application (id) where state = 'submitted';
create unique index uq_fund_application_submitted on fund_application (account_id, index_id)
    where state = 'submitted';

create table fund_application_move (
    application_id bigint not null
        constraint fk_fund_application_move_application_id references fund_application,
    kind text not null
        constraint ck_fund_application_move_kind
        check (kind in ('approved', 'rejected', 'bond_returned')),
    reason text,
    tx bytea constraint uq_fund_application_move_tx unique,
    by_id bigint constraint fk_fund_application_move_by_id references account,
    at timestamptz not null,
    constraint pk_fund_application_move primary key (application_id, kind),
    constraint ck_fund_application_move_by_id check (by_id is not null or kind = 'bond_returned'),
    constraint ck_fund_application_move_reason check ((reason is not null) = (kind = 'rejected')),
    constraint ck_fund_application_move_tx check (tx is null or kind = 'bond_returned')
);

create table fund_paper (
    vault_id bigint
        constraint pk_fund_paper primary key
        constraint fk_fund_paper_vault_id references fund_vault,
    opened_at timestamptz not null,
    cash_usdc_e6 numeric(78, 0) not null,
    peak_usdc_e6 numeric(78, 0) not null,
    max_drawdown_bps_e2 bigint not null,
    trades bigint not null,
    fees_usdc_e6 numeric(78, 0) not null,
    impact_usdc_e6 numeric(78, 0) not null,
    fund_fees_usdc_e6 numeric(78, 0) not null,
    accrued_at timestamptz not null
);

create table fund_paper_position (
    vault_id bigint not null constraint fk_fund_paper_position_vault_id references fund_paper,
    market text not null,
    quantity_e18 numeric(78, 0) not null,
    constraint pk_fund_paper_position primary key (vault_id, market)
);

create table fund_paper_mark (
    vault_id bigint not null constraint fk_fund_paper_mark_vault_id references fund_paper,
    hour timestamptz not null,
    at timestamptz not null,
    nav_usdc_e6 numeric(78, 0) not null,
    drawdown_bps_e2 bigint not null,
    max_drawdown_bps_e2 bigint not null,
    trades bigint not null,
    fees_usdc_e6 numeric(78, 0) not null,
    impact_usdc_e6 numeric(78, 0) not null,
    fund_fees_usdc_e6 numeric(78, 0) not null,
    constraint pk_fund_paper_mark primary key (vault_id, hour)
);

create table fund_vault_event (
    id bigint generated always as identity constraint pk_fund_vault_event primary key,
    vault_id bigint not null constraint fk_fund_vault_event_vault_id references fund_vault,
    kind text not null constraint ck_fund_vault_event_kind check (kind in ('paused', 'resumed')),
    at timestamptz not null,
    by_id bigint constraint fk_fund_vault_event_by_id references account
);
create index ix_fund_vault_event_vault_id_id on fund_vault_event (vault_id, id);

create table fund_rules (
    vault_id bigint not null constraint fk_fund_rules_vault_id references fund_vault,
    version integer not null,
    document jsonb not null,
    rules_hash bytea not null constraint uq_fund_rules_rules_hash unique,
    frozen_at timestamptz not null,
    by_id bigint constraint fk_fund_rules_by_id references account,
    constraint pk_fund_rules primary key (vault_id, version)
);

create table fund_vault_count (
    vault_id bigint
        constraint pk_fund_vault_count primary key
        constraint fk_fund_vault_count_vault_id references fund_vault,
    rules_hash bytea not null,
    mirrors bigint not null,
    fills bigint not null
);

create table fund_signal (
    seq bigint constraint pk_fund_signal primary key,
    vault_id bigint not null constraint fk_fund_signal_vault_id references fund_vault,
    rules_version integer not null,
    market text not null,
    weight_e4 integer not null constraint ck_fund_signal_weight_e4 check (abs(weight_e4) <= 10000),
    leverage_e2 integer not null
        constraint ck_fund_signal_leverage_e2 check (leverage_e2 between 1 and 2000),
    mid text,
    at timestamptz not null,
    by_id bigint constraint fk_fund_signal_by_id references account,
    prev_hash bytea not null,
    row_hash bytea not null,
    constraint fk_fund_signal_vault_id_rules_version
        foreign key (vault_id, rules_version) references fund_rules (vault_id, version)
);
create index ix_fund_signal_at on fund_signal (at);
create index ix_fund_signal_vault_id_at_seq on fund_signal (vault_id, at, seq);
create index ix_fund_signal_vault_id_market_seq on fund_signal (vault_id, market, seq);

create table fund_paper_trade (
    signal_seq bigint
        constraint pk_fund_paper_trade primary key
        constraint fk_fund_paper_trade_signal_seq references fund_signal,
    vault_id bigint not null constraint fk_fund_paper_trade_vault_id references fund_paper,
    reason text,
    side text,
    quantity_e18 numeric(78, 0),
    usdc_e6 numeric(78, 0),
    fee_usdc_e6 numeric(78, 0),
    impact_usdc_e6 numeric(78, 0),
    at timestamptz not null,
    constraint ck_fund_paper_trade_reason check ((reason is null) = (quantity_e18 is not null))
);

create table fund_signal_head (
    id integer
        constraint pk_fund_signal_head primary key
        constraint ck_fund_signal_head_one_row check (id = 1),
    seq bigint not null,
    row_hash bytea not null,
    at timestamptz
);

create table fund_mirror (
    id bigint generated always as identity constraint pk_fund_mirror primary key,
    account_id bigint not null constraint fk_fund_mirror_account_id references account,
    vault_id bigint not null constraint fk_fund_mirror_vault_id references fund_vault,
    address bytea not null,
    max_order_usdc_e6 numeric(78, 0) not null
        constraint ck_fund_mirror_max_order_usdc_e6 check (max_order_usdc_e6 > 0),
    max_leverage_e2 integer not null
        constraint ck_fund_mirror_max_leverage_e2 check (max_leverage_e2 between 1 and 2000),
    rules_hash bytea not null,
    given_at timestamptz not null,
    revoked_at timestamptz,
    constraint ck_fund_mirror_revoked_at check (revoked_at >= given_at)
);
create unique index uq_fund_mirror_standing on fund_mirror (account_id, vault_id)
    where revoked_at is null;

create table fund_signal_sale (
    account_id bigint not null constraint fk_fund_signal_sale_account_id references account,
    signal_seq bigint not null constraint fk_fund_signal_sale_signal_seq references fund_signal,
    paid_by text not null
        constraint ck_fund_signal_sale_paid_by check (paid_by in ('credits', 'usdc')),
    price_key text not null,
    at timestamptz not null,
    constraint pk_fund_signal_sale primary key (account_id, signal_seq)
);

create table fund_plan (
    id bigint generated always as identity constraint pk_fund_plan primary key,
    account_id bigint not null constraint fk_fund_plan_account_id references account,
    signal_seq bigint not null constraint fk_fund_plan_signal_seq references fund_signal,
    mirror_id bigint not null constraint fk_fund_plan_mirror_id references fund_mirror,
    disposition text not null
        constraint ck_fund_plan_disposition
        check (disposition in ('ready', 'capped', 'skipped', 'deferred', 'refused')),
    reason text
        constraint ck_fund_plan_reason
        check (
            reason in ('vault_paused', 'signal_superseded', 'session_closed', 'session_unknown',
            'leverage_above_consent', 'account_unknown', 'grade_unknown', 'grade_f',
            'market_unmeasured', 'at_target', 'order_too_small')
        ),
    is_charged boolean not null,
    notional_usdc_e6 numeric(78, 0),
    mid text,
    at timestamptz not null,
    constraint ck_fund_plan_order check ((reason is null) = (notional_usdc_e6 is not null))
);
create index ix_fund_plan_account_id_signal_seq_id on fund_plan (account_id, signal_seq, id);

create table fund_fill (
    id bigint generated always as identity constraint pk_fund_fill primary key,
    account_id bigint not null constraint fk_fund_fill_account_id references account,
    vault_id bigint not null constraint fk_fund_fill_vault_id references fund_vault,
    signal_seq bigint not null constraint fk_fund_fill_signal_seq references fund_signal,
    mirror_id bigint not null constraint fk_fund_fill_mirror_id references fund_mirror,
    identity bytea not null,
    side text not null constraint ck_fund_fill_side check (side in ('buy', 'sell')),
    price text not null,
    quantity text not null,
    venue_order_id text,
    filled_at timestamptz not null,
    reported_at timestamptz not null,
    constraint uq_fund_fill_signal_seq_account_id_identity
        unique (signal_seq, account_id, identity)
);
create index ix_fund_fill_account_id_vault_id_id on fund_fill (account_id, vault_id, id);

create table fund_creation_request (
    id bigint generated always as identity constraint pk_fund_creation_request primary key,
    vault_id bigint not null constraint fk_fund_creation_request_vault_id references fund_vault,
    account_id bigint not null constraint fk_fund_creation_request_account_id references account,
    state text not null
        constraint ck_fund_creation_request_state
        check (state in ('requested', 'approved', 'created', 'rejected')),
    requested_at timestamptz not null
);
create index ix_fund_creation_request_vault_id_id on fund_creation_request (vault_id, id);
create index ix_fund_creation_request_waiting on fund_creation_request (id)
    where state in ('requested', 'approved');
create unique index uq_fund_creation_request_standing on fund_creation_request (vault_id)
    where state <> 'rejected';

create table fund_creation_move (
    request_id bigint not null
        constraint fk_fund_creation_move_request_id references fund_creation_request,
    state text not null
        constraint ck_fund_creation_move_state
        check (state in ('approved', 'created', 'rejected')),
    address bytea constraint uq_fund_creation_move_address unique,
    reason text,
    by_id bigint not null constraint fk_fund_creation_move_by_id references account,
    at timestamptz not null,
    constraint pk_fund_creation_move primary key (request_id, state),
    constraint ck_fund_creation_move_address check ((address is not null) = (state = 'created')),
    constraint ck_fund_creation_move_reason check ((reason is not null) = (state = 'rejected'))
);
