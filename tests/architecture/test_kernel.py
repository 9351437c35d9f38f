"""The kernel knows no area, and few things of a call are its own (docs/decisions/0050)."""

import subprocess
import sys
from dataclasses import fields

from api.kernel.operation import Deps, Operation
from tests.architecture.test_contexts import CONTEXTS, ROOT, place_of

LOADED = "import sys, api.kernel.operation; print(*sys.modules)"


def test_the_declaration_of_operations__loads_no_context_but_identity_and_credits() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    contexts = {place_of(one) for one in loaded if one.startswith("core.")} - {None}
    assert "mandate" in CONTEXTS
    assert contexts <= {"core.identity", "core.credits"}
    assert [module for module in loaded if module.startswith(("api.areas", "api.payments"))] == []


def test_what_every_call_is_handed__has_at_most_12_fields() -> None:
    assert len(fields(Deps)) <= 12


def test_an_operation__has_at_most_20_fields() -> None:
    assert len(fields(Operation)) <= 20
