// Server-sent events, read by fetch: EventSource cannot send the session's credential.
//
//   tab A (leader)   holds the lock  -> reads the stream -> events -> the channel
//   tab B, tab C     wait for it     <- the same events  <-----------
//
// Laws
// - All tabs of one session share one stream. The tab that holds the lock reads; when it is closed the browser gives the
//   lock to the next one, which goes on from the last id that it heard of: no event is missed.
// - A row goes to each page once. What a new leader reads again, because the old one died between reading and notifying,
//   is passed by in tabs that have had it.
// - Where the answer cannot be read while it comes (a proxy that collects it), pages are asked to load again from time to
//   time, until it can.
// - Nothing here throws into the page; states say how fresh it is.
// Source: the HTML standard, 9.2 (server-sent events); Web Locks; BroadcastChannel.

/**
 * @typedef {{id: string, event: string, data: string}} Frame one event as it came; `event` is "message" where none is named
 * @typedef {{id: string, name: string, data: any}} ServiceEvent `data` is parsed JSON
 * @typedef {"live" | "delayed" | "offline"} Freshness
 *   live: the stream is read; delayed: it is being opened again, or polled; offline: the service was not reached
 *
 * @typedef {object} Options
 * @property {string} url
 * @property {string} token the owner's session
 * @property {string} [lastEventId] where to go on; without it the stream begins with `reset`
 * @property {(event: ServiceEvent) => void} onEvent
 * @property {(state: Freshness) => void} [onState]
 * @property {(status: number) => void} [onRefused] 401, 403, 404: the stream will not come, and nothing more is tried
 * @property {AbortSignal} [signal] ends it
 * @property {Partial<Place>} [place] what the browser has, for tests
 *
 * @typedef {object} Place what is used of the browser; `locks` and `channel` null: each tab reads for itself
 * @property {typeof fetch} fetch
 * @property {LockManager | null} locks
 * @property {((name: string) => BroadcastChannel) | null} channel
 * @property {(ms: number, signal: AbortSignal) => Promise<void>} wait ends early, without an error, when it is aborted
 * @property {() => number} random
 * @property {() => number} now
 */

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
const FULL_WAIT_MS = 30_000; // after 429: another page may close its stream
const SILENCE_MS = 45_000; // heartbeats come every 15 s
const POLL_MS = 15_000;
const FIRST_BYTE_MS = 10_000; // a stream begins with a frame at once
const TRIES_BEFORE_POLLING = 2; // in a row that brought nothing until then
const REFUSED = [401, 403, 404];
const MOST_FRAME = 65_536;

/**
 * Follow a stream until `signal` is aborted.
 * @param {Options} options
 * @returns {{lastEventId: () => string, closed: Promise<void>}}
 */
export function openEvents(options) {
  const shared = new SharedStream(options);
  return { lastEventId: () => shared.lastEventId, closed: shared.run() };
}

/** Reads frames out of text that may be cut anywhere. */
export class FrameParser {
  constructor() {
    /** What a client waits before it connects again, as the stream said, or null. @type {number | null} */
    this.retryMs = null;
    /** The id that holds for what comes next. */
    this.lastEventId = "";
    this._rest = "";
    this._isFirst = true;
    this._endsWithCr = false;
    /** @type {string[]} */
    this._data = [];
    this._event = "";
    /** @type {string | undefined} */
    this._id = undefined;
    this._size = 0;
  }

  /**
   * @param {string} text the next piece
   * @returns {Frame[]} the events that it completed
   */
  take(text) {
    if (this._isFirst && text !== "") {
      this._isFirst = false;
      if (text.startsWith("\uFEFF")) text = text.slice(1);
    }
    if (this._endsWithCr && text.startsWith("\n")) text = text.slice(1);
    if (text !== "") this._endsWithCr = text.endsWith("\r");
    const lines = (this._rest + text).split(/\r\n|\r|\n/);
    this._rest = lines.pop() ?? "";
    /** @type {Frame[]} */
    const found = [];
    for (const line of lines) {
      if (line === "") this._finish(found);
      else this._line(line);
    }
    if (this._rest.length + this._size > MOST_FRAME)
      throw new Error("an event of the stream is too long");
    return found;
  }

  _clear() {
    this._data = [];
    this._event = "";
    this._size = 0;
  }

  /** @param {Frame[]} found */
  _finish(found) {
    this.lastEventId = this._id ?? this.lastEventId;
    this._id = undefined;
    if (this._data.length > 0) {
      found.push({
        id: this.lastEventId,
        event: this._event || "message",
        data: this._data.join("\n"),
      });
    }
    this._clear();
  }

