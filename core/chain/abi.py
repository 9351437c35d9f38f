"""The contracts' ABIs: values coded by eth-abi, entries found by name, by selector, by topic.

Values outside are those of the domain: addresses checksum strings, bytes and bytesN 0x lower-case
hex, integers int, structs and lists tuples. Source: core/chain/abis/*.json, exported from the
compiler's output.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from eth_abi import decoding, encoding, grammar
from eth_abi.codec import ABIEncoder
from eth_abi.exceptions import DecodingError, EncodingError, ParseError
from eth_abi.registry import ABIRegistry, BaseEquals, registry
from eth_utils.abi import abi_to_signature, collapse_if_tuple
from eth_utils.crypto import keccak

from core.errors import InvalidParameterError, MandateError, OutsideError
from core.hexes import bytes_of, checksum_address, hex_of, read_address
from core.selectors import argument_types, selector_of

ABIS = Path(__file__).parent / "abis"
# contracts of this repository whose functions are known by name only
ALSO_KNOWN = ("Erc6492Validator", "RelayAdapter", "ReserveToken")
# written by scripts/export_abis.py
CONTRACTS = tuple(sorted({file.stem for file in ABIS.glob("*.json")} - set(ALSO_KNOWN)))
SELECTOR_BYTES = 4
WORD_BYTES = 32
_HEX_BYTES = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)
# of each byte of encoded values, on average: an encoder's own output takes two, since its offsets
# are looked at twice
MOST_READS = 4
# that eth-abi keeps, which it does for ever by itself; a signature may come from anybody
MOST_TYPES = 1_024


class AbiDecodeError(OutsideError):
    """Bytes from outside do not have the form that the ABI says."""


class AbiEncodeError(MandateError):
    """Arguments do not fit the function's parameters.

    `rule`: what to write instead, if it is known; it repeats nothing of what was written.
    """

    def __init__(self, says: str, rule: str | None = None) -> None:
        super().__init__(says)
        self.rule = rule


def address_word(address: str) -> str:
    """An address as a topic has it: 32 bytes in lower case."""
    return "0x" + address.lower().removeprefix("0x").rjust(64, "0")


def _given_bytes(text: str) -> bytes:
    """As `bytes_of`. Errors: AbiDecodeError."""
    try:
        return bytes_of(text)
    except ValueError as error:
        raise AbiDecodeError(f"no hex: {error}") from error


# How eth-abi codes the types whose values are others in the domain.


def _written(kind: str, read: Callable[[str], Any], value: Any) -> Any:
    """What a text says; anything else is left to the encoder. Errors: AbiEncodeError."""
    try:
        return read(value) if isinstance(value, str) else value
    except ValueError as error:
        raise AbiEncodeError(f"{kind}: {error}", str(error)) from error


def _read_bytes(text: str, size: int | None = None) -> bytes:
    """Exactly as many as the type has: a lost byte is another id, and nothing is padded."""
    if not _HEX_BYTES.fullmatch(text) or size not in (None, len(text) // 2 - 1):
        raise ValueError(
            "write bytes: 0x and an even number of hex characters"
            if size is None
            else f"write {size} bytes: 0x and {2 * size} hex characters"
        )
    return bytes_of(text)


class _AddressEncoder(encoding.AddressEncoder):
    @classmethod
    def validate_value(cls, value: Any) -> None:
        super().validate_value(_written("address", read_address, value))


class _AddressDecoder(decoding.AddressDecoder):
    decoder_fn: Any = staticmethod(lambda value: checksum_address(hex_of(value)))


class _BytesEncoder(encoding.BytesEncoder):
    def validate_value(self, value: Any) -> None:
        super().validate_value(self._bytes(value))

    def encode(self, value: Any) -> Any:
        return super().encode(self._bytes(value))

    def _bytes(self, value: Any) -> Any:
        size = (self.value_bit_size or 0) // 8
        return _written(f"bytes{size}", lambda text: _read_bytes(text, size), value)


class _BytesDecoder(decoding.BytesDecoder):
    decoder_fn = staticmethod(hex_of)


class _ByteStringEncoder(encoding.ByteStringEncoder):
    @classmethod
    def validate_value(cls, value: Any) -> None:
        super().validate_value(_written("bytes", _read_bytes, value))

    @classmethod
    def encode(cls, value: Any) -> Any:
        return super().encode(_written("bytes", _read_bytes, value))


class _ByteStringDecoder(decoding.ByteStringDecoder):
    decoder_fn = staticmethod(hex_of)


def _registry() -> ABIRegistry:
    ours: ABIRegistry = registry.copy()
    for label, types, encoder, decoder in (
        ("address", BaseEquals("address"), _AddressEncoder, _AddressDecoder),
        ("bytes<M>", BaseEquals("bytes", with_sub=True), _BytesEncoder, _BytesDecoder),
        ("function", BaseEquals("function"), _BytesEncoder, _BytesDecoder),
        ("bytes", BaseEquals("bytes", with_sub=False), _ByteStringEncoder, _ByteStringDecoder),
    ):
        ours.unregister(label)
        ours.register(types, encoder, decoder, label=label)
    return ours


class _BoundedStream(decoding.ContextFramesBytesIO):
    """Offsets may overlap, so that a few KB unfold into GBs.

    What is read in all is bounded by what is there.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._left = MOST_READS * (len(data) + WORD_BYTES)

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self._left -= len(found)
        if self._left < 0:
            raise DecodingError("it unfolds into more than it is")
        return found


