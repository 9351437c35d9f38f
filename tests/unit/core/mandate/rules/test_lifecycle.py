"""The table of moves: what leads where, and that nothing else does."""

import itertools
import re
from pathlib import Path

import pytest

from core.errors import WrongStatusError
from core.mandate.rules.lifecycle import (
    ACTIVE,
    CLOSED,
    ENDED,
    OF_VAULT,
    SETTLE_GRACE_S,
    TABLE,
    MandateMove,
    MarketMode,
    MoveFacts,
    Status,
    VaultStatus,
    When,
    next_status,
)
from core.times import DAY_S
from tests.each import each

CONTRACTS = Path(__file__).resolve().parents[5] / "contracts"

PAPER = MoveFacts(market_mode=MarketMode.PAPER)
FUNDED = MoveFacts(has_vault=True, is_fully_funded=True)
VAULT = MoveFacts(has_vault=True)
PAST_END = MoveFacts(has_vault=True, is_fully_funded=True, is_past_end=True)
PLAIN = MoveFacts()


@each(
    ("status", "move", "facts", "expected"),
    [
        (Status.DRAFT, MandateMove.ASSIGN, PLAIN, Status.DRAFT),
        (Status.DRAFT, MandateMove.SIGN, PLAIN, Status.SIGNED),
        (Status.DRAFT, MandateMove.SIGN, PAPER, Status.WORKING),
        (Status.DRAFT, MandateMove.CANCEL, PLAIN, Status.CANCELLED),
        (Status.SIGNED, MandateMove.ACCEPT, PLAIN, Status.SIGNED),
        (Status.SIGNED, MandateMove.FUND, FUNDED, Status.WORKING),
        (Status.SIGNED, MandateMove.STOP, PLAIN, Status.STOPPED),
        (Status.SIGNED, MandateMove.STOP, VAULT, Status.STOPPED),
        (Status.SIGNED, MandateMove.CANCEL, PLAIN, Status.CANCELLED),
        (Status.WORKING, MandateMove.ACCEPT, FUNDED, Status.WORKING),
        (Status.WORKING, MandateMove.STOP, FUNDED, Status.STOPPED),
        (Status.WORKING, MandateMove.SETTLE, PAST_END, Status.SETTLED),
        (Status.STOPPED, MandateMove.SETTLE, FUNDED, Status.SETTLED),
        (Status.SETTLED, MandateMove.SETTLE, FUNDED, Status.SETTLED),
    ],
)
def test_move__in_the_table__leads_there(
    status: Status, move: MandateMove, facts: MoveFacts, expected: Status
) -> None:
    assert next_status(status, move, facts) is expected


@each(
    ("status", "move", "facts", "rule"),
    [
        (Status.SIGNED, MandateMove.CANCEL, VAULT, "only while it has no vault; stop it instead"),
        (Status.SIGNED, MandateMove.FUND, VAULT, "only once the vault holds the whole budget"),
        (Status.WORKING, MandateMove.SETTLE, FUNDED, "only after a stop or from its end date on"),
        (Status.DRAFT, MandateMove.ACCEPT, PLAIN, "only while it is signed or working"),
        (Status.STOPPED, MandateMove.ACCEPT, PLAIN, "only while it is signed or working"),
        (Status.SIGNED, MandateMove.ASSIGN, PLAIN, "only while it is a draft"),
        (Status.STOPPED, MandateMove.STOP, FUNDED, "only while it is signed or working"),
    ],
)
def test_move__refused__says_status_move_and_rule(
    status: Status, move: MandateMove, facts: MoveFacts, rule: str
) -> None:
    with pytest.raises(WrongStatusError) as refused:
        next_status(status, move, facts)
    assert (refused.value.status, refused.value.move, refused.value.rule) == (status, move, rule)


def test_every_pair_without_a_line__is_refused_whatever_the_facts() -> None:
    lines = {(line.status, line.move) for line in TABLE}
    booleans = list(itertools.product((False, True), repeat=3))
    every_fact = [
        MoveFacts(market_mode=mode, has_vault=vault, is_fully_funded=funded, is_past_end=end)
        for mode in MarketMode
        for vault, funded, end in booleans
    ]
    for pair, facts in itertools.product(
        set(itertools.product(Status, MandateMove)) - lines, every_fact
    ):
        with pytest.raises(WrongStatusError):
            next_status(*pair, facts)


def test_ended__never_leads_back() -> None:
    assert all(line.next in ENDED for line in TABLE if line.status in ENDED)


def test_pairs_with_two_lines__are_told_apart_by_the_market_mode() -> None:
    pairs = {(line.status, line.move) for line in TABLE}
    for pair in pairs:
        conditions = {line.when for line in TABLE if (line.status, line.move) == pair}
        assert len(conditions) == 1 or conditions == {When.ON_TESTNET, When.ON_PAPER}


# One home for what others say of a vault


def test_vault_status__is_the_contracts_enum_word_for_word() -> None:
    declared = re.search(
        r"enum Status \{([^}]*)\}", (CONTRACTS / "interfaces/IMandateVault.sol").read_text()
    )
    assert declared is not None
    assert [word.lower() for word in re.findall(r"^    (\w+),?$", declared[1], re.MULTILINE)] == [
        status.word for status in VaultStatus
    ]


def test_of_vault__every_status_of_a_vault_has_its_own() -> None:
    assert list(OF_VAULT) == list(VaultStatus)
    assert len(set(OF_VAULT.values())) == len(VaultStatus)


def test_groups__active_and_ended_are_all_but_draft() -> None:
    assert (*ACTIVE, *ENDED) == tuple(status for status in Status if status is not Status.DRAFT)


def test_closed__is_every_end_that_a_vault_has() -> None:
    assert tuple(status for status in OF_VAULT.values() if status in ENDED) == CLOSED


def test_settle_grace__is_the_contracts() -> None:
    declared = re.search(
        r"SETTLE_GRACE = (\d+) days;", (CONTRACTS / "libraries/ConstantsLib.sol").read_text()
    )
    assert declared is not None
    assert int(declared[1]) * DAY_S == SETTLE_GRACE_S
