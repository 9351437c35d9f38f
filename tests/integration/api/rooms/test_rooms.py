"""Rooms are listed and read, newest first, and posts are made in them."""

from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import event, text

from api.areas.rooms.writes import posts
from core.db.engine import Database
from tests.each import each
from tests.integration.api.conftest import login
from tests.integration.api.rooms.conftest import SUMMARY, TOKEN, Stage
from tests.integration.api.tools.conftest import call

# Read


def test_a_room__shows_its_messages_newest_first_with_author_kind_and_reply(stage: Stage) -> None:
    author = stage.agent(agent_name="reader")
    made = stage.posted(author, "is this the mainnet one?", reply_to=stage.summary)
    assert stage.read() == {
        "room": {
            "id": stage.room,
            "token_id": TOKEN,
            "messages": 2,
            "last_message_at": "2026-11-21T12:00:00Z",
            "opened_at": "2026-11-21T12:00:00Z",
        },
        "messages": [
            {
                "id": made["id"],
                "room_id": stage.room,
                "kind": "post",
                "author": {"user_id": author.user_id, "name": "reader"},
                "text": "is this the mainnet one?",
                "reply_to": stage.summary,
                "first_reply": True,
                "posted_at": "2026-11-21T12:00:00Z",
                "released": False,
                "released_at": None,
                "released_by": None,
            },
            {
                "id": stage.summary,
                "room_id": stage.room,
                "kind": "summary",
                "author": {"user_id": stage.submitter.user_id, "name": "submitter"},
                "text": SUMMARY,
                "reply_to": None,
                "first_reply": False,
                "posted_at": "2026-11-21T12:00:00Z",
                "released": False,
                "released_at": None,
                "released_by": None,
            },
        ],
        "next_cursor": None,
    }


def test_what_was_posted_before_the_rules_of_texts__is_shown_escaped_by_route_and_tool(
    stage: Stage,
) -> None:
    hidden, shown = "look \u202eereh\U000e0041", "look \\u{202e}ereh\\u{e0041}"
    author = stage.agent()
    with stage.database.write() as session:
        new = posts.NewPost(room_id=stage.room, author_id=author.user_id, text=hidden)
        posts.post(session, new, stage.clock.now)
        session.execute(text("update account set name = :name"), {"name": hidden})
    answer = stage.client.get(f"/hive/rooms/{stage.room}")
    message = answer.json()["messages"][0]
    assert (message["text"], message["author"]["name"]) == (shown, shown)
    result = call(stage.client, "hive_read_room", None, id=stage.room)
    assert result["structuredContent"] == answer.json()
    assert not {"\u202e", "\U000e0041"} & set(result["content"][0]["text"])


def test_messages__run_by_pages_that_new_ones_do_not_shift(stage: Stage) -> None:
    author = stage.agent()
    for n in range(4):
        stage.posted(author, f"post {n}")
    first = stage.read(limit=2)
    stage.posted(author, "post 4")
    second = stage.read(limit=2, cursor=first["next_cursor"])
    third = stage.read(limit=2, cursor=second["next_cursor"])
    assert [[one["text"] for one in page["messages"]] for page in (first, second, third)] == [
        ["post 3", "post 2"],
        ["post 1", "post 0"],
        [SUMMARY],
    ]
    assert (third["next_cursor"], first["room"]["messages"], third["room"]["messages"]) == (
        None,
        5,
        6,
    )


def rooms_of(stage: Stage, tokens: list[str]) -> list[int]:
    made = []
    with stage.database.write() as session:
        for n, token in enumerate(tokens):
            room = posts.open_room(session, token, stage.clock.now)
            author = stage.submitter.user_id
            posts.post_summary(session, room, author, SUMMARY, 100 + n, stage.clock.now)
            made.append(room)
    return made


def test_rooms__are_listed_by_their_newest_message(stage: Stage) -> None:
    second, third = rooms_of(stage, ["okx_ETH_USDT", "upbit_SOL_KRW"])
    stage.posted(stage.agent())
    first_page = stage.client.get("/hive/rooms", params={"limit": 2}).json()
    assert [room["id"] for room in first_page["rooms"]] == [stage.room, third]
    assert first_page["rooms"][0]["messages"] == 2
    cursor = first_page["next_cursor"]
    last_page = stage.client.get("/hive/rooms", params={"limit": 2, "cursor": cursor}).json()
    assert [room["id"] for room in last_page["rooms"]] == [second]
    assert last_page["next_cursor"] is None


def test_a_token__has_one_room_and_an_entry_one_summary(stage: Stage) -> None:
    assert rooms_of(stage, [TOKEN]) == [stage.room]
    assert rooms_of(stage, [TOKEN]) == [stage.room]
    assert stage.read()["room"]["messages"] == 2


def test_a_room_without_a_message__is_in_no_list(stage: Stage) -> None:
    with stage.database.write() as session:
        empty = posts.open_room(session, "okx_ETH_USDT", stage.clock.now)
    listed = stage.client.get("/hive/rooms").json()["rooms"]
    assert [room["id"] for room in listed] == [stage.room]
    shown = stage.client.get(f"/hive/rooms/{empty}").json()
    assert (shown["room"]["messages"], shown["room"]["last_message_at"], shown["messages"]) == (
        0,
        None,
        [],
    )


@each("path", ["/hive/rooms/999", "/hive/rooms/999999999999999", "/hive/rooms/999/messages"])
def test_an_unknown_room__is_not_found(stage: Stage, path: str) -> None:
    method = "POST" if path.endswith("messages") else "GET"
    body = {"text": "hello"} if method == "POST" else None
    answer = stage.client.request(method, path, json=body, headers=stage.agent().key)
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("There is no room 999")


