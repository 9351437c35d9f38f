"""The vault's own hash of its logs, computed again."""

import sys

import pytest
from eth_hash.auto import keccak

from core.chain.log_head import grown, quick_keccak


def test_the_word_after_a_log__is_of_the_word_before_its_block_and_its_bytes() -> None:
    before, event = keccak(b"terms"), b"topics and data"
    place = (7).to_bytes(32, "big") + (1_700_000_000).to_bytes(32, "big")
    assert grown(before, 7, 1_700_000_000, event) == keccak(before + place + keccak(event))


def test_hashes_are_the_same_with_and_without_the_quicker_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [b"", b"a", bytes(range(256)), b"\xff" * 1_000]
    quick = quick_keccak()
    monkeypatch.setitem(sys.modules, "eth_hash.backends.pysha3", None)
    plain = quick_keccak()
    assert type(quick._backend).__name__ == "PySha3Backend"
    assert type(plain._backend).__name__ == "CryptodomeBackend"
    assert [quick(word) for word in words] == [plain(word) for word in words]
    assert [plain(word) for word in words] == [keccak(word) for word in words]
