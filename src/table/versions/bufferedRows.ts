/**
 * Refuses tables that buffer rows before they reach fragments. Such a table has the system index
 * `__lance_mem_wal`. Files beside its versions hold rows that replace rows of fragments with the same primary
 * key. Its queries must return them:
 *
 *     _mem_wal/<shard>/wal/<position>.arrow      rows as they came in
 *     _mem_wal/<shard>/<id>_gen_<number>/        the same rows sorted, as a table of their own
 *     _mem_wal/<shard>/manifest/                 the progress of both
 *
 * This build does not read them. If some exist, the rows of the fragments alone are outdated, so the table
 * is refused. Rows that a shard has merged into the fragments count too, as long as their files exist. A
 * table whose writers may buffer rows is not changed.
 */

import { UnsupportedError } from "../../errors.js";
import { join } from "../../platform/native.js";
import type { OpenVersion } from "./tableAt.js";

export const BUFFER_INDEX = "__lance_mem_wal";
const GENERATION = /_gen_\d+$/;

/** Returns true if writers may buffer rows: the version has an LSM write spec. */
const mayBufferRows = ({ indexSection }: OpenVersion["file"]): boolean =>
  indexSection?.indices.some(({ name }) => name === BUFFER_INDEX) ?? false;

/**
 * Logs of a version that a change accepts: none (no LSM write spec), empty ones, or any. `unfit` also accepts
 * none. A merge has it if LanceDB's logs do not take such a merge.
 */
export type AcceptedLogs = "none" | "unfit" | "empty" | "any";

/**
 * Refuses to change a version whose logs a change does not accept. Writers of a table with an LSM write spec
 * buffer rows, which this build neither reads nor writes. Buffered rows replace those of the fragments by
 * their primary key.
 * @throws UnsupportedError
 */
export async function refuseLogs(
  version: Pick<OpenVersion, "table" | "file">,
  accepted: AcceptedLogs,
): Promise<void> {
  const { table, file } = version;
  if (accepted === "any" || !mayBufferRows(file)) return;
  if (accepted === "empty") return refuseBufferedRows(version);
  if (accepted === "unfit") {
    // LanceDB's sentence, for programs that look for its words.
    throw new UnsupportedError(
      "merge_insert: when an LSM write spec is set, only the upsert form (when_matched_update_all without a filter + " +
        "when_not_matched_insert_all, no by-source delete) is supported; call use_lsm(false) to use the standard merge_insert path",
    );
  }
  throw new UnsupportedError(
    `${table.root}: the table has an LSM write spec, so its rows are written to the MemWAL; this release does not write such tables (LanceDB's unsetLsmWriteSpec takes the spec away)`,
  );
}

/**
 * Refuses a version with rows outside its fragments. Undefined if it cannot have any.
 * @throws UnsupportedError
 */
export const refuseBufferedRows = ({
  table,
  file,
}: Pick<OpenVersion, "table" | "file">): Promise<void> | undefined =>
  mayBufferRows(file) ? refuseLogsWithRows(table) : undefined;

async function refuseLogsWithRows({ disk, root }: OpenVersion["table"]): Promise<void> {
  const directory = join(root, "_mem_wal");
  for (const shard of (await disk.list(directory)) ?? []) {
    const entries = (await disk.list(join(directory, shard.name))) ?? [];
    const log = await disk.list(join(directory, shard.name, "wal"));
    const isEmpty = !entries.some(({ name }) => GENERATION.test(name)) && (log ?? []).length === 0;
    if (isEmpty) continue;
    throw new UnsupportedError(
      `${root}: the table buffers rows in _mem_wal/${shard.name} that are not in its fragments; reading and changing such tables is not supported by this release`,
    );
  }
}
