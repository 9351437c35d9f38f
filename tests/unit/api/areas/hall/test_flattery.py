"""What must not make a record better than it is. Each test plays the flatterer."""

from api.areas.hall.rules.standing import record_of
from api.areas.hall.rules.wash import TradedDay, Washed, washed
from core.mandate.rules.rows import RowKind
from tests.each import each
from tests.unit.api.areas.hall.told import AGENT, LISTED, OTHER, OWNER, SERVICE, USDC, Told, on


def test_a_deposit__is_no_gain() -> None:
    record = Told().on(0).deposit(1_000).on(1).deposit(500).of_agent(today=1)

    since = record.windows["since"]
    assert (since.net_usdc_e6, since.twr_bps) == (0, 0)


def test_a_deposit_after_a_loss__does_not_thin_the_loss() -> None:
    """Half of 1,000 is lost at noon; 1,000,000 come in an hour later."""
    one = Told().on(0).deposit(1_000).on(1, 12).buy(500).mark(500).on(1, 13).deposit(1_000_000)

    since = one.of_agent(today=1).windows["since"]
    assert (since.twr_bps, since.max_drawdown_bps) == (-5_000, 5_000)


def test_a_withdrawal__hides_no_loss() -> None:
    """The loss is a tenth of what there was, whatever is taken out afterwards."""
    lost = Told().on(0).deposit(1_000).on(1).buy(500).mark(900).sell(400)
    taken = lost.on(2).stop().withdraw(900)

    since = taken.of_agent(today=2).windows["since"]
    assert (since.net_usdc_e6, since.twr_bps, since.max_drawdown_bps) == (
        -100 * USDC,
        -1_000,
        1_000,
    )


def test_many_small_wins__do_not_hide_an_open_loser() -> None:
    one = Told().on(0).deposit(1_000).buy(500)
    for day in range(1, 21):
        one.on(day).buy(10).sell(11)
    one.on(21).mark(600)

    since = one.of_agent(today=21).windows["since"]
    assert since.net_usdc_e6 == -400 * USDC


@each("by_proceeds", [False, True])
def test_a_venue_that_no_adapter_values__pays_no_gain(by_proceeds: bool) -> None:
    """It belongs to the agent, which pays 300 for the 100 that went there."""
    one = Told().on(0).deposit(1_000).on(1).buy(100, OTHER).on(2)
    one = one.proceeds(300) if by_proceeds else one.sell(300, OTHER)

    since = one.of_agent(today=2).windows["since"]
    assert (since.net_usdc_e6, since.twr_bps) == (0, 0)


def test_a_gift_through_a_service__is_no_gain() -> None:
    one = Told().on(0).deposit(1_000).on(1).buy(10, SERVICE).on(2).sell(500, SERVICE)

    assert one.of_agent(today=2).windows["since"].net_usdc_e6 == -10 * USDC


def test_money_at_such_a_venue__counts_as_lost_until_it_is_back() -> None:
    out = Told().on(0).deposit(1_000).on(1).buy(400, OTHER)
    since = out.of_agent(today=30).windows["since"]
    assert (since.net_usdc_e6, since.twr_bps, since.max_drawdown_bps) == (
        -400 * USDC,
        -4_000,
        4_000,
    )

    back = out.on(31).sell(390, OTHER).on(32).sell(10, OTHER).of_agent(today=32).windows["since"]
    assert (back.net_usdc_e6, back.twr_bps) == (0, 0)


def test_money_that_did_not_come_back__is_lost_with_the_end() -> None:
    ended = Told().on(0).deposit(1_000).on(1).buy(400, OTHER).on(2).stop(by=AGENT, reason="done")
    assert ended.of_agent(today=2).windows["7d"].net_usdc_e6 == -400 * USDC
    assert ended.of_agent(today=60).windows["30d"].net_usdc_e6 == 0

    found = ended.on(61).proceeds(500).of_agent(today=61).windows
    assert (found["7d"].net_usdc_e6, found["since"].net_usdc_e6) == (0, 0)


def test_the_agent_s_words__are_self_reported_alone() -> None:
    one = Told().on(0).deposit(1_000).on(1)
    for _ in range(25):
        one.report(RowKind.BUY, 10).report(RowKind.RESOLVE, 500)
    one.report(RowKind.FEE, 3)
    record = one.of_agent(today=1)

    assert (record.trades_total, record.windows["since"].net_usdc_e6) == (0, 0)
    said = record.self_reported
    assert (said.trades_total, said.net_since_usdc_e6, said.fees_usdc_e6) == (
        25,
        (25 * 500 - 3) * USDC,
        3 * USDC,
    )


