"""Which errors say that the data is refused, and which say nothing of it."""

import psycopg
from psycopg import errors
from sqlalchemy.exc import DBAPIError, NoResultFound, OperationalError, StatementError, TimeoutError

from core.chain.abi import AbiDecodeError
from core.db.leadership import LeadershipLostError
from core.errors import InvalidParameterError
from indexer.chain.facts import OF_ONE_FACT
from indexer.chain.quarantine import fault_of, refusal_of
from tests.each import each


def wrapped(error: psycopg.Error) -> DBAPIError:
    return DBAPIError.instance("insert", {}, error, psycopg.Error)  # type: ignore[return-value]


REFUSED = [
    errors.CheckViolation,
    errors.NotNullViolation,
    errors.NumericValueOutOfRange,
    errors.UniqueViolation,
    errors.UntranslatableCharacter,
]
OF_THE_DATABASE = [
    errors.DiskFull,
    errors.AdminShutdown,
    errors.LockNotAvailable,
    errors.QueryCanceled,
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.InsufficientPrivilege,
    errors.UndefinedTable,
    errors.OutOfMemory,
    errors.ProgramLimitExceeded,
]


@each("kind", REFUSED)
def test_sqlstate_22_and_23__refuse_the_data(kind: type[psycopg.Error]) -> None:
    for error in (kind("no"), wrapped(kind("no"))):
        refusal = refusal_of(error)
        assert refusal is not None
        assert (refusal.reason, refusal.note) == (
            "database",
            f"The database refuses it (SQLSTATE {kind.sqlstate}).",
        )


@each("kind", OF_THE_DATABASE)
def test_any_other_sqlstate__says_nothing_of_the_data(kind: type[psycopg.Error]) -> None:
    assert refusal_of(kind("no")) is None
    assert refusal_of(wrapped(kind("no"))) is None


def test_text_that_psycopg_does_not_send__is_refused() -> None:
    assert (
        refusal_of(psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes"))
        is not None
    )


OF_THE_DOMAIN = [ValueError(), OverflowError(), UnicodeError(), InvalidParameterError("$", "no")]
OF_OUR_CODE = [
    TypeError(),
    AttributeError(),
    AssertionError(),
    KeyError("usdc"),
    RecursionError(),
    NotImplementedError(),
]


@each("error", OF_THE_DOMAIN)
def test_what_a_pure_function_raises__is_refused_by_the_domain(error: Exception) -> None:
    for raised in (error, StatementError("bind", "insert", {}, error)):
        refusal = refusal_of(raised)
        assert refusal is not None
        assert refusal.reason == "domain"


@each("error", OF_OUR_CODE)
def test_a_defect_of_ours__refuses_no_data(error: Exception) -> None:
    assert refusal_of(error) is None
    assert refusal_of(StatementError("bind", "insert", {}, error)) is None


@each("error", [*OF_THE_DOMAIN, *OF_OUR_CODE[:-1]])
def test_of_one_fact__either_is_that_facts_trouble(error: Exception) -> None:
    assert isinstance(error, OF_ONE_FACT)
    assert fault_of(error).reason == "domain"


@each(
    "error",
    [
        OSError(),
        MemoryError(),
        psycopg.OperationalError("server closed the connection unexpectedly"),
        OperationalError("insert", {}, psycopg.OperationalError("gone")),
        TimeoutError(),
        NoResultFound(),
        LeadershipLostError("indexer", 1),
    ],
)
def test_trouble_that_is_not_the_datas__refuses_nothing(error: Exception) -> None:
    assert refusal_of(error) is None


def test_a_log_that_is_none__is_undecodable() -> None:
    refusal = refusal_of(AbiDecodeError("no"))
    assert refusal is not None
    assert refusal.reason == "undecodable"
