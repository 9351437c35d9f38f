"""Addresses: each chain's form, its bounds, and the one text that is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.areas.mining.rules.chains import CHAINS, NATIVE, canonical_address, chain_of
from api.areas.mining.rules.encodings import (
    BASE58_CHARACTERS_MOST,
    base32_crc16_bytes,
    base58_bytes,
    base58check_bytes,
    base64_crc16_bytes,
)
from core.errors import InvalidParameterError
from tests.each import each

LINK = "0x514910771AF9Ca656af840dff83E8264EcF986CA"
TETHER_ON_TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
TETHER_ON_TON = "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"
TETHER_ON_TON_RAW = "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe"
USDC_ON_SOLANA = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
USDC_ON_STELLAR = "USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
USD_ON_XRPL = "USD.rvYAfWj5gh67oV6fW32ZzP3Aw4Eubs59B"
USDC_ON_SUI = "0xdba34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7::usdc::USDC"
ETH_ON_STARKNET = "0x049d36570d4e46f48e99674bd3fcc84644ddd6b96f7c741b1562b82f9e004dc7"
PRIME = 2**251 + 17 * 2**192 + 1


def kept(chain: str, sent: str, base: str = "XYZ") -> str:
    return canonical_address("field_value", CHAINS[chain], base, sent)


def says(chain: str, sent: str, base: str = "XYZ") -> str:
    with pytest.raises(InvalidParameterError) as refused:
        kept(chain, sent, base)
    assert refused.value.field == "field_value"
    return refused.value.rule


@each("sent", [LINK, LINK.lower(), "0x" + LINK[2:].upper(), LINK.replace("x", "X")])
def test_an_evm_address__is_kept_with_its_checksum(sent: str) -> None:
    assert kept("ethereum", sent) == LINK


def test_an_evm_address__with_one_capital_wrong__is_refused() -> None:
    assert "EIP-55 checksum" in says("ethereum", LINK.replace("CA", "Ca"))


@each("sent", [LINK[:-1], LINK + "0", LINK[2:], "0x" + "g" * 40, LINK + "\n"])
def test_an_evm_address__of_another_length_or_alphabet__is_refused(sent: str) -> None:
    assert says("base", sent) == "on base, write 0x and 40 hex characters"


@each(
    ("chain", "sent", "canonical"),
    [
        ("solana", USDC_ON_SOLANA, USDC_ON_SOLANA),
        ("solana", "1" * 32, "1" * 32),
        ("tron", TETHER_ON_TRON, TETHER_ON_TRON),
        ("ton", TETHER_ON_TON, TETHER_ON_TON_RAW),
        ("ton", TETHER_ON_TON_RAW.upper(), TETHER_ON_TON_RAW),
        ("sui", USDC_ON_SUI, USDC_ON_SUI),
        ("aptos", "0xA", "0x" + "0" * 63 + "a"),
        ("aptos", "0x1::aptos_coin::AptosCoin", f"0x{'0' * 63}1::aptos_coin::AptosCoin"),
        ("starknet", ETH_ON_STARKNET, ETH_ON_STARKNET),
        ("starknet", "0x1", f"0x{1:064x}"),
        ("starknet", hex(PRIME - 1), f"0x{PRIME - 1:064x}"),
        ("near", "usdt.tether-token.near", "usdt.tether-token.near"),
        ("near", "ab", "ab"),
        ("near", "a" * 64, "a" * 64),
        ("stellar", USDC_ON_STELLAR, USDC_ON_STELLAR),
        ("xrpl", USD_ON_XRPL, USD_ON_XRPL),
    ],
)
def test_an_address__is_kept_in_its_chains_one_form(chain: str, sent: str, canonical: str) -> None:
    assert kept(chain, sent) == canonical
    assert kept(chain, canonical) == canonical


@each(
    ("chain", "sent"),
    [
        ("solana", USDC_ON_SOLANA[:-2]),
        ("solana", USDC_ON_SOLANA.lower()),  # l is not a digit of base58
        ("solana", "1" * 31),
        ("solana", "1" * 33),
        ("solana", ""),
        ("tron", TETHER_ON_TRON[:-1] + "u"),
        ("tron", TETHER_ON_TRON.lower()),
        ("tron", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),  # of another network
        ("ton", TETHER_ON_TON[:-1] + "t"),
        ("ton", TETHER_ON_TON + "A"),
        ("ton", "2:" + "0" * 64),
        ("ton", "0:" + "0" * 63),
        ("sui", "0x" + "0" * 65),
        ("sui", "0x2::sui"),
        ("sui", "0x2::sui::SUI::more"),
        ("sui", "0x"),
        ("aptos", "1"),
        ("starknet", "0x0"),
        ("starknet", hex(PRIME)),
        ("near", "a"),
        ("near", "a" * 65),
        ("near", "Usdt.near"),
        ("near", "usdt..near"),
        ("stellar", USDC_ON_STELLAR[:-1] + "A"),
        ("stellar", USDC_ON_STELLAR.partition(":")[2]),  # an account without a code
        ("stellar", "TOOLONGACODE1:" + USDC_ON_STELLAR.partition(":")[2]),
        ("xrpl", USD_ON_XRPL[:-1] + "b"),
        ("xrpl", USD_ON_XRPL.partition(".")[2]),
        ("xrpl", "US." + USD_ON_XRPL.partition(".")[2]),
    ],
)
def test_what_is_no_address_of_a_chain__is_refused_with_its_form(chain: str, sent: str) -> None:
    assert says(chain, sent).startswith(f"on {chain}, write ")


@each("chain", ["bitcoin", "litecoin", "dogecoin"])
def test_a_chain_without_contracts__takes_its_own_coin_alone(chain: str) -> None:
    assert kept(chain, NATIVE, CHAINS[chain].native) == NATIVE
    assert "has no contracts" in says(chain, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")


def test_native__is_the_chains_own_coin_and_no_other() -> None:
    assert kept("ethereum", NATIVE, "ETH") == NATIVE
    assert (
        says("ethereum", NATIVE, "LINK") == "native is ETH on ethereum; write the contract of LINK"
    )
    assert says("ethereum", "Native", "ETH").startswith("on ethereum, ")


HOSTILE = [
    "",
    "\u202e" + LINK,
    LINK + "\u200b",
    "\uff10x" + LINK[2:],
    "\x00",
    "1" * 100_000,
    "\U0001d7cex" + "0" * 40,
]


@each("chain", CHAINS)
@each("sent", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text__is_an_address_nowhere(chain: str, sent: str) -> None:
    assert says(chain, sent)


@given(st.sampled_from(sorted(CHAINS)), st.text(max_size=80))
def test_any_text__is_refused_or_has_one_canonical_form(chain: str, sent: str) -> None:
    try:
        found = kept(chain, sent)
    except InvalidParameterError:
        return
    assert kept(chain, found) == found
    assert found.isascii()


@given(st.binary(max_size=40))
def test_encodings__never_raise(raw: bytes) -> None:
    text = raw.decode("latin-1")
    for decode in (base58_bytes, base58check_bytes, base64_crc16_bytes, base32_crc16_bytes):
        assert decode(text) is None or isinstance(decode(text), bytes)


def test_base58__is_bounded_since_it_costs_the_square_of_its_length() -> None:
    assert base58_bytes("1" * BASE58_CHARACTERS_MOST) == bytes(BASE58_CHARACTERS_MOST)
    assert base58_bytes("1" * (BASE58_CHARACTERS_MOST + 1)) is None


@each("sent", ["Ethereum", "ETHEREUM", "ethereum "])
def test_another_case_of_a_chain__is_refused_with_its_id(sent: str) -> None:
    with pytest.raises(InvalidParameterError, match="write ethereum, the id of this chain"):
        chain_of("field_value", sent)


@each("sent", ["", "1", "eip155:1", "erc20", "ethereum\u200b", "\uff45thereum"])
def test_what_is_no_chain__is_refused_with_all_ids(sent: str) -> None:
    with pytest.raises(InvalidParameterError, match="write the id of a chain: ethereum, bsc"):
        chain_of("field_value", sent)
