"""Payloads of gate, bitget and mexc, as global_payloads.py has those of others."""

from tests.unit.indexer.venues.native.global_payloads import CONTRACT
from tests.unit.indexer.venues.native.wire import MS

# --- gate


def _gate_pair(base: str, status: str, tag: bool | None, ends: int) -> dict[str, object]:
    tagged = {} if tag is None else {"st_tag": tag}
    return {
        "id": f"{base}_USDT", "base": base, "base_name": base, "quote": "USDT",
        "quote_name": "Tether", "fee": "0.2", "min_base_amount": "0.001",
        "min_quote_amount": "3", "max_quote_amount": "5000000", "amount_precision": 3,
        "precision": 2, "trade_status": status, "sell_start": 0, "buy_start": 0,
        "delisting_time": ends, "type": "normal", **tagged,
    }  # fmt: skip


GATE: dict[str, object] = {
    "/api/v4/spot/currency_pairs": [
        _gate_pair("AAAQ", "tradable", False, 0),
        _gate_pair("BBBQ", "untradable", True, MS // 1_000 - 3_600),
        _gate_pair("CCCQ", "tradable", None, 0),
    ],
    "/api/v4/margin/currency_pairs": [],
    "/api/v4/margin/uni/currency_pairs": [],
    "/api/v4/spot/order_book": {
        "id": 1,
        "current": MS - 80,
        "update": MS - 90,
        "bids": [["100", "2"], ["99.5", "1"]],
        "asks": [["100.5", "1"], ["101", "3"]],
    },
    "/api/v4/spot/tickers": [
        {
            "currency_pair": "AAAQ_USDT", "last": "100.25", "lowest_ask": "100.5",
            "lowest_size": "1", "highest_bid": "100", "highest_size": "2",
            "change_percentage": "1", "base_volume": "50", "quote_volume": "5000",
            "high_24h": "102", "low_24h": "98",
        }
    ],
    "/api/v4/spot/currencies": [
        {
            "currency": "AAAQ", "name": "Aaa", "delisted": False, "withdraw_disabled": False,
            "withdraw_delayed": False, "deposit_disabled": False, "trade_disabled": False,
            "chain": "ETH",
            "chains": [
                {
                    "name": "ETH", "addr": CONTRACT, "withdraw_disabled": True,
                    "withdraw_delayed": False, "deposit_disabled": False,
                },
                {"name": "NEWCHAIN", "addr": ""},
            ],
        }
    ],
}  # fmt: skip

# --- bitget


def bitget_of(data: object) -> dict[str, object]:
    return {"code": "00000", "msg": "success", "requestTime": MS, "data": data}


def _bitget_symbol(base: str, status: str) -> dict[str, object]:
    return {
        "symbol": f"{base}USDT", "baseCoin": base, "quoteCoin": "USDT", "minTradeAmount": "0",
        "maxTradeAmount": "10000000000", "takerFeeRate": "0.001", "makerFeeRate": "0.001",
        "pricePrecision": "2", "quantityPrecision": "3", "quotePrecision": "5",
        "status": status, "minTradeUSDT": "1", "buyLimitPriceRatio": "0.05",
        "sellLimitPriceRatio": "0.05", "areaSymbol": "no", "orderQuantity": "200",
        "openTime": str(MS - 86_400_000), "offTime": "",
    }  # fmt: skip


BITGET: dict[str, object] = {
    "/api/v2/spot/public/symbols": bitget_of(
        [_bitget_symbol("AAAQ", "online"), _bitget_symbol("BBBQ", "halt")]
    ),
    "/api/v2/margin/currencies": bitget_of([]),
    "/api/v2/spot/market/orderbook": bitget_of(
        {
            "bids": [["100", "2"], ["99.5", "1"]],
            "asks": [["100.5", "1"], ["101", "3"]],
            "ts": str(MS - 80),
        }
    ),
    "/api/v2/spot/market/tickers": bitget_of(
        [
            {
                "symbol": "AAAQUSDT", "high24h": "102", "open": "99", "low24h": "98",
                "lastPr": "100.25", "quoteVolume": "5000", "baseVolume": "50",
                "usdtVolume": "5000", "ts": str(MS), "bidPr": "100", "askPr": "100.5",
                "bidSz": "2", "askSz": "1", "openUtc": "99", "changeUtc24h": "0", "change24h": "0",
            }
        ]
    ),
    "/api/v2/spot/public/coins": bitget_of(
        [
            {
                "coinId": "1",
                "coin": "AAAQ",
                "transfer": "true",
                "chains": [
                    {
                        "chain": "ERC20", "needTag": "false", "withdrawable": "false",
                        "rechargeable": "true", "withdrawFee": "0.5", "extraWithdrawFee": "0",
                        "depositConfirm": "12", "withdrawConfirm": "12",
                        "minDepositAmount": "0.1", "minWithdrawAmount": "1",
                        "contractAddress": CONTRACT,
                    },
                    {"chain": "NEWCHAIN"},
                ],
            }
        ]
    ),
    "/api/v2/public/annoucements": bitget_of(
        [
            {
                "annId": "12560603", "annTitle": "Bitget to delist AAAQ spot trading pairs",
                "annDesc": "…", "cTime": str(MS - 3_600_000), "language": "en_US",
                "annUrl": "https://www.bitget.com/support/aaaq", "annType": "symbol_delisting",
            }
        ]
    ),
}  # fmt: skip

# --- mexc


def _mexc_symbol(base: str, status: str, tag: bool | None) -> dict[str, object]:
    tagged = {} if tag is None else {"st": tag}
    return {
        "symbol": f"{base}USDT", "status": status, "baseAsset": base, "baseAssetPrecision": 3,
        "quoteAsset": "USDT", "quotePrecision": 2, "quoteAssetPrecision": 2,
        "baseCommissionPrecision": 3, "quoteCommissionPrecision": 2,
        "orderTypes": ["LIMIT", "MARKET"], "isSpotTradingAllowed": True,
        "isMarginTradingAllowed": False, "quoteAmountPrecision": "1", "baseSizePrecision": "0.001",
        "permissions": ["SPOT"], "filters": [], "maxQuoteAmount": "2000000",
        "makerCommission": "0", "takerCommission": "0.0005", "fullName": base, **tagged,
    }  # fmt: skip


MEXC: dict[str, object] = {
    "/api/v3/exchangeInfo": {
        "timezone": "CST",
        "serverTime": MS,
        "rateLimits": [],
        "exchangeFilters": [],
        "symbols": [
            _mexc_symbol("AAAQ", "1", False),
            _mexc_symbol("BBBQ", "2", True),
            _mexc_symbol("CCCQ", "1", None),
        ],
    },
    "/api/v3/depth": {
        "lastUpdateId": 1377532,
        "bids": [["100", "2"], ["99.5", "1"]],
        "asks": [["100.5", "1"], ["101", "3"]],
        "timestamp": MS - 80,
    },
    "/api/v3/ticker/24hr": [
        {
            "symbol": "AAAQUSDT", "priceChange": "1", "priceChangePercent": "0.01",
            "prevClosePrice": "99", "lastPrice": "100.25", "bidPrice": "100", "bidQty": "2",
            "askPrice": "100.5", "askQty": "1", "openPrice": "99", "highPrice": "102",
            "lowPrice": "98", "volume": "50", "quoteVolume": "5000", "openTime": MS - 86_400_000,
            "closeTime": MS, "count": None,
        }
    ],
    "/api/v3/capital/config/getall": [
        {
            "coin": "AAAQ",
            "name": "Aaa",
            "networkList": [
                {
                    "coin": "AAAQ", "depositEnable": True, "withdrawEnable": False,
                    "network": "Ethereum(ERC20)", "netWork": "ETH", "withdrawFee": "0.5",
                    "contract": CONTRACT, "minConfirm": 12,
                },
                {"coin": "AAAQ", "network": "Newchain"},
            ],
        }
    ],
}  # fmt: skip
