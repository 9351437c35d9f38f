"""The contracts' ABIs as typed entries: found by name, by selector, by topic.

Values outside are those of the domain: addresses checksum strings, bytes and bytesN 0x lower-case
hex, integers int, structs and lists tuples. Source: core/chain/abis/*.json, exported from the
compiler's output.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from eth_abi.abi import encode as abi_encode
from eth_abi.codec import ABIDecoder
from eth_abi.decoding import ContextFramesBytesIO
from eth_abi.exceptions import DecodingError, EncodingError, ParseError
from eth_abi.registry import registry
from eth_utils.crypto import keccak

from core.errors import MandateError, OutsideError
from core.hexes import bytes_of, checksum_address, hex_of, read_address
from core.selectors import element_type, member_types

ABIS = Path(__file__).parent / "abis"
# contracts of this repository whose functions are known by name only
ALSO_KNOWN = ("Erc6492Validator", "RelayAdapter", "ReserveToken")
# written by scripts/export_abis.py
CONTRACTS = tuple(sorted({file.stem for file in ABIS.glob("*.json")} - set(ALSO_KNOWN)))
SELECTOR_BYTES = 4
WORD_BYTES = 32
FUNCTION_BYTES = 24  # an address and a selector
_HEX_BYTES = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)
# of each byte of encoded values, on average: an encoder's own output takes two, since its offsets
# are looked at twice
MOST_READS = 4


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


def answer_words(answer: Any, count: int) -> bytes:
    """A node's answer, bytes or hex, of exactly so many words of 32 bytes; the decoder alone takes
    a longer one. Errors: AbiDecodeError.
    """
    if not isinstance(answer, str | bytes):
        raise AbiDecodeError(f"{answer!r:.80} is no hex text")
    data = answer if isinstance(answer, bytes) else _told_bytes(answer)
    if len(data) != count * WORD_BYTES:
        raise AbiDecodeError(f"{len(data)} bytes, not {count} words")
    return data


def _told_bytes(text: str) -> bytes:
    """As `bytes_of`. Errors: AbiDecodeError."""
    try:
        return bytes_of(text)
    except ValueError as error:
        raise AbiDecodeError(f"no hex: {error}") from error


@dataclass(frozen=True, slots=True)
class Parameter:
    """`type` is canonical: a struct is its members in brackets, as in a signature."""

    name: str
    type: str
    indexed: bool
    components: tuple["Parameter", ...]

    @classmethod
    def of(cls, entry: dict[str, Any]) -> "Parameter":
        components = tuple(cls.of(member) for member in entry.get("components", ()))
        kind: str = entry["type"]
        if kind.startswith("tuple"):
            kind = (
                "("
                + ",".join(member.type for member in components)
                + ")"
                + kind.removeprefix("tuple")
            )
        return cls(entry.get("name", ""), kind, entry.get("indexed", False), components)

    @classmethod
    def of_type(cls, kind: str) -> "Parameter":
        """A parameter without a name, of a type that is known to be canonical."""
        base = kind
        while (element := element_type(base)) is not None:
            base = element
        return cls("", kind, False, tuple(cls.of_type(member) for member in member_types(base)))

    @property
    def element(self) -> "Parameter":
        """What a list holds."""
        return replace(self, type=self.type[: self.type.rindex("[")], indexed=False)


def _types(parameters: Iterable[Parameter]) -> list[str]:
    return [parameter.type for parameter in parameters]


def _signature(name: str, parameters: Iterable[Parameter]) -> str:
    return f"{name}({','.join(_types(parameters))})"


def _inward(parameter: Parameter, value: Any) -> Any:
    if (parameter.type.endswith("]") or parameter.components) and not isinstance(
        value, list | tuple
    ):
        raise TypeError(f"{parameter.type} takes a list, not {type(value).__name__}")
    if parameter.type.endswith("]"):
        element = parameter.element
        return [_inward(element, item) for item in value]
    if parameter.components:
        return tuple(
            _inward(member, item) for member, item in zip(parameter.components, value, strict=True)
        )
    if not isinstance(value, str):
        return value
    try:
        if parameter.type == "address":
            return read_address(value)
        is_bytes = parameter.type.startswith(("bytes", "function"))
        return _bytes(parameter.type, value) if is_bytes else value
    except ValueError as error:
        raise AbiEncodeError(f"{parameter.type}: {error}", str(error)) from error


def _bytes(kind: str, text: str) -> bytes:
    """Of bytesN and `function` exactly as many as they have: a lost byte is another id, and nothing
    is padded. Errors: ValueError, whose text is the rule.
    """
    size = FUNCTION_BYTES if kind == "function" else int(kind.removeprefix("bytes") or 0)
    digits = 2 * size or "an even number of"
    if not _HEX_BYTES.fullmatch(text) or size not in (0, len(text) // 2 - 1):
        raise ValueError(
            f"write {f'{size} bytes' if size else 'bytes'}: 0x and {digits} hex characters"
        )
    return bytes_of(text)


def _outward(parameter: Parameter, value: Any) -> Any:
    if parameter.type.endswith("]"):
        element = parameter.element
        return tuple(_outward(element, item) for item in value)
    if parameter.components:
        return tuple(
            _outward(member, item) for member, item in zip(parameter.components, value, strict=True)
        )
    if parameter.type == "address":
        return checksum_address(value)
    return hex_of(value) if isinstance(value, bytes) else value


# The types of nearly every argument of an event, read without a general decoder's machinery.


def _uint(bits: int) -> Callable[[bytes], int]:
    def read(word: bytes) -> int:
        value = int.from_bytes(word, "big")
        if value >> bits:
            raise AbiDecodeError(f"{value} does not fit uint{bits}")
        return value

    return read


def _address(word: bytes) -> str:
    if any(word[:12]):
        raise AbiDecodeError(f"0x{word.hex()} is no address")
    return checksum_address("0x" + word[12:].hex())


def _bool(word: bytes) -> bool:
    value = int.from_bytes(word, "big")
    if value > 1:
        raise AbiDecodeError(f"{value} is no bool")
    return value == 1


def _fixed_bytes(size: int) -> Callable[[bytes], str]:
    def read(word: bytes) -> str:
        if any(word[size:]):
            raise AbiDecodeError(f"0x{word.hex()} does not fit bytes{size}")
        return "0x" + word[:size].hex()

    return read


_WORDS: Mapping[str, Callable[[bytes], Any]] = {
    **{f"uint{bits}": _uint(bits) for bits in range(8, 257, 8)},
    **{f"bytes{size}": _fixed_bytes(size) for size in range(1, 33)},
    "address": _address,
    "bool": _bool,
}


_Readers = tuple[Callable[[bytes], Any], ...]


def _readers_of(parameters: Iterable[Parameter]) -> _Readers | None:
    """None: one of them is no word."""
    readers = [_WORDS.get(parameter.type) for parameter in parameters]
    found = tuple(reader for reader in readers if reader is not None)
    return found if len(found) == len(readers) else None


def _read_words(readers: _Readers, data: bytes) -> tuple[Any, ...]:
    """Of exactly as many words. Errors: AbiDecodeError."""
    starts = range(0, len(data), WORD_BYTES)
    return tuple(
        [
            read(data[start : start + WORD_BYTES])
            for read, start in zip(readers, starts, strict=True)
        ]
    )


class _BoundedStream(ContextFramesBytesIO):
    """Offsets may overlap, so that a few KB unfold into GBs.

    What is read in all is bounded by what is there.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(data)  # type: ignore[no-untyped-call]  # of the library
        self._left = MOST_READS * (len(data) + WORD_BYTES)

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self._left -= len(found)
        if self._left < 0:
            raise DecodingError("it unfolds into more than it is")
        return found


