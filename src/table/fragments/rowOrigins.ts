/**
 * Looks up rows of fragments by their stable ids: the ids themselves, and the versions that created the rows.
 * An update that moves rows to new fragments needs both.
 */

import { firstIndex } from "../../bytes/search.js";
import { CorruptFileError, InvalidInputError, UnsupportedError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { concatRuns, decodeRowIds, decodeRowVersions, uniformRuns, type ValueRuns } from "./rowSequences.js";

/** Version of rows whose fragment does not record one. */
const UNKNOWN_VERSION = 1;
/** File name in messages about row ids of a manifest. */
const MANIFEST = "manifest";

/**
 * Returns the ids of all physical rows of a fragment.
 * @param path path of the manifest, for errors
 * @throws CorruptFileError if it has none, UnsupportedError if they lie in a separate file
 */
export function stableIdsOf(fragment: DataFragment, path: string): ValueRuns {
  const { id, inlineRowIds, externalRowIds, physicalRows } = fragment;
  if (externalRowIds !== undefined) {
    throw new UnsupportedError(
      `fragment ${id}: row ids in files of their own are not supported by this release`,
    );
  }
  if (inlineRowIds !== undefined) return decodeRowIds(inlineRowIds, physicalRows, path);
  throw new CorruptFileError(path, 0, `fragment ${id} has no row ids, but the table has stable row ids`);
}

/** Returns the versions that created the rows of a fragment; null if it does not record them. */
export function createdVersionsOf(fragment: DataFragment): ValueRuns | null {
  const { inlineCreatedAtVersions, externalCreatedAtVersions } = fragment;
  return rowVersions(fragment, inlineCreatedAtVersions, externalCreatedAtVersions);
}

/** Returns the versions that last changed the rows of a fragment; null if it does not record them. */
export function updatedVersionsOf(fragment: DataFragment): ValueRuns | null {
  const { inlineLastUpdatedAtVersions, externalLastUpdatedAtVersions } = fragment;
  return rowVersions(fragment, inlineLastUpdatedAtVersions, externalLastUpdatedAtVersions);
}

/** @throws UnsupportedError if the versions lie in a separate file */
function rowVersions(
  { id, physicalRows }: DataFragment,
  inline: Uint8Array | undefined,
  external: unknown,
): ValueRuns | null {
  if (external !== undefined) {
    throw new UnsupportedError(
      `fragment ${id}: row versions in files of their own are not supported by this release`,
    );
  }
  return inline === undefined ? null : decodeRowVersions(inline, physicalRows, MANIFEST);
}

/** Rows with consecutive ids that one version created. */
interface Span {
  readonly firstId: number;
  /** One past the last id. */
  readonly endId: number;
  readonly version: number;
}

export class RowOrigins {
  readonly #fragments: readonly DataFragment[];
  #spans: readonly Span[] | null = null;

  constructor(fragments: readonly DataFragment[]) {
    this.#fragments = fragments;
  }

  /**
   * Returns the versions that created the rows.
   * @throws InvalidInputError for an id that no row of the fragments has
   */
  createdAt(ids: ValueRuns): ValueRuns {
    this.#spans ??= apart(this.#fragments.flatMap(spansOf));
    const spans = this.#spans;
    const values: number[] = [];
    const counts: number[] = [];
    for (let run = 0; run < ids.values.length; run++) {
      const end = ids.values[run] + ids.counts[run];
      for (let id = ids.values[run]; id < end; ) {
        const span = spans[lastNotAfter(spans, id)];
        if (span === undefined || id >= span.endId) {
          throw new InvalidInputError(`the fragments of the moved rows have no row with the id ${id}`);
        }
        const count = Math.min(end, span.endId) - id;
        values.push(span.version);
        counts.push(count);
        id += count;
      }
    }
    return concatRuns(0, [{ step: 0, values, counts }]);
  }
}

function spansOf(fragment: DataFragment): Span[] {
  const ids = stableIdsOf(fragment, MANIFEST);
  const created = createdVersionsOf(fragment) ?? uniformRuns(UNKNOWN_VERSION, fragment.physicalRows);
  const spans: Span[] = [];
  let run = 0;
  let left = created.counts[0] ?? 0;
  for (let index = 0; index < ids.values.length; index++) {
    const endId = ids.values[index] + ids.counts[index];
    for (let firstId = ids.values[index]; firstId < endId; ) {
      const count = Math.min(left, endId - firstId);
      spans.push({ firstId, endId: firstId + count, version: created.values[run] });
      firstId += count;
      left -= count;
      if (left === 0) left = created.counts[++run] ?? 0;
    }
  }
  return spans;
}

/** Sorts the spans by id and removes overlaps: a moved row has its id and version in two fragments. */
function apart(spans: Span[]): Span[] {
  const kept: Span[] = [];
  let endId = 0;
  for (const span of spans.sort((a, b) => a.firstId - b.firstId)) {
    if (span.endId <= endId) continue;
    kept.push(span.firstId < endId ? { ...span, firstId: endId } : span);
    endId = span.endId;
  }
  return kept;
}

/** Returns the index of the last span that begins at the id or before it; -1 if all begin after it. */
const lastNotAfter = (spans: readonly Span[], id: number): number =>
  firstIndex(0, spans.length, (index) => spans[index].firstId > id) - 1;
