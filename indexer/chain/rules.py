"""What adapters publish in the block that lists them."""

from collections import Counter
from collections.abc import Iterable, Mapping

import structlog

from core.chain.abi import AbiDecodeError
from core.chain.errors import RpcCodeFailedError, RpcRefusedError, RpcRevertedError
from core.chain.reader import LATEST
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.events import AdapterListed
from core.mandate.rules.expansion import rules_fault
from core.mandate.rules.terms import Rule
from indexer.chain.facts import BlockFacts

MOST_REFUSALS = 5
Published = Mapping[str, tuple[Rule, ...]]  # by adapter

log = structlog.get_logger(__name__)


def published_rules(
    reader: VaultReader, blocks: Iterable[BlockFacts], refusals: Counter[str]
) -> Mapping[str, Published]:
    """By block hash, adapter -> rules of every adapter that the block lists; none of a contract that
    is no adapter, or publishes what no adapter may: one bad adapter must not end the record of all.

    `refusals` counts rounds in which all nodes refuse to run an adapter, in words that are no
    contract's failure: after MOST_REFUSALS it is taken for one.

    Errors: RpcUnreachableError; RpcRefusedError: ask again.
    """
    found: dict[str, dict[str, tuple[Rule, ...]]] = {}
    listed = [
        (one.header, event.adapter) for one in blocks for event in one.events_of(AdapterListed)
    ]
    for block, adapter in listed:
        try:
            rules = _rules_of(reader, adapter, block.hash)
            fault = rules_fault(adapter, rules) if rules else None  # the relay rightly has none
        except (RpcRevertedError, RpcCodeFailedError, AbiDecodeError) as error:
            rules, fault = (), str(error)
        except RpcRefusedError as error:
            refusals[adapter] += 1
            if refusals[adapter] < MOST_REFUSALS:
                raise
            rules, fault = (), str(error)
        if fault is not None:
            log.warning(
                "adapter publishes no rules", adapter=adapter, block=block.number, error=fault
            )
        found.setdefault(block.hash, {})[adapter] = () if fault else rules
    return found


def _rules_of(reader: VaultReader, adapter: str, block_hash: str) -> tuple[Rule, ...]:
    """At that very block, or today's where no node has its state any more."""
    try:
        return reader.adapter_rules(adapter, block_hash)
    except (RpcRevertedError, RpcCodeFailedError):
        raise
    except RpcRefusedError:
        return reader.adapter_rules(adapter, LATEST)
