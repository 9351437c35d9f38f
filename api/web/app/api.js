// Calls of the service, from this page to where it came from.
//
// A refusal is an ApiRefusal with the service's own sentence, reason and next calls. That the service is away is
// an OfflineError: nothing was lost, and reads try again by themselves. That it takes long is a SlowError: it is there.

import { signal } from "../vendor/signals.js";

/**
 * @typedef {{method: string, path: string, auth?: string, body?: Record<string, unknown>}} NextCall
 * @typedef {{query?: Record<string, string | number | null | undefined>, body?: unknown, isRepeatable?: boolean,
 *   key?: string | undefined, signal?: AbortSignal | undefined, longestMs?: number}} SendOptions
 */

/** The session's token; session.js sets it. @type {import("../vendor/signals.js").Signal<string | null>} */
export const token = signal(null);
/** Whether the last call reached the service. */
export const isOnline = signal(true);
/** Called when the service no longer knows the session. @type {Set<() => void>} */
export const onExpired = new Set();

/**
 * The service no longer knows this session. Of one that the page has left meanwhile nothing follows.
 * @param {string | null} refused its token
 */
export function expired(refused) {
  if (refused !== null && refused === token.value) for (const notify of onExpired) notify();
}

const LONGEST_MS = 30_000;
const LONGEST_FILE_MS = 600_000;

export class ApiRefusal extends Error {
  /**
   * @param {number} status
   * @param {any} body
   */
  constructor(status, body) {
    const block = body && typeof body === "object" ? (body.service ?? {}) : {};
    super(typeof body?.detail === "string" ? body.detail : `The service answered ${status}.`);
    this.name = "ApiRefusal";
    this.status = status;
    this.body = body;
    /** @type {string} */
    this.reason =
      typeof block.reason === "string" ? block.reason : (body?.error ?? `http_${status}`);
    /** @type {string | null} */
    this.whoFixes = block.who_fixes ?? null;
    /** @type {string | null} */
    this.retryAt = block.retry_at ?? null;
    /** @type {NextCall[]} */
    this.next = Array.isArray(block.next) ? block.next : [];
  }
}

/**
 * A service that is not ready answers 503 with the same body as one that is.
 * @param {unknown} error @returns {import("./answers.js").Ready}
 */
export function readyOf(error) {
  if (error instanceof ApiRefusal && error.status === 503 && error.body?.parts) return error.body;
  throw error;
}

export class OfflineError extends Error {
  constructor() {
    super("The service does not answer. Nothing was lost: this page tries again by itself.");
    this.name = "OfflineError";
  }
}

export class SlowError extends Error {
  constructor() {
    super("The service is slow: it has not answered yet, and may still be working.");
    this.name = "SlowError";
  }
}

/**
 * @template {string} Path
 * @param {Path} path
 * @param {import("./answers.js").Query<Path>} [query]
 * @param {AbortSignal} [stop]
 * @returns {Promise<import("./answers.js").Answer<Path>>}
 */
export function get(path, query, stop) {
  return asked("GET", path, { query, signal: stop });
}

/**
 * @template {string} Path
 * @template {import("./answers.js").Body<Path, "post">} Sent
 * @param {Path} path
 * @param {import("./answers.js").Exactly<Sent, import("./answers.js").Body<Path, "post">>} [body]
 * @param {{isRepeatable?: boolean}} [options] isRepeatable: with an idempotency key of its own
 * @returns {Promise<import("./answers.js").Answer<Path, "post">>}
 */
export function post(path, body, options = {}) {
  return asked("POST", path, { body, ...options });
}

/**
 * @template {string} Path
 * @template {import("./answers.js").Body<Path, "put">} Sent
 * @param {Path} path
 * @param {import("./answers.js").Exactly<Sent, import("./answers.js").Body<Path, "put">>} body
 * @param {{isRepeatable?: boolean}} [options]
 * @returns {Promise<import("./answers.js").Answer<Path, "put">>}
 */
export function put(path, body, options = {}) {
  return asked("PUT", path, { body, ...options });
}

/**
 * A write by an agent's key, which is kept nowhere.
 * @template {string} Path
 * @template {import("./answers.js").Body<Path, "post">} Sent
 * @param {Path} path
 * @param {string} key
 * @param {import("./answers.js").Exactly<Sent, import("./answers.js").Body<Path, "post">>} [body]
 * @returns {Promise<import("./answers.js").Answer<Path, "post">>}
 */
export function postByKey(path, key, body) {
  return asked("POST", path, { body, key, isRepeatable: true });
}

/**
 * @param {string} method
 * @param {string} path
 * @param {SendOptions} options
 * @returns {Promise<any>} the answer's JSON
 */
async function asked(method, path, options) {
  const sent = token.value;
  const { answer, content } = await send(method, path, options, (one) => one.text());
  const body = parsed(content);
  if (answer.ok) return body;
  if (answer.status === 401 && options.key === undefined) expired(sent);
  throw new ApiRefusal(answer.status, body);
}

/**
 * @param {string} path
 * @param {SendOptions["query"]} [query]
 * @returns {Promise<string>} the answer as it was sent, for files
 */
