"""What a notice declares, by its title, in English or Korean. What no word settles is OTHER, which
counts as nothing.
"""

import re
from typing import Final

from core.market.facts import NoticeKind, NoticeScope

# The first that matches. Maintenance stands first: "will suspend deposits for a network upgrade" is
# routine; the removal of pairs before that of coins.
_KINDS: Final = (
    (NoticeKind.MAINTENANCE, r"maintenance|network upgrade|hard ?fork|wallet upgrade|node|점검|하드포크|네트워크 업그레이드"),
    (NoticeKind.RESUME, r"resum|reopen|re-open|재개"),
    (NoticeKind.ST_TAG, r"special treatment|\bst (?:tag|label|warning)|assessment zone|monitoring tag|\bst\b"),
    (NoticeKind.DELISTED, r"has been delisted|have been delisted|delisting (?:is )?complete|거래지원 종료 완료"),
    (NoticeKind.QUOTE_PAIR_REMOVAL, r"trading pairs?\b.*(?:remov|delist)|(?:remov|delist).*\btrading pairs?\b|마켓 종료"),
    (NoticeKind.CAUTION, r"caution|거래유의|투자유의|유의종목|유의 종목"),
    (NoticeKind.DELIST, r"delist|removal of|will remove|end (?:of )?trading support|termination of trading|거래지원 종료|상장폐지"),
    (NoticeKind.SUSPEND, r"suspen|halt|중단"),
)  # fmt: skip
_SCOPES: Final = (
    (NoticeScope.FUTURES, r"perpetual|futures|contract delist|usdt-m|coin-m|swap|선물"),
    (NoticeScope.MARGIN, r"margin|leverag|마진"),
    (NoticeScope.LOAN, r"\bloans?\b|lending|earn\b|staking|borrow|렌딩|대여"),
)
_KIND_PATTERNS: Final = tuple((kind, re.compile(words, re.IGNORECASE)) for kind, words in _KINDS)
_SCOPE_PATTERNS: Final = tuple(
    (scope, re.compile(words, re.IGNORECASE)) for scope, words in _SCOPES
)
_IN_BRACKETS: Final = re.compile(r"\(([A-Z0-9]{2,20})\)")
_PAIR: Final = re.compile(r"\b([A-Z0-9]{2,15})[/_-]?(?:USDT|USDC|KRW|BTC|USD)\b")
_WORD: Final = re.compile(r"\b[A-Z][A-Z0-9]{1,14}\b")
_NO_TICKER: Final = frozenset(
    (
        *(
            "ST",
            "FAQ",
            "UTC",
            "KST",
            "API",
            "NFT",
            "TAG",
            "NEW",
            "THE",
            "AND",
            "OKX",
            "MEXC",
            "KRW",
        ),
        *("USDT", "USDC", "USD", "ON", "IN", "AT", "DEFI", "VIP", "AM", "PM"),
    )
)
MAX_BASES: Final = 40


def kind_of(title: str) -> NoticeKind:
    return next((kind for kind, words in _KIND_PATTERNS if words.search(title)), NoticeKind.OTHER)


def scope_of(title: str) -> NoticeScope:
    return next(
        (scope for scope, words in _SCOPE_PATTERNS if words.search(title)), NoticeScope.SPOT
    )


def bases_in(title: str, known: frozenset[str]) -> tuple[str, ...]:
    """The tickers of the venue that a title names: in brackets, else as pairs, else as words; never
    one that the venue does not list.
    """
    for pattern in (_IN_BRACKETS, _PAIR, _WORD):
        found = [one for one in pattern.findall(title) if one in known and one not in _NO_TICKER]
        if found:
            return tuple(dict.fromkeys(found))[:MAX_BASES]
    return ()
