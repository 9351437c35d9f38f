"""What several calls of fund signals show in one way."""

from typing import NoReturn

from api.areas.fund.schemas import MarketSessionShown, PaperPoint, PaperShown, SignalShown
from api.kernel.operation import Call, Refusal
from core.fund import paper
from core.fund import queries as fund
from core.fund.calendars import kept
from core.fund.rules.frozen import bps_text, leverage_text, weight_text
from core.fund.rules.paper import return_bps_e2
from core.fund.rules.sessions import MarketSession, session_at
from core.fund.rules.signals import is_live
from core.fund.tables import FundSignal, FundVault
from core.hexes import hex_of
from core.money import usdc_text
from core.times import exact_instant_text, instant_text

CURVE_MOST = 366


def vault_of(call: Call, vault_id: int) -> FundVault:
    """Errors: Refusal not_found."""
    found = fund.find_vault(call.db, vault_id)
    if found is None:
        raise no_vault(vault_id)
    return found


def no_vault(vault_id: int) -> Refusal:
    return Refusal(
        "not_found", f"There is no vault {vault_id}; list them.", next_calls=("fund.vaults",)
    )


def no_signal(signal_id: int) -> NoReturn:
    """Errors: Refusal not_found."""
    raise Refusal(
        "not_found",
        f"There is no signal {signal_id}; list those of a vault.",
        next_calls=("fund.vaults",),
    )


def session_of(name: str, call: Call) -> MarketSession:
    return session_at(kept(), name, call.now)


def shown_session(session: MarketSession) -> MarketSessionShown:
    return MarketSessionShown.of(session)


def shown_paper(vault: FundVault, call: Call, *, has_curve: bool = False) -> PaperShown | None:
    mark = paper.shown_mark(call.db, vault.id, call.now)
    opened_at = None if mark is None else paper.opened_at(call.db, vault.id)
    if mark is None or opened_at is None:
        return None
    gained = return_bps_e2(mark.nav_usdc_e6)
    course = paper.shown_course(call.db, mark, opened_at, CURVE_MOST) if has_curve else None
    return PaperShown(
        since=instant_text(opened_at),
        at=instant_text(mark.at),
        nav_usd=usdc_text(mark.nav_usdc_e6),
        return_bps=f"{'-' if gained < 0 else ''}{bps_text(abs(gained))}",
        drawdown_bps=bps_text(mark.drawdown_bps_e2),
        max_drawdown_bps=bps_text(mark.max_drawdown_bps_e2),
        trades=mark.trades,
        impact_usd=usdc_text(mark.impact_usdc_e6),
        fees_usd=usdc_text(mark.fees_usdc_e6),
        fund_fees_usd=usdc_text(mark.fund_fees_usdc_e6),
        curve=None
        if course is None
        else [PaperPoint(at=instant_text(at), nav_usd=usdc_text(nav)) for at, nav in course],
    )


def shown_signal(signal: FundSignal, call: Call, *, is_superseded: bool) -> SignalShown:
    is_past = not is_live(signal.at, call.now)
    return SignalShown.of(
        signal,
        signal_id=signal.seq,
        target_weight=weight_text(signal.weight_e4),
        target_leverage=leverage_text(signal.leverage_e2),
        historical=is_past,
        superseded=is_superseded,
        prev_hash=hex_of(signal.prev_hash) if is_past else None,
        row_hash=hex_of(signal.row_hash) if is_past else None,
        hashed_at=exact_instant_text(signal.at) if is_past else None,
    )
