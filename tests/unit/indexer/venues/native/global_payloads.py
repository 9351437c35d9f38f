"""Payloads of binance, bybit, okx and kucoin, written by hand in the shapes that their documentation
gives.

Everywhere: AAAQ trades, BBBQ does not; a best bid of 100 and a best ask of 100.5.
"""

from tests.unit.indexer.venues.native.wire import MS

CONTRACT = "0x00000000000000000000000000000000000000aa"

# --- binance


def _binance_symbol(base: str, status: str) -> dict[str, object]:
    return {
        "symbol": f"{base}USDT",
        "status": status,
        "baseAsset": base,
        "baseAssetPrecision": 8,
        "quoteAsset": "USDT",
        "quotePrecision": 8,
        "quoteAssetPrecision": 8,
        "orderTypes": ["LIMIT", "MARKET"],
        "isSpotTradingAllowed": True,
        "isMarginTradingAllowed": False,
        "filters": [
            {"filterType": "PRICE_FILTER", "minPrice": "0.01", "maxPrice": "1000000", "tickSize": "0.01"},
            {"filterType": "LOT_SIZE", "minQty": "0.001", "maxQty": "9000", "stepSize": "0.001"},
            {"filterType": "NOTIONAL", "minNotional": "5.0"},
        ],
        "permissions": [],
        "permissionSets": [["SPOT"]],
    }  # fmt: skip


BINANCE: dict[str, object] = {
    "/api/v3/exchangeInfo": {
        "timezone": "UTC",
        "serverTime": MS,
        "rateLimits": [],
        "exchangeFilters": [],
        "symbols": [_binance_symbol("AAAQ", "TRADING"), _binance_symbol("BBBQ", "BREAK")],
    },
    "/api/v3/depth": {
        "lastUpdateId": 1027024,
        "bids": [["100.00", "2.0"], ["99.50", "1.0"]],
        "asks": [["100.50", "1.0"], ["101.00", "3.0"]],
    },
    "/api/v3/ticker/24hr": [
        {
            "symbol": "AAAQUSDT",
            "priceChange": "1.0",
            "priceChangePercent": "1.0",
            "weightedAvgPrice": "100.0",
            "prevClosePrice": "99.0",
            "lastPrice": "100.25",
            "lastQty": "0.1",
            "bidPrice": "100.00",
            "bidQty": "2.0",
            "askPrice": "100.50",
            "askQty": "1.0",
            "openPrice": "99.0",
            "highPrice": "102.0",
            "lowPrice": "98.0",
            "volume": "50.0",
            "quoteVolume": "5000.0",
            "openTime": MS - 86_400_000,
            "closeTime": MS,
            "firstId": 1,
            "lastId": 9,
            "count": 9,
        }
    ],
    "/sapi/v1/capital/config/getall": [
        {
            "coin": "AAAQ",
            "depositAllEnable": True,
            "withdrawAllEnable": True,
            "name": "Aaa",
            "networkList": [
                {
                    "network": "ETH",
                    "coin": "AAAQ",
                    "depositEnable": True,
                    "withdrawEnable": False,
                    "withdrawFee": "0.5",
                    "contractAddress": CONTRACT,
                    "isDefault": True,
                },
                {"network": "NEWCHAIN", "coin": "AAAQ", "withdrawFee": "0.1"},
            ],
        },
        {
            "coin": "ETH",
            "networkList": [
                {"network": "ETH", "coin": "ETH", "depositEnable": True, "withdrawEnable": True}
            ],
        },
    ],
}  # fmt: skip

# --- bybit


def _bybit_instrument(base: str, status: str, tag: str | None, kind: str) -> dict[str, object]:
    tagged = {} if tag is None else {"stTag": tag}
    return {
        "symbol": f"{base}USDT",
        "baseCoin": base,
        "quoteCoin": "USDT",
        "innovation": "0",
        "symbolType": kind,
        "status": status,
        "marginTrading": "none",
        "lotSizeFilter": {
            "basePrecision": "0.001", "quotePrecision": "0.00001", "minOrderQty": "0.001",
            "maxOrderQty": "100", "minOrderAmt": "5", "maxOrderAmt": "100000",
        },
        "priceFilter": {"tickSize": "0.01"},
        "riskParameters": {"limitParameter": "0.05", "marketParameter": "0.05"},
        **tagged,
    }  # fmt: skip


