"""A signature holds exactly when the factory would accept it."""

from dataclasses import dataclass

from core.chain.reader import At
from core.chain.signatures import kept_signature, key_signature, recovered_address, verify_digest
from tests.each import each
from tests.personas import OWNER, STRANGER

DIGEST = "0x" + "42" * 32
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
DELEGATED = bytes.fromhex("ef0100") + bytes(20)


@dataclass
class Wallets:
    """Accounts with code, and the one signature that a contract wallet calls valid."""

    code: bytes = b""
    valid: str | None = None

    def code_at(self, address: str, at: At = "latest") -> bytes:
        return self.code

    def is_erc1271_signature(
        self, wallet: str, digest: str, signature: str, at: At = "latest"
    ) -> bool:
        return signature == self.valid


def written_otherwise(signature: str) -> dict[str, str]:
    """A key's signature as wallets write it beside 65 bytes with v 27 or 28."""
    raw = bytes.fromhex(signature.removeprefix("0x"))
    assert len(raw) == 65
    bit = raw[64] - 27
    compact = raw[:32] + bytes([raw[32] | bit << 7]) + raw[33:64]
    return {
        "v 0 or 1": "0x" + raw[:64].hex() + f"{bit:02x}",
        "64 bytes": "0x" + compact.hex(),
        "in capitals": "0x" + compact.hex().upper(),
    }


SIGNATURE = OWNER.signer.sign_digest(DIGEST)


def changed(*, v: int | None = None, s: int | None = None) -> str:
    raw = bytearray.fromhex(SIGNATURE[2:])
    if v is not None:
        raw[64] = v
    if s is not None:
        raw[32:64] = s.to_bytes(32, "big")
    return "0x" + raw.hex()


S = int.from_bytes(bytes.fromhex(SIGNATURE[2:])[32:64], "big")


def test_an_owners_key__is_accepted_in_any_case_of_the_address() -> None:
    assert verify_digest(OWNER.address, DIGEST, SIGNATURE, Wallets())
    assert verify_digest(OWNER.address.lower(), DIGEST, SIGNATURE, Wallets())


def test_another_key_or_digest__is_refused() -> None:
    assert not verify_digest(STRANGER.address, DIGEST, SIGNATURE, Wallets())
    assert not verify_digest(OWNER.address, "0x" + "43" * 32, SIGNATURE, Wallets())


def test_a_delegated_account__still_signs_with_its_key() -> None:
    assert verify_digest(OWNER.address, DIGEST, SIGNATURE, Wallets(code=DELEGATED))


def test_the_malleable_twin__is_refused() -> None:
    flipped = 28 if SIGNATURE.endswith("1b") else 27
    assert not verify_digest(OWNER.address, DIGEST, changed(v=flipped, s=ORDER - S), Wallets())


@each("v", [0, 1, 26, 29, 35])
def test_a_v_other_than_27_or_28__is_refused(v: int) -> None:
    assert recovered_address(DIGEST, changed(v=v)) is None


@each(
    "signature",
    ["", "0x", "0x12", SIGNATURE[:-2], SIGNATURE + "00", "0x" + "zz" * 65, "0x" + "00" * 65],
)
def test_what_is_no_signature__is_refused(signature: str) -> None:
    assert not verify_digest(OWNER.address, DIGEST, signature, Wallets())


def test_a_contract_wallet__is_asked() -> None:
    wallet = Wallets(code=b"\x60", valid="0x1234")
    assert verify_digest(STRANGER.address, DIGEST, "0x1234", wallet)
    assert not verify_digest(STRANGER.address, DIGEST, "0x1235", wallet)


def test_an_account_without_code__is_never_asked() -> None:
    assert not verify_digest(STRANGER.address, DIGEST, "0x1234", Wallets(valid="0x1234"))


def signatures_of_both_parities() -> list[tuple[str, str]]:
    """(digest, OWNER's signature of it), with both values of v."""
    digests = [f"0x{number:064x}" for number in range(1, 12)]
    signed = [(digest, OWNER.signer.sign_digest(digest)) for digest in digests]
    assert {signature[-2:] for _, signature in signed} == {"1b", "1c"}
    return signed


@each(("digest", "signature"), signatures_of_both_parities)
def test_a_keys_signature__written_in_another_way__is_kept_in_the_one_form(
    digest: str, signature: str
) -> None:
    for written in (signature, *written_otherwise(signature).values()):
        assert key_signature(written) == signature
        assert kept_signature(OWNER.address.lower(), digest, written) == signature


def test_the_example_of_eip_2098__is_read() -> None:
    r = "68a020a209d3d56c46f38cc50a33f704f4a9a10a59377f8dd762ac66910e9b90"
    y_parity_and_s = "7e865ad05c4035ab5792787d4a0297a43617ae897930a6fe4d822b8faea52064"
    assert key_signature("0x" + r + y_parity_and_s) == "0x" + r + y_parity_and_s + "1b"
    r = "9328da16089fcba9bececa81663203989f2df5fe1faa6291a45381c81bd17f76"
    y_parity_and_s = "939c6d6b623b42da56557e5e734a43dc83345ddfadec52cbe24d0cc64f550793"
    s = "139c6d6b623b42da56557e5e734a43dc83345ddfadec52cbe24d0cc64f550793"
    assert key_signature("0x" + r + y_parity_and_s) == "0x" + r + s + "1c"


@each(
    "odd",
    [
        *(changed(v=v) for v in (2, 26, 29, 35, 36, 37, 255)),
        *(SIGNATURE + "00", SIGNATURE[:-4], "0x", "0x12", "", "0x" + "zz" * 64, "0x" + "00" * 64),
    ],
)
def test_what_no_key_writes__is_left_as_it_is_and_refused(odd: str) -> None:
    assert kept_signature(OWNER.address, DIGEST, odd) == odd
    assert recovered_address(DIGEST, key_signature(odd)) is None
    assert not verify_digest(OWNER.address, DIGEST, odd, Wallets())


@each("written", written_otherwise(SIGNATURE).values())
def test_a_contract_wallets_bytes__stay_as_they_are(written: str) -> None:
    """They are its own to read, whatever their length and their last byte."""
    wallet = Wallets(code=b"\x60", valid=written)
    kept = kept_signature(STRANGER.address, DIGEST, written)
    assert kept == written
    assert verify_digest(STRANGER.address, DIGEST, kept, wallet)


@each("written", written_otherwise(SIGNATURE).values())
def test_the_contracts_form__stays_the_only_one_that_recovers(written: str) -> None:
    """Records hold what the factory takes: `verify-record` and the factory agree."""
    assert recovered_address(DIGEST, written) is None


def test_the_malleable_twin_in_64_bytes__is_refused() -> None:
    twin = written_otherwise(changed(v=28 if SIGNATURE.endswith("1b") else 27, s=ORDER - S))
    assert kept_signature(OWNER.address, DIGEST, twin["v 0 or 1"]) == twin["v 0 or 1"]
