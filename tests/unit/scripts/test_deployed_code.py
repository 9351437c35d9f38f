"""Deployed code against compiled code: every byte counts, zeros too, and immutables are what the
record gives.
"""

from core.mandate.venues import erc4626, uniswap_v3
from scripts._deployed_code import (
    EXPECTED as EXPECTED_OF,
)
from scripts._deployed_code import (
    Immutable,
    address_word,
    code_faults,
    domain_immutables,
    immutable_places,
    metadata_start,
    number_word,
    short_string_word,
)
from scripts._deployments import Deployed
from tests.each import each

USDC, THIEF = "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "0x" + "66" * 20
METADATA = (
    bytes.fromhex("a264697066735822")
    + b"\x12\x20"
    + b"\x12" * 32
    + bytes.fromhex("64736f6c634300081e0033")
)
# PUSH32 immutable, a run of zeros that the source has, PUSH32 the same immutable.
PROGRAM = b"\x7f" + bytes(32) + b"\x60" + bytes(9) + b"\x7f" + bytes(32) + b"\x00"
COMPILED = PROGRAM + METADATA
PLACES = ((1, 44),)
EXPECTED = (Immutable("USDC", address_word(USDC)),)


def deployed(*, first: bytes = address_word(USDC), second: bytes = address_word(USDC)) -> bytearray:
    code = bytearray(COMPILED)
    code[1:33], code[44:76] = first, second
    return code


def faults(found: bytearray) -> list[str]:
    return code_faults(COMPILED, bytes(found), PLACES, EXPECTED)


def test_code__as_compiled_with_the_recorded_immutable__is_right() -> None:
    assert faults(deployed()) == []


@each(
    "at", [33, 35, 42, 43, 76], ids=["code", "zero run", "end of the run", "after it", "last byte"]
)
def test_code__one_byte_flipped__is_found(at: int) -> None:
    """Zeros of the source were passed over, as if each were an immutable's."""
    found = deployed()
    found[at] ^= 0x01
    assert faults(found) == [f"differs from the source at byte {at}"]


def test_code__an_immutable_of_another_usdc__is_found_at_each_place() -> None:
    other, right = address_word(THIEF), address_word(USDC)
    assert faults(deployed(first=other, second=other)) == [
        f"immutable USDC at byte {at} is 0x{other.hex()}, not 0x{right.hex()}" for at in (1, 44)
    ]


def test_code__an_immutable_that_differs_at_one_place__is_found() -> None:
    assert len(faults(deployed(second=address_word(THIEF)))) == 1


def test_code__dirt_above_an_address__is_found() -> None:
    assert len(faults(deployed(first=b"\x01" + address_word(USDC)[1:]))) == 1


def test_code__an_immutable_that_nobody_recorded__must_agree_with_itself() -> None:
    unknown = (Immutable("_cachedThis", None),)
    same = bytes(deployed(first=address_word(THIEF), second=address_word(THIEF)))
    mixed = bytes(deployed(second=address_word(THIEF)))
    assert code_faults(COMPILED, same, PLACES, unknown) == []
    assert len(code_faults(COMPILED, mixed, PLACES, unknown)) == 1


def test_code__metadata_alone_differs__is_said_in_its_own_words() -> None:
    found = deployed()
    found[len(PROGRAM) + 10] ^= 0x01
    assert faults(found) == [
        (
            "runs the same code, but its metadata comes from other sources or settings (a "
            "comment is enough)"
        )
    ]


def test_code__of_another_length__is_found() -> None:
    assert faults(deployed() + b"\x00") == [
        f"{len(COMPILED) + 1} bytes, the source compiles to {len(COMPILED)}"
    ]


def test_code__gone__is_found() -> None:
    assert faults(bytearray()) == [f"0 bytes, the source compiles to {len(COMPILED)}"]


def test_code__an_immutable_that_is_not_known_here__is_found() -> None:
    assert code_faults(COMPILED, bytes(deployed()), (*PLACES, (90,)), EXPECTED) == [
        "the compiler placed 2 immutables, 1 are known here"
    ]


def test_metadata__begins_where_its_length_says() -> None:
    assert metadata_start(COMPILED) == len(PROGRAM)


def test_metadata__a_length_beyond_the_code__is_none() -> None:
    assert metadata_start(b"\x60\xff\xff") == 3


def test_places__are_in_the_order_of_declaration() -> None:
    references = {
        "90": [{"start": 5, "length": 32}],
        "100": [{"start": 1, "length": 32}, {"start": 60, "length": 32}],
    }
    assert immutable_places({"deployedBytecode": {"immutableReferences": references}}) == (
        (5,),
        (1, 60),
    )


def test_places__of_a_contract_without_immutables__are_none() -> None:
    assert immutable_places({"deployedBytecode": {}}) == ()


def test_domain__is_that_of_eip_712() -> None:
    """The separator that Circle's USDC on Base answers to DOMAIN_SEPARATOR()."""
    domain = domain_immutables("USD Coin", "2", 8453, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")
    assert (domain[0].value or b"").hex() == (
        "02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"
    )
    assert [one.name for one in domain][:3] == [
        "_cachedDomainSeparator",
        "_cachedChainId",
        "_cachedThis",
    ]


def test_short_string__has_its_length_in_the_last_byte() -> None:
    assert short_string_word("2") == b"2" + bytes(30) + b"\x01"


def test_an_adapter_that_an_operator_chose__has_its_own_arguments_as_immutables() -> None:
    """Equal ones too: 30 and 30."""
    factory, pool, token = ("0x" + digit * 40 for digit in "345")
    at = {"factory": factory, "usdc": USDC, "test_pool": THIEF, uniswap_v3.TOKEN: THIEF}
    made = Deployed(
        "cellar_erc4626_adapter",
        "Erc4626Adapter",
        THIEF,
        1,
        None,
        [factory, pool, 30, 2_000, 30],
        "",
    )
    words = {one.name: one.value for one in EXPECTED_OF[erc4626.VENUE.contract](made, at, 1)}
    assert (words["pool"], words["USDC"]) == (address_word(pool), address_word(USDC))
    assert [words[name] for name in ("exitFeeBps", "maxGrowthBps", "maxLossBps")] == [
        number_word(one) for one in (30, 2_000, 30)
    ]
    arguments = [factory, pool, token, 3_000, 100, 7]
    made = Deployed("weth_uniswap_v3_adapter", "UniswapV3Adapter", THIEF, 1, None, arguments, "")
    words = {one.name: one.value for one in EXPECTED_OF[uniswap_v3.VENUE.contract](made, at, 1)}
    chosen = {"usdc": USDC, uniswap_v3.FACTORY: pool, uniswap_v3.TOKEN: token, "fee": "3000"}
    assert words["pool"] == address_word(uniswap_v3.pool_address(chosen))
    assert (words["token"], words["minLiquidity"]) == (address_word(token), number_word(7))