class _BoundedDecoder(ABIDecoder):
    stream_class = _BoundedStream


_DECODER = _BoundedDecoder(registry)


def encode_values(parameters: Sequence[Parameter], values: Sequence[Any]) -> bytes:
    """ABI-encode domain values. Errors: AbiEncodeError."""
    try:
        return abi_encode(
            _types(parameters), [_inward(p, v) for p, v in zip(parameters, values, strict=True)]
        )
    except (EncodingError, ParseError, ValueError, TypeError, OverflowError) as error:
        raise AbiEncodeError(
            f"arguments do not fit ({', '.join(_types(parameters))}): {error}"
        ) from error


def decode_values(parameters: Sequence[Parameter], data: bytes) -> tuple[Any, ...]:
    """Read ABI-encoded bytes into domain values, at a cost that the number of bytes bounds.

    Errors: AbiDecodeError.
    """
    readers = _readers_of(parameters)
    if readers is not None and len(data) == WORD_BYTES * len(readers):
        return _read_words(readers, data)
    try:
        values = _DECODER.decode(_types(parameters), data)
    except (DecodingError, ValueError, OverflowError) as error:
        raise AbiDecodeError(f"not ({', '.join(_types(parameters))}): {error}") from error
    return tuple(_outward(p, v) for p, v in zip(parameters, values, strict=True))


