"""The process beside its parts: the port it needs and the operator's key it admits."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from api.kernel.caller import OperatorCaller
from api.kernel.credentials import prove_key
from api.kernel.operation import Deps, Refusal
from api.main import admit_operator, listen
from core.errors import InvalidParameterError
from core.settings import Settings


def test_a_taken_port__is_named_with_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            InvalidParameterError,
            match=f"PORT: cannot listen on 127.0.0.1:{port} .* set PORT to a free one",
        ):
            listen("127.0.0.1", port)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        database_url="postgresql+psycopg://unused",
        rpc_urls=["http://127.0.0.1:8545"],
        deployment_file=tmp_path,
        operator_key=SecretStr("first"),
    )


def caller_of(deps: Deps, key: str) -> object:
    return prove_key(key, deps, deps.clock(), opens_stream=False)[0]


def test_the_operators_key__is_the_one_that_is_set_now(deps: Deps, settings: Settings) -> None:
    admit_operator(settings, deps)
    admit_operator(settings, deps)
    first = caller_of(deps, "first")
    assert isinstance(first, OperatorCaller)
    admit_operator(settings.model_copy(update={"operator_key": SecretStr("second")}), deps)
    second = caller_of(deps, "second")
    assert isinstance(second, OperatorCaller)
    assert second.account_id == first.account_id
    with pytest.raises(Refusal, match="not valid"):
        caller_of(deps, "first")


def test_another_pepper__voids_every_key(deps: Deps, settings: Settings) -> None:
    admit_operator(settings, deps)
    with pytest.raises(Refusal, match="not valid"):
        caller_of(replace(deps, pepper=b"q" * 32), "first")
