"""Nodes that serve another chain than the one we were told: what they say is no word about ours."""

import structlog

from core.chain import results
from core.chain.reader import ChainReader
from core.errors import OutsideError

WITHIN_S = 5.0

log = structlog.get_logger("chain")


class WrongChainError(OutsideError):
    """Every node that answers serves another chain."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(
            f"the node's chain id is {got}, CHAIN_ID is {expected}; check RPC_URLS and "
            "DEPLOYMENT_FILE"
        )


def keep_to(reader: ChainReader, chain_id: int) -> None:
    """Leave out each node that serves another chain; one that does not answer stays.

    Call it before other threads use the nodes.

    Errors: WrongChainError, RpcError when none answers.
    """
    said = reader.rpc.batch_of_each([("eth_chainId", [])], WITHIN_S, parse=[results.number])
    ids = {name: one for name, (one,) in said.items() if isinstance(one, int)}
    if chain_id not in ids.values() and (got := reader.chain_id()) != chain_id:
        raise WrongChainError(chain_id, got)
    for name, other in ids.items():
        if other != chain_id:
            log.error("a node serves another chain, it is left out", node=name, chain_id=other)
            reader.rpc.leave_out(name)
