import assert from "node:assert/strict";
import { test } from "node:test";

import { FrameParser, openEvents } from "../../../api/web/app/events.js";

const STREAM =
  "\uFEFFretry: 3000\r\nid: 16\r\n\r\n: heartbeat\r\n\r\nid: 17\revent: step\rdata: {\"a\":\rdata: 1}\r\r" +
  "data:no space\ndata:  two\nunknown: x\ndata\n\nevent: lone\n\nid: 18\nevent: status\ndata: {}\n\nid\ndata: ü\n\ndata: cut";
const FRAMES = [
  { id: "17", event: "step", data: '{"a":\n1}' },
  { id: "17", event: "message", data: "no space\n two\n" },
  { id: "18", event: "status", data: "{}" },
  { id: "", event: "message", data: "ü" },
];

test("frames are the same wherever the text is cut", () => {
  for (let at = 0; at <= STREAM.length; at += 1) {
    const parser = new FrameParser();
    assert.deepEqual([...parser.take(STREAM.slice(0, at)), ...parser.take(STREAM.slice(at))], FRAMES, `cut at ${at}`);
    assert.equal(parser.retryMs, 3000);
  }
});

test("frames are the same where each character comes alone", () => {
  const parser = new FrameParser();
  assert.deepEqual([...STREAM].flatMap((one) => parser.take(one)), FRAMES);
});

test("an id without data is where the stream stands, and no event", () => {
  const parser = new FrameParser();
  assert.deepEqual(parser.take("id: 5\n\n"), []);
  assert.equal(parser.lastEventId, "5");
  parser.take("id: 6\ndata: x"); // not ended: it does not hold yet
  assert.equal(parser.lastEventId, "5");
});

test("an id with a zero byte and a retry that is no number are passed by", () => {
  const parser = new FrameParser();
  parser.take("id: 5\n\nid: a\0b\nretry: 1e3\n\n");
  assert.deepEqual([parser.lastEventId, parser.retryMs], ["5", null]);
});

test("an event without end is an error, not memory", () => {
  const parser = new FrameParser();
  assert.throws(() => {
    for (let n = 0; n < 10_000; n += 1) parser.take("data: 0123456789\n");
  }, /too long/);
});

// A browser of several tabs: locks, a channel, a service with rows. Waits pass at once.

class Browser {
  constructor() {
    this.rows = [];
    this.asked = [];
    this.answers = []; // statuses to refuse with, first to last
    this.open = new Set();
    this.channels = new Set();
    this.queue = [];
    this.held = false;
  }

  write() {
    this.rows.push(this.rows.length + 1);
    for (const one of this.open) one.bring();
  }

  tab(name, more = {}) {
    const ends = new AbortController();
    const tab = { name, seqs: [], resets: 0, states: [], refused: [], ends, waits: [] };
    const opened = openEvents({
      url: "/events",
      token: "t",
      signal: ends.signal,
      onEvent: (event) => {
        if (event.name === "step") tab.seqs.push(event.data.seq);
        if (event.name === "reset") tab.resets += 1;
      },
      onState: (state) => tab.states.push(state),
      onRefused: (status) => tab.refused.push(status),
      place: {
        fetch: (url, asked) => this.fetch(asked, tab),
        locks: { request: (_, options, run) => this.lock(options.signal, run) },
        channel: () => this.channel(),
        wait: async (ms, signal) => {
          tab.waits.push(ms);
          await new Promise((resolve) => {
            setTimeout(resolve, ms >= 15_000 && !more.impatient ? 10_000 : 1).unref();
            signal.addEventListener("abort", resolve);
          });
        },
        random: () => 1,
        now: Date.now,
      },
      ...more.options,
    });
    tab.id = opened.lastEventId;
    tab.closed = opened.closed;
    return tab;
  }

