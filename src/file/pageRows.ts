/**
 * Reads rows of pages: as few bytes of each page as the rows need, all pages of a request in two rounds of
 * coalesced reads at most. The first round fetches what says where rows lie (chunk words, dictionaries, entries of
 * repetition indexes), the second the rows; chunk maps are kept for the next time.
 *
 * A page is read whole, and held against its checksums, where most of it would be read anyway. What is read in
 * part is not verified: a checksum covers a whole buffer.
 */

import type { LruCache } from "../io/cache.js";
import type { HandlePool } from "../io/handles.js";
import { planReads, readRanges } from "../io/ranges.js";
import type { ByteRange, PageOrigin } from "./page.js";
import {
  type ChunkMap,
  countRows,
  indexEntryRanges,
  mapChunks,
  type PageSlice,
  type RowRuns,
  type Sliceable,
  sliceArrayRows,
  sliceable,
  sliceChunks,
  sliceConstant,
  sliceFixedRows,
  sliceVariableRows,
} from "./pageSlice.js";
import type { DataFile, DataPage } from "./reader.js";

/** Pages of at most this size are always read whole: a read costs about as much as these bytes. */
const SMALL_PAGE_BYTES = 64 * 1024;
/** Share of a page's bytes or rows from which on it is read whole. */
const MOST = 0.5;

export interface RowsRequest {
  readonly columnIndex: number;
  readonly pageIndex: number;
  /** Rows of the page; null for all of them. */
  readonly rows: RowRuns | null;
}

/** Rows of a page as they lie in the file, to be decoded as a page. */
export interface EncodedRows {
  /** Those asked for, and others that came with them; counted from the page's first. */
  readonly rows: RowRuns;
  readonly rowCount: number;
  readonly layout: DataPage["layout"];
  readonly buffers: readonly Uint8Array[];
  readonly origin: PageOrigin;
}

/** What reads share: open files, and where the chunks of pages lie. */
export interface PageSource {
  readonly handles: HandlePool;
  readonly chunkMaps: LruCache<ChunkMap>;
}

/**
 * Reads rows of pages of one file; answers in the order of the requests.
 * @throws CorruptFileError where a buffer fails its checksum or says that rows lie outside of it
 */
export async function readPageRows(
  source: PageSource,
  file: DataFile,
  requests: readonly RowsRequest[],
): Promise<EncodedRows[]> {
  const { content } = file;
  if (content !== null) {
    // Copies: what is given away ends up in the hands of callers.
    return read(source, file, requests, async (ranges) =>
      ranges.map(({ byteOffset, length }) => content.slice(byteOffset, byteOffset + length)),
    );
  }
  return source.handles.withHandle(file.path, (handle) =>
    read(source, file, requests, (ranges) => readRanges(handle, ranges)),
  );
}

type Fetch = (ranges: readonly ByteRange[]) => Promise<Uint8Array[]>;

async function read(
  source: PageSource,
  file: DataFile,
  requests: readonly RowsRequest[],
  fetch: Fetch,
): Promise<EncodedRows[]> {
  const plans = requests.map((request) => planRequest(source, file, request));
  const locating = plans.flatMap((plan) => plan.locate ?? []);
  const located = locating.length > 0 ? await fetch(locating) : [];
  let next = 0;
  for (const plan of plans) {
    const count = plan.locate?.length ?? 0;
    plan.slice = makeSlice(source, file, plan, located.slice(next, next + count));
    next += count;
  }
  const ranges = plans.flatMap(({ slice, page }) => slice?.ranges ?? page.bufferRanges);
  const fetched = ranges.length > 0 ? await fetch(ranges) : [];
  next = 0;
  return plans.map(({ slice, page, request, origin }) => {
    const count = (slice?.ranges ?? page.bufferRanges).length;
    const parts = fetched.slice(next, next + count);
    next += count;
    if (slice !== null) {
      const { rows, rowCount, layout } = slice;
      return { rows, rowCount, layout, buffers: slice.assemble(parts), origin };
    }
    for (const [index, bytes] of parts.entries()) {
      const { byteOffset } = page.bufferRanges[index];
      file.checksums?.verify(request.columnIndex, page.bufferIndex + index, bytes, file.path, byteOffset);
    }
    const { rowCount, layout } = page;
    return { rows: allRows(rowCount), rowCount, layout, buffers: parts, origin };
  });
}

