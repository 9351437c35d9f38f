import assert from "node:assert/strict";
import { test } from "node:test";

import { parsed } from "../../../api/web/app/api.js";

test("characters that turn text are gone, as they are and escaped", () => {
  assert.equal(parsed('"a\u202eb\u2066c"'), "abc");
  assert.equal(parsed('"a\\u202Eb\\u200fc"'), "abc");
});

// Each of these names is plain ASCII that anybody may choose.
for (const name of ["\\u202e", "\\\\u202e", '\\u202e","rank":1', "\\u2066\\", '"\\u200f"']) {
  test(`a name that is the text of an escape is read as it is: ${name}`, () => {
    assert.deepEqual(parsed(JSON.stringify({ name, rank: null })), { name, rank: null });
  });
}

test("a backslash before a character that turns text stays one", () => {
  assert.equal(parsed(JSON.stringify("\\\u202e")), "\\");
});
