"""Stops that a test asks for by hand, by the word of the node that it names."""

from collections.abc import Sequence
from contextlib import closing

import httpx
from eth_utils.address import to_checksum_address

from core.chain.nodes import Nodes
from core.keeper.views import WatchedVault
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UsdcE6
from keeper.state import SOURCE_VAULT_WORTH, VaultReading
from tests.integration.keeper.blocks import Clock
from tests.integration.keeper.conftest import USDC, KeeperProcess, Stage
from tests.integration.keeper.liars import Lie, LyingWire
from tests.integration.keeper.lies import TWO
from tests.personas import STRANGER


def due(vault: str, node: str) -> VaultReading:
    """That node's lens says that the vault is worth nothing."""
    budget, floor = UsdcE6(1_000 * USDC), UsdcE6(950 * USDC)
    return VaultReading(
        WatchedVault(vault, "m_keeperstop", budget, 0, None, None, None, floor, True),
        node,
        VaultStatus.WORKING,
        UsdcE6(0),
        SOURCE_VAULT_WORTH,
    )


class SlowlyLyingWire(LyingWire):
    """Seconds pass on the test's clock; a request that is not waited for so long times out."""

    def __init__(self, lies: dict[str, Lie], slow: dict[str, float], clock: Clock) -> None:
        super().__init__(lies)
        self._slow, self._clock = slow, clock

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        needs_s = self._slow.get(request.url.path, 0.0)
        waited_s = min(needs_s, request.extensions["timeout"]["read"])
        self._clock.passed_s += waited_s
        if waited_s < needs_s:
            raise httpx.ReadTimeout("too slow")
        return super().handle_request(request)


def contracts_that_take_any_call(stage: Stage, count: int) -> list[str]:
    vaults: list[str] = [to_checksum_address(f"0x{n:040x}") for n in range(1_000, 1_000 + count)]
    with closing(Nodes([stage.chain.anvil.url], calls_per_s=10_000)) as quick:
        quick.batch([("anvil_setCode", [vault, "0x00"]) for vault in vaults])
    return vaults


class Sent:
    """A keeper whose stops are asked for by hand, a block of two seconds after each."""

    def __init__(
        self,
        stage: Stage,
        lies: dict[str, Lie],
        paths: tuple[str, ...] = TWO,
        slow: dict[str, float] | None = None,
    ) -> None:
        """`slow`: seconds that a node takes for each answer, by path."""
        self.stage = stage
        self.clock = Clock()
        self.wire = SlowlyLyingWire(lies, slow or {}, self.clock)
        self.keeper: KeeperProcess = stage.keeper(
            paths=paths, wire=self.wire, age=self.clock, stop_signer=STRANGER.signer
        )
        assert self.keeper.leadership.try_take(stage.now())

    def ask(self, *places: int, vaults: Sequence[str] = ()) -> None:
        """By the lenses of these nodes; of the stage's vault, or of `vaults`."""
        names, fallen = self.keeper.rpc.names, list(vaults) or [self.stage.vault]
        self.keeper.stops.send([due(one, names[at]) for one in fallen for at in places])
        self.keeper.follow()

    def pass_time(self, seconds: float = 2) -> None:
        self.stage.pass_time(self.stage.chain.now + int(seconds))
        self.clock.passed_s += seconds

    def count(self) -> int:
        return self.stage.chain.reader.transaction_count(STRANGER.address)
