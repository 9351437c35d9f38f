// What happens while a page is open: the service's events of a mandate, or of all the owner's.
//
// Until the stream is there, pages read again every half minute.

import { signal, useEffect, useSignal } from "./ui.js";

const POLL_MS = 30_000;

/** How fresh the page is. @type {import("../vendor/signals.js").Signal<"live" | "delayed" | "offline">} */
export const freshness = signal("delayed");

/** @returns {import("../vendor/signals.js").Signal<number>} counts up when something happened in any mandate */
export function useOwnerEvents() {
  return useTicks("/mandate-wallet/me/events");
}

/** @param {string} id */
export function useMandateEvents(id) {
  return useTicks(`/mandate-wallet/mandates/${id}/events`);
}

/** @param {string} url */
function useTicks(url) {
  const ticks = useSignal(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) ticks.value += 1;
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [url]);
  return ticks;
}
