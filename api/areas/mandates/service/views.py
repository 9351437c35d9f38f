"""How a mandate is shown, and the domain values of a stored mandate.

Unknown is null; no internal id leaves.
"""

from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from typing import Any

from api.areas.mandates.rules.card import VaultAgent, unnamed_agent_notice
from api.areas.mandates.views.readings import mandates_now
from api.kernel.operation import Call
from core.blocks.queries import latest_block
from core.hexes import address_or_none
from core.identity.tables import Account
from core.mandate.queries import NamedMandate
from core.mandate.rules.clauses import UNKNOWN_PAYEE, VaultPayee, payee_of
from core.mandate.rules.lifecycle import MarketMode, Status
from core.mandate.rules.progress import data_issue
from core.mandate.rules.state import MandateState
from core.mandate.rules.targets import Target, stored_targets, targets_to_json
from core.mandate.rules.terms import MandateTerms, Rule, rules_from_json, terms_from_json
from core.mandate.rules.worth import VaultSeen, as_seen
from core.mandate.tables import Mandate
from core.money import usdc_text, usdc_text_or_none
from core.quarantine.rules import Reading
from core.times import instant_text_or_none

PAUSES = ("paused", "paused_at", "last_paused_at", "last_resumed_at")


def terms_of(mandate: Mandate) -> MandateTerms:
    """Parsed once for as long as they stay the same: one call asks for them many times."""
    return _parsed(tuple(mandate.terms.items()))


@lru_cache(maxsize=4_096)
def _parsed(items: tuple[tuple[str, str], ...]) -> MandateTerms:
    return terms_from_json(dict(items))


def rules_of(mandate: Mandate) -> tuple[Rule, ...]:
    return rules_from_json(mandate.rules)


def targets_of(mandate: Mandate) -> tuple[Target, ...]:
    return stored_targets(mandate.allowed_targets, mandate.chain_id)


def digest_of(mandate: Mandate) -> str:
    return "0x" + mandate.terms_digest.hex()


def signature_of(mandate: Mandate) -> str:
    return "0x" + (mandate.signature or b"").hex()


def vault_of(mandate: Mandate) -> str | None:
    return address_or_none(mandate.vault_address)


def vault_agent(mandate: Mandate, state: MandateState, *, is_known: bool) -> VaultAgent | None:
    """Whom the vault obeys by `state`, which says so only where it `is_known` to lack nothing; None
    without a vault.
    """
    if state.vault_address is None and mandate.vault_address is None:
        return None
    if not (is_known and state.agent_known):
        return VaultAgent(None, is_known=False)
    return VaultAgent(None if state.obeys_nobody else state.agent_on_chain)


def fee_payee(mandate: Mandate, state: MandateState, *, is_known: bool) -> VaultPayee | None:
    """Who gets the agent's fee by `state`, which says so only where it `is_known` to lack nothing;
    None on paper.
    """
    if is_paper(mandate):
        return None
    return payee_of(terms_of(mandate), state) if is_known else UNKNOWN_PAYEE


def is_paper(mandate: Mandate) -> bool:
    return mandate.market_mode == MarketMode.PAPER.value


def agent_notice(mandate: Mandate, agent: Account | None) -> str | None:
    """What the owner should know of the draft's agent before signing; None when there is
    nothing.
    """
    if is_paper(mandate) or agent is None:
        return None
    return unnamed_agent_notice(
        agent.name, terms_of(mandate).agent, address_or_none(agent.wallet_address)
    )


def reading_of(call: Call, mandate: Mandate) -> Reading[MandateState]:
    """The fold of the ledger; the status is the mandate's own, which says an end of unfunded terms
    once its block is safe.
    """
    return readings_of(call, [mandate])[mandate.id]


def readings_of(
    call: Call, found: Collection[Mandate | NamedMandate]
) -> dict[int, Reading[MandateState]]:
    """The same of many mandates, by their internal ids, in two SELECTs."""
    readings = mandates_now(call.db, [mandate.id for mandate in found])
    return {
        one.id: Reading(
            replace(readings[one.id].said, status=Status(one.status)), readings[one.id].short
        )
        for one in found
    }


