/** Finds and makes the sketches of a search's fragments. To make one, all vectors are read once more. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { alignedBytes } from "../../bytes/aligned.js";
import type { DataFragment } from "../../format/table.js";
import { numbersIn } from "../../indexes/vector/distance/metric.js";
import type { SketchMaker } from "../../indexes/vector/sketches/sketchMemory.js";
import type { SketchStore, VectorSketch } from "../../indexes/vector/sketches/sketchStore.js";
import { type FragmentSource, openFragment } from "../columns/fragmentColumns.js";
import { scanColumns } from "../scan/scan.js";
import type { SearchRequest } from "./nearestRows.js";
import { isWhole, itemsOf } from "./vectorDistances.js";

/** Rows per batch. */
const BATCH_ROWS = 65_536;
/** Fraction of the rows that a filtered search counts as compared, since it reads rows singly and slower. */
const FILTERED_PART = 0.5;

export interface SketchedFragment {
  readonly fragment: DataFragment;
  readonly sketch: VectorSketch;
}

export interface FragmentSketches {
  readonly sketched: readonly SketchedFragment[];
  /** Fragments without a sketch. */
  readonly others: readonly DataFragment[];
  /** Records that these fragments were compared. */
  noteOthers(): void;
  /** Releases the sketches. */
  release(): void;
}

/**
 * Finds the sketches of fragments. Makes those of fragments searched before, while memory suffices.
 * @throws the signal's reason; CorruptFileError
 */
export async function findSketches(
  store: SketchStore,
  source: FragmentSource,
  request: SearchRequest,
): Promise<FragmentSketches> {
  const { item, dimension } = request.search.column;
  const { leaves } = request.search.read;
  const sketched: SketchedFragment[] = [];
  const others: DataFragment[] = [];
  const keys: string[] = [];
  const release = (): void => {
    for (const { sketch } of sketched) store.release(sketch);
  };
  store.begin();
  try {
    for (const fragment of request.fragments) {
      const [stored] = leaves.length === 1 ? await openFragment(source, fragment, leaves, true) : [null];
      const key =
        stored === null
          ? null
          : `${stored.file.path}|${stored.file.identity}|${stored.columnIndex}|${item}|${dimension}`;
      let sketch = key === null ? null : store.use(key);
      if (sketch === null && key !== null) {
        const maker = store.make(key, { dimension, rowCount: fragment.physicalRows });
        if (maker !== null) {
          await makeSketch(source, request, fragment, maker);
          sketch = store.use(key);
        }
      }
      if (sketch !== null) sketched.push({ fragment, sketch });
      else {
        others.push(fragment);
        if (key !== null) keys.push(key);
      }
    }
  } catch (error) {
    release();
    throw error;
  }
  const part = request.filter === null ? 1 : FILTERED_PART;
  return {
    sketched,
    others,
    noteOthers() {
      for (const key of keys) store.noteCompared(key, part);
    },
    release,
  };
}

/** Sketches all vectors of a fragment, including deleted rows. */
async function makeSketch(
  source: FragmentSource,
  { search, observer, readAhead, memory, signal }: SearchRequest,
  fragment: DataFragment,
  maker: SketchMaker,
): Promise<void> {
  const { item, dimension } = search.column;
  const batches = scanColumns(observer?.source("scan", source) ?? source, {
    fragments: [{ ...fragment, deletionFile: undefined }],
    projection: search.read,
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    batchRows: BATCH_ROWS,
    isTransient: true,
    readAhead,
    ...(memory && { memory }),
    ...(signal && { signal }),
  });
  try {
    for await (const { columns } of batches) {
      const [vectors] = columns;
      if (vectors.kind !== "fixedSizeList") return;
      const items = itemsOf(vectors);
      const rowBytes = dimension * items.byteWidth;
      for (let start = 0; start < vectors.length; start += maker.pieceRows) {
        const end = Math.min(vectors.length, start + maker.pieceRows);
        const bytes = alignedBytes(items.values.subarray(start * rowBytes, end * rowBytes), items.byteWidth);
        const isMissing = (row: number) => !isWhole(vectors, start + row);
        maker.put(numbersIn(item, bytes) as Float32Array, isMissing);
        await yieldToEventLoop();
      }
    }
  } finally {
    maker.end();
  }
}
