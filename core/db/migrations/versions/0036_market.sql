CREATE TABLE arb_change (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    asset_id BIGINT NOT NULL,
    token TEXT NOT NULL,
    buy_exchange TEXT NOT NULL,
    sell_exchange TEXT NOT NULL,
    gross_bps DOUBLE PRECISION NOT NULL,
    was_bps DOUBLE PRECISION,
    net_1k_bps DOUBLE PRECISION,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_arb_change PRIMARY KEY (id)
);
CREATE INDEX ix_arb_change_asset_id_id ON arb_change (asset_id, id);
CREATE INDEX ix_arb_change_at ON arb_change (at);

CREATE TABLE arb_episode (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    asset_id BIGINT NOT NULL,
    buy_id BIGINT NOT NULL,
    sell_id BIGINT NOT NULL,
    began_at TIMESTAMP WITH TIME ZONE NOT NULL,
    last_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    best_net_1k_bps DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_arb_episode PRIMARY KEY (id)
);
CREATE INDEX ix_arb_episode_last_at ON arb_episode (last_at);
CREATE UNIQUE INDEX uq_arb_episode_open ON arb_episode (buy_id, sell_id) WHERE ended_at is null;

CREATE TABLE arb_hour (
    hour TIMESTAMP WITH TIME ZONE NOT NULL,
    gaps BIGINT NOT NULL,
    actionable BIGINT NOT NULL,
    CONSTRAINT pk_arb_hour PRIMARY KEY (hour)
);

CREATE TABLE grade_hour (
    listing_id BIGINT NOT NULL,
    hour TIMESTAMP WITH TIME ZONE NOT NULL,
    letter TEXT,
    score DOUBLE PRECISION,
    part_depth DOUBLE PRECISION,
    part_spread DOUBLE PRECISION,
    part_slippage DOUBLE PRECISION,
    part_volume DOUBLE PRECISION,
    part_uptime DOUBLE PRECISION,
    is_provisional BOOLEAN NOT NULL,
    version TEXT NOT NULL,
    CONSTRAINT pk_grade_hour PRIMARY KEY (listing_id, hour),
    CONSTRAINT ck_grade_hour_letter CHECK (letter in ('A', 'B', 'C', 'D', 'F')),
    CONSTRAINT ck_grade_hour_score CHECK ((letter is null) = (score is null))
)
 PARTITION BY RANGE (hour);

CREATE TABLE market_asset (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    ticker TEXT NOT NULL,
    CONSTRAINT pk_market_asset PRIMARY KEY (id),
    CONSTRAINT uq_market_asset_ticker UNIQUE (ticker)
);

CREATE TABLE market_count (
    name TEXT NOT NULL,
    n BIGINT NOT NULL,
    CONSTRAINT pk_market_count PRIMARY KEY (name)
);

CREATE TABLE market_notice (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    exchange TEXT NOT NULL,
    notice_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    native_bases TEXT[] NOT NULL,
    title TEXT NOT NULL,
    url TEXT,
    published_at TIMESTAMP WITH TIME ZONE NOT NULL,
    effective_at TIMESTAMP WITH TIME ZONE,
    received_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_market_notice PRIMARY KEY (id),
    CONSTRAINT uq_market_notice_exchange_notice_id UNIQUE (exchange, notice_id),
    CONSTRAINT ck_market_notice_kind CHECK (kind in ('st_tag', 'caution_designation', 'delist_notice', 'suspend_notice', 'delisting_confirmed', 'resume_notice', 'maintenance', 'quote_pair_removal', 'other')),
    CONSTRAINT ck_market_notice_scope CHECK (scope in ('spot', 'margin', 'futures', 'loan'))
);
CREATE INDEX ix_market_notice_published_at_id ON market_notice (published_at, id);

CREATE TABLE market_summary (
    id INTEGER NOT NULL,
    figures JSONB NOT NULL,
    wci JSONB NOT NULL,
    wci_at TIMESTAMP WITH TIME ZONE,
    computed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_market_summary PRIMARY KEY (id),
    CONSTRAINT ck_market_summary_one_row CHECK (id = 1)
);

