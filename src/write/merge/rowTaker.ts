/** Takes rows of a version, or of unpublished files, by fragment and physical row, in any order. */

import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { lowerBound } from "../../bytes/search.js";
import { InternalError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { type FragmentSource, openFragment } from "../../query/columns/fragmentColumns.js";
import type { Projection } from "../../query/columns/projection.js";
import { readBlobs } from "../../rows/blobValues.js";
import { takeColumns } from "../../rows/takeColumns.js";

/** More than the rows of any fragment. */
const FRAGMENT_SPAN = 2 ** 32;

/** Takes the outputs of a projection for each requested row. Every row is read once. */
type TakeRows = (fragmentIds: Uint32Array, rows: Uint32Array) => Promise<Column[]>;

export function rowTaker(
  source: FragmentSource,
  fragments: readonly DataFragment[],
  projection: Projection,
  signal: AbortSignal | undefined,
): TakeRows {
  const byId = new Map(fragments.map((fragment) => [fragment.id, fragment]));
  const takeFrom = async (id: number, rows: Uint32Array): Promise<readonly Column[]> => {
    const fragment = byId.get(id);
    if (fragment === undefined) throw new InternalError(`rows of a fragment ${id} that is not there`);
    const stored = await openFragment(source, fragment, projection.leaves);
    const taken = await takeColumns(source, projection, stored, rows, signal);
    return projection.hasBlobs ? readBlobs(source, projection, taken) : taken.columns;
  };
  return async (fragmentIds, rows) => {
    const wanted = Float64Array.from(rows, (row, index) => fragmentIds[index] * FRAGMENT_SPAN + row);
    const distinct = wanted.slice().sort();
    let count = 0;
    for (const position of distinct)
      if (count === 0 || distinct[count - 1] !== position) distinct[count++] = position;
    const places = distinct.subarray(0, count);
    const parts: (readonly Column[])[] = [];
    for (let start = 0; start < count; ) {
      const id = Math.floor(places[start] / FRAGMENT_SPAN);
      const end = lowerBound(places, (id + 1) * FRAGMENT_SPAN);
      const physical = Uint32Array.from(places.subarray(start, end), (row) => row - id * FRAGMENT_SPAN);
      parts.push(await takeFrom(id, physical));
      start = end;
    }
    const isInOrder =
      count === wanted.length && wanted.every((position, index) => position === places[index]);
    const positions = isInOrder ? null : Uint32Array.from(wanted, (position) => lowerBound(places, position));
    return projection.outputs.map((_, output) => {
      const column = concatColumns(parts.map((part) => part[output]));
      return positions === null ? column : takeColumn(column, positions);
    });
  };
}
