/**
 * Files that a backfill has made for fragments, and the note of files about to be committed for a later run.
 */

import type { DataFragment } from "../../format/table.js";
import { fieldIdsOf } from "../../schema/fieldPaths.js";
import type { TableField } from "../../schema/schema.js";
import { areStored } from "./storedFields.js";

/** A file with the column of a fragment. */
export interface FilledFile {
  readonly name: string;
  /** Rows that got a value. */
  readonly rows: number;
}

/** True if a fragment has the column in the file that was made for it. */
export function hasFile(
  fragment: DataFragment | undefined,
  { name }: FilledFile,
  field: TableField,
): boolean {
  const namedFiles = fragment?.files.filter(({ path }) => path === name) ?? [];
  return areStored(namedFiles, new Set(fieldIdsOf(field)));
}

/** State of a run that a later run resumes from. */
export type BackfillState = {
  /** Version whose rows are filled. */
  readonly version: number;
  /**
   * For each fragment: its id, the name of the file that holds the column or is about to, and the number of
   * filled rows.
   */
  readonly files: readonly (readonly [fragmentId: number, name: string, rows: number])[];
};

export const stateToNote = (version: number, files: ReadonlyMap<number, FilledFile>): BackfillState => ({
  version,
  files: [...files].map(([id, { name, rows }]) => [id, name, rows]),
});

/**
 * Reads the note of an earlier run: the version that it filled, and its files by fragment; empty if the note
 * is useless.
 */
export function notedState(noted: unknown): {
  readonly version: number | null;
  readonly files: Map<number, FilledFile>;
} {
  const state = isState(noted) ? noted : null;
  const files = state?.files.map(([id, name, rows]) => [id, { name, rows }] as const);
  return { version: state?.version ?? null, files: new Map(files) };
}

function isState(noted: unknown): noted is BackfillState {
  if (typeof noted !== "object" || noted === null) return false;
  const { version, files } = noted as Partial<BackfillState>;
  if (!Number.isSafeInteger(version) || (version as number) < 0 || !Array.isArray(files)) return false;
  return files.every(
    (entry: unknown) =>
      Array.isArray(entry) &&
      Number.isSafeInteger(entry[0]) &&
      typeof entry[1] === "string" &&
      Number.isSafeInteger(entry[2]) &&
      entry[2] >= 0,
  );
}
