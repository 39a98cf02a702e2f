/** Says which servers the run leaves out: their tests do not count as skipped. */

import { OMITTED_STORES, STORES, SUITE_STORES } from "./storeNames.js";

export default function reportStores(): void {
  const omitted = OMITTED_STORES.length === 0 ? "" : `; STORES leaves out ${OMITTED_STORES.join(", ")}`;
  process.stdout.write(`Servers of this run: ${STORES.join(", ")}${omitted}\n`);
  process.stdout.write(`Servers of the namespace suite: ${SUITE_STORES.join(", ")}\n`);
}
