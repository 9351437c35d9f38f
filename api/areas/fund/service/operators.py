"""Operators freeze rules, publish signals, pause and resume."""

from api.areas.fund.schemas import (
    FreezeRules,
    FundVaultPath,
    PublishSignal,
    RulesFrozen,
    SignalShown,
    VaultPaused,
)
from api.areas.fund.service.shown import no_vault, shown_signal
from api.kernel.caller import OperatorCaller
from api.kernel.operation import Answer, NextCall, Refusal, WriteCall
from core.errors import fields_in
from core.fund import queries as fund
from core.fund.calendars import kept
from core.fund.ledger import writer as signal_ledger
from core.fund.rules.frozen import (
    FrozenRules,
    FundKind,
    UniverseMarket,
    require_rules,
    rules_of,
)
from core.fund.rules.sessions import require_calendar
from core.fund.rules.signals import NewSignal, require_signal
from core.fund.snapshots import snapshot_of
from core.fund.tables import FundVault
from core.hexes import hex_of
from core.times import instant_text


def freeze(call: WriteCall, caller: OperatorCaller, command: FreezeRules) -> Answer[RulesFrozen]:
    """Errors: InvalidParameterError, InvalidNumberError; Refusal not_found."""
    vault = _held(call, command.id)
    asked, kind = command.rules, FundKind(vault.kind)
    universe = tuple(
        UniverseMarket(one.market, one.session, one.min_order_usd) for one in asked.universe
    )
    with fields_in("rules"):
        require_rules(kind, universe, asked.max_leverage)
        for place, one in enumerate(universe):
            require_calendar(frozenset(kept()), one.session, f"universe.{place}.session")
    rules = FrozenRules(
        vault_id=vault.id,
        version=vault.rules_version + 1,
        kind=kind,
        mandate=asked.mandate,
        universe=universe,
        most_leverage_e2=asked.max_leverage,
    )
    digest = fund.freeze(call.db, rules, caller.account_id, call.now)
    return Answer(
        RulesFrozen(
            vault_id=vault.id,
            version=rules.version,
            rules_hash=hex_of(digest),
            frozen_at=instant_text(call.now),
        ),
        status=201,
    )


def publish(call: WriteCall, caller: OperatorCaller, command: PublishSignal) -> Answer[SignalShown]:
    """Errors: InvalidParameterError, InvalidNumberError; Refusal not_found, wrong_status."""
    vault = _held(call, command.id)
    if vault.is_paused:
        raise Refusal(
            "wrong_status",
            f"Vault {vault.id} is paused; resume it first.",
            next_calls=(NextCall("fund.resume", {"id": str(vault.id)}),),
        )
    rules = rules_of(fund.rules_in_force(call.db, [vault])[vault.id].document)
    signal = NewSignal(
        vault_id=vault.id,
        rules_version=rules.version,
        market=command.market,
        weight_e4=command.target_weight,
        leverage_e2=command.target_leverage,
        mid=snapshot_of(call.db, command.market, call.now).mid,
    )
    require_signal(rules, signal)
    seq = signal_ledger.publish(call.db, signal, caller.account_id, call.now)
    published = fund.find_signal(call.db, seq)
    assert published is not None, "it was published just now"
    return Answer(shown_signal(published, call, is_superseded=False), status=201)


def pause(call: WriteCall, caller: OperatorCaller, command: FundVaultPath) -> Answer[VaultPaused]:
    """Errors: Refusal not_found, wrong_status."""
    return _set_paused(call, caller, command.id, is_paused=True)


def resume(call: WriteCall, caller: OperatorCaller, command: FundVaultPath) -> Answer[VaultPaused]:
    """Errors: Refusal not_found, wrong_status."""
    return _set_paused(call, caller, command.id, is_paused=False)


def _set_paused(
    call: WriteCall, caller: OperatorCaller, vault_id: int, *, is_paused: bool
) -> Answer[VaultPaused]:
    vault = _held(call, vault_id)
    if vault.is_paused is is_paused:
        state = "paused" if is_paused else "not paused"
        raise Refusal("wrong_status", f"Vault {vault_id} is {state}.", next_calls=("fund.vaults",))
    fund.set_paused(call.db, vault, is_paused, caller.account_id, call.now)
    return Answer(
        VaultPaused(vault_id=vault_id, mirroring_paused=is_paused, at=instant_text(call.now))
    )


def _held(call: WriteCall, vault_id: int) -> FundVault:
    """Errors: Refusal not_found."""
    found = fund.hold_vault(call.db, vault_id)
    if found is None:
        raise no_vault(vault_id)
    return found
