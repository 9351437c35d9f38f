"""What asking nodes ends with. All but NodeFailure are OutsideErrors; none carries a URL, since URLs
hold provider keys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.chain.refusals import FailureKind, code_of, is_code_failed, message_of, revert_data
from core.errors import OutsideError


class RpcError(OutsideError):
    """A node could not be reached or refused."""


class RpcUnreachableError(RpcError):
    """No node gave an answer."""

    def __init__(self, method: str, failures: Sequence[str]) -> None:
        super().__init__(f"{method}: no node answered ({'; '.join(failures)})")


class RpcRefusedError(RpcError):
    """A node answered with an error object."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message} (code {code})")
        self.code = code
        self.node_message = message


class RpcRevertedError(RpcRefusedError):
    """eth_call or eth_estimateGas ran and the contract reverted. `revert_data` may be empty."""

    def __init__(self, method: str, code: int, message: str, revert_data: bytes) -> None:
        super().__init__(method, code, message)
        self.revert_data = revert_data


class RpcCodeFailedError(RpcRefusedError):
    """eth_call or eth_estimateGas ran and the contract's code failed otherwise than by a revert:
    out of gas, an invalid opcode.
    """


class AnswerTooLargeError(RpcError):
    """The answer is longer than is read, and what is asked for may be so long: ask for less.

    It says nothing against the node.
    """

    def __init__(self, methods: Sequence[str], most_bytes: int) -> None:
        called = ", ".join(sorted(set(methods)))
        super().__init__(f"{called}: an answer of more than {most_bytes} bytes")


class WrongChainError(OutsideError):
    """Every node that answers serves another chain."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(
            f"the node's chain id is {got}, CHAIN_ID is {expected}; check RPC_URLS and "
            "DEPLOYMENT_FILE"
        )


@dataclass(eq=False)
class NodeFailure(Exception):
    """This node failed; another may not."""

    kind: FailureKind
    reason: str
    error: Mapping[str, Any] | None = None  # the error object, if it sent one
    ability: str = ""  # what it refused
    retry_after_s: float = 0.0

    def __str__(self) -> str:
        return self.reason


def refused(method: str, error: Mapping[str, Any]) -> RpcRefusedError:
    code, message = code_of(error), message_of(error, "no message")
    data = revert_data(method, error)
    if data is not None:
        return RpcRevertedError(method, code, message, data)
    kind = RpcCodeFailedError if is_code_failed(method, message) else RpcRefusedError
    return kind(method, code, message)
