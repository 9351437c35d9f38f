create table feed_subscription (
    account_id bigint not null constraint fk_feed_subscription_account_id references account,
    feed_key text not null,
    subscribed_at timestamptz not null,
    constraint pk_feed_subscription primary key (account_id, feed_key)
);