_REGISTRY = _registry()
_ENCODER = ABIEncoder(_REGISTRY)


def encode_values(types: Sequence[str], values: Sequence[Any]) -> bytes:
    """ABI-encode domain values. Errors: AbiEncodeError."""
    try:
        return _ENCODER.encode(types, values)
    except (EncodingError, ParseError, ValueError, TypeError, OverflowError) as error:
        raise AbiEncodeError(f"arguments do not fit ({', '.join(types)}): {error}") from error


def decode_values(types: Sequence[str], data: bytes, *, is_exact: bool = True) -> tuple[Any, ...]:
    """Read ABI-encoded bytes into domain values, at a cost that the number of bytes bounds.

    `is_exact`: bytes behind values without offsets are an error. Errors: AbiDecodeError.
    """
    decoders = [_REGISTRY.get_decoder(one) for one in types]
    stream = _BoundedStream(data)
    try:
        if any(one.is_dynamic for one in decoders):
            return tuple(decoding.TupleDecoder(decoders=decoders)(stream))
        values = tuple([read(stream) for read in decoders])  # without a look ahead at offsets
        if is_exact and stream.tell() != len(data):
            raise DecodingError(f"{len(data) - stream.tell()} bytes too many")
        return values
    except (DecodingError, ValueError, OverflowError) as error:
        raise AbiDecodeError(f"not ({', '.join(types)}): {error}") from error


def call_by_signature(signature: str, arguments: Sequence[Any]) -> str:
    """Call data for a function written as `name(type,...)`; structs and arrays are lists.

    Errors: AbiEncodeError.
    """
    if grammar.parse.cache_info().currsize > MOST_TYPES:
        grammar.parse.cache_clear()
        _REGISTRY.get_encoder.cache_clear()
    canonical = "".join(signature.split())
    try:
        selector, types = selector_of(canonical), argument_types(canonical)
    except InvalidParameterError as error:
        raise AbiEncodeError(str(error)) from error
    return selector + encode_values(types, arguments).hex()


class Parameter(NamedTuple):
    """`type` is canonical: a struct is its members in brackets, as in a signature."""

    name: str
    type: str
    indexed: bool
    components: tuple["Parameter", ...]


def types_of(parameters: Iterable[Parameter]) -> tuple[str, ...]:
    return tuple(parameter.type for parameter in parameters)


@dataclass(frozen=True, slots=True)
class FunctionAbi:
    """A function, or an error, which is coded like one without outputs."""

    name: str
    signature: str
    selector: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]

    def encode(self, *arguments: Any) -> str:
        """Call data as 0x hex. Errors: AbiEncodeError."""
        return self.selector + encode_values(types_of(self.inputs), arguments).hex()

    def decode_input(self, data: str) -> tuple[Any, ...]:
        """The arguments of call data, selector included; contracts pass over what follows them.

        Errors: AbiDecodeError.
        """
        encoded = _given_bytes(data)[SELECTOR_BYTES:]
        return decode_values(types_of(self.inputs), encoded, is_exact=False)

    def decode_output(self, data: bytes) -> tuple[Any, ...]:
        """What the function returned. Errors: AbiDecodeError."""
        return decode_values(types_of(self.outputs), data)


@dataclass(frozen=True, slots=True)
class EventAbi:
    name: str
    topic: str
    inputs: tuple[Parameter, ...]
    indexed: tuple[Parameter, ...]
    plain: tuple[Parameter, ...]

    def decode(self, topics: Sequence[str], data: str) -> dict[str, Any]:
        """The arguments by name.

        Indexed strings, bytes, structs and lists would be hashes; we have none.

        Errors: AbiDecodeError, also when number or length of the topics differ.
        """
        words = [_given_bytes(topic) for topic in topics[1:]]
        if list(map(len, words)) != [WORD_BYTES] * len(self.indexed):
            raise AbiDecodeError(f"{self.name} has {len(self.indexed)} indexed arguments of a word")
        values = (
            *decode_values(types_of(self.indexed), b"".join(words)),
            *decode_values(types_of(self.plain), _given_bytes(data)),
        )
        names = (one.name for one in (*self.indexed, *self.plain))
        return dict(zip(names, values, strict=True))