def test_calls_of_one_transaction__are_one_trade() -> None:
    one = Told().on(0).deposit(1_000).on(1)
    for _ in range(30):
        one.buy(1, LISTED, tx_hash="0x" + "ab" * 32)

    assert one.of_agent(today=1).trades_total == 1


def test_trades_elsewhere__are_no_trades() -> None:
    one = Told().on(0).deposit(1_000).on(1).buy(1, OTHER).buy(1, SERVICE).buy(0)

    assert one.of_agent(today=1).trades_total == 0


def test_an_old_mandate__stays_in_the_record() -> None:
    lost = Told().on(0).deposit(1_000).buy(900).mark(300).sell(200).stop().withdraw(300)
    won = Told().on(40).deposit(1_000).buy(500).on(41).mark(1_050)
    record = record_of([lost.record(1), won.record(2)], [], on(41))

    since = record.windows["since"]
    assert since.net_usdc_e6 == -650 * USDC
    assert (since.max_drawdown_bps, record.floor_stops) == (7_000, 1)
    assert record.windows["30d"].net_usdc_e6 == 50 * USDC


def test_a_large_idle_mandate__does_not_hide_how_deep_a_small_one_fell() -> None:
    small = Told(100).on(0).deposit(100).on(1).buy(80).mark(40)
    large = Told(1_000_000).on(0).deposit(1_000_000)
    since = record_of([small.record(1), large.record(2)], [], on(1)).windows["since"]

    assert since.max_drawdown_bps == 6_000
    assert since.twr_bps == -1


@each("target", [LISTED, OTHER])
def test_an_owner_that_trades_with_itself__makes_nothing(target: str) -> None:
    """One mandate gains 40 from another one of the same owner, which loses 45."""
    winner = TradedDay(1, on(0), 40 * USDC, {target: [0, 2]})
    loser = TradedDay(2, on(0), -45 * USDC, {target: [3, 0]})

    assert washed([winner, loser]) == {1: Washed(2, 40 * USDC), 2: Washed(3, 0)}


def test_an_owner_whose_mandates_gain_together__keeps_that_much() -> None:
    winner = TradedDay(1, on(0), 40 * USDC, {LISTED: [0, 2]})
    loser = TradedDay(2, on(0), -15 * USDC, {LISTED: [3, 0]})

    assert washed([winner, loser])[1] == Washed(2, 15 * USDC)  # 25 of the 40 count


@each(
    "other",
    [
        TradedDay(2, on(0), -45 * USDC, {LISTED: [0, 3]}),
        TradedDay(2, on(0), -45 * USDC, {OTHER: [3, 0]}),
    ],
    ids=["same side", "another target"],
)
def test_mandates_that_do_not_trade_with_each_other__count_whole(other: TradedDay) -> None:
    assert washed([TradedDay(1, on(0), 40 * USDC, {LISTED: [0, 2]}), other]) == {}


def test_one_mandate__does_not_trade_with_itself() -> None:
    assert washed([TradedDay(1, on(0), 40 * USDC, {LISTED: [3, 2]})]) == {}


def test_a_deposit_after_a_small_mandate_s_gain__makes_the_gain_no_heavier() -> None:
    """5 USDC are gained with 10; then a million comes in, beside a million that did nothing."""
    small = Told(10).on(0).deposit(10).on(1, 12).buy(5).mark(15).on(1, 13).deposit(1_000_000)
    large = Told(1_000_000).on(0).deposit(1_000_000)
    alone = small.of_agent(today=1).windows["since"]
    together = record_of([small.record(1), large.record(2)], [], on(1)).windows["since"]

    assert (alone.twr_bps, together.twr_bps) == (5_000, 0)


def test_a_transaction_that_buys_and_sells_in_turn__is_two_trades() -> None:
    one = Told().on(0).deposit(1_000).on(1)
    for _ in range(10):
        one.buy(1, tx_hash="0x" + "ab" * 32).sell(1, tx_hash="0x" + "ab" * 32)

    assert one.of_agent(today=1).trades_total == 2


def test_a_budget_that_was_never_there_at_once__makes_no_day_live() -> None:
    """All but a cent comes in and goes back; then the cent."""
    one = Told().on(0).deposit(999.99).withdraw(999.99, balance=0).deposit(0.01)
    record = one.of_agent(today=40)
    assert (record.mandates_total, record.days_live) == (0, 0)

    assert one.on(40).deposit(999.99).of_agent(today=40).days_live == 1


def test_what_others_gave__leaves_before_a_deposit() -> None:
    one = Told().on(0).deposit(600).withdraw(600, balance=600).deposit(400)

    assert one.of_agent(today=0).days_live == 1


