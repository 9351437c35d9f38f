"""Who gets the agent's fee, as clause 9 and the owner's calls say it."""

from dataclasses import replace
from typing import Any

from core.mandate.rules.clauses import UNKNOWN_PAYEE, VaultPayee, clauses, fee_stays_words, payee_of
from core.mandate.rules.state import EMPTY_STATE, MandateState
from core.mandate.rules.targets import parse_targets
from core.mandate.rules.terms import ZERO_ADDRESS
from tests.each import each
from tests.unit.core.mandate.rules.test_clauses import AGENT, OWNER, TERMS

OTHER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
BOARD = replace(TERMS, agent=ZERO_ADDRESS)
FIRST_SPENDS = "paid to the agent whose call is the first that spends"


def of_vault(**state: Any) -> MandateState:
    return replace(EMPTY_STATE, vault_address=OWNER, agent_known=True, **state)


@each(
    ("payee", "shown"),
    [
        # before there is a vault
        (payee_of(TERMS, EMPTY_STATE), (AGENT, True, f"paid to {AGENT}, which is the agent")),
        (payee_of(BOARD, EMPTY_STATE), (None, None, FIRST_SPENDS)),
        # the owner sets another agent: the fee stays where the terms have it
        (
            payee_of(TERMS, of_vault(agent_on_chain=OTHER, last_agent_set=OTHER)),
            (AGENT, False, f"paid to {AGENT}, which is not the agent"),
        ),
        # on the open board an agent that is set is no payee before it spends
        (
            payee_of(BOARD, of_vault(agent_on_chain=OTHER, last_agent_set=OTHER)),
            (None, None, FIRST_SPENDS),
        ),
        (
            payee_of(BOARD, of_vault(agent_on_chain=OTHER, payee_named=OTHER)),
            (OTHER, True, f"paid to {OTHER}, which is the agent"),
        ),
        # a stop revokes the agent, and makes the payee no other account than it was
        (
            payee_of(TERMS, of_vault(agent_on_chain=None, last_agent_set=AGENT)),
            (AGENT, True, f"paid to {AGENT}, which is the agent"),
        ),
        (
            payee_of(TERMS, of_vault(agent_on_chain=ZERO_ADDRESS, last_agent_set=AGENT)),
            (AGENT, True, f"paid to {AGENT}, which is the agent"),
        ),
        # the payee names another
        (
            payee_of(TERMS, of_vault(agent_on_chain=AGENT, payee_named=OTHER)),
            (OTHER, False, f"paid to {OTHER}, which is not the agent"),
        ),
        (UNKNOWN_PAYEE, (None, None, "paid to whom the vault names, which is not known now")),
    ],
)
def test_payee__is_the_vaults(
    payee: VaultPayee, shown: tuple[str | None, bool | None, str]
) -> None:
    assert tuple(payee.to_json().values()) == shown


def test_clause_9__says_who_is_paid() -> None:
    payee = payee_of(TERMS, of_vault(agent_on_chain=OTHER))

    clause = clauses(TERMS, parse_targets(None, 84_532), known={}, payee=payee)[8]

    assert clause["text_en"] == (
        "The agent gets 10.00 % of the realised gain at the settlement, and nothing without a "
        f"gain. Deposits are no gain. The fee is paid to {AGENT}, which is not the agent. That is "
        "the default share."
    )
    assert clause["params"] == {"pct": "10.00", "payee": AGENT, "payee_is_agent": False}


def test_clause_9__without_a_share__names_nobody() -> None:
    terms = replace(TERMS, agent_fee_bps=0)

    clause = clauses(
        terms, parse_targets(None, 84_532), known={}, payee=payee_of(terms, EMPTY_STATE)
    )[8]

    assert (clause["text_en"], clause["params"]) == (
        "The agent gets no share of a gain.",
        {"pct": "0.00"},
    )


@each(
    ("payee", "bps", "words"),
    [
        (VaultPayee(AGENT, AGENT), 1_000, f"The agent's fee stays with {AGENT}; "),
        (VaultPayee(OTHER, AGENT), 1_000, None),  # the new agent is the payee already
        (VaultPayee(AGENT, AGENT), 0, None),
        (
            VaultPayee(None, None),
            1_000,
            "The agent's fee goes to the agent whose call is the first",
        ),
    ],
)
def test_setting_another_agent__says_where_the_fee_stays(
    payee: VaultPayee, bps: int, words: str | None
) -> None:
    said = fee_stays_words(payee, OTHER, bps)

    assert said is None if words is None else (said or "").startswith(words)
