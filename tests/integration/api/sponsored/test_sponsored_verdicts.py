"""No verdict on money hangs on one node's word (docs/decisions/0061)."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from api.areas.sponsored.service import buys
from core.chain.abi import address_word, function
from core.chain.nodes import Nodes
from core.mandate.chain.decode import TRANSFER_TOPIC
from core.mandate.chain.reader import VaultReader
from core.reserve.rules import token_text
from core.sponsored.logs import authorization_topics, bought_event
from core.sponsored.readings import PoolDisputedError, pool_now
from core.sponsored.rules import STUCK_S
from indexer.chain.finality import FinalityDisputedError
from tests.integration.api.conftest import reason
from tests.integration.api.sponsored.conftest import Lie, LyingWire, SponsoredStage
from tests.node_transport import in_threads


def reader_by(stage: SponsoredStage, *wires: LyingWire) -> VaultReader:
    """Of several nodes: the stage's own, each behind one of these ways."""
    url = stage.chain.anvil.url
    urls = [f"{url}/?node={number}" for number in range(len(wires))]
    rpc = Nodes(urls, transport=in_threads(Ways(dict(zip(urls, wires, strict=True)))))
    stage.rpcs.append(rpc)
    return VaultReader(rpc, stage.chain.contracts)


def follow_by(stage: SponsoredStage, *wires: LyingWire) -> None:
    """An indexer that was at work, and whose nodes these are now."""
    final(stage)
    stage.follower.tip.close()
    stage.follower.clock = lambda: datetime.fromtimestamp(stage.chain.now, UTC)
    stage.follower.restart(reader=reader_by(stage, *wires))


class Ways(LyingWire):
    """A way for each node, by its address."""

    def __init__(self, ways: dict[str, LyingWire]) -> None:
        super().__init__()
        self.ways = ways

    def handle_request(self, request: Any) -> Any:
        return self.ways[str(request.url)].handle_request(request)

    def close(self) -> None:
        super().close()
        for way in self.ways.values():
            way.close()


def altered(call: dict[str, Any], result: Any) -> Any:
    """Each USDC transfer is told to be of one base unit more."""
    if call["method"] not in ("eth_getBlockReceipts", "eth_getLogs") or not result:
        return result
    for log in [log for one in result for log in one.get("logs", [one])]:
        if log["topics"][0] == TRANSFER_TOPIC and len(log["data"]) == 66:
            log["data"] = f"0x{int(log['data'], 16) + 1:064x}"
    return result


def without_uses(call: dict[str, Any], result: Any) -> Any:
    """Blocks have no transaction at all, so nothing is missing."""
    if call["method"] == "eth_getBlockByNumber" and result:
        return {**result, "transactions": [], "logsBloom": "0x" + "00" * 256}
    return result


def hidden(call: dict[str, Any], result: Any) -> Any:
    """Nor has any range a log."""
    return [] if call["method"] == "eth_getLogs" else without_uses(call, result)


def without(event: str) -> Lie:
    """No range has such a log."""

    def lie(call: dict[str, Any], result: Any) -> Any:
        if call["method"] != "eth_getLogs":
            return result
        return [one for one in result if one["topics"][0] not in topics]

    topics = (TRANSFER_TOPIC,) if event == "Transfer" else (bought_event().topic,)
    return lie


def made_up(stage: SponsoredStage, quote: dict[str, Any]) -> Lie:
    """The fee was paid, in the last block of each range."""
    message = quote["fee"]["message"]
    payer, payee = (address_word(message[name]) for name in ("from", "to"))

    def lie(call: dict[str, Any], result: Any) -> Any:
        if call["method"] != "eth_getLogs":
            return result
        header = stage.chain.reader.header(int(call["params"][0]["toBlock"], 16))
        assert header is not None
        at = {
            "address": stage.chain.contracts["usdc"],
            "blockNumber": hex(header.number),
            "blockHash": header.hash,
            "transactionHash": "0x" + "22" * 32,
            "transactionIndex": "0x0",
        }
        used = {"topics": [authorization_topics()[0], payer, message["nonce"]], "data": "0x"}
        paid = {
            "topics": [TRANSFER_TOPIC, payer, payee],
            "data": f"0x{int(message['value']):064x}",
        }
        return [{**at, **used, "logIndex": "0x0"}, {**at, **paid, "logIndex": "0x1"}]

    return lie


def refused(call: dict[str, Any], result: Any) -> Any:
    """Not one log, and no word that there is none."""
    return None if call["method"] == "eth_getLogs" else result


def final(stage: SponsoredStage) -> None:
    stage.chain.anvil.mine(40)
    stage.index()
    stage.follower.tip.note_finality()
    stage.confirm()
    stage.tell_time()


