"""What adapters publish in the block that lists them."""

from collections import Counter
from collections.abc import Hashable, Mapping

import structlog

from core.chain.abi import AbiDecodeError
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcRefusedError, RpcRevertedError, RpcUnreachableError
from core.chain.reader import LATEST
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.events import AdapterListed
from core.mandate.rules.expansion import rules_fault
from core.mandate.rules.terms import Rule
from indexer.chain.facts import BlockFacts

RULES_ROUNDS = 3  # without success, before a contract counts as none of ours
UNANSWERED_ROUNDS = 5  # as many, of those in which no node answered this very call in time
MOST_THINGS = 10_000  # that are remembered; the oldest are forgotten first

log = structlog.get_logger(__name__)


class Patience:
    """How often each thing was asked for without success, for as long as the process lives: a node
    may lag, and the next round may do; some things no node will ever answer.

    What was enough stays enough, so that several things that fail together are waited for together.
    """

    def __init__(self) -> None:
        self._refusals: Counter[Hashable] = Counter()

    def tries(self, thing: Hashable) -> int:
        return self._refusals.get(thing, 0)

    def ends(self, thing: Hashable, rounds: int) -> bool:
        """Count one more refusal; True when `rounds` of them are enough."""
        self._refusals[thing] += 1
        if len(self._refusals) > MOST_THINGS:
            del self._refusals[next(iter(self._refusals))]
        return self._refusals[thing] >= rounds


def published_rules(
    reader: VaultReader, facts: BlockFacts, patience: Patience
) -> Mapping[str, tuple[Rule, ...]]:
    """Adapter -> rules, of every adapter that the block lists; none of a contract that is no
    adapter, or publishes what no adapter may.

    Errors: RpcUnreachableError; RpcRefusedError: ask again.

    All are asked before a refusal is raised: a block with many bad adapters takes no more rounds
    than one with one.
    """
    found, failed = dict[str, tuple[Rule, ...]](), list[RpcRefusedError]()
    for adapter in (event.adapter for event in facts.events_of(AdapterListed)):
        try:
            rules, fault = _rules_of(reader, adapter, facts.header, patience), None
        except RpcRefusedError as error:
            failed.append(error)
            continue
        if isinstance(rules, Exception):
            rules, fault = (), str(rules)
        elif rules:  # the relay adapter rightly publishes none
            fault = rules_fault(adapter, rules)
        if fault is not None:
            block = facts.header.number
            log.warning("adapter publishes no rules", adapter=adapter, block=block, error=fault)
        found[adapter] = rules if fault is None else ()
    if failed:
        raise failed[0]
    return found


def _rules_of(
    reader: VaultReader, adapter: str, header: BlockHeader, patience: Patience
) -> tuple[Rule, ...] | Exception:
    """At that very block; or why there are none.

    Nodes word the failure of a contract's code (out of gas, invalid opcode), and a state that they
    no longer have, as they like. Both are told from a moment's trouble by their staying so; then
    today's rules are asked for, and if there are none, one bad adapter must not end the record of
    all. So is code that no node gets done in time: the node that gave the block in the same round
    was well.
    """
    try:
        return reader.adapter_rules(adapter, header.hash)
    except (RpcRevertedError, AbiDecodeError) as error:
        return error
    except RpcUnreachableError as error:
        # of all that the block lists together
        if not patience.ends((header.hash, "unanswered"), UNANSWERED_ROUNDS):
            raise
        return error
    except RpcRefusedError:
        if not patience.ends((adapter, header.hash), RULES_ROUNDS):
            raise
    try:
        return reader.adapter_rules(adapter, LATEST)
    except (RpcRefusedError, AbiDecodeError) as error:
        return error
