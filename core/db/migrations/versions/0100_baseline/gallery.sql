create table gallery_listing (
    id bigint generated always as identity constraint pk_gallery_listing primary key,
    public_id text not null constraint uq_gallery_listing_public_id unique,
    agent_id bigint not null constraint fk_gallery_listing_agent_id references account,
    made_by text not null,
    product_type text not null
        constraint ck_gallery_listing_product_type
        check (
            product_type in ('strategy_template', 'signal_subscription', 'vault_deposit',
            'model')
        ),
    title text not null
        constraint ck_gallery_listing_title check (char_length(title) between 2 and 80),
    summary text not null
        constraint ck_gallery_listing_summary check (char_length(summary) <= 140),
    price_model text not null
        constraint ck_gallery_listing_price_model check (price_model in ('free', 'paid_read')),
    ref_vault_id text,
    markets jsonb not null,
    editable_params jsonb not null,
    cited jsonb not null,
    status text not null
        constraint ck_gallery_listing_status check (status in ('draft', 'listed')),
    created_at timestamptz not null,
    constraint ck_gallery_listing_ref_vault_id
        check ((ref_vault_id is not null) = (product_type = 'vault_deposit'))
);
create index ix_gallery_listing_agent_id_created_at on gallery_listing (agent_id, created_at);

create table gallery_status_event (
    id bigint generated always as identity constraint pk_gallery_status_event primary key,
    listing_id bigint not null
        constraint fk_gallery_status_event_listing_id references gallery_listing,
    status text not null
        constraint ck_gallery_status_event_status
        check (status in ('draft', 'listed', 'withdrawn')),
    made_by text not null,
    at timestamptz not null,
    constraint uq_gallery_status_event_listing_id_status unique (listing_id, status)
);

create table gallery_shelf (
    listing_id bigint
        constraint pk_gallery_shelf primary key
        constraint fk_gallery_shelf_listing_id references gallery_listing,
    agent_id bigint not null constraint fk_gallery_shelf_agent_id references account,
    product_type text not null,
    status text not null,
    event_id bigint not null constraint fk_gallery_shelf_event_id references gallery_status_event,
    changed_at timestamptz not null
);
create index ix_gallery_shelf_listed on gallery_shelf (event_id) where status = 'listed';
create index ix_gallery_shelf_listed_product_type on gallery_shelf (product_type, event_id)
    where status = 'listed';
create index ix_gallery_shelf_open on gallery_shelf (agent_id, listing_id)
    where status <> 'withdrawn';
