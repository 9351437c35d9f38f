"""Stops by themselves: whose word sends them, what a lie costs, and what they wait for: nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from core.mandate.chain import calldata
from keeper.stop_rows import READ_EVERY_S
from keeper.stops import AGREED_REST_S, MOST_ALONE, REVERTED_REST_S
from tests.integration.keeper.conftest import GWEI, PRICE_AT_FLOOR, KeeperProcess, Stage
from tests.integration.keeper.liars import Call, Lie, said, trials_pass
from tests.integration.keeper.lies import TWO
from tests.integration.keeper.sent import Sent, contracts_that_take_any_call, due
from tests.personas import KEEPER, OWNER, STRANGER

HOUR_S = 3_600


LIES: dict[str, Lie] = {"/a": trials_pass(100_000)}


# What a lie costs


def test_a_word_that_led_to_a_revert__rests_a_minute_for_its_vault(stage: Stage) -> None:
    sent = Sent(stage, LIES)
    counts = []
    for seconds in (2, REVERTED_REST_S - 4, 4):
        sent.ask(0)
        sent.pass_time(seconds)
        counts.append(sent.count())
    assert counts == [1, 1, 1]
    sent.ask(0)
    assert sent.count() == 2
    assert stage.states() == [("stop", "reverted")] * 2


def test_words_that_agreed_and_led_to_a_revert__rest_a_few_seconds(stage: Stage) -> None:
    """A price that falls, rises before the stop is mined, and falls again within the minute."""
    sent = Sent(stage, dict.fromkeys(TWO, trials_pass(100_000)))
    sent.ask(0, 1)
    sent.pass_time(AGREED_REST_S + 1)
    stage.set_price(PRICE_AT_FLOOR)
    sent.ask(0, 1)
    assert (stage.status(), sent.count()) == ("stopped", 2)


@pytest.mark.slow
def test_words_that_agreed_and_led_to_ten_reverts_in_an_hour__rest_a_minute(stage: Stage) -> None:
    """Whoever moves a price up and down burns the key's gas no faster than that."""
    sent = Sent(stage, dict.fromkeys(TWO, trials_pass(100_000)))
    for _ in range(MOST_ALONE + 5):
        sent.ask(0, 1)
        sent.pass_time(AGREED_REST_S + 1)
    assert sent.count() == MOST_ALONE + 1
    sent.pass_time(REVERTED_REST_S)
    sent.ask(0, 1)
    assert sent.count() == MOST_ALONE + 2


def test_a_word_that_led_to_a_revert__holds_up_no_other_nodes_word(stage: Stage) -> None:
    sent = Sent(stage, LIES)
    sent.ask(0)
    stage.set_price(PRICE_AT_FLOOR)
    sent.ask(1)
    assert (stage.status(), sent.count()) == ("stopped", 2)


@pytest.mark.slow
def test_one_node_of_two_lies_for_hours__ten_stops_an_hour_go_on_its_word(stage: Stage) -> None:
    sent = Sent(stage, LIES)
    for _ in range(MOST_ALONE + 5):
        sent.ask(0)
        sent.pass_time(REVERTED_REST_S + 1)
    assert sent.count() == MOST_ALONE
    sent.pass_time(HOUR_S)
    sent.ask(0)
    assert (sent.count(), stage.status()) == (MOST_ALONE + 1, "working")


@pytest.mark.slow
def test_a_node_whose_word_is_used_up__still_stops_what_the_other_lets_pass(stage: Stage) -> None:
    sent = Sent(stage, LIES)
    for _ in range(MOST_ALONE + 1):
        sent.ask(0)
        sent.pass_time(REVERTED_REST_S + 1)
    stage.set_price(PRICE_AT_FLOOR)
    sent.ask(0)
    assert stage.status() == "stopped"


@pytest.mark.slow
def test_a_node_alone__is_believed_each_time(stage: Stage) -> None:
    sent = Sent(stage, LIES, ("/a",))
    for _ in range(MOST_ALONE + 2):
        sent.ask(0)
        sent.pass_time(REVERTED_REST_S + 1)
    assert sent.count() == MOST_ALONE + 2


@pytest.mark.slow
def test_somebody_else_was_first__never_counts_against_a_node(stage: Stage) -> None:
    sent = Sent(stage, {}, TWO)
    stage.set_price(PRICE_AT_FLOOR)
    with stage.no_blocks():
        stage.chain.anvil.rpc.call(
            "eth_sendRawTransaction",
            [stage.chain.sign(OWNER, stage.vault, calldata.stop("owner"))],
        )
        sent.ask(0)
        stage.chain.anvil.mine()
        sent.ask(0)
    assert (stage.status(), stage.states()) == ("stopped", [("stop", "reverted")])
    assert all(len(words) > 1 for words in sent.keeper.stops._spent)


