"""Server-sent events over a real socket and a real Postgres: what comes, in which order, and what a
break of any kind costs.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial

import httpx
import psycopg
import pytest

from api.areas.mandates.service import events
from api.kernel import streams
from api.kernel.limits import Limits
from api.kernel.operation import Deps
from api.kernel.streams import StreamTimes
from api.kernel.workers import CALLS, CALLS_OF_ONE, Pools, Workers
from api.main import create_app
from core.db.engine import Database, WriteSession
from core.mandate import queries as mandates
from core.mandate.ledger import deferred
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules import events as ev
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from tests.each import each
from tests.integration.api.mandates.following import Follower, eventually, following
from tests.integration.api.mandates.stage import CHAIN_ID, USDC, Stage
from tests.integration.api.serving import served

LIVE = StreamTimes(heartbeat_s=15, lives_s=600)
OWN = "/mandate-wallet/me/events"


def path_of(mandate_id: str) -> str:
    return f"/mandate-wallet/mandates/{mandate_id}/events"


Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture
def serve(deps: Deps, database_url: str) -> Serve:
    """`serve(event_streams=1, times=...)`: an application on a socket, with its own connections:
    the one in this process ends before it.
    """

    def build(times: StreamTimes = LIVE, **limits: int) -> AbstractContextManager[str]:
        own = replace(
            deps,
            limits=Limits(**limits),
            database=Database(database_url, application_name="served"),
            workers=Pools(Workers(CALLS, CALLS_OF_ONE)),
        ).with_part(StreamTimes, times)
        return served(lambda _: create_app(own))

    return build


@pytest.fixture
def base_url(serve: Serve) -> Iterator[str]:
    with serve() as url:
        yield url


def test_a_mandates_stream__begins_with_reset_and_tells_each_new_row_once(
    base_url: str, stage: Stage, mandate_id: str
) -> None:
    with following(base_url + path_of(mandate_id), stage.agent) as follower:
        follower.until(lambda one: one.heard)
        stage.executed(mandate_id, 200 * USDC)
        follower.until(lambda one: len(one.heard) == 2)
    begun, step = follower.heard
    assert (begun.name, begun.data["status"], begun.id) == ("reset", "working", str(begun.seq))
    assert step.data == {
        "mandate_id": mandate_id,
        "seq": begun.seq + 1,
        "kind": "move",
        "reported_by": "chain",
        "is_reversal": False,
        "created_at": "2026-11-21T12:00:00Z",
        "status": "working",
    }
    assert follower.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert follower.retry == "3000"


def test_an_owners_stream__tells_the_rows_of_all_mandates(
    base_url: str, stage: Stage, mandate_id: str
) -> None:
    other = stage.paper()
    with following(base_url + OWN, stage.owner) as follower:
        follower.until(lambda one: one.last_id)
        stage.executed(mandate_id, 10 * USDC)
        stage.executed(mandate_id, 20 * USDC)
        third = stage.paper()
        follower.until(lambda one: len(one.seqs()) >= 3)
    told = [(one.data["mandate_id"], one.name) for one in follower.heard if one.name != "reset"]
    assert told[:2] == [(mandate_id, "step")] * 2
    assert {name for name, _ in told} == {mandate_id, third}
    assert other not in dict(told)


@pytest.mark.parametrize("own", [False, True], ids=["mandate", "owner"])
def test_a_stream_that_is_opened_again__goes_on_where_it_broke(
    base_url: str, stage: Stage, mandate_id: str, own: bool
) -> None:
    url = base_url + (OWN if own else path_of(mandate_id))
    with following(url, stage.owner) as follower:
        follower.until(lambda one: one.last_id)
        stage.executed(mandate_id, 10 * USDC)
        follower.until(lambda one: len(one.seqs()) == 1)
    first, last_id = follower.seqs()[0], follower.last_id
    stage.executed(mandate_id, 20 * USDC)
    stage.executed(mandate_id, 30 * USDC)
    with following(url, stage.owner, last_id) as again:
        again.until(lambda one: len(one.seqs()) == 2)
        stage.executed(mandate_id, 40 * USDC)
        again.until(lambda one: len(one.seqs()) == 3)
    assert again.seqs() == [first + 1, first + 2, first + 3]
    assert "reset" not in again.names()


def has_rows(count: int, follower: Follower) -> bool:
    return len(follower.seqs()) == count


def test_each_id__goes_on_after_the_event_that_carried_it(
    base_url: str, stage: Stage, mandate_id: str
) -> None:
    other = stage.working(purpose="Another one.")
    with following(base_url + OWN, stage.owner) as follower:
        follower.until(lambda one: one.last_id)
        for number in range(3):
            stage.executed((mandate_id, other)[number % 2], 10 * USDC)
        follower.until(lambda one: len(one.seqs()) == 3)
    steps = [one for one in follower.heard if one.name == "step"]
    for number, step in enumerate(steps[:2], start=1):
        with following(base_url + OWN, stage.owner, step.id) as again:
            again.until(partial(has_rows, 3 - number))
        assert [one.data for one in again.heard] == [one.data for one in steps[number:]]


def test_rows_that_commit_out_of_order__are_all_told_once(
    base_url: str, stage: Stage, mandate_id: str, database: Database
) -> None:
    """Ids are drawn before the commit: a cursor of the highest id alone would lose the row that
    commits last.
    """
    other = stage.working(purpose="Another one.")
    with following(base_url + OWN, stage.owner) as follower:
        follower.until(lambda one: one.last_id)
        with database.write() as late:
            append_note(late, mandate_id, stage)
            stage.executed(other, 10 * USDC)
            follower.until(lambda one: len(one.seqs()) == 1)
            between = follower.last_id
        follower.until(lambda one: len(one.seqs()) == 2)
    told = [one.data["mandate_id"] for one in follower.heard if one.name == "step"]
    assert told == [other, mandate_id]
    with following(base_url + OWN, stage.owner, between) as again:
        again.until(lambda one: one.seqs())
        stage.executed(other, 20 * USDC)
        again.until(lambda one: len(one.seqs()) == 2)
    told = [one.data["mandate_id"] for one in again.heard if one.name == "step"]
    assert told == [mandate_id, other]


def append_note(session: WriteSession, mandate_id: str, stage: Stage) -> None:
    mandate = mandates.find_mandate(session, mandate_id)
    assert mandate is not None
    note = NewRow(
        kind=RowKind.NOTE,
        reported_by=ReportedBy.KEEPER,
        occurred_at=stage.clock.now,
        base_key=f"note:late:{stage.log_index}",
        payload={"text": "late"},
    )
    mandate_ledger.append(session, mandate.id, note, stage.clock.now)


def end_listeners(database_url: str) -> int:
    with psycopg.connect(database_url.replace("+psycopg", ""), autocommit=True) as connection:
        ended = connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where application_name = 'api events' and datname = current_database()"
        ).fetchall()
    return len(ended)


def test_a_listening_connection_that_is_cut__costs_no_row(
    base_url: str, stage: Stage, mandate_id: str, database_url: str
) -> None:
    with (
        following(base_url + path_of(mandate_id), stage.agent) as follower,
        following(base_url + OWN, stage.owner) as own,
    ):
        follower.until(lambda one: one.heard)
        own.until(lambda one: one.last_id)
        for _ in range(3):
            stage.executed(mandate_id, USDC)
            assert end_listeners(database_url) <= 1
            stage.executed(mandate_id, USDC)
        follower.until(lambda one: len(one.seqs()) == 6)
        own.until(lambda one: len(one.seqs()) == 6)
        assert follower.seqs() == own.seqs() == sorted(set(follower.seqs()))


def test_one_direct_connection__listens_for_all_streams(
    base_url: str, stage: Stage, mandate_id: str, database_url: str
) -> None:
    with (
        following(base_url + path_of(mandate_id), stage.agent) as first,
        following(base_url + OWN, stage.owner) as second,
    ):
        first.until(lambda one: one.heard)
        second.until(lambda one: one.last_id)
        first.until(lambda _: end_listeners(database_url) == 1)


def test_rows_that_a_reorg_takes_back__are_told_as_reversals(
    base_url: str, stage: Stage, mandate_id: str
) -> None:
    with following(base_url + path_of(mandate_id), stage.agent) as follower:
        follower.until(lambda one: one.heard)
        stage.executed(mandate_id, 10 * USDC)
        follower.until(lambda one: len(one.seqs()) == 1)
        with stage.database.write() as session:
            block = "0x" + f"{stage.log_index:064x}"
            mandate_ledger.reverse_blocks(session, [block], stage.clock.now)
        follower.until(lambda one: len(one.seqs()) == 2)
    taken, back = follower.heard[1:]
    assert (taken.data["is_reversal"], back.data["is_reversal"]) == (False, True)
    assert back.data["kind"] == taken.data["kind"]


def test_an_end_that_becomes_final__is_a_status_without_a_row(base_url: str, stage: Stage) -> None:
    mandate_id = stage.signed()
    cancelled = ev.TermsCancelled(
        stage.get(f"/mandates/{mandate_id}/terms", stage.owner)["digest"],
        stage.owner_wallet.address,
    )
    with (
        following(base_url + path_of(mandate_id), stage.owner) as follower,
        following(base_url + OWN, stage.owner) as own,
    ):
        follower.until(lambda one: one.heard)
        own.until(lambda one: one.last_id)
        stage.chain_says(mandate_id, cancelled)
        follower.until(lambda one: one.seqs())
        own.until(lambda one: one.seqs())
        assert follower.heard[-1].data["status"] == "signed"
        with stage.database.write() as session:
            deferred.say_safe(session, CHAIN_ID, stage.log_index, stage.clock.now)
        follower.until(lambda one: "status" in one.names())
        own.until(lambda one: "status" in one.names())
    for heard in (follower.heard, own.heard):
        assert heard[-1].data == {
            "mandate_id": mandate_id,
            "seq": heard[-2].seq,
            "status": "cancelled",
        }


FORGED = ["0x1", "-1", "1.5", "9" * 16, "1e3", "+1", "1,2"]


@each("text", [*FORGED, "A", "AA", "AAAAAAAAAAAAAAAAAAAA", "=", "a" * 5_000])
def test_an_id_that_no_event_had__is_refused(
    base_url: str, stage: Stage, mandate_id: str, text: str
) -> None:
    for path, who in ((path_of(mandate_id), stage.agent), (OWN, stage.owner)):
        with following(base_url + path, who, text) as follower:
            assert follower.status == 400
        (refused,) = follower.heard
        assert refused.data["service"]["reason"] == "invalid_parameter"
        assert refused.data["detail"].startswith("last_event_id: ")


def test_an_id_beyond_the_last_row__is_refused(
    base_url: str, stage: Stage, mandate_id: str
) -> None:
    with following(base_url + path_of(mandate_id), stage.agent) as follower:
        last = follower.until(lambda one: one.heard).heard[0].seq
    for text, status in ((str(last), 200), (str(last + 1), 400)):
        for query in ("", f"?last_event_id={last}"):  # clients connect again with both
            path = path_of(mandate_id) + query
            with following(base_url + path, stage.agent, text) as follower:
                assert follower.status == status


def test_an_id_of_another_owner_or_a_changed_one__is_refused(
    base_url: str, stage: Stage, mandate_id: str
) -> None:
    with following(base_url + OWN, stage.owner) as follower:
        last_id = follower.until(lambda one: one.last_id).last_id
    changed = [
        last_id[:place] + ("A" if last_id[place] != "A" else "B") + last_id[place + 1 :]
        for place in range(0, len(last_id), 3)
    ]
    for who, text in [(stage.new_owner(), last_id), *((stage.owner, one) for one in changed)]:
        with following(base_url + OWN, who, text) as follower:
            assert follower.status == 400, text
    with following(base_url + OWN, stage.owner, last_id) as follower:
        assert follower.status == 200


def test_whoever_is_too_far_behind__is_told_to_load_anew(
    base_url: str, stage: Stage, mandate_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        following(base_url + path_of(mandate_id), stage.owner) as follower,
        following(base_url + OWN, stage.owner) as own,
    ):
        ids = (
            follower.until(lambda one: one.last_id).last_id,
            own.until(lambda one: one.last_id).last_id,
        )
    monkeypatch.setattr(events, "MOST_BEHIND", 3)
    for _ in range(3):
        stage.executed(mandate_id, USDC)
    urls = base_url + path_of(mandate_id), base_url + OWN
    for url, last_id in zip(urls, ids, strict=True):
        with following(url, stage.owner, last_id) as again:
            again.until(lambda one: len(one.seqs()) == 3)
    stage.executed(mandate_id, USDC)
    stage.clock.pass_(seconds=11)
    for url, last_id in zip(urls, ids, strict=True):
        with following(url, stage.owner, last_id) as again:
            again.until(lambda one: "reset" in one.names())
            stage.executed(mandate_id, USDC)
            again.until(lambda one: one.seqs())
        assert again.names()[:1] == ["reset"]
        assert len(again.seqs()) == 1


@pytest.mark.slow
def test_more_mandates_than_an_id_lists__are_a_reset_and_nothing_is_lost_after_it(
    base_url: str, stage: Stage, mandate_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [stage.working(purpose=f"Number {number}.") for number in range(2)]
    monkeypatch.setattr(events, "MOST_LISTED", 2)
    with following(base_url + OWN, stage.owner) as follower:
        last_id = follower.until(lambda one: one.last_id).last_id
    for one in (mandate_id, *others):
        stage.executed(one, USDC)
    with following(base_url + OWN, stage.owner, last_id) as again:
        again.until(lambda one: "reset" in one.names())
        stage.executed(mandate_id, USDC)
        again.until(lambda one: one.seqs())
    assert again.names() == ["reset", "step"]
    assert len(again.last_id) < 100


@pytest.mark.slow
def test_one_stream_too_many__is_429_until_another_ends(
    serve: Serve, stage: Stage, mandate_id: str
) -> None:
    with serve(event_streams_per_caller=2) as base_url:
        url = base_url + path_of(mandate_id)
        with following(url, stage.owner), following(base_url + OWN, stage.owner) as second:
            with following(url, stage.owner) as third:
                assert third.status == 429
            assert third.heard[0].data["service"]["reason"] == "too_many_streams"
            with following(url, stage.agent) as others:
                assert others.status == 200
            second.until(lambda one: one.last_id)
        assert eventually(lambda: _status(url, stage) == 200)


def _status(url: str, stage: Stage) -> int:
    with following(url, stage.owner) as follower:
        return follower.status


def test_a_full_process__refuses_streams_with_a_time(
    serve: Serve, stage: Stage, mandate_id: str
) -> None:
    with (
        serve(event_streams=1) as base_url,
        following(base_url + path_of(mandate_id), stage.owner),
        following(base_url + path_of(mandate_id), stage.agent) as second,
    ):
        assert (second.status, second.headers["retry-after"]) == (503, "30")
        assert int(second.headers["x-ratelimit-remaining"]) < 2_000


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "RECHECK_S", 0.1)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("how", ["logout", "expiry"])
def test_a_session_that_ends__ends_its_streams(
    base_url: str, stage: Stage, mandate_id: str, how: str
) -> None:
    with (
        following(base_url + path_of(mandate_id), stage.owner) as follower,
        following(base_url + path_of(mandate_id), stage.agent) as stays,
    ):
        follower.until(lambda one: one.heard)
        if how == "logout":
            assert stage.client.post("/auth/owner/logout", headers=stage.owner).status_code == 200
        else:
            stage.clock.pass_(hours=24)
        follower.until(lambda one: one.has_ended)
        assert not stays.has_ended


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("how", ["rotate", "scopes"])
def test_a_key_that_may_not_read_any_more__loses_its_streams(
    base_url: str, stage: Stage, mandate_id: str, how: str
) -> None:
    with following(base_url + path_of(mandate_id), stage.agent) as follower:
        follower.until(lambda one: one.heard)
        path, body = {
            "rotate": (f"/agents/{stage.agent_id}/keys/rotate", {}),
            "scopes": (f"/agents/{stage.agent_id}/scopes", {"scopes": ["tx"]}),
        }[how]
        method = "POST" if how == "rotate" else "PUT"
        answer = stage.client.request(method, path, headers=stage.owner, json=body)
        assert answer.status_code == 200, answer.text
        follower.until(lambda one: one.has_ended)


def remaining(answer: Mapping[str, str]) -> int:
    return int(answer["x-ratelimit-remaining"])


def test_opening_a_stream_again__is_no_call_for_an_hour(
    base_url: str, stage: Stage, mandate_id: str
) -> None:
    url, left = base_url + path_of(mandate_id), []
    for passed in (0, 0, 3_599, 1):
        stage.clock.pass_(seconds=passed)
        with following(url, stage.agent) as follower:
            left.append(remaining(follower.headers))
    assert [left[0] - one for one in left] == [0, 0, 0, 1]


def test_a_quiet_stream__has_comments_as_heartbeats_and_ends_of_its_own_after_its_time(
    serve: Serve, stage: Stage, mandate_id: str
) -> None:
    with (
        serve(StreamTimes(heartbeat_s=0.1, lives_s=1)) as base_url,
        following(base_url + path_of(mandate_id), stage.owner) as follower,
    ):
        follower.until(lambda one: one.has_ended)
        assert (follower.names(), follower.comments >= 3) == (["reset"], True)


def test_a_process_that_is_asked_to_end__ends_its_streams_at_once(
    serve: Serve, stage: Stage, mandate_id: str
) -> None:
    with ExitStack() as stack:
        with serve() as base_url:
            follower = stack.enter_context(following(base_url + path_of(mandate_id), stage.owner))
            follower.until(lambda one: one.heard)
            asked = time.monotonic()
        assert time.monotonic() - asked < 2
        follower.until(lambda one: one.has_ended)


def test_head__is_answered_without_a_stream(base_url: str, stage: Stage, mandate_id: str) -> None:
    answer = httpx.head(base_url + path_of(mandate_id), headers=stage.agent, timeout=5)
    assert (answer.status_code, answer.text) == (200, "")
