"""Links that callers send."""

import pytest

from core.errors import InvalidParameterError
from core.urls import require_https
from tests.each import each


@each(
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


@each(
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


@each(
    "url",
    [
        "https://a.example/x",
        "https://example.com.",
        "https://xn--bcher-kva.example:443/",
        "https://a_b.example/",
        "https://localhost/",
        "https://192.0.2.1/",
        "https://[2001:db8::1]/",
        f"https://{'a' * 63}.example/",
    ],
)
def test_a_host__is_a_dns_name_or_an_address(url: str) -> None:
    require_https("url", url)


@each(
    "url",
    [
        "https://%00/",
        "https://a%2eb/",
        "https://a..b/",
        "https://.a/",
        "https://-a.example/",
        "https://a-.example/",
        "https://*/",
        "https://192.0.2.999/",
        "https://[v1.x]/",
        "https://[fe80::1%25eth0]/",
        f"https://{'a' * 64}.example/",
        f"https://{'a.' * 127}aa/",
    ],
)
def test_any_other_host__is_refused(url: str) -> None:
    with pytest.raises(InvalidParameterError):
        require_https("url", url)