@dataclass(frozen=True, slots=True)
class FunctionAbi:
    contract: str
    name: str
    signature: str
    selector: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]

    def encode(self, *arguments: Any) -> str:
        """Call data as 0x hex. Errors: AbiEncodeError."""
        return self.selector + encode_values(self.inputs, arguments).hex()

    def decode_input(self, data: str) -> tuple[Any, ...]:
        """The arguments of call data, selector included. Errors: AbiDecodeError."""
        return decode_values(self.inputs, _told_bytes(data)[SELECTOR_BYTES:])

    def decode_output(self, data: bytes) -> tuple[Any, ...]:
        """What the function returned. Errors: AbiDecodeError."""
        return decode_values(self.outputs, data)


@dataclass(frozen=True, slots=True)
class EventAbi:
    name: str
    topic: str
    inputs: tuple[Parameter, ...]
    indexed: tuple[Parameter, ...]
    plain: tuple[Parameter, ...]

    @classmethod
    def of(cls, entry: dict[str, Any]) -> "EventAbi":
        inputs = _parameters(entry, "inputs")
        return cls(
            entry["name"],
            hex_of(keccak(text=_signature(entry["name"], inputs))),
            inputs,
            tuple(one for one in inputs if one.indexed),
            tuple(one for one in inputs if not one.indexed),
        )

    def decode(self, topics: Sequence[str], data: str) -> dict[str, Any]:
        """The arguments by name.

        Indexed strings, bytes, structs and lists would be hashes; we have none.

        Errors: AbiDecodeError, also when the number of topics differs or data is longer than the
        form.
        """
        if len(topics) != 1 + len(self.indexed):
            raise AbiDecodeError(
                f"{self.name} has {len(self.indexed)} indexed arguments, the log {len(topics) - 1}"
            )
        words = b"".join(answer_words(topic, 1) for topic in topics[1:])
        values = (
            *decode_values(self.indexed, words),
            *decode_values(self.plain, _told_bytes(data)),
        )
        names = (one.name for one in (*self.indexed, *self.plain))
        return dict(zip(names, values, strict=True))


@dataclass(frozen=True, slots=True)
class ErrorAbi:
    name: str
    selector: str
    inputs: tuple[Parameter, ...]


@cache
def entries(contract: str) -> tuple[dict[str, Any], ...]:
    """The ABI as the compiler wrote it."""
    return tuple(json.loads((ABIS / f"{contract}.json").read_text()))


def _parameters(entry: dict[str, Any], key: str) -> tuple[Parameter, ...]:
    return tuple(Parameter.of(item) for item in entry.get(key, ()))


def _function(contract: str, entry: dict[str, Any]) -> FunctionAbi:
    inputs = _parameters(entry, "inputs")
    signature = _signature(entry["name"], inputs)
    selector = hex_of(keccak(text=signature)[:SELECTOR_BYTES])
    return FunctionAbi(
        contract, entry["name"], signature, selector, inputs, _parameters(entry, "outputs")
    )


@cache
def functions(contract: str) -> dict[str, FunctionAbi]:
    """Every function by its signature; those whose name is not overloaded also by name."""
    found = [
        _function(contract, entry) for entry in entries(contract) if entry["type"] == "function"
    ]
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
    for entry in entries(contract):
        if entry["type"] == "event" and not entry.get("anonymous", False):
            event = EventAbi.of(entry)
            found[event.topic] = event
    return found


def topic_of(name: str) -> str:
    """Topic 0 of the event of that name."""
    return next(event.topic for event in events_by_topic().values() if event.name == name)


# What Solidity itself throws: revert with a text, and failed assertions.
_BUILT_IN = (
    {"name": "Error", "inputs": [{"name": "message", "type": "string"}]},
    {"name": "Panic", "inputs": [{"name": "code", "type": "uint256"}]},
)


@cache
def errors_by_selector() -> dict[str, ErrorAbi]:
    """Every error of every contract, and Solidity's own two, by selector."""
    found = {}
    declared = (
        entry for contract in CONTRACTS for entry in entries(contract) if entry["type"] == "error"
    )
    for entry in (*_BUILT_IN, *declared):
        inputs = _parameters(entry, "inputs")
        selector = hex_of(keccak(text=_signature(entry["name"], inputs))[:SELECTOR_BYTES])
        found[selector] = ErrorAbi(entry["name"], selector, inputs)
    return found
