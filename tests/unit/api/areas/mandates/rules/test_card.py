"""The card's header, footer and notice as the owner reads them."""

from typing import Any

from api.areas.mandates.rules.card import (
    VaultAgent,
    agent_wallet,
    card_header,
    unnamed_agent_notice,
)
from core.mandate.rules.terms import ZERO_ADDRESS
from tests.each import each
from tests.unit.core.mandate.rules.test_clauses import AGENT, CHAIN, OWNER, TERMS


@each(
    ("candidates", "wallet"),
    [
        ((AGENT, OWNER), AGENT),
        ((ZERO_ADDRESS, OWNER), OWNER),
        ((None, ZERO_ADDRESS), None),
    ],
)
def test_header__names_the_first_wallet_that_is_somebody(
    candidates: tuple[str | None, ...], wallet: str | None
) -> None:
    assert agent_wallet(*candidates) == wallet


def header(**changes: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "public_id": TERMS.public_id,
        "chain_id": CHAIN,
        "agent_id": "12",
        "agent_name": "Rex",
        "terms_agent": AGENT,
        "wallet_on_file": None,
        "of_vault": None,
        "strategy": None,
    }
    return card_header(**{**known, **changes})


def test_header__has_identity_who_and_strategy() -> None:
    assert header() == {
        "identity": {
            "text_en": "Mandate m_4k2v7c3xqa on chain 84532",
            "params": {"id": "m_4k2v7c3xqa", "chain_id": 84532},
        },
        "who": {
            "text_en": f"Rex acts with {AGENT}",
            "params": {"agent_id": "12", "name": "Rex", "wallet": AGENT},
        },
        "strategy": None,
    }


@each(
    ("of_vault", "on_file", "wallet", "says"),
    [
        (VaultAgent(OWNER), None, OWNER, f"Rex acts with {OWNER}"),
        (
            VaultAgent(OWNER),
            AGENT,
            OWNER,
            (
                f"Rex acts with {OWNER}; the vault does not obey {AGENT}, the wallet that Rex has "
                "linked"
            ),
        ),
        (VaultAgent(None), AGENT, None, "Rex cannot act: the vault obeys nobody"),
        (
            VaultAgent(None, is_known=False),
            AGENT,
            None,
            "Rex acts with the wallet that the vault obeys, which is unknown right now",
        ),
    ],
)
def test_header__with_a_vault__names_whom_it_obeys(
    of_vault: VaultAgent, on_file: str | None, wallet: str | None, says: str
) -> None:
    """It named the signed terms' agent, also after the owner had set another one."""
    who = header(of_vault=of_vault, wallet_on_file=on_file)["who"]
    assert (who["params"]["wallet"], who["text_en"]) == (wallet, says)


def test_header__of_terms_that_name_no_wallet__does_not_say_that_the_linked_one_acts() -> None:
    who = header(terms_agent=ZERO_ADDRESS, wallet_on_file=OWNER)["who"]
    assert who["params"]["wallet"] == OWNER
    assert who["text_en"] == (
        f"Rex has the wallet {OWNER}, and the terms name none: a vault made from them obeys "
        "nobody until its owner sets the agent"
    )


@each(
    ("name", "of_terms", "on_file", "begins"),
    [
        ("Rex", AGENT, None, None),
        (None, ZERO_ADDRESS, None, None),
        ("Rex", ZERO_ADDRESS, None, "These terms name no agent: Rex has no linked wallet."),
        (
            "Rex",
            ZERO_ADDRESS,
            OWNER,
            f"These terms name no agent: Rex linked {OWNER} after the terms were written.",
        ),
    ],
)
def test_notice__warns_of_terms_that_name_no_wallet_of_their_agent(
    name: str | None, of_terms: str, on_file: str | None, begins: str | None
) -> None:
    notice = unnamed_agent_notice(name, of_terms, on_file)
    assert notice is None if begins is None else str(notice).startswith(begins)
