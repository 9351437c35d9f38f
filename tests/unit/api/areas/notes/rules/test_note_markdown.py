"""Text from outside in markdown: that text, and nothing else."""

from hypothesis import example, given
from hypothesis import strategies as st

from api.areas.notes.rules.markdown_text import code, escaped, link, one_line, wikilink
from tests.each import each
from tests.vaults import parser

HOSTILE = (
    "# h", "- x", "+ x", "* x", "1. x", "1) x", "> q", "```", "~~~", "| a | b |", "---", "===",
    "**b**", "_i_", "~~s~~", "==m==", "`c`", "[x](javascript:alert(1))", "![x](data:image/png)", "[x][y]",
    "[[BTC]]", "![[BTC]]", "<script>alert(1)</script>", "&lt;b&gt;", "#tag", "%%c%%", "$x$", "^block", "[^1]", "\\", "{{x}}",
)  # fmt: skip


@each("text", HOSTILE)
@each("before", ["", "- ", "x "])
def test_what_looks_like_markdown__is_text(text: str, before: str) -> None:
    tokens = parser().enable("strikethrough").parse(before + escaped(text))
    assert {one.type for one in tokens} <= {
        "paragraph_open", "inline", "paragraph_close",
        "bullet_list_open", "list_item_open", "list_item_close", "bullet_list_close",
    }  # fmt: skip
    assert sum(one.type == "list_item_open" for one in tokens) == (before == "- ")
    (inline,) = [one for one in tokens if one.type == "inline"]
    shown = "".join(one.content for one in inline.children or ())
    assert {one.type for one in inline.children or ()} <= {"text", "text_special"}
    assert shown == ("" if before == "- " else before) + text


@each(
    "word",
    [
        "https://evil.example/x", "HTTP://evil.example", "<https://evil.example>", "www.evil.example", "wWw.evil.example",
        "a@b.example", "mailto:a@b.example", "xmpp:a@b.example/c", "(https://evil.example).", "obsidian://open",
    ],
)  # fmt: skip
def test_a_word_that_readers_make_a_link_of__is_code(word: str) -> None:
    """Readers of GitHub's markdown link it in text, whether or not its signs are escaped."""
    assert escaped(f"so *{word} says") == f"so `*{word}` says"


def test_the_label_of_a_link__is_no_code() -> None:
    url = "https://e.example/a"
    assert link(url, url) == "[https\\://e.example/a](<https://e.example/a>)"


@given(st.text(max_size=60))
@example("a\n# b\r\n- c\x85d")
def test_any_text__is_one_paragraph_of_text(text: str) -> None:
    _, inline, _ = parser().parse("x " + escaped(text))
    assert {one.type for one in inline.children or ()} <= {"text", "text_special", "code_inline"}


def test_what_cannot_be_seen__is_shown_by_its_code_point() -> None:
    assert one_line("a\u202eb\u200bc\x00d\n\ne") == "a\\u{202e}b\\u{200b}c\\u{0}d e"
    assert one_line("\U000e0100\ufe0fb\u034f") == "\\u{e0100}\\u{fe0f}b\\u{34f}"
    assert one_line("\u2764\ufe0f") == "\u2764\ufe0f"
    assert one_line("x" * 501) == "x" * 499 + "…"
    assert one_line("x" * 500) == "x" * 500


@each(
    "url",
    ["javascript:alert(1)", "http://e.example", "//e.example", "https://u@e.example", "data:x"],
)
def test_a_link_to_anything_but_https__is_text(url: str) -> None:
    (_, inline, _) = parser().parse(link("x", url))
    assert not any(one.type == "link_open" for one in inline.children or ())


def test_a_link__cannot_be_ended_by_its_url_or_label() -> None:
    written = link("a](https://evil.example)[b", "https://e.example/a_(b)|c[d]?x=1&copy;=2")
    (_, inline, _) = parser().parse(written)
    opened = [one for one in inline.children or () if one.type == "link_open"]
    assert [one.attrs["href"] for one in opened] == [
        "https://e.example/a_%28b%29%7Cc%5Bd%5D?x=1&copy%3B=2"
    ]


def test_code__cannot_be_ended() -> None:
    assert code("a`b|c\nd") == "`a'b¦c d`"
    assert code("") == ""


def test_a_wikilinks_label__cannot_end_it() -> None:
    assert wikilink("chain/x--1", "]] [x](y) | `#^") == "[[chain/x--1|x (y)]]"
    assert wikilink("BTC", "BTC") == "[[BTC]]"
    assert wikilink("X--1", "[[]]") == "[[X--1]]"


@each("text", ["www.evil.example", "WWW.evil.example", "wWw.evil.example"])
def test_a_host__is_code_where_apps_make_links_of_hosts(text: str) -> None:
    assert escaped(text) == code(text)
