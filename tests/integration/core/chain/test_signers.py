"""One contract for everything that signs: the key in memory, our fake remote signer, and anvil as a
real one.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from eth_account import Account
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from hexbytes import HexBytes

from core.chain.remote_signer import RemoteSigner, RemoteSignerError
from core.chain.signer import Signer
from core.errors import OutsideError
from scripts._ports import free_port
from tests.each import each
from tests.integration.chain_fixtures import CHAIN_ID, start_anvil
from tests.personas import KEEPER, STRANGER
from tests.remote_signer import FakeRemoteSigner, serving

ANSWER_S = 0.5
TRANSACTION: dict[str, Any] = {
    "type": 2,
    "chainId": CHAIN_ID,
    "nonce": 7,
    "to": "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
    "data": "0x" + "5c" * 100,
    "value": 0,
    "gas": 400_000,
    "maxFeePerGas": 50 * 10**9,
    "maxPriorityFeePerGas": 10**9,
}


@pytest.fixture(scope="module")
def anvil_url() -> Iterator[str]:
    anvil = start_anvil()
    yield anvil.url
    anvil.stop()


@pytest.fixture
def fake() -> Iterator[FakeRemoteSigner]:
    with serving(FakeRemoteSigner(KEEPER.signer)) as signer:
        yield signer


@pytest.fixture(params=["in memory", "fake remote", "anvil"])
def signer(request: pytest.FixtureRequest) -> Iterator[Signer]:
    """Three that hold the keeper's key."""
    with ExitStack() as open_until_then:
        if request.param == "in memory":
            yield KEEPER.signer
            return
        url = (
            request.getfixturevalue("fake").url
            if request.param == "fake remote"
            else request.getfixturevalue("anvil_url")
        )
        remote = RemoteSigner(url, KEEPER.address, answer_s=5)
        open_until_then.callback(remote.close)
        yield remote


@pytest.fixture
def remote(fake: FakeRemoteSigner) -> Iterator[RemoteSigner]:
    made = RemoteSigner(fake.url, KEEPER.address, answer_s=ANSWER_S)
    yield made
    made.close()


# The contract


def test_address__is_the_checksum_form(signer: Signer) -> None:
    assert signer.address == KEEPER.address


def test_sign_transaction__recovers_to_the_address_and_says_what_was_asked(signer: Signer) -> None:
    raw = signer.sign_transaction(TRANSACTION)
    said = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
    assert Account.recover_transaction(raw) == KEEPER.address
    assert {name: said[name] for name in TRANSACTION} == TRANSACTION | {
        "to": HexBytes(TRANSACTION["to"]),
        "data": HexBytes(TRANSACTION["data"]),
    }
    assert said["accessList"] == ()


def test_sign_transaction__twice__is_the_same_bytes(signer: Signer) -> None:
    assert signer.sign_transaction(TRANSACTION) == signer.sign_transaction(TRANSACTION)


def test_require_key__while_it_can_sign__passes(signer: Signer) -> None:
    signer.require_key()


def test_repr__shows_the_address_and_no_key(signer: Signer) -> None:
    assert KEEPER.address in repr(signer)
    assert KEEPER.private_key[2:] not in repr(signer)


# What only a remote signer can do wrong


@each(
    ("field", "value"),
    [
        ("chainId", 1),
        ("nonce", 8),
        ("to", KEEPER.address),
        ("data", "0x"),
        ("value", 1),
        ("gas", 400_001),
        ("maxFeePerGas", 51 * 10**9),
        ("maxPriorityFeePerGas", 2 * 10**9),
    ],
)
def test_sign_transaction__another_field_signed__is_refused_by_name(
    fake: FakeRemoteSigner, remote: RemoteSigner, field: str, value: Any
) -> None:
    fake.altered = {field: value}
    with pytest.raises(RemoteSignerError, match=f"signed another {field} than was asked for"):
        remote.sign_transaction(TRANSACTION)


def test_sign_transaction__access_list_added__is_refused(
    fake: FakeRemoteSigner, remote: RemoteSigner
) -> None:
    fake.altered = {"accessList": [{"address": STRANGER.address, "storageKeys": []}]}
    with pytest.raises(RemoteSignerError, match="another accessList"):
        remote.sign_transaction(TRANSACTION)


