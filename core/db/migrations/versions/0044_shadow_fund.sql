ALTER TABLE arb_episode ADD COLUMN buy_fee_bps DOUBLE PRECISION, ADD COLUMN sell_fee_bps DOUBLE PRECISION;

CREATE TABLE shadow_trade (
    episode_id BIGINT NOT NULL,
    asset_id BIGINT NOT NULL,
    token TEXT NOT NULL,
    buy_id BIGINT NOT NULL,
    sell_id BIGINT NOT NULL,
    buy_exchange TEXT NOT NULL,
    sell_exchange TEXT NOT NULL,
    chain TEXT,
    fingerprint JSONB NOT NULL,
    coins DOUBLE PRECISION,
    fee_coins DOUBLE PRECISION,
    buy_fee_bps DOUBLE PRECISION,
    sell_fee_bps DOUBLE PRECISION,
    sigma_24h DOUBLE PRECISION,
    is_simulated BOOLEAN NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    pnl_usd_e6 BIGINT,
    entered_at TIMESTAMP WITH TIME ZONE NOT NULL,
    due_at TIMESTAMP WITH TIME ZONE NOT NULL,
    closed_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_shadow_trade PRIMARY KEY (episode_id),
    CONSTRAINT ck_shadow_trade_state CHECK (state in ('open', 'settled', 'returned', 'void', 'skipped')),
    CONSTRAINT ck_shadow_trade_pnl_usd_e6 CHECK ((state in ('settled', 'returned')) = (pnl_usd_e6 is not null)),
    CONSTRAINT ck_shadow_trade_coins CHECK ((state = 'skipped') = (coins is null)),
    CONSTRAINT ck_shadow_trade_fee_bps CHECK (state = 'skipped' or (buy_fee_bps is not null and sell_fee_bps is not null)),
    CONSTRAINT fk_shadow_trade_asset_id FOREIGN KEY(asset_id) REFERENCES market_asset (id),
    CONSTRAINT fk_shadow_trade_buy_id FOREIGN KEY(buy_id) REFERENCES market_listing (listing_id),
    CONSTRAINT fk_shadow_trade_sell_id FOREIGN KEY(sell_id) REFERENCES market_listing (listing_id)
);
CREATE INDEX ix_shadow_trade_buy_id_sell_id_entered_at ON shadow_trade (buy_id, sell_id, entered_at);
CREATE INDEX ix_shadow_trade_entered_at ON shadow_trade (entered_at);
CREATE INDEX ix_shadow_trade_open ON shadow_trade (due_at, episode_id) WHERE state = 'open';

CREATE TABLE shadow_venue (
    exchange TEXT NOT NULL,
    usd_e6 BIGINT NOT NULL,
    opportunity_usd DOUBLE PRECISION NOT NULL,
    opportunity_at TIMESTAMP WITH TIME ZONE NOT NULL,
    quote TEXT NOT NULL,
    usd_per_quote DOUBLE PRECISION,
    rate_at TIMESTAMP WITH TIME ZONE,
    settled BIGINT NOT NULL,
    returned BIGINT NOT NULL,
    voided BIGINT NOT NULL,
    skipped BIGINT NOT NULL,
    hits BIGINT NOT NULL,
    pnl_usd_e6 BIGINT NOT NULL,
    worst_usd_e6 BIGINT,
    CONSTRAINT pk_shadow_venue PRIMARY KEY (exchange)
);

CREATE TABLE shadow_bin (
    pnl_bps INTEGER NOT NULL,
    n BIGINT NOT NULL,
    CONSTRAINT pk_shadow_bin PRIMARY KEY (pnl_bps)
);

CREATE TABLE shadow_slice (
    gap_cause TEXT NOT NULL,
    deviation_pattern TEXT NOT NULL,
    venue_pair TEXT NOT NULL,
    chain TEXT NOT NULL,
    grade_pair TEXT NOT NULL,
    session TEXT NOT NULL,
    n BIGINT NOT NULL,
    hits BIGINT NOT NULL,
    pnl_usd_e6 BIGINT NOT NULL,
    CONSTRAINT pk_shadow_slice PRIMARY KEY (gap_cause, deviation_pattern, venue_pair, chain, grade_pair, session)
);

CREATE TABLE shadow_asset (
    asset_id BIGINT NOT NULL,
    n BIGINT NOT NULL,
    hits BIGINT NOT NULL,
    pnl_usd_e6 BIGINT NOT NULL,
    since TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_shadow_asset PRIMARY KEY (asset_id),
    CONSTRAINT fk_shadow_asset_asset_id FOREIGN KEY(asset_id) REFERENCES market_asset (id)
);

CREATE TABLE shadow_move (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    from_exchange TEXT NOT NULL,
    to_exchange TEXT NOT NULL,
    usd_e6 BIGINT NOT NULL,
    fee_usd_e6 BIGINT NOT NULL,
    takes_s INTEGER NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_shadow_move PRIMARY KEY (id)
);
CREATE INDEX ix_shadow_move_at ON shadow_move (at);

CREATE TABLE shadow_book (
    id INTEGER NOT NULL,
    episode_id BIGINT NOT NULL,
    unplaced_usd_e6 BIGINT NOT NULL,
    rebalanced_on DATE,
    is_simulated BOOLEAN NOT NULL,
    computed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_shadow_book PRIMARY KEY (id),
    CONSTRAINT ck_shadow_book_one_row CHECK (id = 1)
);

CREATE TABLE market_insight (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    exchange TEXT NOT NULL,
    token TEXT,
    day DATE NOT NULL,
    headline TEXT NOT NULL,
    evidence JSONB NOT NULL,
    is_suppressed BOOLEAN NOT NULL,
    is_simulated BOOLEAN NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_market_insight PRIMARY KEY (id),
    CONSTRAINT ck_market_insight_kind CHECK (kind in ('venue_drain', 'venue_risk', 'mm_exit', 'mm_enter')),
    CONSTRAINT uq_market_insight_key UNIQUE (key)
);
CREATE INDEX ix_market_insight_day_id ON market_insight (day, id);
CREATE INDEX ix_market_insight_updated_at_id ON market_insight (updated_at, id);