def bybit_of(result: object) -> dict[str, object]:
    return {"retCode": 0, "retMsg": "OK", "result": result, "retExtInfo": {}, "time": MS}


BYBIT: dict[str, object] = {
    "/v5/market/instruments-info": bybit_of(
        {
            "category": "spot",
            "list": [
                _bybit_instrument("AAAQ", "Trading", "0", ""),
                _bybit_instrument("BBBQ", "PreLaunch", "1", ""),
                _bybit_instrument("CCCQ", "Trading", None, "xstocks"),
            ],
        }
    ),
    "/v5/market/orderbook": bybit_of(
        {
            "s": "AAAQUSDT",
            "b": [["100", "2"], ["99.5", "1"]],
            "a": [["100.5", "1"], ["101", "3"]],
            "ts": MS - 80,
            "u": 7,
            "seq": 9,
            "cts": MS - 90,
        }
    ),
    "/v5/market/tickers": bybit_of(
        {
            "category": "spot",
            "list": [
                {
                    "symbol": "AAAQUSDT", "bid1Price": "100", "bid1Size": "2", "ask1Price": "100.5",
                    "ask1Size": "1", "lastPrice": "100.25", "prevPrice24h": "99",
                    "price24hPcnt": "0.01", "highPrice24h": "102", "lowPrice24h": "98",
                    "turnover24h": "5000", "volume24h": "50",
                }
            ],
        }
    ),
    "/v5/asset/coin/query-info": bybit_of(
        {
            "rows": [
                {
                    "name": "AAAQ",
                    "coin": "AAAQ",
                    "remainAmount": "100",
                    "chains": [
                        {
                            "chain": "ETH", "chainType": "Ethereum", "confirmation": "12",
                            "withdrawFee": "0.5", "depositMin": "0", "withdrawMin": "1",
                            "chainDeposit": "1", "chainWithdraw": "0",
                        },
                        {"chain": "NEWCHAIN", "withdrawFee": ""},
                    ],
                }
            ]
        }
    ),
    "/v5/announcements/index": bybit_of(
        {
            "total": 2,
            "list": [
                {
                    "title": "Delisting of AAAQ/USDT on the spot market",
                    "description": "…",
                    "type": {"title": "Delistings", "key": "delistings"},
                    "tags": ["Spot"],
                    "url": "https://announcements.bybit.com/article/aaaq",
                    "dateTimestamp": MS - 3_600_000,
                    "startDateTimestamp": MS + 86_400_000,
                    "endDateTimestamp": MS + 86_400_000,
                    "publishTime": MS - 3_600_000,
                },
                {"title": "", "publishTime": MS},
            ],
        }
    ),
}  # fmt: skip

# --- okx


def okx_of(data: object) -> dict[str, object]:
    return {"code": "0", "msg": "", "data": data}


def _okx_instrument(base: str, state: str) -> dict[str, object]:
    return {
        "instType": "SPOT", "instId": f"{base}-USDT", "baseCcy": base, "quoteCcy": "USDT",
        "settleCcy": "", "ctVal": "", "ctMult": "", "ctValCcy": "", "ctType": "", "uly": "",
        "instFamily": "", "category": "1", "lever": "", "listTime": str(MS - 86_400_000),
        "expTime": "", "tickSz": "0.01", "lotSz": "0.001", "minSz": "0.01", "state": state,
        "alias": "", "stk": "", "optType": "", "maxLmtSz": "9999", "maxMktSz": "9999",
    }  # fmt: skip


OKX: dict[str, object] = {
    "/api/v5/public/instruments": okx_of(
        [_okx_instrument("AAAQ", "live"), _okx_instrument("BBBQ", "suspend")]
    ),
    "/api/v5/market/books": okx_of(
        [
            {
                "asks": [["100.5", "1", "0", "1"], ["101", "3", "0", "2"]],
                "bids": [["100", "2", "0", "1"], ["99.5", "1", "0", "1"]],
                "ts": str(MS - 80),
            }
        ]
    ),
    "/api/v5/market/tickers": okx_of(
        [
            {
                "instType": "SPOT", "instId": "AAAQ-USDT", "last": "100.25", "lastSz": "0.1",
                "askPx": "100.5", "askSz": "1", "bidPx": "100", "bidSz": "2", "open24h": "99",
                "high24h": "102", "low24h": "98", "volCcy24h": "5000", "vol24h": "50",
                "ts": str(MS), "sodUtc0": "99", "sodUtc8": "99",
            }
        ]
    ),
    "/api/v5/asset/currencies": okx_of(
        [
            {
                "ccy": "AAAQ", "chain": "AAAQ-ERC20", "canDep": True, "canWd": False,
                "canInternal": True, "ctAddr": CONTRACT, "fee": "0.5", "mainNet": False,
            },
            {"ccy": "AAAQ", "chain": "AAAQ-Newchain"},
            {"ccy": "ETH", "chain": "ETH-ERC20", "canDep": True, "canWd": True, "ctAddr": ""},
        ]
    ),
    "/api/v5/support/announcements": okx_of(
        [
            {
                "totalPage": "1",
                "details": [
                    {
                        "annType": "announcements-delistings",
                        "title": "OKX to delist AAAQ",
                        "url": "https://www.okx.com/help/aaaq",
                        "pTime": str(MS - 3_600_000),
                        "businessPTime": str(MS + 86_400_000),
                    }
                ],
            }
        ]
    ),
}  # fmt: skip