def test_sign_transaction__another_key__is_refused(
    fake: FakeRemoteSigner, remote: RemoteSigner
) -> None:
    fake.signs_with = STRANGER.signer
    with pytest.raises(RemoteSignerError, match="signed with another key"):
        remote.sign_transaction(TRANSACTION)


def test_sign_transaction__answer_of_clef__is_taken(
    fake: FakeRemoteSigner, remote: RemoteSigner
) -> None:
    fake.answers_as = lambda raw: {"raw": raw, "tx": {"nonce": "0x7"}}
    assert remote.sign_transaction(TRANSACTION) == KEEPER.signer.sign_transaction(TRANSACTION)


@each(
    "answer",
    [None, 7, [], {}, "", "0x", "0x02", "0x02c0", "not hex", {"raw": None}],
)
def test_sign_transaction__an_answer_that_is_no_transaction__is_an_outside_error(
    fake: FakeRemoteSigner, remote: RemoteSigner, answer: Any
) -> None:
    fake.answers_as = lambda raw: answer
    with pytest.raises(RemoteSignerError, match="answered"):
        remote.sign_transaction(TRANSACTION)


def _cut(raw: str) -> str:
    return raw[:-2]


def _longer(raw: str) -> str:
    return raw + "00"


def _other_s(raw: str) -> str:
    return raw[:-2] + format(int(raw[-2:], 16) ^ 1, "02x")


def _high_s(raw: str) -> str:
    """The other signature of the same key over the same bytes; nodes refuse it (EIP-2)."""
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    body, parity, r, s = raw[:-134], raw[-134:-132], raw[-132:-66], int(raw[-64:], 16)
    return f"{body}{'01' if parity == '80' else '80'}{r}a0{order - s:064x}"


@each("spoil", [_cut, _longer, _other_s, _high_s])
def test_sign_transaction__spoiled_bytes__are_refused(
    fake: FakeRemoteSigner, remote: RemoteSigner, spoil: Callable[[str], str]
) -> None:
    fake.answers_as = spoil
    with pytest.raises(RemoteSignerError):
        remote.sign_transaction(TRANSACTION)


def test_require_key__another_account__is_refused(fake: FakeRemoteSigner) -> None:
    stranger = RemoteSigner(fake.url, STRANGER.address, answer_s=ANSWER_S)
    with pytest.raises(RemoteSignerError, match="does not hold that account"):
        stranger.require_key()
    stranger.close()


def test_sign_transaction__refused__says_why(fake: FakeRemoteSigner, remote: RemoteSigner) -> None:
    fake.refuses = "policy forbids it"
    with pytest.raises(RemoteSignerError, match="policy forbids it"):
        remote.sign_transaction(TRANSACTION)


@pytest.mark.parametrize("method", ["sign_transaction", "require_key"])
def test_a_signer_that_hangs__is_an_outside_error_within_the_bound(
    fake: FakeRemoteSigner, remote: RemoteSigner, method: str
) -> None:
    fake.hangs_s = 3 * ANSWER_S
    begun = time.monotonic()
    with pytest.raises(OutsideError):
        remote.sign_transaction(
            TRANSACTION
        ) if method == "sign_transaction" else remote.require_key()
    assert ANSWER_S <= time.monotonic() - begun < 2 * ANSWER_S
    assert len(fake.asked) == 1


def test_a_signer_that_is_down__is_an_outside_error_within_the_bound() -> None:
    gone = RemoteSigner(f"http://127.0.0.1:{free_port()}", KEEPER.address, answer_s=ANSWER_S)
    begun = time.monotonic()
    with pytest.raises(OutsideError) as told:
        gone.sign_transaction(TRANSACTION)
    assert time.monotonic() - begun < 2 * ANSWER_S
    assert KEEPER.address in str(told.value)
    gone.close()


# The token


def test_a_token__is_sent_and_never_told(fake: FakeRemoteSigner) -> None:
    fake.token = "a-secret-token"
    wrong, right = (
        RemoteSigner(fake.url, KEEPER.address, token=token, answer_s=ANSWER_S)
        for token in ("a-wrong-token", "a-secret-token")
    )
    with pytest.raises(RemoteSignerError, match="401") as told:
        wrong.require_key()
    right.require_key()
    shown = f"{told.value}{told.value!r}{wrong!r}{right!r}"
    assert "token" not in shown
    assert fake.url not in shown
    for one in (wrong, right):
        one.close()
