create table subscription (
    account_id bigint
        constraint pk_subscription primary key
        constraint fk_subscription_account_id references account,
    tier_2_until timestamptz,
    until timestamptz,
    purchases bigint not null constraint ck_subscription_purchases check (purchases >= 0),
    constraint ck_subscription_tier_2_until check (tier_2_until <= until)
);

create table subscription_purchase (
    id bigint generated always as identity constraint pk_subscription_purchase primary key,
    account_id bigint not null constraint fk_subscription_purchase_account_id references account,
    number bigint not null,
    kind text not null
        constraint ck_subscription_purchase_kind
        check (kind in ('new', 'renewal', 'upgrade', 'downgrade')),
    tier bigint not null constraint ck_subscription_purchase_tier check (tier in (1, 2)),
    months bigint not null,
    price_credits bigint not null
        constraint ck_subscription_purchase_price_credits check (price_credits > 0),
    starts_at timestamptz not null,
    until timestamptz not null,
    preview text,
    made_at timestamptz not null,
    constraint uq_subscription_purchase_account_id_number unique (account_id, number),
    constraint uq_subscription_purchase_account_id_preview unique (account_id, preview),
    constraint ck_subscription_purchase_months check ((months = 0) = (kind = 'upgrade')),
    constraint ck_subscription_purchase_until check (starts_at < until)
);
