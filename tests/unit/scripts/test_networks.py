"""A network's name is one of ape-config.yaml, wherever a command takes one."""

from collections.abc import Callable

import pytest
import typer
from typer.testing import CliRunner

from scripts import _deployments, preflight, verify_source
from scripts._deployments import network_fault


@pytest.mark.parametrize("name", ["devnet", "sepolia"])
def test_a_network_of_the_configuration__is_right(name: str) -> None:
    assert network_fault(name) is None


@pytest.mark.parametrize("name", ["", "nowhere", "solidity", "../x"])
@pytest.mark.parametrize("app", [preflight.app, verify_source.app])
def test_another_name__is_refused_with_those_that_there_are(
    app: Callable[..., None], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOYMENT_FILE", "/nowhere.json")
    assert isinstance(app, typer.Typer)
    done = CliRunner().invoke(app, ["--network", name])
    assert done.exit_code == 2
    assert f"NETWORK: {name!r} is not in ape-config.yaml; use one of devnet, sepolia" in (
        done.output
    )


def test_where_there_is_no_configuration__the_record_alone_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_deployments, "IS_CHECKOUT", False)
    assert network_fault("anything") is None
