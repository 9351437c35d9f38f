"""What adapters publish in the block that lists them."""

from collections.abc import Mapping

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
from indexer.chain.patience import Patience

RULES_ROUNDS = 3  # without success, before a contract counts as none of ours
UNANSWERED_ROUNDS = 5  # as many, of those in which no node answered this very call in time

log = structlog.get_logger(__name__)


def published_rules(
    reader: VaultReader, facts: BlockFacts, patience: Patience
) -> Mapping[str, tuple[Rule, ...]]:
    """Adapter -> rules, of every adapter that the block lists.

    Errors: RpcUnreachableError; RpcRefusedError: ask again.

    All are asked before a refusal is raised: a block with many bad adapters takes no more rounds
    than one with one.
    """
    found, failed = dict[str, tuple[Rule, ...]](), list[RpcRefusedError]()
    for event in facts.events_of(AdapterListed):
        try:
            found[event.adapter] = _rules_of(reader, event.adapter, facts.header, patience)
        except RpcRefusedError as error:
            failed.append(error)
    if failed:
        raise failed[0]
    return found


def _rules_of(
    reader: VaultReader, adapter: str, header: BlockHeader, patience: Patience
) -> tuple[Rule, ...]:
    """At that very block; a contract that is no adapter, or publishes what no adapter may,
    publishes nothing.

    Nodes word the failure of a contract's code (out of gas, invalid opcode), and a state that they
    no longer have, as they like. Both are told from a moment's trouble by their staying so; then
    today's rules are asked for, and if there are none, one bad adapter must not end the record of
    all. So is code that no node gets done in time: the node that gave the block in the same round
    was well.
    """
    try:
        return _checked(adapter, header, reader.adapter_rules(adapter, header.hash))
    except (RpcRevertedError, AbiDecodeError) as error:
        return _no_rules(adapter, header, error)
    except RpcUnreachableError as error:
        # of all that the block lists together
        if not patience.ends((header.hash, "unanswered"), UNANSWERED_ROUNDS):
            raise
        return _no_rules(adapter, header, error)
    except RpcRefusedError:
        if not patience.ends((adapter, header.hash), RULES_ROUNDS):
            raise
    try:
        return _checked(adapter, header, reader.adapter_rules(adapter, LATEST))
    except (RpcRefusedError, AbiDecodeError) as error:
        return _no_rules(adapter, header, error)


def _checked(adapter: str, header: BlockHeader, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules as they are, if they are an adapter's own; the relay adapter rightly publishes
    none.
    """
    fault = rules_fault(adapter, rules) if rules else None
    return rules if fault is None else _no_rules(adapter, header, fault)


def _no_rules(adapter: str, header: BlockHeader, why: Exception | str) -> tuple[Rule, ...]:
    log.warning("adapter publishes no rules", adapter=adapter, block=header.number, error=str(why))
    return ()