export async function text(path, query) {
  const { answer, content } = await send("GET", path, { query }, (one) => one.text());
  if (answer.ok) return content;
  throw new ApiRefusal(answer.status, parsed(content));
}

/**
 * A file, which may take minutes.
 * @param {string} path
 * @param {{query?: SendOptions["query"], stop?: AbortSignal, onBytes?: (count: number) => void}} [options] onBytes gets
 *   how many there are so far
 * @returns {Promise<Blob>}
 */
export async function blob(path, { query, stop, onBytes } = {}) {
  const read = async (/** @type {Response} */ one) => {
    const parts = [];
    let count = 0;
    const reader = one.body?.getReader();
    for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
      parts.push(part.value);
      count += part.value.length;
      onBytes?.(count);
    }
    return new Blob(parts, { type: one.headers.get("Content-Type") ?? "" });
  };
  const options = { query, signal: stop, longestMs: LONGEST_FILE_MS };
  const { answer, content } = await send("GET", path, options, read);
  if (answer.ok) return content;
  throw new ApiRefusal(answer.status, parsed(await content.text()));
}

/**
 * An answer with its whole content. Errors: OfflineError, also where it broke off; SlowError; what `options.signal`
 * aborts with.
 * @template Content
 * @param {string} method @param {string} path @param {SendOptions} options
 * @param {(answer: Response) => Promise<Content>} read
 */
async function send(method, path, options, read) {
  const headers = new Headers();
  if (options.key !== undefined) headers.set("X-SVC-User-Key", options.key);
  else if (token.value !== null) headers.set("Authorization", `Bearer ${token.value}`);
  if (options.body !== undefined) headers.set("Content-Type", "application/json");
  if (options.isRepeatable) headers.set("Idempotency-Key", crypto.randomUUID());
  const limit = AbortSignal.timeout(options.longestMs ?? LONGEST_MS);
  try {
    const answer = await fetch(path + searched(options.query), {
      method,
      headers,
      body: options.body === undefined ? undefined : JSON.stringify(options.body),
      signal: options.signal ? AbortSignal.any([options.signal, limit]) : limit,
      credentials: "omit",
    });
    const content = await read(answer);
    isOnline.value = true;
    return { answer, content };
  } catch (error) {
    if (options.signal?.aborted) throw error;
    if (limit.aborted) throw new SlowError();
    isOnline.value = false;
    throw new OfflineError();
  }
}

// Characters that turn the text around them: in JSON they stand in strings alone, as they are or escaped. Any other
// escape is taken whole, since the text "\\u202e" is a backslash and five letters.
const TURNING =
  /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\\u(?:061c|200[ef]|202[a-e]|206[6-9])|(\\.)/gi;

/**
 * An answer's JSON, without the characters by which a name could be shown as another one; null where it is none.
 * @param {string} answer
 */
export function parsed(answer) {
  try {
    return JSON.parse(answer.replace(TURNING, (_, kept = "") => kept));
  } catch {
    return null;
  }
}

/** @param {SendOptions["query"]} query */
function searched(query) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== null && value !== undefined && value !== "") found.set(name, String(value));
  }
  const text = found.toString();
  return text ? `?${text}` : "";
}

/**
 * A list of rows with ids, newest first, read again: its newest page alone, where that reaches what was read before.
 * @template {string} Path
 * @template {keyof import("./answers.js").Answer<Path> & string} Field
 * @template {{id: number}} One
 * @param {{rows: One[], isWhole: boolean} | null} before
 * @param {Path} path
 * @param {Field} field
 * @param {{query: import("./answers.js").Query<Path>, most: number, stop: AbortSignal,
 *   onPage?: (count: number) => void}} options
 * @returns {Promise<{rows: One[], isWhole: boolean}>}
 */
export async function pagesAgain(before, path, field, options) {
  if (before !== null) {
    const page = await asked("GET", path, { query: options.query, signal: options.stop });
    /** @type {One[]} */
    const newest = page[field];
    const ids = new Set(newest.map((row) => row.id));
    const older = before.rows.filter((row) => !ids.has(row.id));
    if (older.length < before.rows.length) return { ...before, rows: [...newest, ...older] };
  }
  return /** @type {any} */ (pages(path, field, options));
}

/**
 * All rows of a paged list, at most `most`.
 * @template {string} Path
 * @template {keyof import("./answers.js").Answer<Path> & string} Field
 * @param {Path} path
 * @param {Field} field the list's name in the answer
 * @param {{query?: import("./answers.js").Query<Path>, most?: number, stop?: AbortSignal,
 *   onPage?: (count: number) => void}} [options] onPage gets how many rows there are so far
 * @returns {Promise<{rows: import("./answers.js").Row<Path, Field>[], isWhole: boolean,
 *   first: import("./answers.js").Answer<Path>}>}
 */
export async function pages(path, field, { query, most = 10_000, stop, onPage } = {}) {
  /** @type {any[]} */
  const rows = [];
  let cursor = null;
  let first = null;
  do {
    const page = await asked("GET", path, { query: { ...query, cursor }, signal: stop });
    first ??= page;
    rows.push(...page[field]);
    cursor = page.next_cursor ?? null;
    onPage?.(rows.length);
  } while (cursor !== null && rows.length < most);
  return { rows, isWhole: cursor === null, first };
}
