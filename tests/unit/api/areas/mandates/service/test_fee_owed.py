"""What the ledger says the vault still owes the agent."""

from api.areas.mandates.service.owner_calls import fee_owed_usdc_e6, withdrawable_usdc_e6
from core.mandate.rules.terms import ZERO_ADDRESS
from core.money import UsdcE6
from tests.unit.core.mandate.rules.ledgers import AGENT, terms
from tests.unit.core.mandate.rules.test_payee import of_vault


def test_on_the_open_board__nobody_is_owed_a_fee_before_an_agent_spends() -> None:
    """The vault pays the first that spends; one that was only set is no payee."""
    board = terms(agent=ZERO_ADDRESS, agent_fee_bps=1_000)
    gained = {"cash_usdc_e6": UsdcE6(1_100), "received_usdc_e6": UsdcE6(100)}
    set_only = of_vault(agent_on_chain=AGENT, last_agent_set=AGENT, **gained)
    spent = of_vault(agent_on_chain=AGENT, payee_named=AGENT, **gained)

    assert (fee_owed_usdc_e6(board, set_only), withdrawable_usdc_e6(board, set_only)) == (0, 1_100)
    assert (fee_owed_usdc_e6(board, spent), withdrawable_usdc_e6(board, spent)) == (10, 1_090)