def says(stage: SponsoredStage, agent: dict[str, str], quote: dict[str, Any]) -> tuple[str, bool]:
    said = stage.state(agent, quote)
    return said["state"], said["is_final"]


def at_last(
    stage: SponsoredStage, agent: dict[str, str], quote: dict[str, Any]
) -> tuple[str, bool]:
    """Once a node that failed a moment ago is asked again."""
    until = time.monotonic() + 30.0
    final(stage)
    while not says(stage, agent, quote)[1] and time.monotonic() < until:
        time.sleep(0.1)
        stage.confirm()
    return says(stage, agent, quote)


@pytest.mark.parametrize(
    "faults",
    [
        (altered, None),  # of the tip too: it once made a paid buy final `nothing_paid`
        (None, without("Transfer")),
        (None, without("Bought")),
        (None, refused),
        (None, altered, without("Transfer")),
    ],
    ids=["alters", "no transfer", "no purchase", "silent", "three stories"],
)
def test_what_nodes_do_not_agree_about__is_disputed_in_time_and_final_once_they_do(
    stage: SponsoredStage, agent: dict[str, str], faults: tuple[Lie | None, ...]
) -> None:
    wires = [LyingWire(fault) for fault in faults]
    follow_by(stage, *wires)
    quote = stage.bought(agent)
    stage.processes[0].run()
    final(stage)
    state, is_final = says(stage, agent, quote)
    assert state != "disputed"
    assert not is_final
    stage.pass_time(STUCK_S + 1)
    final(stage)
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("disputed", False)
    assert {one["why"] for one in said["transfers"]} == {"disputed"}
    assert None not in {one["tx_hash"] for one in said["transfers"]}
    assert "disagree" in said["next"]
    for wire in wires:
        wire.lie = None
    assert at_last(stage, agent, quote) == ("paid", True)
    said = stage.state(agent, quote)
    assert said["transfers"][0]["tokens"] == token_text(stage.tokens(stage.buyer.address))


@pytest.mark.parametrize("fault", [refused, altered], ids=["silent", "alters"])
def test_two_nodes_of_three__are_enough(
    stage: SponsoredStage, agent: dict[str, str], fault: Lie
) -> None:
    follow_by(stage, LyingWire(fault), LyingWire(), LyingWire())
    quote = stage.bought(agent)
    stage.processes[0].run()
    final(stage)
    assert says(stage, agent, quote) == ("paid", True)


