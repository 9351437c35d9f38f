"""Rows that the agent signs in a real record: an honest one is sound, and every kind of tampering
with them is found by its name.
"""

import json
from collections.abc import Iterator

import pytest

from api.client.verify.findings import Verdict
from core.db.embedded import EmbeddedPostgres
from tests.integration.chain_fixtures import USDC
from tests.integration.client.conftest import (
    Exported,
    export,
    following,
    judged,
    names,
    settle_reverts,
)
from tests.integration.client.signing_rows import report_signed, report_unsigned
from tests.integration.client.tampering_of_authors import AUTHORS_KINDS


@pytest.fixture(scope="module")
def signed(postgres: EmbeddedPostgres, template: str) -> Iterator[Exported]:
    """Funded, claimed without a signature, bought, and reported with three."""
    with following(postgres, template) as follower:
        chain, mandate = follower.deployed, follower.issue()
        vault = chain.create_vault(mandate.terms)
        follower.catch_up()
        report_unsigned(follower, mandate, "I shall buy soon.")
        report_signed(follower, mandate, "Buying at 1.02.")
        chain.buy(vault, 30 * USDC)
        follower.catch_up()
        for why in ("Bought at 1.02.", "Selling on Friday."):
            report_signed(follower, mandate, why)
        settle_reverts(follower.chain)
        lines = export(follower, mandate)
        yield Exported(chain, follower, mandate, vault, lines, (), vault)


def names_found(exported: Exported, kind: str) -> list[str]:
    report = judged(exported.deployed, AUTHORS_KINDS[kind].apply(exported))
    assert report.verdict is Verdict.DIFFERENT
    return sorted(names(report))


def test_an_honest_record__of_an_agent_who_began_to_sign__is_sound(signed: Exported) -> None:
    report = judged(signed.deployed, signed.lines)
    assert (report.findings, report.unchecked) == ([], [])
    assert report.figures["signed_rows"] == 3


def test_a_claim__is_its_authors_word_where_the_author_signed_it_alone(signed: Exported) -> None:
    """The service could write any claim in the name of an agent who had never signed."""
    report = judged(signed.deployed, signed.lines)
    own = [row["body"] for row in map(json.loads, signed.lines[1:-1]) if "body" in row]
    assert report.signed_claims == [body["seq"] for body in own if "author" in body]
    assert len(report.claims) == len(report.signed_claims) + 1
    assert report.as_json()["signed_claims"] == report.signed_claims


@pytest.mark.parametrize("kind", AUTHORS_KINDS)
def test_tampering_with_signed_rows__is_found_by_its_name(signed: Exported, kind: str) -> None:
    assert AUTHORS_KINDS[kind].name in names_found(signed, kind)