# --- kucoin


def kucoin_of(data: object) -> dict[str, object]:
    return {"code": "200000", "data": data}


def _kucoin_symbol(base: str, *, trades: bool, tag: bool | None) -> dict[str, object]:
    tagged = {} if tag is None else {"st": tag}
    return {
        "symbol": f"{base}-USDT", "name": f"{base}-USDT", "baseCurrency": base,
        "quoteCurrency": "USDT", "feeCurrency": "USDT", "market": "USDS", "baseMinSize": "0.01",
        "quoteMinSize": "0.1", "baseMaxSize": "10000", "quoteMaxSize": "99999999",
        "baseIncrement": "0.001", "quoteIncrement": "0.001", "priceIncrement": "0.01",
        "priceLimitRate": "0.1", "minFunds": "0.1", "isMarginEnabled": False,
        "enableTrading": trades, **tagged,
    }  # fmt: skip


KUCOIN: dict[str, object] = {
    "/api/v2/symbols": kucoin_of(
        [
            _kucoin_symbol("AAAQ", trades=True, tag=False),
            _kucoin_symbol("BBBQ", trades=False, tag=True),
            _kucoin_symbol("CCCQ", trades=True, tag=None),
        ]
    ),
    "/api/v1/market/orderbook/level2_20": kucoin_of(
        {
            "sequence": "14610502970",
            "time": MS - 80,
            "bids": [["100", "2"], ["99.5", "1"]],
            "asks": [["100.5", "1"], ["101", "3"]],
        }
    ),
    "/api/v1/market/allTickers": kucoin_of(
        {
            "time": MS,
            "ticker": [
                {
                    "symbol": "AAAQ-USDT", "symbolName": "AAAQ-USDT", "buy": "100", "sell": "100.5",
                    "changeRate": "0.01", "changePrice": "1", "high": "102", "low": "98",
                    "vol": "50", "volValue": "5000", "last": "100.25", "averagePrice": "100",
                    "takerFeeRate": "0.001", "makerFeeRate": "0.001",
                    "takerCoefficient": "1", "makerCoefficient": "1",
                }
            ],
        }
    ),
    "/api/v3/currencies": kucoin_of(
        [
            {
                "currency": "AAAQ", "name": "AAAQ", "fullName": "Aaa", "precision": 8,
                "confirms": None, "contractAddress": None, "isMarginEnabled": False,
                "isDebitEnabled": False,
                "chains": [
                    {
                        "chainName": "ERC20", "chainId": "eth", "withdrawalMinSize": "1",
                        "depositMinSize": None, "withdrawFeeRate": "0", "withdrawalMinFee": "0.5",
                        "isWithdrawEnabled": False, "isDepositEnabled": True, "confirms": 12,
                        "preConfirms": 12, "contractAddress": CONTRACT, "needTag": False,
                    },
                    {"chainName": "Newchain", "chainId": "newchain"},
                ],
            },
            {"currency": "DDDQ", "chains": None},
        ]
    ),
    "/api/v3/announcements": kucoin_of(
        {
            "totalNum": 1,
            "items": [
                {
                    "annId": 129045,
                    "annTitle": "KuCoin Will Delist Certain Projects (AAAQ)",
                    "annType": ["delistings"],
                    "annDesc": "…",
                    "cTime": MS - 3_600_000,
                    "language": "en_US",
                    "annUrl": "https://www.kucoin.com/announcement/aaaq",
                }
            ],
        }
    ),
}  # fmt: skip
