"""Payloads of upbit, bithumb, coinone, coinbase and kraken, written by hand in the shapes that their
documentation gives. AAAQ trades; a best bid of 100 and a best ask of 100.5.
"""

from tests.unit.indexer.venues.native.global_payloads import CONTRACT
from tests.unit.indexer.venues.native.wire import MS

# --- upbit

_NO_ALERT = {
    "PRICE_FLUCTUATIONS": False,
    "TRADING_VOLUME_SOARING": False,
    "DEPOSIT_AMOUNT_SOARING": True,
    "GLOBAL_PRICE_DIFFERENCES": False,
    "CONCENTRATION_OF_SMALL_ACCOUNTS": False,
}


def _upbit_ticker(market: str) -> dict[str, object]:
    return {
        "market": market, "trade_date": "20261126", "trade_time": "120000",
        "trade_date_kst": "20261126", "trade_time_kst": "210000", "trade_timestamp": MS,
        "opening_price": 99.0, "high_price": 102.0, "low_price": 98.0, "trade_price": 100.25,
        "prev_closing_price": 99.0, "change": "RISE", "change_price": 1.25, "change_rate": 0.0126,
        "signed_change_price": 1.25, "signed_change_rate": 0.0126, "trade_volume": 0.1,
        "acc_trade_price": 2500.0, "acc_trade_price_24h": 5000.0, "acc_trade_volume": 25.0,
        "acc_trade_volume_24h": 50.0, "timestamp": MS,
    }  # fmt: skip


def _units() -> list[dict[str, float]]:
    return [
        {"ask_price": 100.5, "bid_price": 100.0, "ask_size": 1.0, "bid_size": 2.0},
        {"ask_price": 101.0, "bid_price": 99.5, "ask_size": 3.0, "bid_size": 1.0},
    ]


UPBIT: dict[str, object] = {
    "/v1/market/all": [
        {
            "market": "KRW-AAAQ", "korean_name": "에이", "english_name": "Aaa",
            "market_event": {"warning": False, "caution": _NO_ALERT},
        },
        {
            "market": "KRW-BBBQ", "korean_name": "비", "english_name": "Bbb",
            "market_event": {"warning": True, "caution": _NO_ALERT},
        },
        {"market": "KRW-CCCQ", "korean_name": "씨", "english_name": "Ccc"},
    ],
    "/v1/orderbook": [
        {
            "market": "KRW-AAAQ", "timestamp": MS - 80, "total_ask_size": 4.0,
            "total_bid_size": 3.0, "orderbook_units": _units(), "level": 0,
        }
    ],
    "/v1/ticker/all": [_upbit_ticker("KRW-AAAQ")],
    "/v1/status/wallet": [
        {
            "currency": "AAAQ", "wallet_state": "deposit_only", "block_state": "normal",
            "block_height": 1, "block_updated_at": "2026-11-26T11:59:00.000+00:00",
            "block_elapsed_minutes": 1, "net_type": "ETH", "network_name": "Ethereum",
        },
        {"currency": "AAAQ", "wallet_state": "unsupported", "net_type": "Newchain"},
    ],
}  # fmt: skip

# --- bithumb