CREATE TABLE market_tag (
    exchange TEXT NOT NULL,
    native_base TEXT NOT NULL,
    first_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    with_at TIMESTAMP WITH TIME ZONE,
    without_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_market_tag PRIMARY KEY (exchange, native_base)
);

CREATE TABLE scan_run (
    exchange TEXT NOT NULL,
    minute TIMESTAMP WITH TIME ZONE NOT NULL,
    planned INTEGER NOT NULL,
    measured INTEGER NOT NULL,
    rejected INTEGER NOT NULL,
    targets INTEGER NOT NULL,
    targets_measured INTEGER NOT NULL,
    reason TEXT,
    CONSTRAINT pk_scan_run PRIMARY KEY (exchange, minute)
);
CREATE INDEX ix_scan_run_minute ON scan_run (minute);

CREATE TABLE snap_1m (
    listing_id BIGINT NOT NULL,
    ts TIMESTAMP WITH TIME ZONE NOT NULL,
    every_s INTEGER NOT NULL,
    fault TEXT,
    mid DOUBLE PRECISION,
    spread_bps DOUBLE PRECISION,
    bid_05_usd DOUBLE PRECISION,
    ask_05_usd DOUBLE PRECISION,
    bid_1_usd DOUBLE PRECISION,
    ask_1_usd DOUBLE PRECISION,
    bid_2_usd DOUBLE PRECISION,
    ask_2_usd DOUBLE PRECISION,
    slip_buy_1k_bps DOUBLE PRECISION,
    slip_sell_1k_bps DOUBLE PRECISION,
    slip_buy_10k_bps DOUBLE PRECISION,
    slip_sell_10k_bps DOUBLE PRECISION,
    imbalance DOUBLE PRECISION,
    usd_per_quote DOUBLE PRECISION,
    fx_source TEXT,
    is_truncated BOOLEAN,
    volume_24h_usd DOUBLE PRECISION,
    can_deposit BOOLEAN,
    can_withdraw BOOLEAN,
    venue_at TIMESTAMP WITH TIME ZONE,
    received_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_snap_1m PRIMARY KEY (listing_id, ts),
    CONSTRAINT ck_snap_1m_fault CHECK ((fault is null) = (mid is not null))
)
 PARTITION BY RANGE (ts);

CREATE TABLE snap_2h (
    listing_id BIGINT NOT NULL,
    bucket TIMESTAMP WITH TIME ZONE NOT NULL,
    expected INTEGER NOT NULL,
    n INTEGER NOT NULL,
    rejected INTEGER NOT NULL,
    gaps INTEGER NOT NULL,
    skew_ms INTEGER,
    open DOUBLE PRECISION,
    high DOUBLE PRECISION,
    low DOUBLE PRECISION,
    close DOUBLE PRECISION,
    usd_per_quote DOUBLE PRECISION,
    spread_p5_bps DOUBLE PRECISION,
    spread_p50_bps DOUBLE PRECISION,
    spread_p95_bps DOUBLE PRECISION,
    depth_1_usd DOUBLE PRECISION,
    depth_2_usd DOUBLE PRECISION,
    slip_1k_bps DOUBLE PRECISION,
    slip_10k_bps DOUBLE PRECISION,
    volume_24h_usd DOUBLE PRECISION,
    rv DOUBLE PRECISION,
    deposit_share DOUBLE PRECISION,
    withdraw_share DOUBLE PRECISION,
    truncated_share DOUBLE PRECISION,
    coverage DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_snap_2h PRIMARY KEY (listing_id, bucket)
)
 PARTITION BY RANGE (bucket);

