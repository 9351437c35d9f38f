// What a wallet with the repository's descriptors shows.
// stdin {app, jobs: [{descriptor, place, typed_data | call, wallet}]}: `descriptor` is a name in descriptors.js or a
// descriptor of its own, `place` binds it. Writes {screens: [{intent, rows} | {error}]}.
import { readFileSync } from "node:fs";

const { app, jobs } = JSON.parse(readFileSync(0, "utf8"));

// The package of this repository has no `type`, so that Node would read these files as CommonJS.
const load = (name) => import(`data:text/javascript;base64,${readFileSync(`${app}/${name}`).toString("base64")}`);
const { ClearSigningError, boundTo, callScreen, typedDataScreen } = await load("clearsigning.js");
const { descriptors } = await load("descriptors.js");

function screen({ descriptor, place, typed_data: document, call, wallet }) {
  const named = typeof descriptor === "string" ? descriptors[descriptor] : descriptor;
  const bound = place ? boundTo(named, place) : named;
  try {
    return document ? typedDataScreen(bound, document, wallet) : callScreen(bound, call, wallet);
  } catch (error) {
    if (error instanceof ClearSigningError) return { error: error.message };
    throw error;
  }
}

console.log(JSON.stringify({ screens: jobs.map(screen) }));