BITHUMB: dict[str, object] = {
    "/v1/market/all": [
        {"market": "KRW-AAAQ", "korean_name": "에이", "english_name": "Aaa", "market_warning": "NONE"},
        {"market": "KRW-BBBQ", "korean_name": "비", "english_name": "Bbb", "market_warning": "CAUTION"},
        {"market": "KRW-CCCQ", "korean_name": "씨", "english_name": "Ccc"},
    ],
    "/v1/orderbook": [
        {
            "market": "KRW-AAAQ", "timestamp": MS - 80, "total_ask_size": 4.0,
            "total_bid_size": 3.0, "orderbook_units": _units(),
        }
    ],
    "/v1/ticker": [_upbit_ticker("KRW-AAAQ")],
    "/public/assetsstatus/multichain/ALL": {
        "status": "0000",
        "data": [
            {"currency": "AAAQ", "net_type": "ETH", "deposit_status": 1, "withdrawal_status": 0},
            {"currency": "AAAQ", "net_type": "Newchain"},
            {"currency": "ETH", "net_type": "ETH", "deposit_status": 1, "withdrawal_status": 1},
        ],
    },
    "/v1/notices": [
        {
            "categories": ["거래지원종료"],
            "title": "에이(AAAQ) 거래지원 종료 안내",
            "pc_url": "https://feed.bithumb.com/notice/1",
            "published_at": "2026-11-26 20:00:00",
            "modified_at": "2026-11-26 20:00:00",
        },
        {"categories": ["안내"], "title": "에이(AAAQ) 입출금 점검 안내", "published_at": "gestern"},
    ],
}  # fmt: skip

# --- coinone

COINONE: dict[str, object] = {
    "/public/v2/ticker_new/KRW": {
        "result": "success",
        "error_code": "0",
        "server_time": MS,
        "tickers": [
            {
                "quote_currency": "krw", "target_currency": "aaaq", "timestamp": MS,
                "high": "102", "low": "98", "first": "99", "last": "100.25",
                "quote_volume": "5000", "target_volume": "50",
                "best_asks": [{"price": "100.5", "qty": "1"}],
                "best_bids": [{"price": "100", "qty": "2"}], "id": f"{MS}001",
            }
        ],
    },
    "/public/v2/orderbook/KRW/AAAQ": {
        "result": "success",
        "error_code": "0",
        "timestamp": MS - 80,
        "id": f"{MS}001",
        "quote_currency": "KRW",
        "target_currency": "AAAQ",
        "order_book_unit": "0.0",
        "bids": [{"price": "100", "qty": "2"}, {"price": "99.5", "qty": "1"}],
        "asks": [{"price": "100.5", "qty": "1"}, {"price": "101", "qty": "3"}],
    },
    "/public/v2/currencies": {
        "result": "success",
        "error_code": "0",
        "server_time": MS,
        "currencies": [
            {
                "name": "Aaa", "symbol": "AAAQ", "deposit_status": "normal",
                "withdraw_status": "suspended", "deposit_confirm_count": 12, "max_precision": 8,
                "deposit_fee": "0.0", "withdrawal_min_amount": "1.0", "withdrawal_fee": "0.5",
            },
            {"name": "Bbb", "symbol": "BBBQ", "deposit_status": "unknown word"},
        ],
    },
}  # fmt: skip

# --- coinbase


def _coinbase_product(base: str, *, is_stopped: bool | None) -> dict[str, object]:
    told: dict[str, object] = {} if is_stopped is None else {
        "is_disabled": False, "cancel_only": is_stopped, "limit_only": False, "post_only": False,
        "trading_disabled": False, "auction_mode": False, "view_only": False,
    }  # fmt: skip
    return {
        "product_id": f"{base}-USD", "price": "100.25", "price_percentage_change_24h": "1",
        "volume_24h": "50", "volume_percentage_change_24h": "1", "base_increment": "0.001",
        "quote_increment": "0.01", "quote_min_size": "1", "quote_max_size": "150000000",
        "base_min_size": "0.001", "base_max_size": "3400", "base_name": base,
        "quote_name": "US Dollar", "watched": False, "new": False, "status": "online",
        "product_type": "SPOT", "quote_currency_id": "USD", "base_currency_id": base,
        "fcm_trading_session_details": None, "mid_market_price": "", "alias": "", "alias_to": [],
        "base_display_symbol": base, "quote_display_symbol": "USD", "price_increment": "0.01",
        "display_name": f"{base}-USD", "product_venue": "CBE", **told,
    }  # fmt: skip


