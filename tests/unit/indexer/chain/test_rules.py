"""What an adapter publishes, asked of nodes that do not get its code done."""

from dataclasses import dataclass, field, replace

import pytest

from core.chain.blocks import BlockHeader, RawLog
from core.chain.errors import RpcCodeFailedError, RpcUnreachableError
from core.mandate.rules.events import AdapterListed, LogRef
from core.mandate.rules.terms import Rule
from indexer.chain.facts import BlockFacts, Found
from indexer.chain.rules import RULES_ROUNDS, UNANSWERED_ROUNDS, Patience, published_rules

ADAPTER = "0x00000000000000000000000000000000000000AA"
HEADER = BlockHeader(7, "0x" + "07" * 32, "0x" + "06" * 32, 7, 0, (), 0)
TX = "0x" + "01" * 32
LOG = RawLog(ADAPTER, (), "0x", 7, HEADER.hash, TX, 0, 0)
LISTED = Found(LogRef(84532, 7, HEADER.hash, 7, TX, 0, ADAPTER), AdapterListed(ADAPTER), LOG)
FACTS = BlockFacts(HEADER, (LOG,), (LISTED,), (), ())


@dataclass
class FakeNodes:
    """Reads everything but the one adapter's rules in time."""

    asked: list[str] = field(default_factory=list)

    def adapter_rules(self, adapter: str, at: str) -> tuple[Rule, ...]:
        self.asked.append(at)
        raise RpcUnreachableError("eth_call", ["ReadTimeout"])


def test_rules_that_no_node_gets_done__hold_the_record_up_for_some_rounds_alone() -> None:
    nodes, patience = FakeNodes(), Patience()
    for _ in range(UNANSWERED_ROUNDS - 1):
        with pytest.raises(RpcUnreachableError):
            published_rules(nodes, FACTS, patience)  # type: ignore[arg-type]  # as much of a reader as is asked for
    assert published_rules(nodes, FACTS, patience) == {ADAPTER: ()}  # type: ignore[arg-type]
    assert nodes.asked == [HEADER.hash] * UNANSWERED_ROUNDS


class Failing(FakeNodes):
    """Whose nodes call the failure of an adapter's code their own."""

    def adapter_rules(self, adapter: str, at: str) -> tuple[Rule, ...]:
        raise RpcCodeFailedError("eth_call", -32603, "EVM error InvalidFEOpcode")


def test_many_adapters_whose_code_fails__take_as_many_rounds_as_one() -> None:
    """Each was waited for again whenever another one failed: ten of them took three to the power of
    ten rounds.
    """
    adapters = [f"0x{number:040X}" for number in range(1, 11)]
    listed = tuple(Found(LISTED.ref, AdapterListed(adapter), LOG) for adapter in adapters)
    nodes, patience = Failing(), Patience()
    for _ in range(RULES_ROUNDS - 1):
        with pytest.raises(RpcCodeFailedError):
            published_rules(nodes, replace(FACTS, found=listed), patience)  # type: ignore[arg-type]
    assert published_rules(nodes, replace(FACTS, found=listed), patience) == dict.fromkeys(
        adapters, ()
    )  # type: ignore[arg-type]
