// What happens while a page is open: the service's events of a mandate, or of all the owner's mandates.
//
// A page reads again what changed, when there is news; a hidden one when it is shown again. Where the stream does not
// come, events.js polls and says so.

import { expired, token } from "./api.js";
import { signal, useEffect, useSignal } from "./ui.js";

/**
 * Mandates that something happened to; "" means all of them.
 * @typedef {{ids: ReadonlySet<string>}} News
 */

const GATHERED_MS = 300; // rows of one block come together: the page reads once

/** How fresh the page is. @type {import("../vendor/signals.js").Signal<import("./events.js").Freshness | null>} */
export const freshness = signal(null);

/** @returns {import("../vendor/signals.js").Signal<News>} of all mandates of the owner */
export function useOwnerEvents() {
  return useNews("/mandate-wallet/me/events");
}

/** @param {string} id */
export function useMandateEvents(id) {
  return useNews(`/mandate-wallet/mandates/${encodeURIComponent(id)}/events`);
}

/** @param {string} url */
function useNews(url) {
  const news = useSignal(/** @type {News} */ ({ ids: new Set() }));
  useEffect(() => {
    if (token.value === null) return undefined;
    const controller = new AbortController();
    const gathered = gathers((ids) => {
      news.value = { ids };
    });
    const session = token.value;
    const stop = controller.signal;
    void import("./events.js").then(
      ({ openEvents }) => {
        if (stop.aborted) return;
        openEvents({
          url,
          token: session,
          signal: stop,
          // also at the first `reset`: what happened between the page's own read and the stream's begin
          onEvent: ({ name, data }) => {
            gathered.add(name === "reset" ? "" : String(data.mandate_id));
          },
          onState: (state) => {
            freshness.value = state;
          },
          onRefused: (status) => {
            if (status === 401) expired(session);
          },
        });
      },
      () => null,
    ); // another version of the console: the page says so where it loads its parts
    return () => {
      gathered.end();
      controller.abort();
      freshness.value = null;
    };
  }, [url, token.value]);
  return news;
}

/**
 * Tells of what comes within a moment at once, and of what comes while the page is hidden when it is shown.
 * @param {(ids: ReadonlySet<string>) => void} notify
 */
function gathers(notify) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {Set<string>} */
  let ids = new Set();
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (document.hidden || ids.size === 0) return;
    const gathered = ids;
    ids = new Set();
    notify(gathered);
  };
  document.addEventListener("visibilitychange", flush);
  return {
    /** @param {string} id */
    add(id) {
      ids.add(id);
      timer ??= setTimeout(flush, GATHERED_MS);
    },
    end() {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", flush);
    },
  };
}
