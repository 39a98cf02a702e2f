/** Files that a backfill makes for fragments, and the note of them that a later run resumes from. */

/** A file with the column of a fragment. */
export interface FilledFile {
  readonly name: string;
  /** Rows that got a value. */
  readonly rows: number;
}

/** State of a run that a later run resumes from. */
export type BackfillState = {
  /** Version whose rows are filled. */
  readonly version: number;
  /** Id of each fragment, the file that holds its column or will hold it, and the number of filled rows. */
  readonly files: readonly (readonly [fragmentId: number, name: string, rows: number])[];
};

export const stateToNote = (version: number, files: ReadonlyMap<number, FilledFile>): BackfillState => ({
  version,
  files: [...files].map(([id, { name, rows }]) => [id, name, rows]),
});

/** Reads the note of an earlier run: the version that it filled, and its files; empty if malformed. */
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