CREATE TABLE venue_state (
    exchange TEXT NOT NULL,
    source TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    since TIMESTAMP WITH TIME ZONE NOT NULL,
    lag_s DOUBLE PRECISION,
    skew_ms BIGINT,
    books_per_minute BIGINT NOT NULL,
    listings BIGINT NOT NULL,
    networks BIGINT,
    capabilities JSONB NOT NULL,
    markets_at TIMESTAMP WITH TIME ZONE,
    networks_at TIMESTAMP WITH TIME ZONE,
    notices_at TIMESTAMP WITH TIME ZONE,
    answered_at TIMESTAMP WITH TIME ZONE,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_venue_state PRIMARY KEY (exchange),
    CONSTRAINT ck_venue_state_state CHECK (state in ('ok', 'degraded', 'down'))
);

CREATE TABLE warning_head (
    id INTEGER NOT NULL,
    seq BIGINT NOT NULL,
    row_hash BYTEA NOT NULL,
    CONSTRAINT pk_warning_head PRIMARY KEY (id),
    CONSTRAINT ck_warning_head_one_row CHECK (id = 1)
);

CREATE TABLE wci_daily (
    day DATE NOT NULL,
    version TEXT NOT NULL,
    definition TEXT NOT NULL,
    figures JSONB NOT NULL,
    computed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_wci_daily PRIMARY KEY (day, version)
);

CREATE TABLE arb_multi (
    asset_id BIGINT NOT NULL,
    token TEXT NOT NULL,
    venues INTEGER NOT NULL,
    dispersion DOUBLE PRECISION NOT NULL,
    size_usd DOUBLE PRECISION,
    profit_usd DOUBLE PRECISION,
    legs JSONB NOT NULL,
    is_actionable BOOLEAN NOT NULL,
    observed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_arb_multi PRIMARY KEY (asset_id),
    CONSTRAINT fk_arb_multi_asset_id FOREIGN KEY(asset_id) REFERENCES market_asset (id)
);
CREATE INDEX ix_arb_multi_profit_usd ON arb_multi (profit_usd desc nulls last, asset_id);

CREATE TABLE asset_state (
    asset_id BIGINT NOT NULL,
    token TEXT NOT NULL,
    grade TEXT,
    grade_worst TEXT,
    gpa_7d DOUBLE PRECISION,
    graded_venues INTEGER DEFAULT 0 NOT NULL,
    graded_at TIMESTAMP WITH TIME ZONE,
    identity TEXT,
    transfer TEXT,
    exchanges TEXT[] DEFAULT '{}' NOT NULL,
    contracts JSONB DEFAULT '[]' NOT NULL,
    groups JSONB DEFAULT '[]' NOT NULL,
    links JSONB DEFAULT '[]' NOT NULL,
    is_simulated BOOLEAN NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_asset_state PRIMARY KEY (asset_id),
    CONSTRAINT ck_asset_state_grade CHECK (grade in ('A', 'B', 'C', 'D', 'F')),
    CONSTRAINT ck_asset_state_grade_worst CHECK (grade_worst in ('A', 'B', 'C', 'D', 'F')),
    CONSTRAINT fk_asset_state_asset_id FOREIGN KEY(asset_id) REFERENCES market_asset (id),
    CONSTRAINT uq_asset_state_token UNIQUE (token)
);
CREATE INDEX ix_asset_state_watch ON asset_state (gpa_7d, grade_worst desc, token) WHERE gpa_7d is not null;

CREATE TABLE market_listing (
    listing_id BIGINT NOT NULL,
    asset_id BIGINT NOT NULL,
    exchange TEXT NOT NULL,
    native_id TEXT NOT NULL,
    native_base TEXT NOT NULL,
    native_quote TEXT NOT NULL,
    base TEXT NOT NULL,
    quote TEXT NOT NULL,
    asset_class TEXT,
    status TEXT,
    has_st_tag BOOLEAN,
    has_caution BOOLEAN,
    min_size_quote DOUBLE PRECISION,
    listed_at TIMESTAMP WITH TIME ZONE,
    first_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    delisted_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_market_listing PRIMARY KEY (listing_id),
    CONSTRAINT uq_market_listing_exchange_native_id UNIQUE (exchange, native_id),
    CONSTRAINT ck_market_listing_status CHECK (status in ('trading', 'halted', 'delisted')),
    CONSTRAINT fk_market_listing_listing_id FOREIGN KEY(listing_id) REFERENCES listing (id),
    CONSTRAINT fk_market_listing_asset_id FOREIGN KEY(asset_id) REFERENCES market_asset (id)
);
CREATE INDEX ix_market_listing_asset_id_exchange ON market_listing (asset_id, exchange);

