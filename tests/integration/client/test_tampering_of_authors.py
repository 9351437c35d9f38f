"""Rows that the agent signs in a real record: an honest one is sound, every kind of tampering with
them is found by its name, and the table of docs/verify.md is what came out.

`SNAPSHOT=write` writes the table again.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.client.verify.findings import Report, Verdict
from api.client.verify.verification import verify
from core.db.embedded import EmbeddedPostgres
from tests.integration.chain_fixtures import USDC
from tests.integration.client.conftest import Exported, export, following, settle_reverts, trusting
from tests.integration.client.signing_rows import report_signed, report_unsigned
from tests.integration.client.tampering_of_authors import AUTHORS_KINDS

PAGE = Path(__file__).parents[3] / "docs" / "verify.md"
BEGIN, END = "<!-- tampering of authors: begin -->\n", "<!-- tampering of authors: end -->\n"


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


def verified(exported: Exported, lines: list[bytes]) -> Report:
    return verify(
        lines, [exported.deployed.rpc], trusting(exported.deployed), lambda part, done, of: None
    )


def names_found(exported: Exported, kind: str) -> list[str]:
    report = verified(exported, AUTHORS_KINDS[kind].apply(exported))
    assert report.verdict is Verdict.DIFFERENT
    return sorted({finding.name for finding in report.findings})


def test_an_honest_record__of_an_agent_who_began_to_sign__is_sound(signed: Exported) -> None:
    report = verified(signed, list(signed.lines))
    assert (report.findings, report.unchecked) == ([], [])
    assert report.figures["signed_rows"] == 3


def test_a_claim__is_its_authors_word_where_the_author_signed_it_alone(signed: Exported) -> None:
    """The service could write any claim in the name of an agent who had never signed."""
    report = verified(signed, list(signed.lines))
    own = [row["body"] for row in map(json.loads, signed.lines[1:-1]) if "body" in row]
    assert report.signed_claims == [body["seq"] for body in own if "author" in body]
    assert len(report.claims) == len(report.signed_claims) + 1
    assert report.as_json()["signed_claims"] == report.signed_claims


@pytest.mark.parametrize("kind", AUTHORS_KINDS)
def test_tampering_with_signed_rows__is_found_by_its_name(signed: Exported, kind: str) -> None:
    assert AUTHORS_KINDS[kind].name in names_found(signed, kind)


def test_the_table_of_signed_rows__is_what_is_found(signed: Exported) -> None:
    rows = [
        f"| {kind} | {one.what} | {_shown(one.name, names_found(signed, kind))} |\n"
        for kind, one in AUTHORS_KINDS.items()
    ]
    table = "| tampering | the cheat | found as |\n|---|---|---|\n" + "".join(rows)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    shown, _, after = rest.partition(END)
    if os.environ.get("SNAPSHOT") == "write":
        PAGE.write_text(before + BEGIN + table + END + after)
        return
    assert shown == table


def _shown(name: str, found: list[str]) -> str:
    others = [f"`{one}`" for one in found if one != name]
    return f"**`{name}`**" + (", " + ", ".join(others) if others else "")