@each("is_junk", [True, False], ids=["any token", "none"])
def test_a_token_that_the_owner_takes_out__makes_the_rest_no_gain(is_junk: bool) -> None:
    """The position is still there, and all but a dollar of the cash is not."""
    one = Told().on(0).deposit(1_000).on(1).buy(500).on(1, 13).stop(by=OWNER, reason="done")
    one.on(2).withdraw(499)
    if is_junk:
        one.withdraw(1, token="0x" + "99" * 20)
    since = one.unwind(500).of_agent(today=2).windows["since"]

    assert (since.net_usdc_e6, since.twr_bps) == (0, 0)


@each("by", [OWNER, AGENT])
def test_a_stop_at_the_floor__counts_what_positions_were_worth_then(by: str) -> None:
    """The price fell from one block to the next: no mark came before the stop."""
    one = Told().on(0).deposit(1_000).on(1).buy(500).mark(1_000)
    one.on(2).stop(by=by, worth=550).on(3).unwind(50).settle()
    record = one.of_agent(today=3)

    since = record.windows["since"]
    assert (since.net_usdc_e6, since.twr_bps) == (-450 * USDC, -4_500)
    assert (record.floor_stops, record.self_stops) == (1, 0)


@each("is_sale", [True, False])
def test_a_bad_trade_just_before_the_end__is_no_secret_of_the_end(is_sale: bool) -> None:
    """The agent sells for a dollar what it bought for 500, or buys at such a price, to itself."""
    one = Told().on(0).deposit(1_000)
    one = one.on(1).buy(500).mark(1_000).on(2).sell(1) if is_sale else one.on(2).buy(500)
    ended = one.stop(by=AGENT, reason="done")
    lost = -499 * USDC if is_sale else -500 * USDC
    assert ended.of_agent(today=2).windows["since"].net_usdc_e6 == lost

    back = ended.on(3).unwind(400).of_agent(today=3).windows["since"]
    assert back.net_usdc_e6 == lost + 400 * USDC


def test_a_price_that_rises_after_the_end__is_no_gain() -> None:
    """An owner that waits for it would show the winners alone."""
    one = Told().on(0).deposit(1_000).on(1).buy(500).mark(1_000).on(2)
    one.stop(by=AGENT, reason="done").on(60).unwind(900)

    assert one.of_agent(today=60).windows["since"].net_usdc_e6 == 0


def test_a_late_mark__makes_no_gain_of_what_the_owner_took() -> None:
    one = Told().on(0).deposit(1_000).on(1).buy(500).mark(1_000)
    one.on(2).stop(by=OWNER, reason="done").withdraw(500).mark(1_000)

    assert one.of_agent(today=2).windows["since"].net_usdc_e6 == 0


def test_what_is_found_after_the_end__is_a_share_of_what_the_agent_had() -> None:
    """400 of 1,000 were lost; when they come back, the owner has left a dollar of the rest."""
    one = Told().on(0).deposit(1_000).on(1).buy(400, OTHER).on(2).stop(by=AGENT, reason="done")
    one.on(3).withdraw(599).proceeds(400)

    assert one.of_agent(today=3).windows["since"].twr_bps == 0


def test_the_terms_end__is_an_end_like_a_stop() -> None:
    """What the owner takes out before anybody settles makes no deeper fall, and the vault's measure
    of after the end stands for what the owner never sells.
    """
    one = Told(ends=2).on(0).deposit(1_000).buy(300).mark(1_000)
    one.on(4).withdraw(700).settle()
    since = one.of_agent(today=4).windows["since"]
    assert (since.net_usdc_e6, since.max_drawdown_bps) == (-300 * USDC, 3_000)

    told = Told(ends=2).on(0).deposit(1_000).buy(300).mark(1_000)
    kept = told.on(2, 13).mark(1_000).settle().on(4).withdraw(700).of_agent(today=4)
    assert kept.windows["since"].net_usdc_e6 == 0


def test_a_price_that_is_lifted_after_the_terms_end__is_no_gain() -> None:
    one = Told(ends=2).on(0).deposit(1_000).buy(300).mark(1_000)
    since = one.on(2, 13).mark(1_600).unwind(300).settle().of_agent(today=2).windows["since"]

    assert since.net_usdc_e6 == 0


def test_a_settlement_long_after_the_end__makes_no_day_live() -> None:
    """The payee cannot be paid for forty days: nobody settles, and the agent chooses when."""
    one = Told(ends=2).on(0).deposit(1_000).on(42).settle()

    assert one.of_agent(today=42).days_live == 3


def test_what_a_service_gives_back__is_not_marked_as_a_position() -> None:
    """The vault still counts the 400 at cost that its service brought back, beside the cash."""
    one = Told().on(0).deposit(1_000).on(1).buy(400, OTHER).sell(400, SERVICE).mark(1_400)

    assert one.of_agent(today=1).windows["since"].net_usdc_e6 == 0