def test_a_node_whose_lens_says_fallen__and_whose_call_says_above__sends_nothing(
    stage: Stage,
) -> None:
    sent = Sent(stage, {})
    for _ in range(5):
        sent.ask(0, 1)
        sent.pass_time()
    assert (sent.count(), stage.states()) == (0, [])


# Nothing that it waits for


@contextmanager
def postgres_away(keeper: KeeperProcess) -> Iterator[None]:
    database: Any = keeper.tick.desk.database
    read, write = database.read, type(database).write

    def away(*_: object) -> Any:
        raise OperationalError("select", {}, Exception("connection refused"))

    database.read = away
    type(database).write = away
    try:
        yield
    finally:
        database.read = read
        type(database).write = write


def test_postgres_is_away_while_a_vault_falls__the_stop_goes_out_and_its_row_appears_later(
    stage: Stage,
) -> None:
    keeper = stage.keeper()
    keeper.run()
    with postgres_away(keeper):
        stage.set_price(PRICE_AT_FLOOR)
        keeper.follow()
        with pytest.raises(OperationalError):
            keeper.tick.run(stage.now())
        keeper.follow()
        assert (stage.status(), len(keeper.wire.sent)) == ("stopped", 1)
    assert stage.states() == []
    keeper.follow()
    keeper.follow()
    assert stage.states() == [("stop", "mined")]
    (tx,) = stage.txs()
    assert stage.receipt_of(tx).status == 1


def reverted_unwritten(stage: Stage) -> Sent:
    """Its row is live, since the look that saw it revert came after the tick."""
    sent = Sent(stage, LIES)
    with stage.no_blocks():
        sent.ask(0)
        sent.pass_time(READ_EVERY_S + 1)
    assert stage.states() == [("stop", "broadcast")]
    sent.keeper.stops.follow()
    return sent


def test_a_revert_that_is_not_written_yet__is_no_stop_under_way(stage: Stage) -> None:
    sent = reverted_unwritten(stage)
    sent.keeper.stops.write()
    stage.set_price(PRICE_AT_FLOOR)
    sent.ask(1)
    assert (stage.status(), stage.states()) == (
        "stopped",
        [("stop", "reverted"), ("stop", "mined")],
    )


def test_a_stop_after_a_revert_that_is_not_written_yet__has_a_row_of_its_own(stage: Stage) -> None:
    sent = reverted_unwritten(stage)
    stage.set_price(PRICE_AT_FLOOR)
    name = sent.keeper.rpc.names[1]
    sent.keeper.stops.send([due(stage.vault, name)])
    sent.keeper.follow()  # the end of the first is written
    sent.keeper.follow()
    assert (stage.status(), stage.states()) == (
        "stopped",
        [("stop", "reverted"), ("stop", "mined")],
    )


def test_a_stop_that_reverted_while_others_were_written__has_its_row_later(stage: Stage) -> None:
    sent = Sent(stage, LIES)
    sent.keeper.stops.send([due(stage.vault, sent.keeper.rpc.names[0])])
    rows = sent.keeper.stops._rows
    assert [stop.row for stop in rows.reverted] == [None]
    rows._write_ends()
    sent.keeper.stops.write()
    assert stage.states() == [("stop", "reverted")]


def test_postgres_is_away_while_a_stop_reverts_and_the_next_one_is_mined__each_has_its_row(
    stage: Stage,
) -> None:
    """The one that was mined stood in the row of the one that reverted."""
    sent = Sent(stage, LIES)
    stops, names = sent.keeper.stops, sent.keeper.rpc.names
    with postgres_away(sent.keeper):
        stops.send([due(stage.vault, names[0])])
        stops.follow()
        stage.set_price(PRICE_AT_FLOOR)
        stops.send([due(stage.vault, names[1])])
        stops.follow()
        stops.write()
    assert (stage.status(), sent.count(), stage.states()) == ("stopped", 2, [])
    stops.write()
    assert stage.states() == [("stop", "reverted"), ("stop", "broadcast")]
    stops.write()
    assert stage.states() == [("stop", "reverted"), ("stop", "mined")]


def test_a_planned_stop_that_was_given_up__is_followed_once_it_is_sent_after_all(
    stage: Stage,
) -> None:
    sent = Sent(stage, {})
    for person in (KEEPER, STRANGER):
        stage.chain.anvil.rpc.call("anvil_setBalance", [person.address, "0x0"])
    stage.set_price(PRICE_AT_FLOOR)
    sent.ask(0)
    sent.pass_time(11)
    with postgres_away(sent.keeper):
        sent.keeper.follow()
        stage.chain.anvil.rpc.call("anvil_setBalance", [STRANGER.address, hex(10**18)])
        sent.ask(0)
    sent.keeper.follow()
    assert (stage.status(), stage.states()) == ("stopped", [("stop", "mined")])


