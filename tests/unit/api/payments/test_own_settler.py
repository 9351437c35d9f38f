"""Which nonce the settler sends with, when nodes lag and when they lose what they took."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from api.payments.own_settler import BELIEVED_S, OwnSettler
from api.payments.payment_config import GasBudget
from core.chain.signer import LocalKeySigner
from tests.personas import STRANGER

GAS = GasBudget(wei_per_usdc=10**15, wei_per_day=10**18, contract_wei_per_day=10**18)


@dataclass
class Node:
    """Takes everything; `told` is its count of the settler's transactions."""

    told: int = 0
    sent: list[int] = field(default_factory=list)

    @property
    def rpc(self) -> "Node":
        return self

    def transaction_count(self, address: str, at: str) -> int:
        return self.told

    def call(self, method: str, params: list[Any], parse: object = None) -> str:
        return "0x"


class Signer:
    """Keeps the nonces that it signs."""

    address = STRANGER.address

    def __init__(self, node: Node) -> None:
        self._node, self._real = node, LocalKeySigner(STRANGER.private_key)

    def sign_transaction(self, fields: Any) -> bytes:
        self._node.sent.append(fields["nonce"])
        return self._real.sign_transaction(fields)


@dataclass
class Sender:
    """A settler whose clock the test moves."""

    node: Node
    settler: Any
    now: float = 0.0

    def send(self, after_s: float = 0.0) -> int:
        """The nonce that it was sent with."""
        self.now += after_s
        self.settler._send(TRANSFER, PRICE)
        return self.node.sent[-1]


class _Transfer:
    token, data = STRANGER.address, "0x"


class _Price:
    def as_fields(self) -> dict[str, int]:
        return {"maxFeePerGas": 2, "maxPriorityFeePerGas": 1}


TRANSFER, PRICE = _Transfer(), _Price()


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> Sender:
    node = Node(told=7)
    made = Sender(node, OwnSettler(Signer(node), node, "eip155:8453", GAS))  # type: ignore[arg-type]
    monkeypatch.setattr("api.payments.own_settler.time.monotonic", lambda: made.now)
    return made


def test_a_node_that_lags__is_not_believed(sender: Sender) -> None:
    assert [sender.send(1) for _ in range(3)] == [7, 8, 9]
    sender.node.told = 9
    assert sender.send(BELIEVED_S - 4) == 10
    sender.node.told = 11
    assert sender.send(BELIEVED_S + 1) == 11


def test_a_transaction_that_was_lost__is_sent_anew_though_more_is_sent_all_the_time(
    sender: Sender,
) -> None:
    """Each payment that is sent behind the gap waits for it and is not charged, and holds its gas
    of the day.
    """
    sent = [sender.send(1) for _ in range(int(BELIEVED_S) + 1)]
    assert sent[:-1] == list(range(7, 7 + int(BELIEVED_S)))
    assert sent[-1] == 7
    assert sender.send(1) == 8, "the node may lag again"
    sender.node.told = 38  # those that waited follow
    assert sender.send(1) == 38


def test_a_transaction_that_a_pool_drops_later__is_sent_anew(sender: Sender) -> None:
    assert [sender.send(1) for _ in range(2)] == [7, 8]
    sender.node.told = 9
    assert sender.send(1) == 9
    sender.node.told = 8
    assert sender.send(1) == 10
    assert sender.send(BELIEVED_S) == 8
