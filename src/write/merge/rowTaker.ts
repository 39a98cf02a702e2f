/**
 * Takes rows of a version, or of unpublished files, by fragment and physical row, in any order and any number
 * of times.
 */

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

export class RowTaker {
  readonly #source: FragmentSource;
  readonly #fragments: ReadonlyMap<number, DataFragment>;
  readonly #projection: Projection;
  readonly #signal: AbortSignal | undefined;

  constructor(
    source: FragmentSource,
    fragments: readonly DataFragment[],
    projection: Projection,
    signal: AbortSignal | undefined,
  ) {
    this.#source = source;
    this.#fragments = new Map(fragments.map((fragment) => [fragment.id, fragment]));
    this.#projection = projection;
    this.#signal = signal;
  }

  /**
   * Returns the outputs of the projection for each requested row. Every row is read once.
   * @param fragmentIds of the rows; at least one
   * @param rows the physical rows
   */
  async take(fragmentIds: Uint32Array, rows: Uint32Array): Promise<Column[]> {
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
      const physical = Uint32Array.from(
        places.subarray(start, end),
        (position) => position - id * FRAGMENT_SPAN,
      );
      parts.push(await this.#takeFrom(id, physical));
      start = end;
    }
    const isInOrder =
      count === wanted.length && wanted.every((position, index) => position === places[index]);
    const positions = isInOrder ? null : Uint32Array.from(wanted, (position) => lowerBound(places, position));
    return this.#projection.outputs.map((_, output) => {
      const column = concatColumns(parts.map((part) => part[output]));
      return positions === null ? column : takeColumn(column, positions);
    });
  }

  async #takeFrom(id: number, rows: Uint32Array): Promise<readonly Column[]> {
    const fragment = this.#fragments.get(id);
    if (fragment === undefined) throw new InternalError(`rows of a fragment ${id} that is not there`);
    const projection = this.#projection;
    const stored = await openFragment(this.#source, fragment, projection.leaves);
    const taken = await takeColumns(this.#source, projection, stored, rows, this.#signal);
    return projection.hasBlobs ? readBlobs(this.#source, projection, taken) : taken.columns;
  }
}
