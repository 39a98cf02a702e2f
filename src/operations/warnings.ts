/** Warnings of a namespace: each index that can't be read is told to the host once. */

import type { DirectoryNamespaceOptions, NamespaceWarning } from "../namespace/options.js";
import type { UnreadIndex } from "../query/indexes/unreadIndexes.js";

/** Indexes that are remembered as told. */
const MAX_REMEMBERED = 1000;

/** Returns a function that warns of an index unless it is among the last that were warned of. */
export function unreadWarnings(
  onWarning: NonNullable<DirectoryNamespaceOptions["onWarning"]>,
): (index: UnreadIndex) => void {
  const told = new Set<string>();
  return ({ location, name, segment, reason }) => {
    const key = JSON.stringify([location, name, segment, reason]);
    if (told.has(key)) return;
    told.add(key);
    const [oldest] = told;
    if (told.size > MAX_REMEMBERED) told.delete(oldest);
    const message = `index ${name} of ${location} is not used, all rows are looked at instead: ${reason}`;
    tell(onWarning, { kind: "indexNotRead", message, indexName: name, location });
  };
}

function tell(onWarning: (warning: NamespaceWarning) => unknown, warning: NamespaceWarning): void {
  // A host's function may be async, and may fail: the call that this is about must not.
  const told = async (): Promise<unknown> => onWarning(warning);
  Promise.resolve()
    .then(told)
    .catch(() => undefined);
}
