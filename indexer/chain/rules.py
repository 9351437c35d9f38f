"""What adapters publish in the block that lists them."""

from collections.abc import Mapping

import structlog

from core.chain.abi import AbiDecodeError
from core.chain.errors import RpcCodeFailedError, RpcRefusedError, RpcRevertedError
from core.chain.reader import LATEST
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.events import AdapterListed
from core.mandate.rules.expansion import rules_fault
from core.mandate.rules.terms import Rule
from indexer.chain.facts import BlockFacts

log = structlog.get_logger(__name__)


def published_rules(reader: VaultReader, facts: BlockFacts) -> Mapping[str, tuple[Rule, ...]]:
    """Adapter -> rules, of every adapter that the block lists; none of a contract that is no
    adapter, or publishes what no adapter may: one bad adapter must not end the record of all.

    Errors: RpcUnreachableError; RpcRefusedError: ask again.
    """
    found = dict[str, tuple[Rule, ...]]()
    for adapter in (event.adapter for event in facts.events_of(AdapterListed)):
        try:
            rules = _rules_of(reader, adapter, facts.header.hash)
            fault = rules_fault(adapter, rules) if rules else None  # the relay rightly has none
        except (RpcRevertedError, RpcCodeFailedError, AbiDecodeError) as error:
            rules, fault = (), str(error)
        if fault is not None:
            block = facts.header.number
            log.warning("adapter publishes no rules", adapter=adapter, block=block, error=fault)
        found[adapter] = () if fault else rules
    return found


def _rules_of(reader: VaultReader, adapter: str, block_hash: str) -> tuple[Rule, ...]:
    """At that very block, or today's where no node has its state any more."""
    try:
        return reader.adapter_rules(adapter, block_hash)
    except (RpcRevertedError, RpcCodeFailedError):
        raise
    except RpcRefusedError:
        return reader.adapter_rules(adapter, LATEST)
