import assert from "node:assert/strict";
import { test } from "node:test";

import { get, onExpired, parsed, token } from "../../../api/web/app/api.js";

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

/** What the service answers, in the order in which it is asked. */
async function asking(work, ...answers) {
  const before = globalThis.fetch;
  globalThis.fetch = async () => answers.shift()();
  try {
    return await work();
  } finally {
    globalThis.fetch = before;
  }
}

const refused = () => new Response('{"error": "auth_invalid"}', { status: 401 });

test("a refusal of the session that is used ends it", async () => {
  let ends = 0;
  const tell = () => (ends += 1);
  onExpired.add(tell);
  token.value = "one";
  await asking(() => assert.rejects(get("/me")), refused);
  assert.equal(ends, 1);
  onExpired.delete(tell);
});

test("a late refusal of an earlier session ends none", async () => {
  let ends = 0;
  const tell = () => (ends += 1);
  onExpired.add(tell);
  token.value = "one";
  const late = () => {
    token.value = "two"; // signed out and in again, while the call was under way
    return refused();
  };
  await asking(() => assert.rejects(get("/me")), late);
  assert.equal(ends, 0);
  onExpired.delete(tell);
});
