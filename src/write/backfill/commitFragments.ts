/**
 * Commits the values of fragments in one version. First it notes their files, by which a later run knows the
 * filled fragments.
 */

import type { BackfillProgress } from "./backfillProgress.js";
import { type BackfillRun, resolvedAsAsked } from "./backfillWork.js";
import { CheckpointGoneError } from "./checkpointFiles.js";
import { commitValues, type FragmentToCommit } from "./commitValues.js";
import { type FilledFile, stateToNote } from "./filledFiles.js";
import type { OpenFragment, OpenFragments } from "./openFragments.js";

/** The progress of a backfill, and its open fragments. */
interface BackfillParts {
  readonly progress: BackfillProgress;
  readonly fragments: OpenFragments;
}

/**
 * @returns the version with the values, null if there is none; and true if some fragments need another round
 */
export async function commitFragments(
  run: BackfillRun,
  { progress, fragments }: BackfillParts,
  filledVersion: number,
  group: readonly OpenFragment[],
): Promise<{ readonly version: number | null; readonly isLeft: boolean }> {
  const { target, control, onFailure } = run;
  let announced: ReadonlyMap<number, FilledFile> = new Map();
  const rowsOf = new Map(group.map(({ id, rows }) => [id, rows]));
  const undo = async (lost: readonly OpenFragment[]): Promise<boolean> => {
    for (const opened of lost) await fragments.undo(opened);
    return lost.length > 0;
  };
  try {
    const ready: FragmentToCommit[] = [];
    for (const { id, content, early, values } of group) {
      ready.push({ id, content, early, parts: (await values?.parts()) ?? [] });
    }
    const { done, version } = await commitValues(target, ready, {
      resolvedOn: (latest) => resolvedAsAsked(run, latest),
      announce: async (files) => {
        announced = new Map([...files].map(([id, name]) => [id, { name, rows: rowsOf.get(id) ?? 0 }]));
        const noted = new Map([...progress.files, ...announced]);
        await control.saveCheckpoint(stateToNote(filledVersion, noted));
      },
      hold: () => control.hold(),
      signal: control.signal,
    });
    for (const id of done) {
      const file = announced.get(id);
      if (file !== undefined) progress.files.set(id, file);
    }
    const isCommitted = ({ id }: OpenFragment): boolean => done.includes(id);
    for (const opened of group.filter(isCommitted)) fragments.close(opened);
    return { version, isLeft: await undo(group.filter((opened) => !isCommitted(opened))) };
  } catch (error) {
    if (error instanceof CheckpointGoneError) return { version: null, isLeft: await undo(group) };
    // Call it before waiting for the fragments that are being computed.
    onFailure(error);
    throw error;
  }
}
