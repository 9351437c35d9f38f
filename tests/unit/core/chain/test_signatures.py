"""A signature holds exactly when the factory would accept it."""

from dataclasses import dataclass

from core.chain.reader import At
from core.chain.signatures import recovered_address, verify_digest
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
