"""Vaults that strangers make of any text and number: they are kept as far as they can be, and stop
nobody.
"""

from collections.abc import Callable

import pytest
from sqlalchemy import select

from core.blocks.tables import Vault
from core.mandate.chain import calldata
from core.mandate.chain.calldata import Funding
from core.mandate.rules.terms import MandateTerms
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.indexer.conftest import Follower
from tests.personas import STRANGER

MOST_MONEY = 2**53 - 1  # SpendWindowLib.MAX_CAP
PLACE = "m_Zq9Zq9Zq9Zq9"  # bytes in the call data that others take the place of
INVALID = {
    "a byte that begins nothing": b"m_\xff\xfe\xfd9Zq9Zq9Zq",
    "a lone surrogate": b"m_\xed\xa0\x80Zq9Zq9Zq9",
    "a sequence cut off": b"m_Zq9Zq9Zq9\xf0\x9f\x98",
}
HOSTILE: dict[str, Callable[[DeployedChain], MandateTerms]] = {
    "NUL": lambda chain: chain.terms("m_\x00\x00abcdefgh", owner=STRANGER.address),
    "NUL alone": lambda chain: chain.terms("\x00", owner=STRANGER.address),
    "nothing": lambda chain: chain.terms("", owner=STRANGER.address),
    "6,000 characters": lambda chain: chain.terms(
        "m_" + "".join(chr(0x4E00 + n % 20_000) for n in range(6_000)), owner=STRANGER.address
    ),
    "controls": lambda chain: chain.terms("m_\t\n\r\\.\\N\x1b[2J\u202e", owner=STRANGER.address),
    "the largest numbers": lambda chain: chain.terms(
        "m_largest",
        owner=STRANGER.address,
        budget_usdc=MOST_MONEY,
        per_tx_cap=MOST_MONEY,
        daily_cap=MOST_MONEY,
        stop_floor=MOST_MONEY - MOST_MONEY * 500 // 10_000,
        horizon_days=2**32 - 1,
        issued_at=2**64 - 1,
        approval_above=2**256 - 1,
        nonce=2**256 - 1,
    ),
}


def make(chain: DeployedChain, terms: MandateTerms, public_id: bytes | None = None) -> None:
    """The stranger sends it as the owner, which needs no signature."""
    data = calldata.create_vault(terms, chain.rules(), "0x", Funding())
    if public_id is not None:
        assert len(public_id) == len(PLACE)
        data = data.replace(PLACE.encode().hex(), public_id.hex())
    chain.succeed(STRANGER, chain.contracts["factory"], data)


def vaults(follower: Follower) -> list[Vault]:
    with follower.database.read() as session:
        return list(session.scalars(select(Vault).order_by(Vault.created_number)))


def in_a_range(follower: Follower) -> None:
    """A fresh process that finds all of it far below the head, and takes it as history."""
    follower.deployed.anvil.mine(200)
    follower.restart()


@pytest.mark.parametrize("by_range", [False, True], ids=["at the tip", "in a range"])
@pytest.mark.slow
def test_whatever_a_stranger_names_a_vault__it_is_kept_and_the_others_go_on(
    follower: Follower, by_range: bool
) -> None:
    mandate, chain = follower.issue(), follower.deployed
    if not by_range:
        follower.catch_up()
    for terms_of in HOSTILE.values():
        make(chain, terms_of(chain))
    for public_id in INVALID.values():
        make(chain, chain.terms(PLACE, owner=STRANGER.address), public_id)
    vault = chain.create_vault(mandate.terms)
    if by_range:
        in_a_range(follower)
    follower.catch_up()
    found = vaults(follower)
    assert len(found) == len(HOSTILE) + len(INVALID) + 1
    assert {row.owner for row in found[:-1]} == {bytes.fromhex(STRANGER.address[2:])}
    assert all(row.mandate_id is None for row in found[:-1])
    assert (found[-1].address, found[-1].mandate_id) == (bytes.fromhex(vault[2:]), mandate.id)
    assert follower.story(mandate) == ["signed", "vault_created", "deposit"]
