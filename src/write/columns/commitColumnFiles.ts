/** Commits changes that write files of columns, and removes files that the version does not name. */

import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import {
  type ChangeTarget,
  type CommittedPlan,
  commitPlanned,
  type PlannedChange,
} from "../../table/commit/commit.js";
import type { CommitOptions } from "../../table/commit/preparedCommit.js";
import { withFiles } from "../../table/commit/publication.js";
import type { OpenLatest } from "../../table/versions/tableAt.js";
import { ColumnFiles, type ColumnFilesOptions } from "./columnFiles.js";

export interface ColumnCommitOptions
  extends Pick<ColumnFilesOptions, "onRows">,
    Pick<CommitOptions, "signal" | "mustSee"> {
  /** Called right before the version is published, after the files are checked. */
  readonly verify?: () => Promise<void>;
}

/**
 * Plans a change on the latest version and commits it; see {@link commitPlanned}.
 * @param plan gets the same writer of column files at each call
 * @returns null if the plan is null: nothing to do
 */
export async function commitColumnFiles<Plan extends PlannedChange | null>(
  target: ChangeTarget<ReaderEnvironment>,
  plan: (base: OpenLatest<ReaderEnvironment>, files: ColumnFiles) => Promise<Plan>,
  { signal, onRows, mustSee, verify }: ColumnCommitOptions,
): Promise<CommittedPlan<NonNullable<Plan>> | Extract<Plan, null>> {
  const { table } = target;
  const files = new ColumnFiles(table, { signal, pool: table.environment.workers, onRows });
  const verifyAll = async (): Promise<void> => {
    await files.requireInPlace();
    await verify?.();
  };
  return withFiles(
    async () => files.discard(),
    async () => {
      const planOn = (base: OpenLatest<ReaderEnvironment>) =>
        plan(base, files) as Promise<PlannedChange | null>;
      const done = await commitPlanned(target, planOn, { signal, mustSee, verify: verifyAll });
      // A file that can't be removed is an orphan that nothing refers to.
      if (done !== null) await files.discard(done.committed.file.manifest.fragments).catch(() => undefined);
      return done as CommittedPlan<NonNullable<Plan>> | Extract<Plan, null>;
    },
  );
}
