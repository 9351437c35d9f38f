"""Links that callers send."""

import pytest

from core.errors import InvalidParameterError
from core.urls import require_https


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com:8443/a?b=c#d",
        "https://[2001:db8::1]/a",
        "https://example.com/" + "a" * 480,
    ],
)
def test_a_link__of_https_is_taken(url: str) -> None:
    require_https("source_url", url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://example.com",
        "https://",
        "https:///path",
        "https://user:secret@example.com",
        "https://user@example.com",
        "https://example.com:port",
        "https://example.com/a b",
        "https://example.com/\u202e",
        "javascript:alert(1)",
        "https://example.com/" + "a" * 481,
    ],
)
def test_another_link__is_refused_by_the_name_of_its_field(url: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        require_https("source_url", url)
    assert refused.value.field == "source_url"