CREATE TABLE market_outcome (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    exchange TEXT NOT NULL,
    asset_id BIGINT NOT NULL,
    kind TEXT,
    exclusion TEXT,
    is_genuine BOOLEAN NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    notice_id BIGINT,
    CONSTRAINT pk_market_outcome PRIMARY KEY (id),
    CONSTRAINT ck_market_outcome_kind CHECK ((kind is null) = (exclusion is not null)),
    CONSTRAINT fk_market_outcome_asset_id FOREIGN KEY(asset_id) REFERENCES market_asset (id),
    CONSTRAINT fk_market_outcome_notice_id FOREIGN KEY(notice_id) REFERENCES market_notice (id)
);
CREATE INDEX ix_market_outcome_asset_id_id ON market_outcome (asset_id, id);
CREATE UNIQUE INDEX uq_market_outcome ON market_outcome (exchange, asset_id, kind, notice_id) NULLS NOT DISTINCT;

CREATE TABLE network_status (
    exchange TEXT NOT NULL,
    native_base TEXT NOT NULL,
    chain TEXT NOT NULL,
    asset_id BIGINT NOT NULL,
    can_deposit BOOLEAN,
    can_withdraw BOOLEAN,
    contract TEXT,
    is_native BOOLEAN NOT NULL,
    withdraw_fee DOUBLE PRECISION,
    deposit_since TIMESTAMP WITH TIME ZONE NOT NULL,
    withdraw_since TIMESTAMP WITH TIME ZONE NOT NULL,
    scans INTEGER NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_network_status PRIMARY KEY (exchange, native_base, chain),
    CONSTRAINT fk_network_status_asset_id FOREIGN KEY(asset_id) REFERENCES market_asset (id)
);
CREATE INDEX ix_network_status_asset_id ON network_status (asset_id);

CREATE TABLE onchain_day (
    asset_id BIGINT NOT NULL,
    chain TEXT NOT NULL,
    day DATE NOT NULL,
    supply DOUBLE PRECISION,
    holders BIGINT,
    top10_share DOUBLE PRECISION,
    transfers_24h BIGINT,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_onchain_day PRIMARY KEY (asset_id, chain, day),
    CONSTRAINT fk_onchain_day_asset_id FOREIGN KEY(asset_id) REFERENCES market_asset (id)
);

CREATE TABLE transfer_event (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    exchange TEXT NOT NULL,
    native_base TEXT NOT NULL,
    chain TEXT NOT NULL,
    asset_id BIGINT NOT NULL,
    direction TEXT NOT NULL,
    was_open BOOLEAN,
    is_open BOOLEAN,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_transfer_event PRIMARY KEY (id),
    CONSTRAINT ck_transfer_event_direction CHECK (direction in ('deposit', 'withdraw')),
    CONSTRAINT ck_transfer_event_changed CHECK (is_open is distinct from was_open),
    CONSTRAINT fk_transfer_event_asset_id FOREIGN KEY(asset_id) REFERENCES market_asset (id)
);
CREATE INDEX ix_transfer_event_asset_id_id ON transfer_event (asset_id, id);
CREATE INDEX ix_transfer_event_at_id ON transfer_event (at, id);