@each(
    ("path", "field"),
    [
        ("/hive/rooms/x", "id"),
        ("/hive/rooms/0", "id"),
        ("/hive/rooms/1?limit=201", "limit"),
        ("/hive/rooms/1?cursor=x", "cursor"),
        ("/hive/rooms?cursor=x", "cursor"),
        ("/hive/rooms?limit=0", "limit"),
        ("/hive/rooms?token=x", "token"),
    ],
)
def test_a_bad_query__is_refused_by_its_field(stage: Stage, path: str, field: str) -> None:
    answer = stage.client.get(path)
    assert (answer.status_code, answer.json()["detail"].split(":")[0]) == (400, field)


def test_lists_and_rooms__cost_the_same_statements_whatever_is_in_them(stage: Stage) -> None:
    counted: list[str] = []

    def count(*args: Any) -> None:
        counted.append(args[2])

    def statements() -> tuple[int, int]:
        counts = []
        for path in ("/hive/rooms", f"/hive/rooms/{stage.room}"):
            counted.clear()
            assert stage.client.get(path).status_code == 200
            counts.append(len(counted))
        return counts[0], counts[1]

    event.listen(stage.database.engine, "before_cursor_execute", count)
    try:
        before = statements()
        author, other = stage.agent(), stage.agent()
        for n in range(5):
            stage.release(other, stage.posted(author, f"post {n}")["id"])
        rooms_of(stage, ["okx_ETH_USDT", "upbit_SOL_KRW"])
        assert statements() == before
    finally:
        event.remove(stage.database.engine, "before_cursor_execute", count)


PAGES = {
    "ix_room_last_message_id": """
select * from room where last_message_id is not null and last_message_id < 9
order by last_message_id desc limit 9""",
    "uq_room_message_room_id_seq": """
select * from room_message where room_id = 1 and seq < 9 order by seq desc limit 9""",
    "ix_room_message_author_id_created_at": """
select created_at from room_message where author_id = 1 and kind = 'post'
order by created_at desc offset 9 limit 1""",
    "ix_room_bond_due_at": """
select * from room_bond where returned_at is null and case_id is null and due_at <= now()
order by due_at limit 9""",
}


@each(("index", "query"), PAGES.items(), ids=PAGES)
def test_a_page__is_found_by_an_index(database: Database, index: str, query: str) -> None:
    with database.read() as session:
        session.execute(text("set local enable_seqscan = off"))
        session.execute(text("set local enable_sort = off"))
        plan = "\n".join(session.scalars(text(f"explain {query}")))
    assert f"using {index} on" in plan


# Post


@pytest.mark.parametrize(
    "said",
    [
        "a",
        "a" * 4_000,
        "\U0001f600" * 4_000,
        "two\nlines",
        "<script>alert(1)</script> & <b>",
        "%s {}",
    ],
    ids=["1 character", "4000", "4000 emoji", "lines", "markup", "formats"],
)
def test_a_post__is_kept_and_shown_as_the_text_that_was_sent(stage: Stage, said: str) -> None:
    assert stage.posted(stage.agent(), said)["text"] == said
    assert stage.read()["messages"][0]["text"] == said


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"text": ""}, "text"),
    ({"text": "a" * 4_001}, "text"),
    ({"text": "a" * 102_400}, "text"),
    ({"text": "a\u202eb"}, "text"),
    ({"text": " \n "}, "text"),
    ({}, "text"),
    ({"text": "a", "reply_to": "1"}, "reply_to"),
    ({"text": "a", "reply_to": 0}, "reply_to"),
    ({"text": "a", "reply_to": 1.5}, "reply_to"),
    ({"text": "a", "html": "<b>"}, "html"),
]


def test_a_hostile_post__is_refused_by_its_field_and_moves_nothing(stage: Stage) -> None:
    author = stage.agent()
    before, held = stage.rows(), stage.credits(author)
    path, named = f"/hive/rooms/{stage.room}/messages", []
    for body, field in REFUSED:
        refused = stage.client.post(path, json=body, headers=author.key)
        assert refused.status_code == 400, (body, refused.text)
        named.append((refused.json()["detail"].split(":")[0], field))
    assert [pair for pair in named if pair[0] != pair[1]] == []
    assert (stage.rows(), stage.credits(author)) == (before, held)


def test_a_reply__is_to_a_message_of_the_same_room(stage: Stage) -> None:
    (other,) = rooms_of(stage, ["okx_ETH_USDT"])
    elsewhere = stage.client.get(f"/hive/rooms/{other}").json()["messages"][0]["id"]
    author = stage.agent()
    before = stage.rows()
    for unknown in (elsewhere, 999_999):
        refused = stage.post(author, reply_to=unknown)
        assert refused.status_code == 404
        assert refused.json()["detail"] == f"reply_to: this room has no message {unknown}."
    assert stage.rows() == before


def test_the_first_reply__is_another_persons_and_one_alone(
    stage: Stage, wallet: LocalAccount
) -> None:
    owner = login(stage.client, wallet)
    asker, twin = stage.agent(owner), stage.agent(owner)
    stage.earn(twin, 5)
    question = stage.posted(asker, "which chain?")["id"]
    told = [
        stage.posted(who, "this one", reply_to=question)["first_reply"]
        for who in (asker, twin, stage.agent(), stage.agent())
    ]
    assert told == [False, False, True, False]


# Idempotency and tools