COINBASE: dict[str, object] = {
    "/api/v3/brokerage/market/products": {
        "products": [
            _coinbase_product("AAAQ", is_stopped=False),
            _coinbase_product("BBBQ", is_stopped=True),
            _coinbase_product("CCCQ", is_stopped=None),
        ],
        "num_products": 3,
    },
    "/api/v3/brokerage/market/products?FUTURE": {"products": [], "num_products": 0},
    "/api/v3/brokerage/market/product_book": {
        "pricebook": {
            "product_id": "AAAQ-USD",
            "bids": [{"price": "100", "size": "2"}, {"price": "99.5", "size": "1"}],
            "asks": [{"price": "100.5", "size": "1"}, {"price": "101", "size": "3"}],
            "time": "2026-11-26T11:59:59.920000Z",
        }
    },
    "/v2/currencies": {"data": [{"id": "USD", "name": "United States Dollar", "min_size": "0.01"}]},
    "/v2/currencies/crypto": {
        "data": [{"asset_id": "1", "code": "AAAQ", "name": "Aaa", "type": "crypto", "exponent": 8}]
    },
    "/currencies": [
        {
            "id": "AAAQ", "name": "Aaa", "min_size": "0.001", "status": "online", "message": "",
            "max_precision": "0.001", "convertible_to": [], "details": {"type": "crypto"},
            "default_network": "ethereum",
            "supported_networks": [
                {
                    "id": "ethereum", "name": "Ethereum", "status": "online",
                    "contract_address": CONTRACT, "crypto_address_link": "",
                    "min_withdrawal_amount": 0.001, "max_withdrawal_amount": 1000,
                }
            ],
        }
    ],
}  # fmt: skip

# --- kraken


def kraken_of(result: object) -> dict[str, object]:
    return {"error": [], "result": result}


def _kraken_pair(altname: str, base: str, status: str, kind: str) -> dict[str, object]:
    return {
        "altname": altname, "wsname": f"{altname[:-3]}/USD", "aclass_base": kind, "base": base,
        "aclass_quote": "currency", "quote": "ZUSD", "lot": "unit", "cost_decimals": 5,
        "pair_decimals": 2, "lot_decimals": 8, "lot_multiplier": 1, "leverage_buy": [],
        "leverage_sell": [], "fees": [[0, 0.26]], "fees_maker": [[0, 0.16]],
        "fee_volume_currency": "ZUSD", "margin_call": 80, "margin_stop": 40, "ordermin": "0.001",
        "costmin": "0.5", "tick_size": "0.01", "status": status,
    }  # fmt: skip


KRAKEN: dict[str, object] = {
    "/0/public/AssetPairs": kraken_of(
        {
            "AAAQUSD": _kraken_pair("AAAQUSD", "AAAQ", "online", "currency"),
            "BBBQUSD": _kraken_pair("BBBQUSD", "BBBQ", "cancel_only", "currency"),
            "CCCQUSD": _kraken_pair("CCCQUSD", "CCCQ", "online", "tokenized_asset"),
            "XXBTZUSD": _kraken_pair("XBTUSD", "XXBT", "online", "currency"),
        }
    ),
    "/0/public/Depth": kraken_of(
        {
            "AAAQUSD": {
                "asks": [["100.5", "1", MS // 1_000], ["101", "3", MS // 1_000]],
                "bids": [["100", "2", MS // 1_000], ["99.5", "1", MS // 1_000]],
            }
        }
    ),
    "/0/public/Ticker": kraken_of(
        {
            "AAAQUSD": {
                "a": ["100.5", "1", "1"], "b": ["100", "2", "2"], "c": ["100.25", "0.1"],
                "v": ["25", "50"], "p": ["100", "100"], "t": [3, 9], "l": ["98", "98"],
                "h": ["102", "102"], "o": "99",
            }
        }
    ),
    "/0/public/Assets": kraken_of(
        {
            "AAAQ": {
                "aclass": "currency", "altname": "AAAQ", "decimals": 8, "display_decimals": 6,
                "status": "deposit_only",
            },
            "BBBQ": {"aclass": "currency", "altname": "BBBQ"},
        }
    ),
}  # fmt: skip
