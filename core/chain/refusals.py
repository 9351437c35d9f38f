"""Whose fault a refusal is: of the call that was asked, or of the node that was.

Pure: no socket, no clock.

    error object --> says "slower"? -------------------------> the node's limit of rate
                 --> the call can be at fault, and is? ------> an answer: any other node would say the same
                 --> anything else --------------------------> that node's failure: another one is asked within the same call

Laws
- A call can be at fault only where its own content is judged: code that is run (a revert, out of
  gas, arguments), a transaction that is sent (known, underpriced, a nonce that was used), logs of
  too long a range, and what not every chain has (OPTIONAL).
- Heads, receipts, counts and balances are asked for rightly. A node that refuses them has an
  expired key, lacks the method or the state.
- Words are matched, since codes say nothing: -32000 is a revert here and an expired key there.
  Words that are not known are the node's.
Source: docs/decisions/0061.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from core.hexes import bytes_of

REVERT_CODE = 3
INVALID_PARAMS_CODE = -32602
TOO_MANY_REQUESTS_CODE, LIMIT_EXCEEDED_CODE = 429, -32005
RATE_LIMIT_CODES = frozenset({TOO_MANY_REQUESTS_CODE, LIMIT_EXCEEDED_CODE})
# The node's own trouble, not the caller's: limits, internal errors, resources not at hand.
NODE_TROUBLE_CODES = RATE_LIMIT_CODES | {-32603, -32002, -32001}
RUN = frozenset({"eth_call", "eth_estimateGas"})  # what these run may fail of itself
SENT = "eth_sendRawTransaction"
LOGS = "eth_getLogs"
OPTIONAL_TAGS = ("safe", "finalized")  # a chain without them refuses them for good
OPTIONAL_METHODS = frozenset({"eth_maxPriorityFeePerGas"})
MOST_MESSAGE = 500  # characters of what a node says that are kept

# Providers word "slower, please" in many ways and under many codes.
_TOO_FAST = re.compile(
    r"rate.?limit|request rate|\brps\b|too many requests(?! (in|per)\b.{0,10}\bbatch)"
    r"|(?<!batch )requests? limit|per.second|/ ?sec(ond)?\b|throughput"
    r"|slow(er|ly| down)|too fast",
    re.IGNORECASE,
)
_TOO_MUCH = re.compile(
    r"results|range|response size|too many (logs|blocks)|more than "
    r".{0,20}(logs|blocks)|(limit|maximum|most|exceed).{0,40}(logs|blocks)"
    r"|logs.{0,40}(limit|maximum|exceed)",
    re.IGNORECASE,
)
# geth ("response too large", of the calls of a batch after its first 25 MB), reth, proxyd
_ANSWER_TOO_LARGE = re.compile(r"(response|answer).{0,20}too (large|big)", re.IGNORECASE)
# a range that this node does not have yet
_LAGS = re.compile(r"beyond|current head|not found|unknown block", re.IGNORECASE)
# geth ("batch too large"), reth, Nethermind ("Batch size limit exceeded") and providers ("maximum
# 100 calls in 1 batch").
_BATCH_TOO_LARGE = re.compile(
    r"batch.{0,40}(too (large|big|many|long)|limit|exceed|maximum|more than|not "
    r"(allowed|supported|permitted|enabled)|disabled)"
    r"|(too many|too large|maximum|exceed|limit).{0,40}batch",
    re.IGNORECASE,
)
# How nodes word the end of a contract's code that is no revert: geth and Erigon, anvil and reth
# ("EVM error"), Nethermind ("VM execution", "OutOfGas"). One that is missing here lets a hostile
# contract rest the nodes that run it.
_CODE_FAILED = re.compile(
    r"out ?of ?gas|(invalid|bad) ?(opcode|instruction|jump|code)|opcode .*not defined|stack "
    r"?(underflow|overflow|limit)|write protection"
    r"|static ?call ?violation|(return data|access) ?(violation|out of bounds)|gas uint64 "
    r"overflow|max call depth"
    r"|EVM error|VM execution error",
    re.IGNORECASE,
)
# What a run cannot even begin with.
_CANNOT_RUN = re.compile(
    r"insufficient (funds|balance)|gas required exceeds|intrinsic gas|floor (data )?gas|gas "
    r"limit|exceeds .{0,20}\bgas"
    r"|less than block base fee",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"already ?(known|imported|exists|in\b)|\bknown ?transaction|same hash", re.IGNORECASE
)
# What pools answer to bytes that they have, or will never take. Settings of one node (a cap of
# fees, a full pool) are not among them.
_SENT_IN_VAIN = re.compile(
    r"nonce|underpriced|insufficient ?(funds|balance)|intrinsic gas|gas limit"
    r"|less than block base fee|fee.?too.?low|higher than max fee|invalid "
    r"(sender|signature|chain)|signature|oversized|rlp"
    r"|(type|transaction) not supported|initcode|replac(e|ing)",
    re.IGNORECASE,
)
_URL = re.compile(r"\w+://\S+")


class FailureKind(StrEnum):
    """How a node failed; the words of the metrics."""

    TIMEOUT = "timeout"
    CONNECTION = "connection"
    STATUS = "status"
    GARBLED = "garbled"
    TROUBLE = "trouble"
    REFUSED = "refused"
    RATE_LIMIT = "rate_limit"
    SIZE = "size"


def failure_of(method: str, params: Sequence[Any], error: Mapping[str, Any]) -> FailureKind | None:
    """How a node that answers so has failed; None: it speaks of the call."""
    code, message = code_of(error), message_of(error)
    if revert_data(method, error) is not None:
        return None
    if code == TOO_MANY_REQUESTS_CODE or _TOO_FAST.search(message):
        return FailureKind.RATE_LIMIT
    if _is_of_the_call(method, params, error):
        return None
    if _ANSWER_TOO_LARGE.search(message):
        return FailureKind.SIZE
    if code in NODE_TROUBLE_CODES:
        return FailureKind.RATE_LIMIT if code in RATE_LIMIT_CODES else FailureKind.TROUBLE
    # A node may lack the state of one block and have that of all others.
    return FailureKind.TROUBLE if method in RUN else FailureKind.REFUSED


def _is_of_the_call(method: str, params: Sequence[Any], error: Mapping[str, Any]) -> bool:
    code, message = code_of(error), message_of(error)
    if method in RUN:
        return (
            code == INVALID_PARAMS_CODE
            or is_code_failed(method, message)
            or _CANNOT_RUN.search(message) is not None
        )
    if method == SENT:
        return is_known(message) or _SENT_IN_VAIN.search(message) is not None
    if method == LOGS:
        return is_too_much(error)
    return is_optional(method, params) and code not in NODE_TROUBLE_CODES


def is_known(message: str) -> bool:
    """Whether a pool has the very bytes that were sent, and not another transaction of the nonce."""
    return _KNOWN.search(message) is not None


def is_too_much(error: Mapping[str, Any]) -> bool:
    """Whether a refusal of logs speaks of how many, or how long a range, and not of how fast.

    EIP-1474 gives -32005 to a query's own limit; some say what it is in `data` alone.
    """
    said = f"{message_of(error)} {cleaned(str(error.get('data', '')))}"
    is_said = code_of(error) == LIMIT_EXCEEDED_CODE or any(
        words.search(said) for words in (_TOO_MUCH, _ANSWER_TOO_LARGE)
    )
    return is_said and not any(words.search(said) for words in (_TOO_FAST, _LAGS))


def is_optional(method: str, params: Sequence[Any]) -> bool:
    """Whether not every chain has it."""
    return method in OPTIONAL_METHODS or ability_of(method, params) in OPTIONAL_TAGS


def ability_of(method: str, params: Sequence[Any]) -> str:
    """What a call takes of a node: the method, or the tag of a block that not every chain has."""
    is_tagged = method == "eth_getBlockByNumber" and bool(params) and params[0] in OPTIONAL_TAGS
    return str(params[0]) if is_tagged else method


def is_too_large(error: Mapping[str, Any]) -> bool:
    """Whether an error in place of a batch's answers speaks of the batch's size, and not of how
    fast it came.
    """
    code, message = code_of(error), message_of(error)
    return (
        code != TOO_MANY_REQUESTS_CODE
        and not _TOO_FAST.search(message)
        and _BATCH_TOO_LARGE.search(message) is not None
    )


def is_code_failed(method: str, message: str) -> bool:
    """Whether a contract's code failed otherwise than by a revert."""
    return method in RUN and _CODE_FAILED.search(message) is not None


def revert_data(method: str, error: Mapping[str, Any]) -> bytes | None:
    """None when the error is no revert.

    Nodes put the data in different places; a revert may have none.
    """
    if method not in RUN or (
        code_of(error) != REVERT_CODE and "revert" not in message_of(error).lower()
    ):
        return None
    data = error.get("data")
    if isinstance(data, dict):
        data = data.get("data") or data.get("result")
    try:
        return bytes_of(data) if isinstance(data, str) and data.startswith("0x") else b""
    except ValueError:
        return b""


def code_of(error: Mapping[str, Any]) -> int:
    code = error.get("code")
    return code if type(code) is int else 0  # bool is one too


def message_of(error: Mapping[str, Any], otherwise: str = "") -> str:
    """What the node says, fit for a line of the log: printable ASCII, not long, and without
    addresses, which may hold keys.
    """
    return cleaned(str(error.get("message", otherwise)))


def cleaned(text: str) -> str:
    shown = "".join(one if " " <= one <= "~" else "?" for one in text[: 2 * MOST_MESSAGE])
    return _URL.sub("(address)", shown)[:MOST_MESSAGE]
