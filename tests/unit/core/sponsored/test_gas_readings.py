"""What gas costs is asked once, for however many sizes of transactions."""

from collections import Counter
from typing import cast

from core.chain.errors import RpcRefusedError
from core.chain.reader import GAS_PRICE_ORACLE, ChainReader
from core.sponsored.readings import gas_by_size, gas_now
from core.sponsored.rules import GasPrice


class SevenWeiHeader:
    base_fee_wei = 7


class CountingReader:
    """A chain whose layer 1 costs ten wei a byte. Counts what it is asked."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.asked: Counter[str] = Counter()
        self.refuses = refuses

    layer_1_fee_wei = ChainReader.layer_1_fee_wei

    def header(self) -> SevenWeiHeader:
        self.asked["header"] += 1
        return SevenWeiHeader()

    def priority_fee_wei(self) -> int:
        self.asked["priority fee"] += 1
        return 3

    def code_at(self, address: str) -> bytes:
        assert address == GAS_PRICE_ORACLE
        self.asked["code"] += 1
        return b"\x01"

    def call(self, to: str, data: str) -> bytes:
        assert to == GAS_PRICE_ORACLE
        if self.refuses:
            raise RpcRefusedError("eth_call", -32000, "no")
        self.asked["layer 1"] += 1
        return (10 * int(data[-64:], 16)).to_bytes(32, "big")


def test_gas_now__asks_for_the_block_once_and_for_each_size_once() -> None:
    reader = CountingReader()
    found = gas_by_size(cast("ChainReader", reader), [200, 1_000, 200])
    assert found == {200: GasPrice(7, 3, 2_000), 1_000: GasPrice(7, 3, 10_000)}
    assert reader.asked == {"header": 1, "priority fee": 1, "code": 2, "layer 1": 2}


def test_gas_now__an_oracle_that_refuses__is_unknown() -> None:
    assert gas_now(cast("ChainReader", CountingReader(refuses=True)), 200) is None
