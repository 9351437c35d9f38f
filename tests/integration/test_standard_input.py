"""A standard JSON input has to hold all of its sources: whoever reads it has no other."""

import pytest

from scripts.verify_source import NotTheSameError, compiled, standard_input

SETTINGS = {"evmVersion": "cancun", "optimizer": {"enabled": True, "runs": 200}, "remappings": []}
CONTEXT = "node_modules/@openzeppelin/contracts/utils/Context.sol"
SOURCE = f'// SPDX-License-Identifier: MIT\npragma solidity ^0.8.0;\nimport "{CONTEXT}";\ncontract A is Context {{}}\n'


def test_a_source_that_only_this_folder_has__is_missed() -> None:
    least = standard_input({"A.sol": SOURCE}, SETTINGS, {"*": {"*": ["evm.bytecode.object"]}})
    with pytest.raises(NotTheSameError, match="not found"):
        compiled(least)
