/** Long work in slices: the page stays alive, and whoever looks can end it. */

const SLICE_MS = 30;

export class Pauses {
  /** @param {AbortSignal | undefined} signal */
  constructor(signal) {
    this.signal = signal;
    this.since = performance.now();
  }

  /** Whether it is time to give way; then await `pause`. */
  get isDue() {
    return performance.now() - this.since > SLICE_MS;
  }

  /** Errors: the signal's reason once it is aborted. */
  async pause() {
    this.signal?.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.signal?.throwIfAborted();
    this.since = performance.now();
  }
}
