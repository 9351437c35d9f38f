// What a page reads: the newest answer, its error beside it, read again on demand and while the page is open.
//
// An error never takes away what was read before; the page says that it is old.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { OfflineError } from "./api.js";

const RETRY_S = 5;

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
  const latest = useRef(/** @type {AbortController | null} */ (null));
  const reader = useRef(read);
  reader.current = read;

  const reload = async () => {
    latest.current?.abort();
    const controller = new AbortController();
    latest.current = controller;
    setState((old) => ({ ...old, isLoading: true }));
    try {
      const data = await reader.current(controller.signal);
      if (!controller.signal.aborted)
        setState({ data, error: null, isLoading: false, at: Date.now() });
    } catch (error) {
      if (controller.signal.aborted) return;
      setState((old) => ({ ...old, error: /** @type {Error} */ (error), isLoading: false }));
    }
  };

  useEffect(() => {
    setState({ data: null, error: null, isLoading: true, at: null });
    void reload();
    return () => latest.current?.abort();
  }, inputs);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) void reload();
    isFirst.current = false;
  }, again);

  const retryS = state.error instanceof OfflineError ? RETRY_S : everyS;
  useEffect(() => {
    if (retryS === 0) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) void reload();
    }, retryS * 1000);
    return () => clearInterval(timer);
  }, [...inputs, retryS]);

  return { ...state, reload };
}
