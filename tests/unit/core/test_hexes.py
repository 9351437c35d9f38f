"""An address that somebody wrote is read as that account or refused, never as another one."""

import pytest

from core.hexes import WRONG_CHECKSUM, ZERO_ADDRESS, read_account, read_address
from tests.each import each

# Source: the test cases of EIP-55 and EIP-1191.
OF_EIP_55 = (
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
)
ACCOUNT = OF_EIP_55[4]
OF_ANOTHER_CHAIN = "0x5aaEB6053f3e94c9b9a09f33669435E7ef1bEAeD"  # EIP-1191, chain 30
ICAP = "XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS"
EXCHANGED = ACCOUNT.replace("6053", "6503")
ONE_CAPITAL = ACCOUNT.replace("aAeb", "AAeb")
OF_ANOTHER_FORM = (
    *(ICAP, ACCOUNT[2:], ACCOUNT[:-1], ACCOUNT + "0", ACCOUNT + "\n", f" {ACCOUNT}", "", "0x"),
    *(
        ACCOUNT.replace("0x", "0x0x"),
        "0x" + "g" * 40,
        "0x" + "\u0661" * 40,
        None,
        5,
        True,
        [ACCOUNT],
    ),
)


@each("address", OF_EIP_55)
def test_an_address__in_lower_or_upper_case_or_with_its_checksum__is_read(address: str) -> None:
    upper = address[2:].upper()
    for text in (address, address.lower(), f"0x{upper}", f"0X{upper}"):
        assert read_address(text) == read_account(text) == address


@each("text", [EXCHANGED, ONE_CAPITAL, OF_ANOTHER_CHAIN, ACCOUNT.swapcase().replace("X", "x")])
def test_an_address__with_another_checksum__is_refused_by_that_name(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"^its EIP-55 checksum, which is in the capital letters, is wrong"
    ) as refused:
        read_address(text)
    assert str(refused.value) == WRONG_CHECKSUM


@each("text", [EXCHANGED.lower(), "0x" + EXCHANGED[2:].upper()])
def test_an_address__without_a_checksum__is_taken_at_its_word(text: str) -> None:
    assert read_address(text).lower() == EXCHANGED.lower()


@each("text", OF_ANOTHER_FORM)
def test_an_address__of_another_form__says_what_to_write(text: object) -> None:
    with pytest.raises(ValueError, match=r"^write an address: 0x and 40 hex characters$"):
        read_address(text)


def test_the_zero_address__is_an_address_and_no_account() -> None:
    assert read_address(ZERO_ADDRESS) == ZERO_ADDRESS
    with pytest.raises(ValueError, match="belongs to nobody"):
        read_account(ZERO_ADDRESS)
