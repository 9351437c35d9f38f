"""What adapters publish in the block that lists them."""

from collections.abc import Mapping

import structlog

from core.chain.abi import AbiDecodeError
from core.chain.reader import LATEST, ChainReader
from core.chain.rpc import RpcRefusedError, RpcRevertedError
from core.domain.blocks import BlockHeader
from core.domain.events import AdapterListed
from core.domain.mandate.terms import Rule
from indexer.chain.facts import BlockFacts

log = structlog.get_logger(__name__)


def published_rules(reader: ChainReader, facts: BlockFacts) -> Mapping[str, tuple[Rule, ...]]:
    """Adapter -> rules, of every adapter that the block lists. Errors: RpcUnreachableError."""
    return {event.adapter: _rules_of(reader, event.adapter, facts.header) for event in facts.events_of(AdapterListed)}


def _rules_of(reader: ChainReader, adapter: str, header: BlockHeader) -> tuple[Rule, ...]:
    """At that very block; today's when the node no longer has that state. A contract that is no adapter publishes nothing."""
    try:
        try:
            return reader.adapter_rules(adapter, header.hash)
        except RpcRevertedError:
            raise
        except RpcRefusedError as error:
            log.warning("rules read at the newest block", adapter=adapter, block=header.number, error=str(error))
            return reader.adapter_rules(adapter, LATEST)
    except (RpcRevertedError, AbiDecodeError) as error:
        log.warning("adapter publishes no rules", adapter=adapter, block=header.number, error=str(error))
        return ()