CREATE TABLE arb_observation (
    buy_id BIGINT NOT NULL,
    sell_id BIGINT NOT NULL,
    asset_id BIGINT NOT NULL,
    token TEXT NOT NULL,
    buy_exchange TEXT NOT NULL,
    sell_exchange TEXT NOT NULL,
    gross_bps DOUBLE PRECISION NOT NULL,
    net_1k_bps DOUBLE PRECISION,
    net_5k_bps DOUBLE PRECISION,
    net_10k_bps DOUBLE PRECISION,
    transferable TEXT NOT NULL,
    chains TEXT[] NOT NULL,
    is_actionable BOOLEAN NOT NULL,
    suspect TEXT,
    fx_source TEXT NOT NULL,
    buy_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sell_at TIMESTAMP WITH TIME ZONE NOT NULL,
    observed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_arb_observation PRIMARY KEY (buy_id, sell_id),
    CONSTRAINT fk_arb_observation_buy_id FOREIGN KEY(buy_id) REFERENCES market_listing (listing_id),
    CONSTRAINT fk_arb_observation_sell_id FOREIGN KEY(sell_id) REFERENCES market_listing (listing_id)
);
CREATE INDEX ix_arb_observation_asset_id ON arb_observation (asset_id);
CREATE INDEX ix_arb_observation_order ON arb_observation (net_1k_bps desc nulls last, buy_id, sell_id);

CREATE TABLE listing_state (
    listing_id BIGINT NOT NULL,
    asset_id BIGINT NOT NULL,
    exchange TEXT NOT NULL,
    token TEXT NOT NULL,
    symbol TEXT NOT NULL,
    token_id TEXT NOT NULL,
    source TEXT NOT NULL,
    is_simulated BOOLEAN NOT NULL,
    status TEXT,
    asset_class TEXT,
    has_st_tag BOOLEAN,
    has_caution BOOLEAN,
    first_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    every_s INTEGER,
    price_usd DOUBLE PRECISION,
    sampled_at TIMESTAMP WITH TIME ZONE,
    fault TEXT,
    fault_at TIMESTAMP WITH TIME ZONE,
    grade TEXT,
    grade_streak SMALLINT DEFAULT 0 NOT NULL,
    score DOUBLE PRECISION,
    is_provisional BOOLEAN,
    gates TEXT[] DEFAULT '{}' NOT NULL,
    part_depth DOUBLE PRECISION,
    part_spread DOUBLE PRECISION,
    part_slippage DOUBLE PRECISION,
    part_volume DOUBLE PRECISION,
    part_uptime DOUBLE PRECISION,
    in_depth_usd DOUBLE PRECISION,
    in_spread_bps DOUBLE PRECISION,
    in_slip_10k_bps DOUBLE PRECISION,
    in_volume_24h_usd DOUBLE PRECISION,
    in_volume_30d_usd DOUBLE PRECISION,
    in_uptime DOUBLE PRECISION,
    in_hours DOUBLE PRECISION,
    in_coverage DOUBLE PRECISION,
    gpa_7d DOUBLE PRECISION,
    graded_at TIMESTAMP WITH TIME ZONE,
    grade_version TEXT,
    strong_group TEXT,
    order_usd DOUBLE PRECISION DEFAULT 0 NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    mid DOUBLE PRECISION,
    spread_bps DOUBLE PRECISION,
    bid_05_usd DOUBLE PRECISION,
    ask_05_usd DOUBLE PRECISION,
    bid_1_usd DOUBLE PRECISION,
    ask_1_usd DOUBLE PRECISION,
    bid_2_usd DOUBLE PRECISION,
    ask_2_usd DOUBLE PRECISION,
    slip_buy_1k_bps DOUBLE PRECISION,
    slip_sell_1k_bps DOUBLE PRECISION,
    slip_buy_10k_bps DOUBLE PRECISION,
    slip_sell_10k_bps DOUBLE PRECISION,
    imbalance DOUBLE PRECISION,
    usd_per_quote DOUBLE PRECISION,
    fx_source TEXT,
    is_truncated BOOLEAN,
    volume_24h_usd DOUBLE PRECISION,
    can_deposit BOOLEAN,
    can_withdraw BOOLEAN,
    venue_at TIMESTAMP WITH TIME ZONE,
    received_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_listing_state PRIMARY KEY (listing_id),
    CONSTRAINT ck_listing_state_grade CHECK (grade in ('A', 'B', 'C', 'D', 'F')),
    CONSTRAINT ck_listing_state_source CHECK (source in ('live', 'replay', 'simulated')),
    CONSTRAINT fk_listing_state_listing_id FOREIGN KEY(listing_id) REFERENCES market_listing (listing_id),
    CONSTRAINT uq_listing_state_token_id UNIQUE (token_id)
);
CREATE INDEX ix_listing_state_asset_id ON listing_state (asset_id);
CREATE INDEX ix_listing_state_exchange_order ON listing_state (exchange, order_usd desc, listing_id);
CREATE INDEX ix_listing_state_order ON listing_state (order_usd desc, listing_id);
CREATE INDEX ix_listing_state_symbol ON listing_state (symbol text_pattern_ops);

