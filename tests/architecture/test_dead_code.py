"""Nothing stands in the product that nobody calls: what vulture finds of functions, methods, classes
and imports is what a framework calls by its name, or what only tests use to build what they ask.
"""

from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("core", "api", "indexer", "keeper", "scripts")
LEFT_OUT = ["*/migrations/versions/*", "*/api/client/operations.py"]  # frozen; generated
KINDS = ("function", "method", "property", "class", "import", "unreachable_code")
BY_DECORATOR = [
    "@*.command", "@*.callback", "@field_validator", "@model_validator", "@event.listens_for",
]  # fmt: skip
BY_NAME = {
    # settings and models of pydantic
    "settings_customise_sources", "model_post_init", "field_title_should_be_set",
    # SQLAlchemy's types and sessions, psycopg's dumpers
    "process_bind_param", "process_result_value", "get_bind", "dump",
    # Starlette's routes and answers
    "get_route_handler", "handle", "simple_response",
    # Prometheus' collectors
    "describe", "collect",
    # ccxt's clock
    "milliseconds",
    # types that stand in texts
    "PathLike", "ProviderAPI", "Calls",
    # methods of the client, which callers use
    "unlink_wallet", "save_record",
}  # fmt: skip
OF_TESTS = {
    # calls and documents whose real author is a wallet, an admin or a contract
    "propose_keeper", "cancel_keeper_proposal", "list_adapter", "execute_batch",
    # the executable models that the contract and the replay are held against
    "after_call", "replayed_worth_usdc_e6",
    # credits without work, and their balance
    "earn", "trial_balance",
    # recorded answers of exchanges
    "RecordingTransport", "ReplayTransport",
}  # fmt: skip


def unused() -> set[str]:
    found = Vulture(ignore_decorators=BY_DECORATOR)
    found.scavenge([ROOT / room for room in ROOMS], exclude=LEFT_OUT)
    return {
        f"{one.filename.relative_to(ROOT)}:{one.first_lineno}: {one.name}"
        for one in found.get_unused_code(min_confidence=60)
        if one.typ in KINDS and one.name not in BY_NAME | OF_TESTS
    }


def test_what_nobody_calls__is_not_there() -> None:
    assert sorted(unused()) == []
