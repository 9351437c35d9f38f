"""Digests and hashes computed in Python are those that the contracts compute."""

from eth_abi.abi import encode as abi_encode
from eth_utils.address import to_checksum_address

from core.chain.abi import call_by_signature, function
from core.chain.reader import refusal_name
from core.chain.signatures import ERC6492_MAGIC, verify_digest
from core.mandate.chain import typed_data
from core.mandate.rules.lifecycle import VaultStatus
from tests.integration.chain_fixtures import CHAIN_ID, DeployedChain
from tests.personas import AGENT, OWNER, STRANGER


def test_the_terms_digest_is_the_factorys(deployed: DeployedChain) -> None:
    terms = deployed.terms("m_4k2v7c3xqa", approval_above=5, on_floor=1, nonce=2**256 - 1)
    assert deployed.digest(terms) == deployed.reader.terms_digest(terms)


def test_the_x402_payment_digest_is_the_adapters(deployed: DeployedChain) -> None:
    adapter = deployed.contracts["x402_adapter"]
    payment = (OWNER.address, AGENT.address, 7, "0x" + "ab" * 32, "0x" + "cd" * 32, 1_900_000_000)
    abi = function("X402Adapter", "paymentDigest")
    (on_chain,) = abi.decode_output(deployed.reader.call(adapter, abi.encode(*payment)))
    assert typed_data.x402_payment(adapter, CHAIN_ID, *payment).digest == on_chain


def test_the_rules_hash_and_both_signatures_are_accepted_at_creation(
    deployed: DeployedChain,
) -> None:
    terms = deployed.terms("m_4k2v7c3xqa")
    vault = deployed.create_vault(terms)
    assert deployed.reader.status(vault) is VaultStatus.WORKING
    assert deployed.reader.is_vault(vault)


def test_a_state_is_read_at_the_named_block(deployed: DeployedChain) -> None:
    vault = deployed.create_vault(deployed.terms("m_4k2v7c3xqa"))
    before = deployed.reader.header()
    assert before is not None
    deployed.buy(vault, 40_000_000)
    reader = deployed.reader
    old, new = (
        (reader.worth(vault, at), reader.usdc_balance(vault, at)) for at in (before.hash, "latest")
    )
    assert (old, new) == (((1_000_000_000, 0), 1_000_000_000), ((1_000_000_000, 0), 960_000_000))
    assert (reader.status(vault).word, reader.stop_floor(vault), reader.remaining(vault).today) == (
        "working",
        950_000_000,
        260_000_000,
    )
    assert (deployed.reader.lock(vault).withdrawable, deployed.reader.lock(vault).reason) == (
        False,
        "working",
    )


def contract_answering(deployed: DeployedChain, word: str) -> str:
    """A contract that answers every call with one word."""
    address = "0x00000000000000000000000000000000000000AA"
    deployed.rpc.call("anvil_setCode", [address, "0x7f" + word + "60005260206000f3"])
    return address


def test_a_contract_wallet__is_believed_on_its_magic_word_alone(deployed: DeployedChain) -> None:
    digest = "0x" + "42" * 32
    assert verify_digest(
        contract_answering(deployed, "1626ba7e" + "00" * 28), digest, "0x1234", deployed.reader
    )
    assert not verify_digest(
        contract_answering(deployed, "00" * 31 + "01"), digest, "0x1234", deployed.reader
    )
    # It reverts.
    assert not verify_digest(deployed.contracts["factory"], digest, "0x1234", deployed.reader)
    assert not verify_digest(STRANGER.address, digest, "0x1234", deployed.reader)


def test_a_wallet_that_does_not_exist_yet__is_believed_on_what_it_would_say(
    deployed: DeployedChain,
) -> None:
    creator, digest = deployed.deploy("ERC1271WalletCreator"), "0x" + "42" * 32
    predict = deployed.reader.call(creator, call_by_signature("predict(address)", [OWNER.address]))
    wallet = to_checksum_address(predict[-20:])
    creation = call_by_signature("create(address)", [OWNER.address])

    def wrapped(signature: str) -> str:
        parts = abi_encode(
            ["address", "bytes", "bytes"],
            [creator, bytes.fromhex(creation[2:]), bytes.fromhex(signature[2:])],
        )
        return "0x" + parts.hex() + ERC6492_MAGIC

    assert verify_digest(wallet, digest, wrapped(OWNER.signer.sign_digest(digest)), deployed.reader)
    assert not verify_digest(
        wallet, digest, wrapped(STRANGER.signer.sign_digest(digest)), deployed.reader
    )
    assert not verify_digest(wallet, digest, "0x1234" + ERC6492_MAGIC, deployed.reader)
    assert deployed.reader.code_at(wallet) == b"", "asking creates nothing"


def test_replay__runs_under_the_blocks_own_time(deployed: DeployedChain) -> None:
    vault = deployed.create_vault(deployed.terms("m_4k2v7c3xqa"))
    parent = deployed.reader.header()
    assert parent is not None
    ends_at = deployed.now + 30 * 24 * 3600
    transaction = {
        "from": AGENT.address,
        "to": vault,
        "input": deployed.buy_data(1),
        "gas": hex(1_000_000),
    }
    assert (
        deployed.reader.replay(transaction, parent.hash, parent.number + 1, parent.timestamp + 1)
        is None
    )
    data = deployed.reader.replay(transaction, parent.hash, parent.number + 1, ends_at + 10)
    assert data is not None
    assert refusal_name(data) == "MandateEnded"
