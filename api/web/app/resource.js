// What a page reads: the newest answer, its error beside it, read again on demand and while the page is open.
//
// An error never takes away what was read before; the page says that it is old. One read at a time: what is asked for
// while one runs is read once after it, so that a slow service is not asked again before it could answer.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { OfflineError, SlowError } from "./api.js";

const RETRY_S = 5;
const RETRY_SLOW_S = 30; // who is slow is not asked more often

/**
 * `isStale`: something happened since it was asked; `done` when nothing more is to be read.
 * @typedef {{stop: AbortController, isStale: boolean, done: Promise<void>}} Reading
 */

/**
 * @template T
 * @typedef {{data: T | null, error: Error | null, isLoading: boolean, at: number | null, reload: () => Promise<void>}} Resource
 */

/**
 * @template T
 * @param {(stop: AbortSignal) => Promise<T>} read
 * @param {unknown[]} inputs read again from nothing when they change
 * @param {{everyS?: number, again?: unknown[]}} [options] `again`: read again when they change, beside what is shown
 * @returns {Resource<T>}
 */
export function useResource(read, inputs, options = {}) {
  const { everyS = 0, again = [] } = options;
  const [state, setState] = useState(
    /** @type {Omit<Resource<T>, "reload">} */ ({
      data: null,
      error: null,
      isLoading: true,
      at: null,
    }),
  );
  const reading = useRef(/** @type {Reading | null} */ (null));
  const readFor = useRef(inputs);
  const reader = useRef(read);
  reader.current = read;

  const readOnce = async (/** @type {AbortSignal} */ stop) => {
    setState((old) => ({ ...old, isLoading: true }));
    try {
      const data = await reader.current(stop);
      if (!stop.aborted) setState({ data, error: null, isLoading: false, at: Date.now() });
    } catch (error) {
      if (stop.aborted) return;
      setState((old) => ({ ...old, error: /** @type {Error} */ (error), isLoading: false }));
    }
  };

  const reload = () => {
    if (reading.current !== null) {
      reading.current.isStale = true;
      return reading.current.done;
    }
    /** @type {Reading} */
    const mine = { stop: new AbortController(), isStale: false, done: Promise.resolve() };
    reading.current = mine;
    const { signal } = mine.stop;
    const untilFresh = async () => {
      do {
        mine.isStale = false;
        await readOnce(signal);
      } while (mine.isStale && !signal.aborted);
      if (reading.current === mine) reading.current = null;
    };
    mine.done = untilFresh();
    return mine.done;
  };

  useEffect(() => {
    readFor.current = inputs;
    setState({ data: null, error: null, isLoading: true, at: null });
    void reload();
    return () => {
      reading.current?.stop.abort();
      reading.current = null;
    };
  }, inputs);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) void reload();
    isFirst.current = false;
  }, again);

  const retryS =
    state.error instanceof OfflineError
      ? RETRY_S
      : state.error instanceof SlowError
        ? RETRY_SLOW_S
        : everyS;
  useEffect(() => {
    if (retryS === 0) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden && reading.current === null) void reload();
    }, retryS * 1000);
    return () => clearInterval(timer);
  }, [...inputs, retryS]);

  // what was read for other inputs is never shown as theirs, not even until the effect above has run
  if (inputs.some((one, index) => one !== readFor.current[index]))
    return { data: null, error: null, isLoading: true, at: null, reload };
  return { ...state, reload };
}