  /** @param {string} line */
  _line(line) {
    if (line.startsWith(":")) return;
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    this._size += line.length;
    if (name === "data") this._data.push(value);
    else if (name === "event") this._event = value;
    else if (name === "id" && !value.includes("\0")) this._id = value;
    else if (name === "retry" && /^\d{1,7}$/.test(value)) this.retryMs = Number(value);
  }
}

/** One page's part in the stream that all tabs share. */
class SharedStream {
  /** @param {Options} options */
  constructor(options) {
    this._options = options;
    /** @type {Place} */
    this._place = { ...browser(), ...options.place };
    this._signal = options.signal ?? new AbortController().signal;
    this.lastEventId = options.lastEventId ?? "";
    /** @type {Freshness | null} */
    this._state = null;
    this._leads = false;
    this._heardAt = this._place.now();
    /** @type {BroadcastChannel | null} */
    this._channel = null;
    this._isRefused = false;
    /** The rows that this page had last, newest last. @type {string[]} */
    this._had = [];
  }

  async run() {
    if (this._signal.aborted) return;
    this._say("delayed");
    const { locks, channel } = this._place;
    if (locks === null || channel === null) {
      await this._lead();
      return;
    }
    const name = `mandate-wallet.events ${await nameOf(this._options.token)} ${this._options.url}`;
    const opened = channel(name);
    this._channel = opened;
    opened.onmessage = (message) => this._hear(message.data);
    opened.postMessage({ kind: "hello" });
    const watch = this._watch();
    try {
      await locks.request(name, { signal: this._signal }, () => this._lead());
    } catch (error) {
      if (!this._signal.aborted) throw error;
    } finally {
      this._leads = false;
      opened.close();
      await watch;
    }
  }

  /** A leader that says nothing any more is one whose tab sleeps: the page is not as fresh as it was. */
  async _watch() {
    while (!this._signal.aborted) {
      await this._place.wait(SILENCE_MS / 3, this._signal);
      if (!this._leads && this._state === "live" && this._place.now() - this._heardAt > SILENCE_MS)
        this._say("delayed");
    }
  }

  /** @param {any} message from another tab of this browser, of this origin */
  _hear(message) {
    if (message?.kind === "hello") {
      if (this._leads && this._state !== null)
        this._notify({ kind: "state", state: this._state, id: this.lastEventId });
      return;
    }
    if (this._leads) return;
    this._heardAt = this._place.now();
    if (message?.kind === "event") this._deliver(message.event);
    else if (message?.kind === "state") {
      if (this.lastEventId === "" && typeof message.id === "string") this._adopt(message.id);
      this._say(message.state);
    } else if (message?.kind === "refused") this._refuse(message.status);
  }

  /**
   * A tab that joined while another one reads is where that one is; it loads what it shows, as after a reset.
   * @param {string} id
   */
  _adopt(id) {
    if (id === "") return;
    this.lastEventId = id;
    this._options.onEvent({ id, name: "reset", data: {} });
  }

  /** @param {any} message */
  _notify(message) {
    if (this._channel !== null) this._channel.postMessage(message);
  }

  /** @param {ServiceEvent} event first the other tabs, so that one that this page dies of is not lost to them */
  _notifyAll(event) {
    this._notify({ kind: "event", event });
    this._deliver(event);
  }

  /** @param {Freshness} state */
  _say(state) {
    if (this._leads) this._notify({ kind: "state", state, id: this.lastEventId });
    if (state === this._state) return;
    this._state = state;
    this._options.onState?.(state);
  }

  /** @param {ServiceEvent} event */
  _deliver(event) {
    if (event.id !== "") this.lastEventId = event.id;
    if (event.name === "step") {
      const row = `${event.data.mandate_id} ${event.data.seq}`;
      if (this._had.includes(row)) return;
      this._had = [...this._had.slice(-255), row];
    }
    this._options.onEvent(event);
  }

  /** Reads until the page goes, or the service refuses. */
  async _lead() {
    if (this._isRefused) return;
    this._leads = true;
    let failures = 0;
    let unread = 0;
    while (!this._signal.aborted) {
      const read = await this._readOnce();
      if (this._signal.aborted) return;
      if (read.refused !== null && REFUSED.includes(read.refused)) {
        this._say("offline");
        this._notify({ kind: "refused", status: read.refused });
        this._refuse(read.refused);
        return;
      }
      if (read.refused === 400) this._forget();
      failures = read.isRead ? 0 : failures + 1;
      unread = read.isSilent && !read.isRead ? unread + 1 : 0;
      const polls = unread >= TRIES_BEFORE_POLLING;
      if (polls) this._notifyAll({ id: this.lastEventId, name: "reset", data: {} });
      this._say(read.isAnswered || read.isSilent ? "delayed" : "offline");
      await this._place.wait(
        polls ? this._spread(POLL_MS) : this._waitMs(read, failures),
        this._signal,
      );
    }
  }

