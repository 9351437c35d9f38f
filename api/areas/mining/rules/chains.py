"""Chains that a token may live on, and what the address of its contract looks like there.

    chain       form                                                kept as
    EVM         0x and 40 hex; capitals, if mixed, are EIP-55's     EIP-55
    solana      base58 of 32 bytes                                  as it is
    tron        base58check, 21 bytes that begin with 0x41          as it is
    ton         48 characters of base64url with a CRC, or 0:hex     workchain:hex
    sui, aptos  0x hex of at most 32 bytes, or address::module::Name   32 bytes, lower case
    starknet    0x hex below the field's prime                      32 bytes, lower case
    near        account id, lower case                              as it is
    stellar     CODE:G..., or a contract C...; each with its CRC    as it is
    xrpl        CODE.r..., base58check                              as it is
    bitcoin...  no contracts                                        native

Laws
- One contract has one canonical text a chain, so that equal contracts are equal texts.
- A coin of a chain's own has no contract: its address is `native`, and nobody else's is.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from api.areas.mining.rules.encodings import (
    RIPPLE_ALPHABET,
    base32_crc16_bytes,
    base58_bytes,
    base58check_bytes,
    base64_crc16_bytes,
)
from core.errors import InvalidParameterError
from core.hexes import read_account

NATIVE: Final = "native"
_HEX = re.compile(r"0x([0-9a-fA-F]{1,64})")
_MOVE = re.compile(r"0x([0-9a-fA-F]{1,64})((?:::[A-Za-z_][A-Za-z0-9_]{0,63}){2})?")
_NEAR = re.compile(r"(?=.{2,64}$)[a-z0-9]+([-_.][a-z0-9]+)*")
_TON_RAW = re.compile(r"(-1|0):([0-9a-fA-F]{64})")
_STELLAR_CODE = re.compile(r"[A-Za-z0-9]{1,12}")
_XRPL_CODE = re.compile(r"[A-Za-z0-9]{3}|[0-9A-F]{40}")
_STARKNET_PRIME: Final = 2**251 + 17 * 2**192 + 1
_TRON_PREFIX, _STELLAR_ACCOUNT, _STELLAR_CONTRACT, _XRPL_ACCOUNT = 0x41, 6 << 3, 2 << 3, 0
_TON_FLAGS: Final = {0x11, 0x51}  # bounceable or not; those for test networks only are not here


class NotAnAddressError(Exception):
    """The text is no address of that chain; `rule` says what to write instead."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class TokenChain:
    """`canonical` errors: NotAnAddressError. `native`: the ticker of the chain's own coin."""

    id: str
    native: str
    canonical: Callable[[str], str]


def _evm(text: str) -> str:
    try:
        return read_account(text)
    except ValueError as error:
        rule = str(error).replace("write an address: ", "write ")  # `on base, ` comes before it
        raise NotAnAddressError(rule) from error


def _solana(text: str) -> str:
    raw = base58_bytes(text)
    if raw is None or len(raw) != 32:
        raise NotAnAddressError("write the mint's base58 of 32 bytes, in its own case")
    return text


def _tron(text: str) -> str:
    raw = base58check_bytes(text)
    if raw is None or len(raw) != 21 or raw[0] != _TRON_PREFIX:
        raise NotAnAddressError(
            "write the contract's base58 of 34 characters that begins with T, in its own case; its "
            "checksum must be right"
        )
    return text


def _ton(text: str) -> str:
    raw_form = _TON_RAW.fullmatch(text)
    if raw_form is not None:
        return f"{raw_form[1]}:{raw_form[2].lower()}"
    raw = base64_crc16_bytes(text)
    if raw is None or len(raw) != 34 or raw[0] not in _TON_FLAGS or raw[1] not in (0, 0xFF):
        raise NotAnAddressError(
            "write the 48 characters of base64url, whose checksum must be right, or workchain:hex"
        )
    return f"{'-1' if raw[1] == 0xFF else '0'}:{raw[2:].hex()}"