@pytest.mark.slow
def test_a_node_that_hides_the_block__makes_no_buy_lapse(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """It hides the uses at the tip, and in ranges too; the other one says what is."""
    hiding = LyingWire(hidden)
    follow_by(stage, hiding, LyingWire())
    quote = stage.bought(agent)
    stage.processes[0].run()
    stage.pass_time(2_000)
    final(stage)
    assert says(stage, agent, quote) == ("disputed", False)
    hiding.lie = without_uses
    final(stage)
    assert says(stage, agent, quote) == ("paid", True)


@pytest.mark.slow
def test_a_use_that_a_node_makes_up__is_disputed_until_they_agree(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    lying = LyingWire()
    follow_by(stage, LyingWire(), lying)
    quote = stage.bought(agent)
    lying.lie = made_up(stage, quote)
    stage.pass_time(2_000)
    final(stage)
    assert says(stage, agent, quote) == ("disputed", False)
    lying.lie = None
    stage.pass_time(60)
    final(stage)
    assert says(stage, agent, quote) == ("nothing_paid", True)


def test_a_use_that_the_only_node_made_up_at_the_tip__is_taken_out_again(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    wire = LyingWire(altered)
    follow_by(stage, wire)
    quote = stage.bought(agent)
    stage.processes[0].run()
    stage.index()
    assert says(stage, agent, quote) == ("nothing_paid", False)
    wire.lie = None
    final(stage)
    assert says(stage, agent, quote) == ("paid", True)


def an_hour_ahead(call: dict[str, Any], result: Any) -> Any:
    """Each block is told to be of an hour later, under its own hash."""
    if not call["method"].startswith("eth_getBlockBy") or not result:
        return result
    return {**result, "timestamp": hex(int(result["timestamp"], 16) + 3_600)}


def test_a_first_node_that_is_an_hour_ahead__makes_no_buy_lapse(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """The time of a block was one node's word: what may still be paid was over, and final."""
    follow_by(stage, LyingWire(an_hour_ahead), LyingWire(), LyingWire())
    quote = stage.bought(agent)
    final(stage)
    assert says(stage, agent, quote) == ("accepted", False)
    stage.pass_time(2_000)
    final(stage)
    assert says(stage, agent, quote) == ("nothing_paid", True)


def test_one_node_of_two_is_an_hour_ahead__nothing_is_safe(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    follow_by(stage, LyingWire(an_hour_ahead), LyingWire())
    quote = stage.bought(agent)
    with pytest.raises(FinalityDisputedError):
        final(stage)
    stage.confirm()
    assert says(stage, agent, quote) == ("accepted", False)


def test_an_only_address_that_once_has_no_logs__takes_out_no_use(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """Several machines stand behind it, and one of them lacks the logs: a paid buy became
    `nothing_paid` for good.
    """
    turns = iter([True])

    def once(call: dict[str, Any], result: Any) -> Any:
        return [] if call["method"] == "eth_getLogs" and next(turns, False) else result

    follow_by(stage, LyingWire(once))
    quote = stage.bought(agent)
    stage.processes[0].run()
    final(stage)
    assert says(stage, agent, quote) == ("paid", False)
    final(stage)
    assert says(stage, agent, quote) == ("paid", True)


def test_a_reorg_below_the_safe_block__takes_back_what_was_final(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.bought(agent)
    stage.processes[0].run()
    final(stage)
    assert says(stage, agent, quote) == ("paid", True)
    stage.chain.anvil.reorg(41)  # the block of the use, and all above it
    stage.chain.anvil.mine()
    stage.index()
    assert says(stage, agent, quote) == ("accepted", False)
    stage.pass_time(2_000)
    final(stage)
    assert says(stage, agent, quote) == ("nothing_paid", True)


def test_a_node_that_gives_few_blocks_at_once__confirms_all_of_them(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    most = 5

    def few(call: dict[str, Any], result: Any) -> Any:
        if call["method"] != "eth_getLogs":
            return result
        first, last = (int(call["params"][0][name], 16) for name in ("fromBlock", "toBlock"))
        return result if last - first < most else None

    follow_by(stage, LyingWire(few))
    quote = stage.bought(agent)
    stage.processes[0].run()
    assert at_last(stage, agent, quote) == ("paid", True)


# What a quote rests on


def supply_of(percent: int) -> Lie:
    """A node that multiplies the token's supply."""
    selector = function("ReserveToken", "totalSupply").encode()

    def lie(call: dict[str, Any], result: Any) -> Any:
        if call["method"] == "eth_call" and call["params"][0]["data"] == selector:
            return f"0x{int(result, 16) * percent // 100:064x}"
        return result

    return lie


def test_a_pool_that_another_node_denies_at_that_block__is_no_quote(stage: SponsoredStage) -> None:
    token = stage.chain.contracts["reserve_token"]
    honest = pool_now(reader_by(stage, LyingWire(), LyingWire()), token)
    assert honest.supply > 0
    for wires in (
        (LyingWire(supply_of(101)), LyingWire()),
        (LyingWire(), LyingWire(supply_of(99))),
    ):
        with pytest.raises(PoolDisputedError):
            pool_now(reader_by(stage, *wires), token)


def quoting_by(stage: SponsoredStage, lie: Lie, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reader_by(stage, LyingWire(lie))
    monkeypatch.setattr(buys, "pool_now", lambda chain, token: pool_now(reader, token))


@pytest.mark.parametrize("percent", [94, 106])
def test_a_lone_node_that_lies_about_the_price__is_held_against_the_record(
    stage: SponsoredStage, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch, percent: int
) -> None:
    quoting_by(stage, supply_of(percent), monkeypatch)
    answer = stage.prepare(agent)
    assert reason(answer) == (503, "sponsor_unavailable")
    assert "price" in answer.text


def test_a_lone_node_that_quotes_too_many_tokens__costs_the_buyer_nothing(
    stage: SponsoredStage, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The contract refuses to mint less than was signed for."""
    quoting_by(stage, supply_of(104), monkeypatch)
    had = stage.usdc(stage.buyer.address)
    quote = stage.bought(agent)
    stage.processes[0].run()
    assert stage.processes[0].wire.sent == []
    stage.pass_time(2_000)
    stage.be_safe()
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("nothing_paid", True)
    assert stage.usdc(stage.buyer.address) == had


def test_a_lone_node_that_quotes_too_few_tokens__changes_nothing_of_what_is_minted(
    stage: SponsoredStage, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = stage.prepared(agent)
    quoting_by(stage, supply_of(96), monkeypatch)
    quote = stage.bought(agent)
    assert int(quote["tokens_base"]) < int(honest["tokens_base"])
    stage.processes[0].run()
    assert stage.tokens(stage.buyer.address) == int(honest["tokens_base"])
