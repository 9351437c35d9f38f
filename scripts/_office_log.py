"""Who holds roles and which adapters are listed, folded from a contract's logs since its creation.

Pure: the caller asks the node.

A view answers about one account that the asker thought of; the logs name everybody. OpenZeppelin's
constructor grants DEFAULT_ADMIN_ROLE first, and a later grant of it follows a revocation in the
same transaction: so a first log that is that grant shows that the log is whole at its beginning.
What a node leaves out later on, no fold can see.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

RANGE_BLOCKS = 10_000  # what public nodes take at most, those that take that much
Log = Mapping[str, Any]  # as eth_getLogs answers


def topic_of(signature: str) -> str:
    return "0x" + keccak(text=signature).hex()


GRANTED, REVOKED = (
    topic_of("RoleGranted(bytes32,address,address)"),
    topic_of("RoleRevoked(bytes32,address,address)"),
)
LISTED, DELISTED = topic_of("AdapterListed(address)"), topic_of("AdapterDelisted(address)")
TOPICS = (GRANTED, REVOKED, LISTED, DELISTED)
DEFAULT_ADMIN_ROLE = "0x" + "00" * 32
# keccak256 of the name, as in the contracts
PAUSER_ROLE, KEEPER_ADMIN_ROLE = topic_of("PAUSER_ROLE"), topic_of("KEEPER_ADMIN_ROLE")


class RangeRefusedError(Exception):
    """The node gave no logs of a range; the message has its words."""


class LogsMissingError(Exception):
    """The offices cannot be read from what the node gives; the message says what to do."""


@dataclass(frozen=True, slots=True)
class HeldRoles:
    """`roles`: the holders of each role that somebody holds, checksum addresses by the role's 0x
    hex.
    """

    roles: Mapping[str, frozenset[str]]
    adapters: frozenset[str]

    def holders(self, role: str) -> list[str]:
        return sorted(self.roles.get(role, ()))


def read_ranges(ask: Callable[[int, int], list[Log]], first: int, last: int) -> Iterator[Log]:
    """The logs of the blocks first to last, both included, by ranges that are halved whenever the
    node refuses one.

    Errors: LogsMissingError when it refuses a single block.
    """
    size = RANGE_BLOCKS
    while first <= last:
        until = min(first + size - 1, last)
        try:
            logs = ask(first, until)
        except RangeRefusedError as refused:
            if until == first:
                raise LogsMissingError(
                    f"the node returns no logs of block {first}: {refused}; try again with a "
                    "node that does"
                ) from refused
            size = (until - first + 1) // 2
            continue
        yield from logs
        first = until + 1


def held(address: str, logs: Iterable[Log]) -> HeldRoles:
    """The state that the logs of `address` lead to.

    Errors: LogsMissingError when they do not begin with its creation.
    """
    mine = sorted((log for log in logs if log["address"].lower() == address.lower()), key=_place)
    if not mine or mine[0]["topics"][:2] != [GRANTED, DEFAULT_ADMIN_ROLE]:
        raise LogsMissingError(
            f"the logs of {address} do not begin with its creation: the block in its record is "
            "too late, or the node does not keep logs that old; try again with a node that does"
        )
    holding: set[tuple[str, str]] = set()  # (role or LISTED, account)
    for log in mine:
        kind, *words = log["topics"]
        role, account = words[:2] if kind in (GRANTED, REVOKED) else (LISTED, words[0])
        change = holding.add if kind in (GRANTED, LISTED) else holding.discard
        change((role, to_checksum_address("0x" + account[-40:])))
    by_role: dict[str, set[str]] = {}
    for role, account in holding:
        by_role.setdefault(role, set()).add(account)
    adapters = frozenset(by_role.pop(LISTED, ()))
    return HeldRoles({role: frozenset(accounts) for role, accounts in by_role.items()}, adapters)


def _place(log: Log) -> tuple[int, int]:
    return int(log["blockNumber"], 16), int(log["logIndex"], 16)
