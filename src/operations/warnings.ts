/** Warnings of a namespace. The host is warned once about each unreadable index and job record. */

import type { UnlistedJob } from "../jobs/jobFiles.js";
import type { DirectoryNamespaceOptions, NamespaceWarning } from "../namespace/options.js";
import type { UnreadIndex } from "../query/indexes/unreadIndexes.js";

/** Maximum number of remembered warnings. */
const MAX_REMEMBERED = 1000;

/** Returns a function that warns about an index, unless it is among the recent warnings. */
export function unreadWarnings(
  onWarning: NonNullable<DirectoryNamespaceOptions["onWarning"]>,
): (index: UnreadIndex) => void {
  const isNew = newKeys();
  return ({ location, name, segment, reason }) => {
    if (!isNew(JSON.stringify([location, name, segment, reason]))) return;
    const message = `index ${name} of ${location} is not used, queries scan all rows instead: ${reason}`;
    tell(onWarning, { kind: "indexNotRead", message, indexName: name, location });
  };
}

/** Returns a function that warns about an unlisted job, unless it is among the recent warnings. */
export function unlistedWarnings(
  onWarning: NonNullable<DirectoryNamespaceOptions["onWarning"]>,
): (job: UnlistedJob) => void {
  const isNew = newKeys();
  return ({ jobId, location, reason }) => {
    if (!isNew(JSON.stringify([jobId, reason]))) return;
    const message = `listJobs leaves out job ${jobId} because its record cannot be read: ${reason}`;
    tell(onWarning, { kind: "jobNotListed", message, jobId, location });
  };
}

/** Returns a function that is true for keys that it did not receive recently. */
function newKeys(): (key: string) => boolean {
  const keys = new Set<string>();
  return (key) => {
    if (keys.has(key)) return false;
    keys.add(key);
    const [oldest] = keys;
    if (keys.size > MAX_REMEMBERED) keys.delete(oldest);
    return true;
  };
}

function tell(onWarning: (warning: NamespaceWarning) => unknown, warning: NamespaceWarning): void {
  // The callback may be async and may fail. The call must not fail with it.
  const warn = async (): Promise<unknown> => onWarning(warning);
  Promise.resolve()
    .then(warn)
    .catch(() => undefined);
}
