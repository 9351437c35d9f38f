// What a wallet with the repository's descriptors shows.
// stdin {jobs: [{descriptor, place, typed_data | call, wallet} | {service, typed_data}]}: `descriptor` is a name in
// descriptors.js or a descriptor of its own, `place` binds it. Writes {screens: [{intent, rows} | {error}]}.
import { readFileSync } from "node:fs";
import { termsOn } from "../../../../api/web/app/clear_signing_view.js";
import { boundTo, callScreen, ClearSigningError, typedDataScreen } from "../../../../api/web/app/clearsigning.js";
import { descriptors } from "../../../../api/web/app/descriptors.js";

const { jobs } = JSON.parse(readFileSync(0, "utf8"));

function screen({ descriptor, place, typed_data: document, call, wallet, service }) {
  if (service) return { rows: termsOn(service, document) };
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
