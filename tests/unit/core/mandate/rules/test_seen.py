"""A ledger that is short, as the chain says that it stands."""

from dataclasses import replace

import pytest

from core.mandate.rules.lifecycle import Status
from core.mandate.rules.progress import ProgressFacts, progress_block, short_progress
from core.mandate.rules.state import EMPTY_STATE
from core.mandate.rules.terms import ZERO_ADDRESS
from core.mandate.rules.worth import VaultSeen, as_seen
from tests.unit.core.mandate.rules.ledgers import (
    AGENT,
    START,
    TESTNET,
    VAULT,
    e6,
    terms,
    working,
)

NOW = int(START.timestamp()) + 3600
SEEN = VaultSeen(
    vault=VAULT,
    at=NOW,
    status=Status.WORKING,
    agent=AGENT,
    payee=AGENT,
    stopped_at=0,
    deposited_usdc_e6=e6("1000"),
    spent_usdc_e6=e6("300"),
    received_usdc_e6=e6("50"),
    withdrawn_usdc_e6=0,
    fee_paid_usdc_e6=0,
    unvalued_out_usdc_e6=0,
    fee_owed_usdc_e6=0,
    balance_usdc_e6=e6("750"),
    worth_usdc_e6=e6("980"),
)


def test_the_payee__is_whom_the_vault_names() -> None:
    ledger = working()
    assert as_seen(ledger.state, replace(SEEN, payee=VAULT)).payee_named == VAULT
    assert as_seen(ledger.state, replace(SEEN, payee=ZERO_ADDRESS)).payee_named is None


def test_worth__is_the_vaults_word_beside_its_own_cash() -> None:
    worth = SEEN.worth
    assert worth is not None
    assert (worth.cash_usdc_e6, worth.positions_usdc_e6, worth.source) == (
        e6("750"),
        e6("230"),
        "chain",
    )
    assert replace(SEEN, worth_usdc_e6=None).worth is None


@pytest.mark.parametrize(
    ("withdrawn", "own"),
    [("0", "0"), ("700", "700"), ("751", "750")],
    ids=["nothing", "less than there was", "with a gift"],
)
def test_what_was_withdrawn__is_the_mandates_own_and_no_gift(withdrawn: str, own: str) -> None:
    state = as_seen(EMPTY_STATE, replace(SEEN, withdrawn_usdc_e6=e6(withdrawn)))
    assert state.withdrawn_usdc_e6 == e6(own)


def test_a_gift_that_is_withdrawn_while_all_is_out__is_nothing_of_the_mandates() -> None:
    out = replace(SEEN, received_usdc_e6=0, spent_usdc_e6=e6("1001"), withdrawn_usdc_e6=e6("1"))
    assert as_seen(EMPTY_STATE, out).withdrawn_usdc_e6 == 0


def test_the_fee_that_would_be_paid__is_known_with_the_worth_alone() -> None:
    ledger = working()
    about = ProgressFacts(facts=TESTNET, terms=terms(), spread_bps=50, now=NOW)
    block = progress_block(ledger.state, about)
    reserved = block["fees"]["agent_fee"]["reserved_est"]
    assert reserved is not None
    for is_worth_seen, known in ((True, reserved), (False, None)):
        short = short_progress(block, is_seen=True, is_worth_seen=is_worth_seen)
        assert short["fees"]["agent_fee"]["reserved_est"] == known