  /** @param {number} status */
  _refuse(status) {
    if (this._isRefused) return;
    this._isRefused = true;
    this._options.onRefused?.(status);
  }

  /** The id is of a stream that is no more, as after a restored backup: begin anew. */
  _forget() {
    this.lastEventId = "";
    this._had = [];
  }

  /**
   * @param {{refused: number | null, isRead: boolean, retryMs: number | null}} read
   * @param {number} failures
   */
  _waitMs(read, failures) {
    if (read.refused === 429) return this._spread(FULL_WAIT_MS);
    if (read.isRead) return this._spread(read.retryMs ?? FIRST_WAIT_MS);
    return this._spread(Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS));
  }

  /** @param {number} ms so that all pages do not come back in the same moment */
  _spread(ms) {
    return ms * (0.5 + this._place.random() / 2);
  }

  /**
   * One connection, until it ends. `isRead`: something of it could be read; `isSilent`: nothing came for too long.
   */
  async _readOnce() {
    const read = {
      refused: /** @type {number | null} */ (null),
      retryMs: /** @type {number | null} */ (null),
      isAnswered: false,
      isRead: false,
      isSilent: false,
    };
    const ends = new AbortController();
    const end = () => ends.abort();
    this._signal.addEventListener("abort", end);
    const silence = new Silence(FIRST_BYTE_MS, () => {
      read.isSilent = true;
      end();
    });
    try {
      /** @type {Record<string, string>} */
      const headers = {
        Accept: "text/event-stream",
        Authorization: `Bearer ${this._options.token}`,
      };
      if (this.lastEventId !== "") headers["Last-Event-ID"] = this.lastEventId;
      const answer = await this._place.fetch(this._options.url, {
        headers,
        cache: "no-store",
        signal: ends.signal,
      });
      read.isAnswered = true;
      if (!answer.ok || answer.body === null) {
        read.refused = answer.ok ? null : answer.status;
        return read;
      }
      const parser = new FrameParser();
      const reader = answer.body.getReader();
      const decoder = new TextDecoder();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        silence.broken(SILENCE_MS);
        read.isRead = true;
        this._take(parser, decoder.decode(value, { stream: true }));
        read.retryMs = parser.retryMs;
        this._say("live");
      }
    } catch {
      // what broke is opened again from the last id
    } finally {
      silence.end();
      ends.abort();
      this._signal.removeEventListener("abort", end);
    }
    return read;
  }

  /**
   * @param {FrameParser} parser
   * @param {string} text
   */
  _take(parser, text) {
    for (const frame of parser.take(text)) {
      this._notifyAll({ id: frame.id, name: frame.event, data: JSON.parse(frame.data) });
    }
    if (parser.lastEventId !== "") this.lastEventId = parser.lastEventId;
  }
}

/** Calls `end` when nothing has come for so long. */
class Silence {
  /** @param {number} ms @param {() => void} end */
  constructor(ms, end) {
    this._end = end;
    this._timer = setTimeout(end, ms);
  }

  /** @param {number} ms from now on */
  broken(ms) {
    clearTimeout(this._timer);
    this._timer = setTimeout(this._end, ms);
  }

  end() {
    clearTimeout(this._timer);
  }
}

/** A name of the session that leaks nothing of its token. @param {string} token */
async function nameOf(token) {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return Array.from(new Uint8Array(hash).slice(0, 8), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

/** @returns {Place} */
function browser() {
  const shares =
    globalThis.navigator?.locks !== undefined &&
    globalThis.BroadcastChannel !== undefined &&
    globalThis.crypto?.subtle !== undefined;
  return {
    fetch: (...asked) => fetch(...asked),
    locks: shares ? navigator.locks : null,
    channel: shares ? (name) => new BroadcastChannel(name) : null,
    wait,
    random: Math.random,
    now: Date.now,
  };
}

/** @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
function wait(ms, signal) {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const ended = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", ended);
      resolve();
    };
    const timer = setTimeout(ended, ms);
    signal.addEventListener("abort", ended);
  });
}
