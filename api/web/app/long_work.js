// What takes longer than one stays on a page: a file, a check. It goes on beside the pages, says how far it is, and is
// put away by hand once it is over.

import { blob } from "./api.js";
import { sentenced } from "./format.js";
import { Refused } from "./refusal.js";
import { download, html, now, signal } from "./ui.js";

/**
 * `step`: how far it is; `done`: what came of it, `words` for people; `error` null and not running: it was stopped.
 * @typedef {{key: string, what: string, beganAt: number, isRunning: boolean, step: string, done: any, words: string,
 *   error: unknown, href: string, stop: AbortController}} LongTask
 * @typedef {(step: (text: string) => void, stop: AbortSignal) => Promise<{words: string, done?: any}>} Work
 */

/** Newest last, each key once. */
export const longTasks = signal(/** @type {readonly LongTask[]} */ ([]));

/**
 * Begin it; one of this key that runs goes on instead.
 * @param {string} key @param {string} what in the middle of a sentence @param {Work} work
 */
export function begin(key, what, work) {
  if (longTasks.value.some((one) => one.key === key && one.isRunning)) return;
  const stop = new AbortController();
  /** @type {LongTask} */
  const task = {
    ...{ key, what, stop, beganAt: Date.now(), isRunning: true, step: "" },
    ...{ done: null, words: "", error: null, href: location.hash },
  };
  longTasks.value = [...longTasks.value.filter((one) => one.key !== key), task];
  const become = (/** @type {Partial<LongTask>} */ change) => {
    const isMine = (/** @type {LongTask} */ one) => one.stop === stop;
    longTasks.value = longTasks.value.map((one) => (isMine(one) ? { ...one, ...change } : one));
  };
  /** @type {Promise<never>} what is asked of service and wallet may never be answered */
  const stopped = new Promise((_, reject) =>
    stop.signal.addEventListener("abort", () => reject(stop.signal.reason)),
  );
  const step = (/** @type {string} */ text) => stop.signal.aborted || become({ step: text });
  Promise.race([work(step, stop.signal), stopped]).then(
    ({ words, done = null }) => become({ isRunning: false, words, done }),
    (error) => become({ isRunning: false, error: stop.signal.aborted ? null : error }),
  );
}

/** The one of this key, to be shown on its page too. @param {string} key */
export function longTask(key) {
  return longTasks.value.find((one) => one.key === key) ?? null;
}

/**
 * Read a file from the service and save it.
 * @param {string} name @param {string} what @param {string} path
 * @param {Record<string, string | number | null | undefined>} [query]
 */
export function saveFile(name, what, path, query) {
  begin(name, what, async (step, stop) => {
    const content = await blob(path, {
      query,
      stop,
      onBytes: (count) => step(`${kilobytes(count)} so far`),
    });
    download(name, content, content.type);
    return { words: `saved as ${name}, ${kilobytes(content.size)}` };
  });
}

/** @param {number} count */
function kilobytes(count) {
  return `${Math.ceil(count / 1000).toLocaleString("en-US")} kB`;
}

const SLOW_S = 10;

/** What runs and what is over, above every page. */
export function LongWork() {
  if (longTasks.value.length === 0) return null;
  return html`<section class="card stack tight" aria-label="Long work">${longTasks.value.map((one) => html`<${Line} key=${one.key} one=${one} />`)}</section>`;
}

/** @param {{one: LongTask}} props */
function Line({ one }) {
  const away = () => {
    longTasks.value = longTasks.value.filter((other) => other !== one);
  };
  const seconds = Math.max(0, Math.round((now.value - one.beganAt) / 1000));
  const state = one.isRunning
    ? `${one.step || (seconds >= SLOW_S ? "the service is slow, and still at it" : "asked for")} · ${seconds} s`
    : one.error
      ? "failed"
      : one.words || "stopped";
  return html`<div class="row" role="status" data-long=${one.key}><strong>${sentenced(one.what)}</strong><span class="grow quiet">${state}</span>
      ${location.hash === one.href ? null : html`<a class="button plain" href=${one.href}>See</a>`}
      ${one.isRunning ? html`<button type="button" onClick=${() => one.stop.abort()}>Stop</button>` : html`<button type="button" class="plain" onClick=${away}>Put away</button>`}</div>
    <${Refused} error=${one.error} />`;
}
