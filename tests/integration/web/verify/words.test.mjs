// Canonical JSON, money, times and row forms: one spelling each.
import assert from "node:assert/strict";
import { test } from "node:test";
import { canonical, hasOnlyWholeNumbers } from "../../../../api/web/verify/canonical.js";
import { usdcOf, usdcText } from "../../../../api/web/verify/money.js";
import { isTime, microsOf, timeText } from "../../../../api/web/verify/times.js";

test("canonical json sorts by UTF-16 units and writes no space", () => {
  const value = { "\u20ac": 1, "\r": 2, "\ufb33": 3, 1: 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7 };
  const wanted = '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}';
  assert.equal(canonical(value), wanted); // RFC 8785, 3.2.3
});

test("canonical json refuses what a record may not hold", () => {
  for (const value of [0.5, 2 ** 53, Number.NaN, "a\0b", "\ud800", "\udc00x"]) {
    assert.throws(() => canonical({ value }), /a number|text with/);
  }
  assert.equal(canonical(-0), "0");
  assert.equal(canonical(2 ** 53 - 1), "9007199254740991");
});

test("an object of a stranger keeps a key named __proto__", () => {
  assert.equal(canonical(JSON.parse('{"__proto__":{"a":1}}')), '{"__proto__":{"a":1}}');
});

test("numbers of a line are whole and exact, whatever its texts hold", () => {
  assert.equal(hasOnlyWholeNumbers('{"a":"1.5","b":[1,-2],"c\\"":"\\\\"}'), true);
  for (const line of ['{"a":1.0}', '{"a":1e3}', '{"a":9007199254740992}', "[-0.5]"]) {
    assert.equal(hasOnlyWholeNumbers(line), false);
  }
});

test("an amount has at most six decimals and twelve digits, or is the largest", () => {
  assert.equal(usdcOf("12.5"), 12_500_000n);
  assert.equal(usdcOf("-0.000001"), -1n);
  assert.equal(usdcOf("1000000000000"), 10n ** 18n);
  const others = ["1000000000000.000001", "1.0000001", ".5", "1.", "+1", " 1", "\uff11", "1e3", ""];
  for (const text of others) assert.equal(usdcOf(text), null);
  assert.equal(usdcText(-1n), "-0.000001");
});

test("a time has one text", () => {
  assert.equal(isTime("2026-02-02T09:00:00.000001Z"), true);
  const others = [
    "2026-02-30T09:00:00.000000Z", "2026-02-02T24:00:00.000000Z", "0000-01-01T00:00:00.000000Z",
    "2026-W48-1T00:00:00.000000Z", "2026-02-02T09:00:00Z", "2026-02-02T09:00:60.000000Z",
  ];
  for (const text of others) assert.equal(isTime(text), false);
  assert.equal(microsOf("1970-01-01T00:00:01.000002Z"), 1_000_002n);
  assert.equal(timeText(1_767_225_600), "2026-01-01T00:00:00.000000Z");
});