def test_a_base_fee_a_hundred_times_as_high__the_stop_is_in_the_third_block(stage: Stage) -> None:
    sent = Sent(stage, {})
    stage.set_price(PRICE_AT_FLOOR)
    with stage.no_blocks():
        sent.ask(0)
        (first,) = stage.txs()
        for _ in range(2):
            stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(100 * GWEI)])
            sent.pass_time()
            sent.ask(0)
        stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(100 * GWEI)])
        sent.pass_time()
    assert stage.status() == "stopped"
    assert {tx.nonce for tx in stage.txs()} == {first.nonce}


def behind_every_other_time(by: int) -> Lie:
    """One address, two nodes: the other one has not heard of the newest transactions."""
    asked = 0

    def lie(call: Call, answer: Call) -> Call | None:
        nonlocal asked
        if call["method"] != "eth_getTransactionCount":
            return None
        asked += 1
        count = int(answer["result"], 16)
        return said(call, hex(max(0, count - by))) if asked % 2 else None

    return lie


@pytest.mark.parametrize("by", [1, 40])
def test_one_address_with_two_counts__the_stop_is_in_a_block_of_the_next_two(
    stage: Stage, by: int
) -> None:
    stage.chain.anvil.rpc.call("anvil_setNonce", [STRANGER.address, hex(100)])
    sent = Sent(stage, {"/a": behind_every_other_time(by)}, ("/a",))
    stage.set_price(PRICE_AT_FLOOR)
    for _ in range(3):
        sent.ask(0)
        sent.pass_time()
    assert (stage.status(), stage.states()) == ("stopped", [("stop", "mined")])


def test_two_hundred_stops_at_once__are_in_one_block(stage: Stage) -> None:
    vaults = contracts_that_take_any_call(stage, 200)
    sent = Sent(stage, {})
    with stage.no_blocks():
        sent.ask(0, vaults=vaults)
        stage.chain.anvil.mine()
        sent.keeper.follow()
    assert (sent.count(), stage.states()) == (200, [("stop", "mined")] * 200)
    assert sorted(tx.nonce for tx in stage.txs()) == list(range(200))
    assert {tx.mined_block for tx in stage.txs()} == {stage.chain.reader.block_number()}


def test_keys_without_eth__wait_and_say_so_and_others_are_tried_first(stage: Stage) -> None:
    sent = Sent(stage, {})
    stage.set_price(PRICE_AT_FLOOR)
    stage.chain.anvil.rpc.call("anvil_setBalance", [STRANGER.address, "0x0"])
    stage.chain.anvil.rpc.call("anvil_setBalance", [KEEPER.address, "0x0"])
    sent.ask(0)
    assert (stage.states(), sent.wire.sent) == ([("stop", "planned")], [])
    stage.chain.anvil.rpc.call("anvil_setBalance", [KEEPER.address, hex(10**16)])
    sent.ask(0)
    assert (stage.status(), stage.keeper_nonce()) == ("stopped", 1)


def test_a_planned_stop_that_nobody_asks_for_any_more__is_superseded(stage: Stage) -> None:
    sent = Sent(stage, {})
    for person in (KEEPER, STRANGER):
        stage.chain.anvil.rpc.call("anvil_setBalance", [person.address, "0x0"])
    stage.set_price(PRICE_AT_FLOOR)
    sent.ask(0)
    sent.pass_time(11)
    sent.keeper.follow()
    assert stage.states() == [("stop", "superseded")]


# What was over


def test_a_reorg_takes_a_stop_out_of_a_safe_block__the_vault_is_stopped_again(stage: Stage) -> None:
    """What was over was never sent again by this process."""
    stage.set_price(PRICE_AT_FLOOR)
    fell_at = stage.chain.reader.block_number()
    keeper = stage.keeper()
    keeper.run()
    stage.finish(keeper)
    assert stage.states() == [("stop", "done")]
    stage.chain.anvil.reorg(stage.chain.reader.block_number() - fell_at)
    assert stage.status() == "working"
    keeper.run()
    assert stage.status() == "stopped"


def test_what_is_over__is_not_sent_again_on_one_nodes_word(stage: Stage) -> None:
    """As of one that stands still since before it."""
    sent = Sent(stage, LIES)
    stage.set_price(PRICE_AT_FLOOR)
    sent.ask(1)
    stage.finish(sent.keeper)
    assert (stage.states(), sent.count()) == ([("stop", "done")], 1)
    for _ in range(3):
        sent.ask(0)
        sent.pass_time(REVERTED_REST_S)
    assert sent.count() == 1