const allRows = (rowCount: number): RowRuns => ({
  starts: Uint32Array.of(0),
  counts: Uint32Array.of(rowCount),
});

/** How one request is served. */
interface RequestPlan {
  readonly request: RowsRequest;
  readonly page: DataPage;
  readonly origin: PageOrigin;
  /** Null where the page is read whole. */
  readonly way: Sliceable | null;
  /** What has to be read to tell where the rows lie; null where that is known. */
  readonly locate: readonly ByteRange[] | null;
  /** Of a mini-block page whose chunks are known. */
  readonly map: ChunkMap | null;
  slice: PageSlice | null;
}

function planRequest(source: PageSource, file: DataFile, request: RowsRequest): RequestPlan {
  const page = file.columns[request.columnIndex].pages[request.pageIndex];
  const origin = { path: file.path, byteOffset: page.bufferRanges[0]?.byteOffset ?? 0 };
  const way = worthSlicing(page, request.rows) ? sliceable(page) : null;
  let locate: readonly ByteRange[] | null = null;
  let map: ChunkMap | null = null;
  if (way?.kind === "variableRows" && request.rows !== null) {
    locate = indexEntryRanges(page, way.entryBytes, request.rows);
  } else if (way?.kind === "miniBlock") {
    map = source.chunkMaps.peek(mapKey(file, request)) ?? null;
    if (map === null) locate = way.buffers.map((buffer) => page.bufferRanges[buffer]);
  }
  return { request, page, origin, way, locate, map, slice: null };
}

/** Constant pages are sliced whatever their size: what counts there are the rows that are made of them. */
function worthSlicing(page: DataPage, rows: RowRuns | null): boolean {
  if (rows === null || countRows(rows) > page.rowCount * MOST) return false;
  return page.layout.constant !== undefined || bufferBytes(page.bufferRanges) > SMALL_PAGE_BYTES;
}

function bufferBytes(ranges: readonly ByteRange[]): number {
  let sum = 0;
  for (const { length } of ranges) sum += length;
  return sum;
}

const mapKey = ({ path, identity }: DataFile, { columnIndex, pageIndex }: RowsRequest): string =>
  `${path}\0${identity}\0${columnIndex}\0${pageIndex}`;

function makeSlice(
  source: PageSource,
  file: DataFile,
  plan: RequestPlan,
  located: readonly Uint8Array[],
): PageSlice | null {
  const { page, way, request, origin } = plan;
  const { rows } = request;
  if (way === null || rows === null) return null;
  let slice: PageSlice;
  switch (way.kind) {
    case "constant":
      return sliceConstant(page, rows);
    case "fixedRows":
      slice = sliceFixedRows(page, way.layout, way.rowBytes, rows);
      break;
    case "arrayRows":
      slice = sliceArrayRows(page, way.rowBytes, rows);
      break;
    case "variableRows":
      slice = sliceVariableRows(page, way.layout, way.entryBytes, rows, located, origin);
      break;
    case "miniBlock":
      slice = sliceChunks(page, way.layout, plan.map ?? readMap(source, file, plan, way, located), rows);
      break;
  }
  const { blob } = page.layout;
  if (blob !== undefined) slice = { ...slice, layout: { blob: { ...blob, innerLayout: slice.layout } } };
  const toRead = planReads(slice.ranges).reads;
  return bufferBytes(toRead) > bufferBytes(page.bufferRanges) * MOST ? null : slice;
}

function readMap(
  source: PageSource,
  file: DataFile,
  { request, page, origin }: RequestPlan,
  { layout, buffers }: Extract<Sliceable, { kind: "miniBlock" }>,
  located: readonly Uint8Array[],
): ChunkMap {
  for (const [index, buffer] of buffers.entries()) {
    const { byteOffset } = page.bufferRanges[buffer];
    const number = page.bufferIndex + buffer;
    file.checksums?.verify(request.columnIndex, number, located[index], file.path, byteOffset);
  }
  // Copies: a view would keep alive all that was read with it.
  const [words, dictionary] = located.map((bytes) => bytes.slice());
  const map = mapChunks(page, layout, words, dictionary ?? null, origin);
  source.chunkMaps.set(mapKey(file, request), map, map.memoryWeight);
  return map;
}
