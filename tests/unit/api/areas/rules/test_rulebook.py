"""No figure in the rulebook differs from the constant that enforces it."""

import re
from pathlib import Path

from api.areas.rules.service.rulebook import (
    CONSTANTS,
    UNDER_REVIEW,
    Enforcer,
    RuleStatus,
    Topic,
    vault_rules,
)
from core.limits import CallerLimits

CONTRACTS = Path(__file__).parents[5] / "contracts"
SECONDS = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400}
RULES = vault_rules(CallerLimits())


def constants() -> dict[str, int]:
    text = (CONTRACTS / "libraries" / "ConstantsLib.sol").read_text()
    found = re.findall(r"^\w+ constant (\w+) = ([\d_]+)(?: (\w+))?;", text, re.MULTILINE)
    return {name: int(number) * SECONDS.get(unit or "seconds", 1) for name, number, unit in found}


def test_each_contract_constant__has_the_value_of_the_contract() -> None:
    named = {
        one.source.removeprefix(f"{CONSTANTS}."): one.value
        for one in RULES
        if one.enforced_by is Enforcer.CONTRACT_CONSTANT
    }
    assert len(named) >= 5
    assert named == {name: str(constants()[name]) for name in named}


def test_each_setting__is_read_from_the_settings_in_force() -> None:
    changed = {one.id: one.value for one in vault_rules(CallerLimits(daily_ceiling=77))}
    assert changed["daily_ceiling"] == "77"


def test_every_figure_that_callers_are_held_to__is_stated_as_it_is_in_force() -> None:
    """Six of sixty were; the others refused calls by a figure that no page had."""
    in_force = CallerLimits(
        **{
            name: field.default + 1
            for name, field in CallerLimits.model_fields.items()
            if name not in ("agent_bearer_hours", "shared_funders")
        }
    )
    stated = {one.id: (one.source, one.value) for one in vault_rules(in_force)}
    for name in CallerLimits.model_fields.keys() - {"shared_funders"}:
        assert stated[name] == (name.upper(), str(getattr(in_force, name)))


def test_each_rule__is_a_sentence() -> None:
    assert [one.rule for one in RULES if not re.fullmatch(r"[A-Z].*\.", one.rule, re.DOTALL)] == []


def test_each_rule__is_understood_without_the_one_before_it() -> None:
    """ "The same of one account." was a rule."""
    of_another = re.compile(r"the same\b|of (this|these),|.*\bget them\b", re.IGNORECASE)
    assert [one.id for one in RULES if of_another.match(one.rule)] == []


def test_the_enforcers__are_the_four_of_the_specification() -> None:
    assert {one.enforced_by.value for one in RULES} == {
        *("contract constant", "contract immutable", "server", "policy")
    }


def test_a_rule_that_no_code_enforces__has_no_figure() -> None:
    assert [one.id for one in RULES if one.value and one.status is not RuleStatus.LIVE] == []
    assert [one.id for one in RULES if one.value and one.enforced_by is Enforcer.POLICY] == []


def test_each_topic__has_a_rule__and_each_id_is_one() -> None:
    assert {one.topic for one in RULES} == set(Topic)
    ids = [one.id for one in RULES]
    assert len(ids) == len(set(ids))
    assert set(UNDER_REVIEW) <= set(ids)


def test_a_source_in_the_contracts__exists_there() -> None:
    code = "\n".join(path.read_text() for path in CONTRACTS.rglob("*.sol"))
    for one in RULES:
        if one.enforced_by is Enforcer.CONTRACT_IMMUTABLE:
            for name in re.findall(r"(\w+)(?:,|$)", one.source):
                page = one.source.startswith("docs/")
                assert page or re.search(rf"\b(?:function|error) {name}\b", code), one.source


def test_a_page_that_is_named__is_there() -> None:
    pages = {one.source for one in RULES if one.source.startswith("docs/")}
    assert [page for page in pages if not (CONTRACTS.parent / page).exists()] == []
