"""A word that is accepted as a pin is an address of the call's arguments, wherever the caller's
offsets point.

The encoder and decoder of eth_abi, which know nothing of head_words, are the judges.
"""

from typing import Any

from eth_abi.abi import decode, encode
from hypothesis import given
from hypothesis import strategies as st

from api.areas.mandates.rules.target_checks import check_targets
from core.errors import InvalidParameterError
from core.mandate.rules.expansion import ListedContracts
from core.mandate.rules.targets import parse_targets
from core.selectors import head_words
from tests.each import each

CHAIN = 84_532
VENUE = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"
LISTED = ListedContracts(CHAIN, {}, {}, None, {})
WORD = 32
VAULT = "0x" + "fe" * 20
PINNED = bytes(12) + bytes.fromhex(VAULT[2:])

ELEMENTARY = {
    "address": st.integers(1, 2**152).map(lambda n: "0x" + f"{n:040x}"),
    "bool": st.booleans(),
    "uint8": st.integers(0, 255),
    "uint256": st.integers(0, 2**256 - 1),
    "int128": st.integers(-(2**127), 2**127 - 1),
    "bytes32": st.binary(min_size=32, max_size=32),
    "bytes4": st.binary(min_size=4, max_size=4),
    "bytes": st.binary(max_size=70),
    "string": st.text(max_size=10),
}


def _tuple_of(kinds: list[str]) -> str:
    return "(" + ",".join(kinds) + ")"


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(_tuple_of),
        st.tuples(inner, st.sampled_from(["[]", "[1]", "[2]", "[3]"])).map("".join),
    )


# Addresses stand first, so that most signatures have some.
KINDS = st.recursive(st.sampled_from(["address", "address", *ELEMENTARY]), _wider, max_leaves=5)
SIGNATURES = st.lists(KINDS, min_size=1, max_size=4)


def _members(kind: str) -> list[str]:
    depth, found = 0, [""]
    for char in kind[1:-1]:
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            found.append("")
        else:
            found[-1] += char
    return found


def values_of(kind: str) -> st.SearchStrategy[Any]:
    if kind.endswith("]"):
        inner, _, length = kind[:-1].rpartition("[")
        size = (
            {"min_size": int(length), "max_size": int(length)}
            if length
            else {"min_size": 0, "max_size": 3}
        )
        return st.lists(values_of(inner), **size)
    if kind.startswith("("):
        return st.tuples(*map(values_of, _members(kind)))
    return ELEMENTARY[kind]


def leaves(value: Any, path: tuple[int, ...] = ()) -> dict[tuple[int, ...], Any]:
    if isinstance(value, list | tuple):
        return {
            at: leaf
            for index, item in enumerate(value)
            for at, leaf in leaves(item, (*path, index)).items()
        }
    return {path: value}


def is_accepted(signature: str, word: int) -> bool:
    targets = parse_targets(
        [{"address": VENUE, "functions": [{"signature": signature, "recipient_word": word}]}], CHAIN
    )
    try:
        check_targets(targets, LISTED)
    except InvalidParameterError:
        return False
    return True


def place_pinned(kinds: list[str], data: bytes, word: int) -> tuple[int, ...]:
    """Write the vault into the word, as the agent must, and find the one argument that becomes the
    vault's address.
    """
    start = word * WORD
    before = leaves(decode(kinds, data))
    after = leaves(decode(kinds, data[:start] + PINNED + data[start + WORD :]))
    changed = [at for at in before.keys() | after.keys() if before.get(at) != after.get(at)]
    assert len(changed) == 1, changed
    assert after[changed[0]] == VAULT
    return changed[0]


@given(SIGNATURES, st.data())
def test_pin_that_is_accepted__is_one_and_the_same_address_in_every_call(
    kinds: list[str], draw: st.DataObject
) -> None:
    signature = f"f{_tuple_of(kinds)}"
    one, another = (encode(kinds, draw.draw(st.tuples(*map(values_of, kinds)))) for _ in range(2))
    for word in range(len(head_words(signature)) + 2):
        if is_accepted(signature, word):
            assert place_pinned(kinds, one, word) == place_pinned(kinds, another, word)


@given(SIGNATURES, st.data())
def test_head__is_as_long_as_the_encoders_and_its_static_words_are_the_arguments(
    kinds: list[str], draw: st.DataObject
) -> None:
    """An address that stands outside every dynamic argument can be pinned, and nothing else can."""
    signature = f"f{_tuple_of(kinds)}"
    data = encode(kinds, draw.draw(st.tuples(*map(values_of, kinds))))
    accepted = {
        word for word in range(len(data) // WORD) if word < 255 and is_accepted(signature, word)
    }
    assert accepted == {
        word for word, kind in enumerate(head_words(signature)) if kind == "address"
    }
    assert len(head_words(signature)) * WORD <= len(data)


@each("word", [0, 1, 2, 3])
def test_address_behind_an_offset__is_never_accepted__since_the_caller_moves_it(word: int) -> None:
    """f((bytes,address)): word 2 of a usual encoding is the address, and with the tuple moved
    behind it that word is a decoy.
    """
    kinds = ["(bytes,address)"]
    usual = encode(kinds, [(b"", VAULT)])
    thief = "0x" + "ad" * 20
    moved = len(usual).to_bytes(WORD) + usual[WORD:] + encode(kinds, [(b"", thief)])[WORD:]
    assert usual[2 * WORD : 3 * WORD] == moved[2 * WORD : 3 * WORD] == PINNED
    assert decode(kinds, moved)[0][1] == thief
    assert not is_accepted("f((bytes,address))", word)
