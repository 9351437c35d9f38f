"""What a sick node may say of vaults, heads and the factory's keeper; each lie is well-formed
JSON-RPC. The wire: liars.py.
"""

from collections.abc import Callable
from itertools import count

import httpx

from core.chain.abi import errors_by_selector, function
from tests.integration.keeper.conftest import Stage
from tests.integration.keeper.liars import Call, Lie, refused, said

READINGS = function("VaultLens", "readings").selector
HEAD_WORDS = 6  # the block's four, where the rows begin, and how many there are
ROW_WORDS = (
    "outcome", "status", "agent", "worth", "unvalued_out", "own_cash", "fee_owed", "log_head",
)  # fmt: skip
UNVALUED, VALUED = 2, 3
NAMED_KEEPER = function("MandateVaultFactory", "keeper").selector
TWO = ("/a", "/b")  # the preferred node first
THREE = (*TWO, "/c")


def word(value: int) -> str:
    return "0x" + value.to_bytes(32, "big").hex()


def is_lens(call: Call) -> bool:
    """It reads vaults by the lens."""
    return call["method"] == "eth_call" and READINGS in call["params"][0]["data"]


def lens(**values: int) -> Lie:
    """Each row of the lens has these values, by the words of LensReading; a row of no vault has them
    too.
    """

    def lie(call: Call, answer: Call) -> Call | None:
        if not is_lens(call) or "result" not in answer:
            return None
        told = answer["result"][2:]
        words = [told[at : at + 64] for at in range(0, len(told), 64)]
        for row in range(HEAD_WORDS, len(words), len(ROW_WORDS)):
            for name, value in values.items():
                words[row + ROW_WORDS.index(name)] = f"{value:064x}"
        return said(call, "0x" + "".join(words))

    return lie


def worth(value: int, at_cost: int = 0) -> Lie:
    return lens(outcome=VALUED, worth=value, unvalued_out=at_cost)


def status(value: int) -> Lie:
    return lens(outcome=VALUED, status=value)


no_worth: Lie = lens(outcome=UNVALUED, worth=0)


def refusal_of(name: str, *values: int) -> Callable[[Call], Call]:
    """A revert with this error of the contracts."""
    selector = next(
        selector for selector, error in errors_by_selector().items() if error.name == name
    )
    data = selector + "".join(word(value)[2:] for value in values)
    return lambda call: refused(call, "execution reverted", 3, data=data)


def hangs(call: Call, answer: Call) -> Call | None:
    """Its lens never answers."""
    if is_lens(call):
        raise httpx.ReadTimeout("too slow")
    return None


def trials_revert(call: Call, answer: Call) -> Call | None:
    is_trial = call["method"] in ("eth_call", "eth_estimateGas") and "from" in call["params"][0]
    return refused(call, "execution reverted", 3, data="0x") if is_trial else None


def another_keeper(call: Call, answer: Call) -> Call | None:
    is_asked = call["method"] == "eth_call" and call["params"][0]["data"] == NAMED_KEEPER
    return said(call, word(0x1111)) if is_asked else None


def head(change: Callable[[Call], Call | None]) -> Lie:
    """The newest block is another one."""

    def lie(call: Call, answer: Call) -> Call | None:
        is_asked = call["method"] == "eth_getBlockByNumber" and call["params"][0] == "latest"
        return said(call, change(answer["result"])) if is_asked else None

    return lie


def higher(count: int) -> Lie:
    return head(lambda block: {**block, "number": hex(int(block["number"], 16) + count)})


def ahead(seconds: int) -> Lie:
    return head(lambda block: {**block, "timestamp": hex(int(block["timestamp"], 16) + seconds)})


def frozen(stage: Stage) -> Lie:
    """The head stands still from now on."""
    block = stage.chain.anvil.rpc.call("eth_getBlockByNumber", ["latest", False])
    return head(lambda _: block)


def syncs() -> Lie:
    """The head is of an hour ago, near the chain's first blocks, and rises with each answer."""
    heights = count(1)

    def lower(block: Call) -> Call:
        number = next(heights)
        early = hex(int(block["timestamp"], 16) - 3_600 + 2 * number)
        return {**block, "number": hex(number), "timestamp": early, "hash": f"0x{number:064x}"}

    return head(lower)


def without_base_fee(block: Call) -> Call:
    return {name: value for name, value in block.items() if name != "baseFeePerGas"}
