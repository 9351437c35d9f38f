"""The starter wallet: one an account, its key sealed and nowhere else."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from eth_account import Account
from sqlalchemy import inspect, text
from structlog.testing import capture_logs

from core.custody import queries as custody
from core.custody.keys import (
    CustodySigner,
    KeyRing,
    UnknownKeyVersionError,
    version_of,
)
from core.custody.seals import log_unknown_at_start
from core.environment import DRIVER
from core.settings import Settings
from tests.integration.api.custody.conftest import (
    NEW,
    OLD,
    PROVISION,
    TRANSFER,
    TRANSFERS,
    USDC,
    Stage,
)

DIGEST = "0x" + "11" * 32


def test_provision__eight_at_once__make_one_wallet(bare: Stage) -> None:
    agent = bare.agent
    with ThreadPoolExecutor(8) as pool:
        answers = [one.json() for one in pool.map(lambda _: bare.post(PROVISION, agent), range(8))]
    assert len({answer["address"] for answer in answers}) == 1
    assert [answer["created"] for answer in answers].count(True) == 1


def test_provision__two_agents__have_two_wallets(bare: Stage) -> None:
    assert bare.provisioned(0) != bare.provisioned(0, bare.new_agent(None))


def test_provision__without_a_custody_key__says_what_the_operator_must_set(bare: Stage) -> None:
    bare.serve()
    answer = bare.post(PROVISION)
    assert (answer.status_code, answer.json()["code"], answer.json()["service"]["reason"]) == (
        404,
        *["tw_feature_disabled"] * 2,
    )
    assert "CUSTODY_KEY" in answer.json()["detail"]


# The key


def test_the_key__opens_for_its_wallet_alone(bare: Stage) -> None:
    address = bare.provisioned(0)
    sealed = bare.sealed(address)
    signature = CustodySigner(KeyRing([NEW])).sign_digest(sealed, DIGEST)
    assert Account._recover_hash(bytes.fromhex(DIGEST[2:]), signature=signature) == address
    with pytest.raises(UnknownKeyVersionError, match=sealed.key_version):
        CustodySigner(KeyRing([OLD])).sign_digest(sealed, DIGEST)


def test_the_key__is_plain_in_no_row_no_answer_and_no_log(bare: Stage) -> None:
    with capture_logs() as logs:
        answers = [bare.post(PROVISION)]
        address = answers[0].json()["address"]
        bare.chain.mint(address, 100 * USDC)
        answers += [bare.post(TRANSFER), bare.client.get(TRANSFERS, headers=bare.agent)]
        bare.keeper().run()
        bare.keepers.processes[0].die()
        bare.asked(of=agent_with_money(bare))
        bare.keeper(OLD).run()
    key = KeyRing([NEW]).open(bare.sealed(address))
    said = "\n".join([*(answer.text for answer in answers), *map(str, logs), *rows_as_text(bare)])
    assert address[2:].lower() in said.lower()
    for form in (key.hex(), repr(key), str(int.from_bytes(key, "big")), NEW.hex(), repr(NEW)):
        assert form.lower() not in said.lower()


def agent_with_money(stage: Stage) -> dict[str, str]:
    agent = stage.new_agent(Account.create())
    stage.provisioned(USDC, agent)
    return agent


def rows_as_text(stage: Stage) -> list[str]:
    """Every row of every table, bytes as hex."""
    with stage.database.read() as session:
        tables = inspect(stage.database.engine).get_table_names()
        assert "custodial_wallet" in tables
        return [
            str(row)
            for table in tables
            for row in session.scalars(text(f'select cast("{table}" as text) from "{table}"'))
        ]


# Seals


def test_reseal__moves_every_key_to_the_new_key_and_forgets_the_old(bare: Stage) -> None:
    other = bare.provisioned(0, bare.new_agent(None))
    bare.serve(OLD)
    address = bare.provisioned(0)
    before, untouched = KeyRing([OLD]).open(bare.sealed(address)), bare.sealed(other)
    signer = CustodySigner(KeyRing([NEW, OLD]))
    with bare.database.write() as session:
        assert custody.reseal(session, signer.version, signer.resealed) == 1
    assert KeyRing([NEW]).open(bare.sealed(address)) == before
    assert bare.sealed(other) == untouched


def test_reseal__without_the_old_key__changes_nothing(bare: Stage) -> None:
    bare.serve(OLD)
    address = bare.provisioned(0)
    sealed, signer = bare.sealed(address), CustodySigner(KeyRing([NEW]))
    with pytest.raises(UnknownKeyVersionError), bare.database.write() as session:
        custody.reseal(session, signer.version, signer.resealed)
    assert bare.sealed(address) == sealed


def test_the_api_at_its_start__names_the_wallets_of_a_key_that_it_lacks(bare: Stage) -> None:
    bare.serve(OLD)
    address = bare.provisioned(0)
    settings = Settings(
        database_url=DRIVER + "://x",
        rpc_urls="http://127.0.0.1:1",
        deployment_file="x",
        custody_key=NEW.hex(),
    )
    with capture_logs() as logs:
        log_unknown_at_start(bare.deps.database, settings.custody_keys())
    assert [(one["log_level"], one["key_version"], address in one["accounts"]) for one in logs] == [
        ("error", version_of(OLD), True)
    ]