def _move(text: str) -> str:
    found = _MOVE.fullmatch(text)
    if found is None:
        raise NotAnAddressError("write 0x and 1 to 64 hex characters, or address::module::Name")
    return f"0x{found[1].lower().rjust(64, '0')}{found[2] or ''}"


def _starknet(text: str) -> str:
    found = _HEX.fullmatch(text)
    if found is None or not 0 < int(found[1], 16) < _STARKNET_PRIME:
        raise NotAnAddressError("write 0x and 1 to 64 hex characters, below the field's prime")
    return f"0x{int(found[1], 16):064x}"


def _near(text: str) -> str:
    if _NEAR.fullmatch(text) is None:
        raise NotAnAddressError("write the contract's account id, 2 to 64 lower-case characters")
    return text


def _stellar(text: str) -> str:
    code, separator, issuer = text.rpartition(":")
    raw = base32_crc16_bytes(issuer)
    is_asset = bool(separator) and _STELLAR_CODE.fullmatch(code) is not None
    version = _STELLAR_ACCOUNT if is_asset else _STELLAR_CONTRACT
    if (bool(code) and not is_asset) or raw is None or len(raw) != 33 or raw[0] != version:
        raise NotAnAddressError(
            "write CODE:ISSUER, where the issuer begins with G, or a contract that begins with C; "
            "the checksum must be right"
        )
    return text


def _xrpl(text: str) -> str:
    code, _, issuer = text.partition(".")
    raw = base58check_bytes(issuer, RIPPLE_ALPHABET)
    if _XRPL_CODE.fullmatch(code) is None or raw is None or len(raw) != 21:
        raise NotAnAddressError(
            "write CODE.ISSUER, where the issuer begins with r and its checksum is right"
        )
    if raw[0] != _XRPL_ACCOUNT:
        raise NotAnAddressError("write an issuer that is an account; it begins with r")
    return text


def _none(text: str) -> str:
    raise NotAnAddressError(f"this chain has no contracts; its own coin's address is {NATIVE}")


_CHAINS = (
    TokenChain("ethereum", "ETH", _evm),
    TokenChain("bsc", "BNB", _evm),
    TokenChain("polygon", "POL", _evm),
    TokenChain("arbitrum", "ETH", _evm),
    TokenChain("optimism", "ETH", _evm),
    TokenChain("base", "ETH", _evm),
    TokenChain("avalanche", "AVAX", _evm),
    TokenChain("kaia", "KAIA", _evm),
    TokenChain("solana", "SOL", _solana),
    TokenChain("tron", "TRX", _tron),
    TokenChain("ton", "TON", _ton),
    TokenChain("sui", "SUI", _move),
    TokenChain("aptos", "APT", _move),
    TokenChain("starknet", "STRK", _starknet),
    TokenChain("near", "NEAR", _near),
    TokenChain("stellar", "XLM", _stellar),
    TokenChain("xrpl", "XRP", _xrpl),
    TokenChain("bitcoin", "BTC", _none),
    TokenChain("litecoin", "LTC", _none),
    TokenChain("dogecoin", "DOGE", _none),
)
CHAINS: Final[Mapping[str, TokenChain]] = {one.id: one for one in _CHAINS}


def chain_of(field: str, sent: str) -> TokenChain:
    """Errors: InvalidParameterError, which names the id where the chain is meant."""
    found = CHAINS.get(sent)
    if found is not None:
        return found
    meant = CHAINS.get(sent.strip().lower())
    if meant is not None:
        raise InvalidParameterError(field, f"write {meant.id}, the id of this chain")
    raise InvalidParameterError(field, f"write the id of a chain: {', '.join(CHAINS)}")


def canonical_address(field: str, chain: TokenChain, base: str, sent: str) -> str:
    """The one text of the contract of `base` on that chain.

    Errors: InvalidParameterError, which says what is wrong with the address.
    """
    if sent == NATIVE:
        if base != chain.native:
            raise InvalidParameterError(
                field, f"{NATIVE} is {chain.native} on {chain.id}; write the contract of {base}"
            )
        return NATIVE
    try:
        return chain.canonical(sent)
    except NotAnAddressError as error:
        raise InvalidParameterError(field, f"on {chain.id}, {error.rule}") from error
