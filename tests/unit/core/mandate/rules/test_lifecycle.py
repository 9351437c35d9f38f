"""The table of moves: what leads where, and that nothing else does."""

import itertools

import pytest

from core.errors import WrongStatusError
from core.mandate.rules.lifecycle import ENDED, TABLE, MarketMode, Move, MoveFacts, Status, When, next_status

PAPER = MoveFacts(market_mode=MarketMode.PAPER)
FUNDED = MoveFacts(has_vault=True, is_fully_funded=True)
VAULT = MoveFacts(has_vault=True)
PAST_END = MoveFacts(has_vault=True, is_fully_funded=True, is_past_end=True)
PLAIN = MoveFacts()


@pytest.mark.parametrize(
    ("status", "move", "facts", "expected"),
    [
        (Status.DRAFT, Move.ASSIGN, PLAIN, Status.DRAFT),
        (Status.DRAFT, Move.SIGN, PLAIN, Status.SIGNED),
        (Status.DRAFT, Move.SIGN, PAPER, Status.WORKING),
        (Status.DRAFT, Move.CANCEL, PLAIN, Status.CANCELLED),
        (Status.SIGNED, Move.ACCEPT, PLAIN, Status.SIGNED),
        (Status.SIGNED, Move.FUND, FUNDED, Status.WORKING),
        (Status.SIGNED, Move.STOP, PLAIN, Status.STOPPED),
        (Status.SIGNED, Move.STOP, VAULT, Status.STOPPED),
        (Status.SIGNED, Move.CANCEL, PLAIN, Status.CANCELLED),
        (Status.WORKING, Move.ACCEPT, FUNDED, Status.WORKING),
        (Status.WORKING, Move.STOP, FUNDED, Status.STOPPED),
        (Status.WORKING, Move.SETTLE, PAST_END, Status.SETTLED),
        (Status.STOPPED, Move.SETTLE, FUNDED, Status.SETTLED),
        (Status.SETTLED, Move.SETTLE, FUNDED, Status.SETTLED),
    ],
)
def test_move__in_the_table__leads_there(status: Status, move: Move, facts: MoveFacts, expected: Status) -> None:
    assert next_status(status, move, facts) is expected


@pytest.mark.parametrize(
    ("status", "move", "facts", "rule"),
    [
        (Status.SIGNED, Move.CANCEL, VAULT, "only while it has no vault; stop it instead"),
        (Status.SIGNED, Move.FUND, VAULT, "only once the vault holds the whole budget"),
        (Status.WORKING, Move.SETTLE, FUNDED, "only after a stop or from its end date on"),
        (Status.DRAFT, Move.ACCEPT, PLAIN, "it takes a mandate that is signed or working"),
        (Status.STOPPED, Move.ACCEPT, PLAIN, "it takes a mandate that is signed or working"),
        (Status.SIGNED, Move.ASSIGN, PLAIN, "it takes a mandate that is draft"),
        (Status.STOPPED, Move.STOP, FUNDED, "it takes a mandate that is signed or working"),
    ],
)
def test_move__refused__says_status_move_and_rule(status: Status, move: Move, facts: MoveFacts, rule: str) -> None:
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
    for pair, facts in itertools.product(set(itertools.product(Status, Move)) - lines, every_fact):
        with pytest.raises(WrongStatusError):
            next_status(*pair, facts)


def test_ended__never_leads_back() -> None:
    assert all(line.next in ENDED for line in TABLE if line.status in ENDED)


def test_pairs_with_two_lines__are_told_apart_by_the_market_mode() -> None:
    pairs = {(line.status, line.move) for line in TABLE}
    for pair in pairs:
        conditions = {line.when for line in TABLE if (line.status, line.move) == pair}
        assert len(conditions) == 1 or conditions == {When.ON_TESTNET, When.ON_PAPER}
