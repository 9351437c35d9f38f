"""Vaults are listed and read, with how liquid their markets are."""

from api.areas.fund.schemas import (
    FundVaultList,
    FundVaultPath,
    FundVaultQuery,
    FundVaultRead,
    FundVaultRow,
    MarketLiquidityRow,
    VaultLiquidity,
    VaultsQuery,
)
from api.areas.fund.service.shown import session_of, shown_paper, shown_session, vault_of
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, ReadCall
from api.kernel.pagination import page_of
from core.fund import queries as fund
from core.fund.rules.frozen import UniverseMarket, bps_text, rules_of
from core.fund.snapshots import snapshot_of
from core.fund.tables import FundRules, FundVault
from core.hexes import hex_of
from core.money import usdc_text, usdc_text_or_none
from core.times import instant_text, instant_text_or_none


def browse(call: ReadCall, caller: Nobody, command: VaultsQuery) -> Answer[FundVaultList]:
    page = page_of(call, "fund.vaults", command)
    found = fund.vaults_before(call.db, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda vault: vault.id)
    rules = fund.rules_in_force(call.db, shown)
    rows = [_row(vault, rules[vault.id]) for vault in shown if vault.id in rules]
    return Answer(FundVaultList(vaults=rows, next_cursor=next_cursor))


def read(call: ReadCall, caller: Nobody, command: FundVaultQuery) -> Answer[FundVaultRead]:
    """Errors: Refusal not_found."""
    vault = vault_of(call, command.id)
    rules = fund.rules_in_force(call.db, [vault])[vault.id]
    counts = fund.counts_of(call.db, vault.id, rules.rules_hash)
    return Answer(
        FundVaultRead(
            **_row(vault, rules).model_dump(exclude_unset=True),
            mandate=rules.document["mandate"],
            frozen_rules=rules.document,
            frozen_at=instant_text(rules.frozen_at),
            created_at=instant_text(vault.created_at),
            mirrors_count=counts.mirrors,
            signals_count=counts.signals,
            latest_signal_at=instant_text_or_none(counts.latest_signal_at),
            fills_count=counts.fills,
            index_id=vault.index_id,
            paper=shown_paper(vault, call, has_curve=command.curve),
        )
    )


def liquidity(call: ReadCall, caller: Nobody, command: FundVaultPath) -> Answer[VaultLiquidity]:
    """Errors: Refusal not_found."""
    vault = vault_of(call, command.id)
    rules = fund.rules_in_force(call.db, [vault])[vault.id]
    markets = [_market(call, one) for one in rules_of(rules.document).universe]
    return Answer(
        VaultLiquidity(vault_id=vault.id, rules_hash=hex_of(rules.rules_hash), markets=markets)
    )


def _market(call: ReadCall, one: UniverseMarket) -> MarketLiquidityRow:
    snapshot = snapshot_of(call.db, one.market, call.now)
    sigma, least = snapshot.sigma_bps_e2, snapshot.least_order_usdc_e6
    return MarketLiquidityRow(
        market=one.market,
        grade=snapshot.grade,
        provisional=snapshot.is_provisional,
        session=shown_session(session_of(one.session, call)),
        cap_usd=usdc_text_or_none(snapshot.liquidity_cap_usdc_e6),
        min_order_usd=None if least is None else usdc_text(max(one.least_order_usdc_e6, least)),
        depth_usd=usdc_text_or_none(snapshot.depth_usdc_e6),
        volume_24h_usd=usdc_text_or_none(snapshot.volume_usdc_e6),
        daily_volatility_bps=None if sigma is None else bps_text(sigma),
    )


def _row(vault: FundVault, rules: FundRules) -> FundVaultRow:
    return FundVaultRow.of(
        vault,
        mirroring_paused=vault.is_paused,
        rules_hash=hex_of(rules.rules_hash),
        **({"simulated": True} if vault.is_simulated else {}),
    )