@cache
def entries(contract: str) -> tuple[Any, ...]:
    """The ABI as the compiler wrote it."""
    return tuple(json.loads((ABIS / f"{contract}.json").read_text()))


def _of_kind(contract: str, kind: str) -> list[Any]:
    return [entry for entry in entries(contract) if entry["type"] == kind]


def _parameters(entry: Any, key: str = "inputs") -> tuple[Parameter, ...]:
    return tuple(
        Parameter(
            one.get("name", ""),
            collapse_if_tuple(one),
            one.get("indexed", False),
            _parameters(one, "components"),
        )
        for one in entry.get(key, ())
    )


def _function(entry: Any) -> FunctionAbi:
    signature = abi_to_signature(entry)
    selector = hex_of(keccak(text=signature)[:SELECTOR_BYTES])
    inputs, outputs = _parameters(entry), _parameters(entry, "outputs")
    return FunctionAbi(entry["name"], signature, selector, inputs, outputs)


@cache
def functions(contract: str) -> dict[str, FunctionAbi]:
    """Every function by its signature; those whose name is not overloaded also by name."""
    found = [_function(entry) for entry in _of_kind(contract, "function")]
    names = [function.name for function in found]
    return {f.signature: f for f in found} | {f.name: f for f in found if names.count(f.name) == 1}


def function(contract: str, name: str) -> FunctionAbi:
    """A function by name, or by signature when the name is overloaded. Errors: KeyError."""
    return functions(contract)[name]


@cache
def creation_code(contract: str) -> str:
    """As 0x hex, without arguments, of a contract that is run by a node's eth_call, or whose hash
    is in addresses.
    """
    return (ABIS / f"{contract}.bin").read_text().strip()


@cache
def functions_by_selector(contract: str) -> dict[str, FunctionAbi]:
    return {f.selector: f for f in functions(contract).values()}


@cache
def events_by_topic() -> dict[str, EventAbi]:
    """Every event of every contract by topic0; equal events of two contracts are one."""
    return {topic: event for contract in CONTRACTS for topic, event in events_of(contract).items()}


@cache
def events_of(contract: str) -> dict[str, EventAbi]:
    """The events of one contract by topic0, also of one that is known by name only."""
    found = {}
    for entry in _of_kind(contract, "event"):
        inputs = _parameters(entry)
        indexed = tuple(one for one in inputs if one.indexed)
        plain = tuple(one for one in inputs if not one.indexed)
        topic = hex_of(keccak(text=abi_to_signature(entry)))
        found[topic] = EventAbi(entry["name"], topic, inputs, indexed, plain)
    return found


def topic_of(name: str) -> str:
    """Topic 0 of the event of that name."""
    return next(event.topic for event in events_by_topic().values() if event.name == name)


# What Solidity itself throws: revert with a text, and failed assertions.
_BUILT_IN = (
    {"type": "error", "name": "Error", "inputs": [{"name": "message", "type": "string"}]},
    {"type": "error", "name": "Panic", "inputs": [{"name": "code", "type": "uint256"}]},
)


@cache
def errors_by_selector() -> dict[str, FunctionAbi]:
    """Every error of every contract, and Solidity's own two, by selector."""
    ours = (entry for one in CONTRACTS for entry in _of_kind(one, "error"))
    return {error.selector: error for error in map(_function, (*_BUILT_IN, *ours))}


class DecodedRevert(NamedTuple):
    """`name` is Solidity's; `Error` and `Panic` are the language's own.

    `args` by their Solidity names.
    """

    name: str
    args: Mapping[str, Any]


def decode_revert(data: bytes) -> DecodedRevert | None:
    """None when the data is empty, cut short, or no error of our contracts: then the reason is not
    known. Source: contracts/libraries/ErrorsLib.sol.
    """
    error = errors_by_selector().get(hex_of(data[:SELECTOR_BYTES]))
    if error is None:
        return None
    try:
        values = decode_values(types_of(error.inputs), data[SELECTOR_BYTES:])
    except AbiDecodeError:
        return None
    return DecodedRevert(error.name, dict(zip((p.name for p in error.inputs), values, strict=True)))
