// What happens while a page is open: the service's events of a mandate, or of all the owner's mandates, counted.
//
// A page reads again when its count rises. Where the stream does not come, events.js polls and says so.

import { token } from "./api.js";
import { openEvents } from "./events.js";
import { signal, useEffect, useSignal } from "./ui.js";

const GATHERED_MS = 300; // rows of one block come together: the page reads once

/** How fresh the page is. @type {import("../vendor/signals.js").Signal<import("./events.js").Freshness | null>} */
export const freshness = signal(null);

/** @returns {import("../vendor/signals.js").Signal<number>} counts up when something happened in any mandate */
export function useOwnerEvents() {
  return useTicks("/mandate-wallet/me/events");
}

/** @param {string} id */
export function useMandateEvents(id) {
  return useTicks(`/mandate-wallet/mandates/${encodeURIComponent(id)}/events`);
}

/** @param {string} url */
function useTicks(url) {
  const ticks = useSignal(0);
  useEffect(() => {
    if (token.value === null) return undefined;
    const controller = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    openEvents({
      url,
      token: token.value,
      signal: controller.signal,
      // also at the first `reset`: what happened between the page's own read and the stream's begin
      onEvent: () => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          ticks.value += 1;
        }, GATHERED_MS);
      },
      onState: (state) => {
        freshness.value = state;
      },
    });
    return () => {
      clearTimeout(timer);
      controller.abort();
      freshness.value = null;
    };
  }, [url, token.value]);
  return ticks;
}
