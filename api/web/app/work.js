// One thing at a time: what a button starts, and why it did not work. A second click while it runs does nothing, so
// that nothing is sent or signed twice.

import { useRef, useState } from "../vendor/hooks.js";

/**
 * @typedef {(work: () => Promise<unknown>) => Promise<void>} Run
 * @returns {{isBusy: boolean, error: unknown, run: Run}} `error` of the last work, null while another one runs
 */
export function useWork() {
  const isRunning = useRef(false);
  const [state, setState] = useState({ isBusy: false, error: /** @type {unknown} */ (null) });
  /** @type {Run} */
  const run = async (work) => {
    if (isRunning.current) return;
    isRunning.current = true;
    setState({ isBusy: true, error: null });
    /** @type {unknown} */
    let error = null;
    try {
      await work();
    } catch (failure) {
      error = failure;
    }
    isRunning.current = false;
    setState({ isBusy: false, error });
  };
  return { ...state, run };
}