  async lock(signal, run) {
    await new Promise((resolve, reject) => {
      const turn = () => {
        this.held = true;
        resolve();
      };
      signal.addEventListener("abort", () => {
        const at = this.queue.indexOf(turn);
        if (at === -1) return;
        this.queue.splice(at, 1);
        reject(new DOMException("", "AbortError"));
      });
      if (this.held) this.queue.push(turn);
      else turn();
    });
    try {
      await run();
    } finally {
      this.held = false;
      this.queue.shift()?.();
    }
  }

  channel() {
    const one = {
      onmessage: null,
      postMessage: (data) => {
        const copy = structuredClone(data);
        for (const other of this.channels) {
          if (other !== one) queueMicrotask(() => other.onmessage?.({ data: copy }));
        }
      },
      close: () => this.channels.delete(one),
    };
    this.channels.add(one);
    return one;
  }

  async fetch({ headers, signal }, tab) {
    const last = headers["Last-Event-ID"];
    this.asked.push({ tab: tab.name, last, authorization: headers.Authorization });
    const status = this.answers.shift();
    if (status === "down") throw new TypeError("fetch failed");
    if (status !== undefined) return new Response("{}", { status });
    const stream = { sent: last === undefined ? this.rows.length : Number(last) };
    const encoder = new TextEncoder();
    const body = new ReadableStream({
      start: (controller) => {
        stream.bring = () => {
          while (stream.sent < this.rows.length) {
            stream.sent += 1;
            const data = JSON.stringify({ mandate_id: "m", seq: stream.sent });
            controller.enqueue(encoder.encode(`id: ${stream.sent}\nevent: step\ndata: ${data}\n\n`));
          }
        };
        stream.cut = () => {
          this.open.delete(stream);
          controller.error(new TypeError("network error"));
        };
        signal.addEventListener("abort", () => {
          if (this.open.delete(stream)) controller.error(new DOMException("", "AbortError"));
        });
        this.open.add(stream);
        controller.enqueue(encoder.encode(`retry: 3000\nid: ${stream.sent}\n\n`));
        if (last === undefined) {
          controller.enqueue(encoder.encode(`id: ${stream.sent}\nevent: reset\ndata: {}\n\n`));
        }
        stream.bring();
      },
    });
    return new Response(body, { status: 200 });
  }
}

