"""The card round a mandate's clauses: its header, its standing sentences, and what an owner should
know of the agent before signing. Source: docs/rules.md#clauses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from core.mandate.rules.terms import ZERO_ADDRESS


@dataclass(frozen=True, slots=True)
class VaultAgent:
    """Whom the vault obeys. `wallet` None: nobody, or, where `is_known` is False, not known now."""

    wallet: str | None
    is_known: bool = True


def card_header(
    *,
    public_id: str,
    chain_id: int,
    agent_id: str | None,
    agent_name: str | None,
    terms_agent: str,
    wallet_on_file: str | None,
    of_vault: VaultAgent | None,
    strategy: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """{identity, who, strategy}, each {text_en, params} (strategy null without one).

    who.params.wallet is the wallet that acts: with a vault (`of_vault`) the one that it obeys on
    chain, null for nobody or not known; before there is one the signed terms' agent, else the
    wallet on file. The zero address names nobody. Source: docs/rules.md#clauses.
    """
    wallet = agent_wallet(terms_agent, wallet_on_file) if of_vault is None else of_vault.wallet
    name = None if agent_id is None else agent_name or f"agent-{agent_id}"
    words = (
        _before_vault_words(name, terms_agent, wallet_on_file)
        if of_vault is None
        else _of_vault_words(name, of_vault, wallet_on_file)
    )
    return {
        "identity": {
            "text_en": f"Mandate {public_id} on chain {chain_id}",
            "params": {"id": public_id, "chain_id": chain_id},
        },
        "who": {
            "text_en": words,
            "params": {"agent_id": agent_id, "name": agent_name, "wallet": wallet},
        },
        "strategy": _strategy_row(strategy),
    }


def agent_wallet(*candidates: str | None) -> str | None:
    """The first address that names somebody."""
    return next(
        (wallet for wallet in candidates if wallet is not None and wallet != ZERO_ADDRESS), None
    )


def unnamed_agent_notice(
    agent_name: str | None, terms_agent: str, wallet_on_file: str | None
) -> str | None:
    """What an owner should know before signing terms that name no wallet of the mandate's agent;
    None when there is nothing.
    """
    if agent_name is None or terms_agent != ZERO_ADDRESS:
        return None
    if wallet_on_file is None:
        why, way = (
            f"{agent_name} has no linked wallet",
            "let the agent link a wallet and assign the agent again before you sign",
        )
    else:
        why, way = (
            f"{agent_name} linked {wallet_on_file} after the terms were written",
            "assign the agent again before you sign",
        )
    return (
        f"These terms name no agent: {why}. A vault made from them obeys nobody until you "
        f"set its agent; {way}."
    )


def card_footer() -> list[dict[str, Any]]:
    """The standing sentences under every card: [{key, text_en, params}]."""
    return [{"key": key, "text_en": text, "params": {}} for key, text in _STANDING]


_STANDING: Final = (
    ("off_switch", "You can stop the agent with one transaction, and only you can withdraw."),
    ("no_keys", "Nobody here asks for, stores or accepts an exchange key or your private key."),
    ("net_of_fees", "Results are net of fees; values labelled est are estimates."),
    ("past_results", "Past results do not promise future ones."),
    ("testnet", "This runs on a test network today; its money has no value."),
)


def _strategy_row(strategy: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if strategy is None:
        return None
    name = strategy.get("name") or strategy.get("listing_id")
    return {
        "text_en": f"Strategy: {name}. It is a description, not part of the signed terms.",
        "params": dict(strategy),
    }


def _before_vault_words(name: str | None, terms_agent: str, wallet_on_file: str | None) -> str:
    if name is None:
        return "No agent is named yet"
    if terms_agent != ZERO_ADDRESS:
        return f"{name} acts with {terms_agent}"
    on_file = (
        "has no linked wallet" if wallet_on_file is None else f"has the wallet {wallet_on_file}"
    )
    return (
        f"{name} {on_file}, and the terms name none: a vault made from them obeys nobody "
        "until its owner sets the agent"
    )


def _of_vault_words(name: str | None, of_vault: VaultAgent, wallet_on_file: str | None) -> str:
    if not of_vault.is_known:
        return (
            f"{name or 'The agent'} acts with the wallet that the vault obeys, which is "
            "unknown right now"
        )
    if of_vault.wallet is None:
        return f"{name} cannot act: the vault obeys nobody" if name else "The vault obeys nobody"
    if name is None:
        return f"The vault obeys {of_vault.wallet}"
    acts = f"{name} acts with {of_vault.wallet}"
    is_other = wallet_on_file is not None and wallet_on_file != of_vault.wallet
    return (
        f"{acts}; the vault does not obey {wallet_on_file}, the wallet that {name} has linked"
        if is_other
        else acts
    )
