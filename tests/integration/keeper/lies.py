"""What a sick node may say of vaults, heads and the factory's keeper; each lie is well-formed
JSON-RPC. The wire: liars.py.
"""

from collections.abc import Callable

import httpx

from core.chain.abi import errors_by_selector, function
from tests.integration.keeper.conftest import Stage
from tests.integration.keeper.liars import Call, Lie, refused, said

VIEWS = {function("MandateVault", name).selector: name for name in ("status", "worth")}
NAMED_KEEPER = function("MandateVaultFactory", "keeper").selector
TWO = ("/a", "/b")  # the preferred node first
THREE = (*TWO, "/c")


def word(value: int) -> str:
    return "0x" + value.to_bytes(32, "big").hex()


def is_view(call: Call, name: str) -> bool:
    return call["method"] == "eth_call" and VIEWS.get(call["params"][0]["data"]) == name


def view(name: str, value: int, at_cost: int = 0) -> Lie:
    """Every vault's view has this value; a worth has a part at cost beside it."""
    words = word(value) + (word(at_cost)[2:] if name == "worth" else "")
    return lambda call, answer: said(call, words) if is_view(call, name) else None


def view_refused(name: str, message: str = "execution timeout") -> Lie:
    return lambda call, answer: refused(call, message) if is_view(call, name) else None


def refusal_of(name: str, *values: int) -> Callable[[Call], Call]:
    """A revert with this error of the contracts."""
    selector = next(
        selector for selector, error in errors_by_selector().items() if error.name == name
    )
    data = selector + "".join(word(value)[2:] for value in values)
    return lambda call: refused(call, "execution reverted", 3, data=data)


def hangs_at(name: str) -> Lie:
    """A request with a call of this view is never answered."""

    def lie(call: Call, answer: Call) -> Call | None:
        if is_view(call, name):
            raise httpx.ReadTimeout("too slow")
        return None

    return lie


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


def frozen(stage: Stage) -> Lie:
    """The head stands still from now on."""
    block = stage.chain.anvil.rpc.call("eth_getBlockByNumber", ["latest", False])
    return head(lambda _: block)


def without_base_fee(block: Call) -> Call:
    return {name: value for name, value in block.items() if name != "baseFeePerGas"}
