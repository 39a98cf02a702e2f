/** Warnings of a namespace: each index and each record of a job that can't be read is told to the host once. */

import type { UnlistedJob } from "../jobs/jobFiles.js";
import type { DirectoryNamespaceOptions, NamespaceWarning } from "../namespace/options.js";
import type { UnreadIndex } from "../query/indexes/unreadIndexes.js";

/** Indexes, and jobs, that are remembered as told. */
const MAX_REMEMBERED = 1000;

/** Returns a function that warns of an index unless it is among the last that were warned of. */
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

/** Returns a function that warns of a job that lists leave out unless it is among the last that were warned of. */
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

/** Returns a function that tells whether a key is none of the last that it was called with. */
function newKeys(): (key: string) => boolean {
  const told = new Set<string>();
  return (key) => {
    if (told.has(key)) return false;
    told.add(key);
    const [oldest] = told;
    if (told.size > MAX_REMEMBERED) told.delete(oldest);
    return true;
  };
}

function tell(onWarning: (warning: NamespaceWarning) => unknown, warning: NamespaceWarning): void {
  // A host's function may be async, and may fail: the call that this is about must not.
  const told = async (): Promise<unknown> => onWarning(warning);
  Promise.resolve()
    .then(told)
    .catch(() => undefined);
}
