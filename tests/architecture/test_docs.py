"""Documentation is a test: what exists is in the docs by name."""

import json
import re
from pathlib import Path

from api.catalogue import catalogue
from api.kernel.tool import Profile

ROOT = Path(__file__).resolve().parents[2]


def doc(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def test_every_route_stands_in_the_api_page() -> None:
    text = doc("api.md")

    assert [
        row.key for row in catalogue().operations if f"{row.method} {row.path}" not in text
    ] == []


def test_every_read_that_may_be_cached_stands_in_the_guide_with_its_age() -> None:
    section = doc("api-guide.md").partition("## Caching")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", section, re.MULTILINE)
    written = {(call, int(age)) for age, calls in rows for call in re.findall(r"`(.+?)`", calls)}
    cached = [row for row in catalogue().operations if row.cache is not None]

    assert written == {(f"{row.method} {row.path}", row.cache.max_age_s) for row in cached}


def test_the_guide_names_whose_refusals_are_a_sentence_alone() -> None:
    section = doc("api-guide.md").partition("## Refusals")[2].partition("\n## ")[0]
    listed = section.partition("calls under ")[2].partition(" are `detail` alone")[0]
    prefixes = tuple(re.findall(r"`(/[a-z/{}.]+)`", listed))
    operations = catalogue().operations
    alone = {row.path for row in operations if not row.block}

    assert prefixes
    assert {row.path for row in operations if row.path.startswith(prefixes)} == alone
    assert all(any(path.startswith(one) for path in alone) for one in prefixes)


def test_every_tool_and_profile_stands_in_the_page_of_tools() -> None:
    text = doc("mcp.md")

    assert [name for name in catalogue().tools(Profile.FULL) if f"`{name}`" not in text] == []
    assert [profile for profile in Profile if f"| `{profile}`" not in text] == []


def test_every_event_and_error_of_the_contracts_stands_in_their_page() -> None:
    text = doc("contracts-reference.md")
    names = {
        entry["name"]
        for contract in ("MandateVault", "MandateVaultFactory", "X402Adapter", "TestVenueAdapter")
        for entry in json.loads((ROOT / "core" / "chain" / "abis" / f"{contract}.json").read_text())
        if entry["type"] in ("event", "error")
    }

    assert sorted(name for name in names if not re.search(rf"`{name}\b", text)) == []


def test_every_page_is_linked_once_from_the_index() -> None:
    links = re.findall(r"\]\(([\w/-]+\.md)\)", doc("index.md"))
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]

    assert sorted(link for link in links if not link.startswith("decisions/")) == sorted(
        page for page in pages if page != "index.md" and not page.startswith("decisions/")
    )


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_make_help__is_a_page_and_no_more() -> None:
    makefile = (ROOT / "Makefile").read_text()

    assert 10 <= len(re.findall(r"^[a-z-]+:.* ## ", makefile, re.MULTILINE)) <= 20


def test_every_make_target_explains_itself() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE)

    assert [
        target for target in targets if not re.search(rf"^{target}:.*## ", makefile, re.MULTILINE)
    ] == []
