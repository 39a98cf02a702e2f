/** Commits changes that write files of columns, and removes files that the version does not name. */

import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import {
  type ChangeTarget,
  type CommittedPlan,
  commitPlanned,
  type PlannedChange,
} from "../../table/commit/commit.js";
import type { CommitOptions } from "../../table/commit/commitAttempts.js";
import { withFiles } from "../../table/commit/publication.js";
import type { OpenLatest } from "../../table/versions/tableAt.js";
import { ColumnFiles, type ColumnFilesOptions } from "./columnFiles.js";

export interface ColumnCommitOptions
  extends Pick<ColumnFilesOptions, "onRows">,
    Pick<CommitOptions, "signal" | "mustSee"> {
  /** Called right before the version is published, after the files are checked. */
  readonly verify?: () => Promise<void>;
}

type PlanColumns<Plan> = (base: OpenLatest<ReaderEnvironment>, files: ColumnFiles) => Promise<Plan>;

/**
 * Plans a change on the latest version and commits it; see {@link commitPlanned}.
 * @param plan gets the same writer of column files at each call
 * @returns null if the plan is null: nothing to do
 */
export async function commitColumnFiles<Plan extends PlannedChange>(
  target: ChangeTarget<ReaderEnvironment>,
  plan: PlanColumns<Plan>,
  options: ColumnCommitOptions,
): Promise<CommittedPlan<Plan>>;
export async function commitColumnFiles<Plan extends PlannedChange>(
  target: ChangeTarget<ReaderEnvironment>,
  plan: PlanColumns<Plan | null>,
  options: ColumnCommitOptions,
): Promise<CommittedPlan<Plan> | null>;
export async function commitColumnFiles<Plan extends PlannedChange>(
  target: ChangeTarget<ReaderEnvironment>,
  plan: PlanColumns<Plan | null>,
  { signal, onRows, mustSee, verify }: ColumnCommitOptions,
): Promise<CommittedPlan<Plan> | null> {
  const { table } = target;
  const files = new ColumnFiles(table, { signal, pool: table.environment.workers, onRows });
  const verifyAll = async (): Promise<void> => {
    await files.requireInPlace();
    await verify?.();
  };
  return withFiles(
    async () => files.discard(),
    async () => {
      const done = await commitPlanned(target, (base) => plan(base, files), {
        ...{ signal, mustSee, verify: verifyAll },
      });
      if (done === null) return null;
      // A file that can't be removed is an orphan that nothing refers to.
      await files.discard(done.committed.file.manifest.fragments).catch(() => undefined);
      return done;
    },
  );
}
