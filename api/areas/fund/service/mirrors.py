"""A follower consents to mirror a vault, revokes that, and reports what it traded."""

from api.areas.fund.schemas import (
    ConsentRevoked,
    FillShown,
    FundVaultPath,
    GiveConsent,
    MirrorQuery,
    MirrorShown,
    OwnMirror,
    ReportFill,
)
from api.areas.fund.service.shown import no_signal, vault_of
from api.areas.safety.checks import require_unlocked
from api.kernel.caller import AgentCaller
from api.kernel.operation import Answer, Call, NextCall, ReadCall, Refusal, WriteCall
from api.kernel.pagination import page_of
from core.errors import InvalidNumberError, InvalidParameterError
from core.fund import queries as fund
from core.fund.rules.frozen import leverage_text, rules_of
from core.fund.rules.signals import FillSide, NewFill, is_live, positive_decimal, require_fill
from core.fund.tables import FundFill, FundMirror, FundSignal
from core.hexes import address_of, bytes_of, hex_of
from core.identity import queries as identity
from core.money import usdc_text
from core.times import instant_text


def consent(call: WriteCall, caller: AgentCaller, command: GiveConsent) -> Answer[MirrorShown]:
    """Errors: InvalidNumberError; Refusal not_found, account_locked, rules_changed."""
    require_unlocked(call, caller.account_id)
    vault = vault_of(call, command.id)
    rules = fund.rules_in_force(call.db, [vault])[vault.id]
    if bytes_of(command.rules_hash.lower()) != rules.rules_hash:
        raise rules_changed(vault.id, rules.rules_hash)
    most = rules_of(rules.document).most_leverage_e2
    if command.max_leverage > most:
        raise InvalidNumberError(
            "max_leverage",
            leverage_text(command.max_leverage),
            f"the vault's rules allow {leverage_text(most)} at most",
        )
    mirror = fund.consent(
        call.db,
        caller.account_id,
        vault.id,
        address=command.account_address,
        max_order_usdc_e6=command.max_order_usd,
        max_leverage_e2=command.max_leverage,
        rules_hash=rules.rules_hash,
        now=call.now,
    )
    return Answer(_shown(mirror, rules.rules_hash))


def revoke(call: WriteCall, caller: AgentCaller, command: FundVaultPath) -> Answer[ConsentRevoked]:
    """Errors: Refusal not_found, consent_missing."""
    vault = vault_of(call, command.id)
    identity.lock_owner(call.db, caller.account_id)
    revoked_at = fund.revoke(call.db, caller.account_id, vault.id, call.now)
    if revoked_at is None:
        raise consent_missing(vault.id)
    return Answer(ConsentRevoked(vault_id=vault.id, revoked_at=instant_text(revoked_at)))


def own(call: ReadCall, caller: AgentCaller, command: MirrorQuery) -> Answer[OwnMirror]:
    """The newest consent, standing or revoked. Errors: Refusal not_found."""
    vault = vault_of(call, command.id)
    mirror = fund.last_mirror(call.db, caller.account_id, vault.id)
    if mirror is None:
        raise Refusal(
            "not_found",
            f"You never consented to vault {vault.id}; read its rules, and consent to them.",
            missing="mirror",
            next_calls=(NextCall("fund.vault", {"id": str(vault.id)}),),
        )
    page = page_of(call, "fund.own_mirror", command)
    found = fund.fills_before(call.db, caller.account_id, vault.id, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda fill: fill.id)
    rules = fund.rules_in_force(call.db, [vault])[vault.id]
    return Answer(
        OwnMirror(
            **_shown(mirror, rules.rules_hash).model_dump(),
            fills=[_fill(fill) for fill in shown],
            next_cursor=next_cursor,
        )
    )


def report(call: WriteCall, caller: AgentCaller, command: ReportFill) -> Answer[FillShown]:
    """Errors: InvalidParameterError, InvalidNumberError; Refusal not_found, account_locked,
    consent_missing, signal_locked. What is refused is not counted.
    """
    require_unlocked(call, caller.account_id)
    signal = fund.find_signal(call.db, command.id) or no_signal(command.id)
    mirror = consent_of(call, caller, signal, command.account_address)
    _require_seen(call, caller, signal)
    fill = NewFill(
        side=FillSide(command.side),
        price=positive_decimal(command.price, "price"),
        quantity=positive_decimal(command.qty, "qty"),
        filled_at=command.filled_at,
        venue_order_id=command.venue_order_id,
    )
    planned = fund.planned_mid(call.db, caller.account_id, signal.seq)
    require_fill(fill, signal.at, planned or fund.mid_of(signal), call.now)
    kept, is_new = fund.report_fill(call.db, signal, mirror, fill, call.now)
    return Answer(_fill(kept), status=201 if is_new else 200)


def consent_of(call: Call, caller: AgentCaller, signal: FundSignal, address: str) -> FundMirror:
    """The current consent, for this very account. Errors: InvalidParameterError; Refusal
    consent_missing.
    """
    mirror = fund.standing_mirror(call.db, caller.account_id, signal.vault_id)
    if mirror is None:
        raise consent_missing(signal.vault_id)
    require_address(mirror.address, address)
    return mirror


def require_address(consented: bytes, address: str) -> None:
    """Errors: InvalidParameterError."""
    if consented != bytes_of(address):
        raise InvalidParameterError(
            "account_address",
            f"your consent names {address_of(consented)}; send it, or consent again",
        )


def rules_changed(vault_id: int, current: bytes) -> Refusal:
    return Refusal(
        "rules_changed",
        f"rules_hash: the vault's rules are {hex_of(current)} now; read them, and consent to them.",
        missing="rules_hash",
        next_calls=(NextCall("fund.vault", {"id": str(vault_id)}),),
    )


def consent_missing(vault_id: int) -> Refusal:
    return Refusal(
        "consent_missing",
        f"You have no current consent to vault {vault_id}; read its rules, and consent to them.",
        missing="mirror",
        next_calls=(NextCall("fund.vault", {"id": str(vault_id)}),),
    )


def _require_seen(call: Call, caller: AgentCaller, signal: FundSignal) -> None:
    """Only paid signals can be mirrored; otherwise the bounds would leak the price. Errors: Refusal
    signal_locked.
    """
    if is_live(signal.at, call.now) and not fund.is_paid(call.db, caller.account_id, signal.seq):
        raise Refusal(
            "signal_locked",
            f"You have not paid for signal {signal.seq}, which is live; read or plan it first.",
            next_calls=(NextCall("fund.signal", {"signal_id": str(signal.seq)}),),
        )


def _shown(mirror: FundMirror, current: bytes) -> MirrorShown:
    return MirrorShown.of(
        mirror,
        account_address=address_of(mirror.address),
        max_order_usd=usdc_text(mirror.max_order_usdc_e6),
        max_leverage=leverage_text(mirror.max_leverage_e2),
        rules_hash=hex_of(mirror.rules_hash),
        is_current=mirror.revoked_at is None and mirror.rules_hash == current,
    )


def _fill(fill: FundFill) -> FillShown:
    return FillShown.of(
        fill, fill_id=fill.id, signal_id=fill.signal_seq, qty=fill.quantity, source="self_report"
    )