def chain_now(call: Call, mandate: Mandate) -> int:
    """Unix seconds that limits and gates go by (`chain_moment`)."""
    return chain_moment(call, mandate)[1]


def chain_moment(call: Call, mandate: Mandate) -> tuple[int | None, int]:
    """(height, unix seconds) of the newest indexed block; for paper no height, and the clock
    (docs/rules.md#lock-and-settle-grace).

    The clock may run ahead of the chain, so it never opens a gate that the vault still keeps shut;
    it is used only where no block was seen yet.
    """
    block = None if is_paper(mandate) else latest_block(call.db, mandate.chain_id)
    return (None, int(call.now.timestamp())) if block is None else block


def mandate_view(
    call: Call,
    mandate: Mandate,
    reading: Reading[MandateState] | None = None,
    seen: VaultSeen | None = None,
) -> dict[str, Any]:
    """The mandate's fields (docs/rules.md#fields-of-a-mandate), its pause flags, and `data_issue`
    with its reason where there is one.

    Of a short ledger `seen` is what the chain says; without it the status is the ledger's last
    word, and pauses are not known.
    """
    reading = reading_of(call, mandate) if reading is None else reading
    view = _view(mandate, reading.said) | data_issue(reading.said, reading.short)
    if reading.short is None:
        return view
    if seen is None:
        return view | dict.fromkeys(PAUSES) | _fee_payee(mandate, reading.said, is_known=False)
    state = as_seen(reading.said, seen)
    chain = {
        "status": state.status.value,
        "vault_address": seen.vault,
        "paused": state.is_paused,
        "ended_at": instant_text_or_none(state.ended_at),
    }
    return view | dict.fromkeys(PAUSES) | chain | _fee_payee(mandate, state, is_known=True)


def _fee_payee(mandate: Mandate, state: MandateState, *, is_known: bool) -> dict[str, Any]:
    payee = fee_payee(mandate, state, is_known=is_known)
    return {"fee_payee": None if payee is None else payee.to_json()}


def _view(mandate: Mandate, state: MandateState) -> dict[str, Any]:
    vault = vault_of(mandate)
    return {
        "id": mandate.public_id,
        "public_id": mandate.public_id,
        "agent_id": None if mandate.agent_id is None else str(mandate.agent_id),
        "open_board": mandate.open_board,
        "purpose": mandate.purpose,
        "budget_usdc": usdc_text(int(mandate.budget_usdc_e6)),
        "horizon_days": mandate.horizon_days,
        "stop_floor_bps": mandate.stop_floor_bps,
        "stop_floor_usdc": usdc_text(terms_of(mandate).stop_floor),
        "target_bps": mandate.target_bps,
        "payout_rule": mandate.payout_rule,
        **_fee_payee(mandate, state, is_known=True),
        "allowed_targets": targets_to_json(targets_of(mandate), vault),
        "per_tx_cap_usdc": _money(mandate.per_tx_cap_usdc_e6),
        "daily_cap_usdc": _money(mandate.daily_cap_usdc_e6),
        "approval_above_usdc": _money(mandate.approval_above_usdc_e6),
        "on_floor": mandate.on_floor,
        "chain_id": mandate.chain_id,
        "market_mode": mandate.market_mode,
        "vault_address": vault,
        "status": mandate.status,
        "paused": state.is_paused,
        "paused_at": instant_text_or_none(state.paused_since),
        "last_paused_at": instant_text_or_none(state.last_paused_at or state.paused_since),
        "last_resumed_at": instant_text_or_none(state.last_resumed_at),
        "created_at": instant_text_or_none(mandate.created_at),
        "signed_at": instant_text_or_none(mandate.signed_at),
        "accepted_at": instant_text_or_none(mandate.accepted_at),
        "ends_at": instant_text_or_none(mandate.ends_at),
        "ended_at": instant_text_or_none(mandate.ended_at),
        "strategy": mandate.strategy,
        "proposed_by_agent_id": None
        if mandate.proposed_by_agent_id is None
        else str(mandate.proposed_by_agent_id),
    }


def _money(amount_usdc_e6: int | None) -> str | None:
    return usdc_text_or_none(None if amount_usdc_e6 is None else int(amount_usdc_e6))