CREATE TABLE microburst (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    listing_id BIGINT NOT NULL,
    trigger TEXT NOT NULL,
    began_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE NOT NULL,
    count INTEGER NOT NULL,
    max_move_bps DOUBLE PRECISION,
    max_spread_bps DOUBLE PRECISION,
    min_depth_usd DOUBLE PRECISION,
    recovery_s DOUBLE PRECISION,
    samples BYTEA NOT NULL,
    CONSTRAINT pk_microburst PRIMARY KEY (id),
    CONSTRAINT fk_microburst_listing_id FOREIGN KEY(listing_id) REFERENCES market_listing (listing_id)
);
CREATE INDEX ix_microburst_listing_id_began_at ON microburst (listing_id, began_at desc);

CREATE TABLE warning_event (
    seq BIGINT NOT NULL,
    action TEXT NOT NULL,
    clears_seq BIGINT,
    reopens_seq BIGINT,
    exchange TEXT NOT NULL,
    asset_id BIGINT NOT NULL,
    token TEXT NOT NULL,
    listing_id BIGINT,
    type TEXT NOT NULL,
    severity TEXT NOT NULL,
    is_predictive BOOLEAN NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    evidence JSONB NOT NULL,
    rule_version TEXT NOT NULL,
    source_event TEXT,
    is_imported BOOLEAN NOT NULL,
    prev_hash BYTEA NOT NULL,
    row_hash BYTEA NOT NULL,
    CONSTRAINT pk_warning_event PRIMARY KEY (seq),
    CONSTRAINT ck_warning_event_action CHECK (action in ('issued', 'cleared', 'reopened')),
    CONSTRAINT ck_warning_event_clears_seq CHECK ((action = 'cleared') = (clears_seq is not null)),
    CONSTRAINT ck_warning_event_reopens_seq CHECK ((action = 'reopened') = (reopens_seq is not null)),
    CONSTRAINT fk_warning_event_asset_id FOREIGN KEY(asset_id) REFERENCES market_asset (id),
    CONSTRAINT fk_warning_event_listing_id FOREIGN KEY(listing_id) REFERENCES market_listing (listing_id)
);
CREATE INDEX ix_warning_event_asset_id_seq ON warning_event (asset_id, seq);
CREATE INDEX ix_warning_event_at_seq ON warning_event (at, seq);
CREATE INDEX ix_warning_event_clears_seq ON warning_event (clears_seq);

CREATE TABLE warning_standing (
    seq BIGINT NOT NULL,
    exchange TEXT NOT NULL,
    asset_id BIGINT NOT NULL,
    token TEXT NOT NULL,
    listing_id BIGINT,
    type TEXT NOT NULL,
    severity TEXT NOT NULL,
    issued_at TIMESTAMP WITH TIME ZONE NOT NULL,
    evidence JSONB NOT NULL,
    CONSTRAINT pk_warning_standing PRIMARY KEY (seq),
    CONSTRAINT uq_warning_standing_exchange_asset_id_type UNIQUE (exchange, asset_id, type),
    CONSTRAINT fk_warning_standing_seq FOREIGN KEY(seq) REFERENCES warning_event (seq)
);
CREATE INDEX ix_warning_standing_asset_id ON warning_standing (asset_id);
CREATE INDEX ix_warning_standing_issued_at_seq ON warning_standing (issued_at desc, seq desc);