async function until(isTrue, what) {
  const end = Date.now() + 5_000;
  while (!isTrue()) {
    assert.ok(Date.now() < end, what());
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function closeAll(...tabs) {
  for (const tab of tabs) tab.ends.abort();
  await Promise.all(tabs.map((tab) => tab.closed));
}

const shown = (...tabs) => () => JSON.stringify(tabs.map(({ name, seqs, states }) => ({ name, seqs, states })));

test("tabs share one stream, and each has each event once", async () => {
  const browser = new Browser();
  const tabs = ["a", "b", "c"].map((name) => browser.tab(name));
  await until(() => tabs.every((tab) => tab.states.at(-1) === "live"), shown(...tabs));
  for (let n = 0; n < 3; n += 1) browser.write();
  await until(() => tabs.every((tab) => tab.seqs.length === 3), shown(...tabs));
  assert.deepEqual(tabs.map((tab) => tab.seqs), [[1, 2, 3], [1, 2, 3], [1, 2, 3]]);
  assert.equal(browser.asked.length, 1);
  assert.equal(browser.asked[0].authorization, "Bearer t");
  await closeAll(...tabs);
  assert.equal(browser.open.size, 0);
});

test("a tab that joins later is told to load, and stands where the others stand", async () => {
  const browser = new Browser();
  const first = browser.tab("a");
  await until(() => first.states.at(-1) === "live", shown(first));
  browser.write();
  await until(() => first.seqs.length === 1, shown(first));
  const second = browser.tab("b");
  await until(() => second.states.at(-1) === "live", shown(second));
  assert.deepEqual([second.resets, second.id()], [1, "1"]);
  await closeAll(first, second);
});

test("when the tab that reads is closed the next one goes on without loss", async () => {
  const browser = new Browser();
  const tabs = ["a", "b", "c"].map((name) => browser.tab(name));
  await until(() => tabs.every((tab) => tab.states.at(-1) === "live"), shown(...tabs));
  browser.write();
  await until(() => tabs.every((tab) => tab.seqs.length === 1), shown(...tabs));
  tabs[0].ends.abort();
  browser.write();
  browser.write();
  await until(() => tabs.slice(1).every((tab) => tab.seqs.length === 3), shown(...tabs));
  assert.deepEqual(tabs.slice(1).map((tab) => tab.seqs), [[1, 2, 3], [1, 2, 3]]);
  assert.deepEqual(browser.asked.map((one) => [one.tab, one.last]), [["a", undefined], ["b", "1"]]);
  await closeAll(...tabs);
});

test("what the old leader told only some tabs of is not told those twice", async () => {
  const browser = new Browser();
  const [a, b, c] = ["a", "b", "c"].map((name) => browser.tab(name));
  await until(() => [a, b, c].every((tab) => tab.states.at(-1) === "live"), shown(a, b, c));
  const [, channelOfB] = browser.channels;
  const { onmessage } = channelOfB;
  channelOfB.onmessage = null; // the event does not reach it
  browser.write();
  await until(() => c.seqs.length === 1, shown(a, b, c));
  a.ends.abort();
  channelOfB.onmessage = onmessage;
  await until(() => b.seqs.length === 1, shown(a, b, c));
  browser.write();
  await until(() => c.seqs.length === 2, shown(a, b, c));
  assert.deepEqual([b.seqs, c.seqs], [[1, 2], [1, 2]]);
  await closeAll(a, b, c);
});

test("a stream that breaks is opened again from the last id", async () => {
  const browser = new Browser();
  const tab = browser.tab("a");
  await until(() => tab.states.at(-1) === "live", shown(tab));
  browser.write();
  await until(() => tab.seqs.length === 1, shown(tab));
  for (const one of browser.open) one.cut();
  browser.write();
  await until(() => tab.seqs.length === 2, shown(tab));
  assert.deepEqual(browser.asked.map((one) => one.last), [undefined, "1"]);
  assert.deepEqual([tab.seqs, tab.states], [[1, 2], ["delayed", "live", "delayed", "live"]]);
  await closeAll(tab);
});

test("while the service is away waits grow, and the page says so", async () => {
  const browser = new Browser();
  browser.answers = ["down", "down", "down", "down", "down", "down", "down"];
  const tab = browser.tab("a", { impatient: true });
  await until(() => tab.states.at(-1) === "live", shown(tab));
  assert.deepEqual(tab.states, ["delayed", "offline", "live"]);
  const waits = tab.waits.filter((ms) => ms !== 15_000);
  assert.deepEqual(waits.slice(0, 7), [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  await closeAll(tab);
});

test("a session that ended is told once to each tab, and nothing more is tried", async () => {
  const browser = new Browser();
  browser.answers = [401, 401];
  const tabs = ["a", "b"].map((name) => browser.tab(name));
  await until(() => tabs.every((tab) => tab.refused.length > 0), shown(...tabs));
  await Promise.all(tabs.map((tab) => tab.ends.abort()));
  await Promise.all(tabs.map((tab) => tab.closed));
  assert.deepEqual(tabs.map((tab) => tab.refused), [[401], [401]]);
  assert.ok(browser.asked.length <= 2);
});

test("an id that the service does not know any more is forgotten", async () => {
  const browser = new Browser();
  browser.answers = [400];
  const tab = browser.tab("a", { options: { lastEventId: "999" } });
  await until(() => tab.states.at(-1) === "live", shown(tab));
  assert.deepEqual([browser.asked.map((one) => one.last), tab.resets], [["999", undefined], 1]);
  await closeAll(tab);
});
