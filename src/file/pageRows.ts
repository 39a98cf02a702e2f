/**
 * Reads rows of pages: as few bytes of each page as the rows need, all pages of a request in two rounds of reads
 * at most, rows near to each other in one. The first round fetches what says where rows lie (chunk words, dictionaries, entries of
 * repetition indexes), the second the rows; chunk maps are kept for the next time.
 *
 * A page is read whole, and held against its checksums, where most of it would be read anyway. What is read in
 * part is not verified: a checksum covers a whole buffer.
 */

import type { LruCache } from "../io/cache.js";
import type { HandlePool } from "../io/handles.js";
import { countBytes, gatheredBytes, gatherRanges, type RangeList, readRanges } from "../io/ranges.js";
import type { ScratchMemory } from "../io/scratch.js";
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
/** Pages of at most this size that few rows are wanted of are read like slices: at once where a cache has them. */
const MAX_GATHERED_PAGE_BYTES = 1024 * 1024;
/** Number of the buffer of a mini-block page that holds its chunks. */
const CHUNK_BUFFER = 1;
/** Share of a page's bytes or rows from which on it is read whole. */
const MOST = 0.5;

export interface RowsRequest {
  readonly columnIndex: number;
  readonly pageIndex: number;
  /** Rows of the page; null for all of them. */
  readonly rows: RowRuns | null;
  /**
   * The caller copies out of the chunks of a mini-block page what it keeps: they may be in memory that is lent.
   * Default false.
   */
  readonly borrow?: boolean;
}

/** Rows of a page as they lie in the file, to be decoded as a page. */
export interface EncodedRows {
  /** Those asked for, and others that came with them; counted from the page's first. */
  readonly rows: RowRuns;
  readonly rowCount: number;
  readonly layout: DataPage["layout"];
  readonly buffers: readonly Uint8Array[];
  readonly origin: PageOrigin;
  /** Memory of the buffers that the caller gives back to the source's scratch memory; null where all is its own. */
  readonly borrowed: Uint8Array<ArrayBuffer> | null;
}

/** What reads share: open files, where the chunks of pages lie, and memory. */
export interface PageSource {
  readonly handles: HandlePool;
  readonly chunkMaps: LruCache<ChunkMap>;
  readonly scratch: ScratchMemory;
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
  if (content !== null) return read(source, file, requests, contentFetch(content));
  return source.handles.withHandle(file.path, (handle) =>
    read(source, file, requests, {
      ranges: (ranges) => readRanges(handle, ranges),
      gathered: (ranges, allocate) => gatherRanges(handle, ranges, source.scratch, allocate),
    }),
  );
}

/** How bytes of the file are had, in the way of io/ranges. */
interface Fetch {
  ranges(ranges: readonly ByteRange[]): Promise<Uint8Array[]>;
  gathered(ranges: RangeList, allocate?: Allocate): Promise<Uint8Array<ArrayBuffer>>;
}

type Allocate = (byteLength: number) => Uint8Array<ArrayBuffer>;

/** From a file that is in memory. Copies: what is given away ends up in the hands of callers. */
function contentFetch(content: Uint8Array): Fetch {
  return {
    ranges: async (ranges) =>
      ranges.map(({ byteOffset, length }) => content.slice(byteOffset, byteOffset + length)),
    async gathered({ byteOffsets, lengths }, allocate = (byteLength) => new Uint8Array(byteLength)) {
      const bytes = allocate(countBytes({ byteOffsets, lengths }));
      for (let index = 0, position = 0; index < lengths.length; index++) {
        const start = byteOffsets[index];
        bytes.set(content.subarray(start, start + lengths[index]), position);
        position += lengths[index];
      }
      return bytes;
    },
  };
}

async function read(
  source: PageSource,
  file: DataFile,
  requests: readonly RowsRequest[],
  fetch: Fetch,
): Promise<EncodedRows[]> {
  const plans = requests.map((request) => planRequest(source, file, request));
  await locateRows(source, file, plans, fetch);
  const large = plans.flatMap((plan) => (isReadAhead(plan) ? plan.page.bufferRanges : []));
  const [largeBytes, ...encoded] = await Promise.all([
    large.length > 0 ? fetch.ranges(large) : [],
    ...plans.map((plan) => {
      if (plan.slice !== null) return fetchSlice(source, plan, plan.slice, fetch);
      return isReadAhead(plan) ? null : fetchPage(source, file, plan, fetch);
    }),
  ]);
  let next = 0;
  return encoded.map((rows, index) => {
    if (rows !== null) return rows;
    const plan = plans[index];
    const buffers = largeBytes.slice(next, next + plan.page.bufferRanges.length);
    next += buffers.length;
    return wholePage(file, plan, buffers, null);
  });
}

/** Large pages of which all is wanted come by way of the thread pool, neighbours in one read. */
function isReadAhead({ slice, page, request }: RequestPlan): boolean {
  if (slice !== null) return false;
  return request.rows === null || bufferBytes(page.bufferRanges) > MAX_GATHERED_PAGE_BYTES;
}

async function fetchSlice(
  { scratch }: PageSource,
  { request, page, origin }: RequestPlan,
  { ranges, rows, rowCount, layout, assemble }: PageSlice,
  fetch: Fetch,
): Promise<EncodedRows> {
  const borrows = request.borrow === true && page.layout.miniBlock !== undefined;
  const bytes = await fetch.gathered(ranges, borrows ? (byteLength) => scratch.lend(byteLength) : undefined);
  return { rows, rowCount, layout, buffers: assemble(bytes), origin, borrowed: borrows ? bytes : null };
}

async function fetchPage(
  { scratch }: PageSource,
  file: DataFile,
  plan: RequestPlan,
  fetch: Fetch,
): Promise<EncodedRows> {
  const { request, page } = plan;
  const borrows = request.borrow === true && page.layout.miniBlock !== undefined;
  const buffers = await Promise.all(
    page.bufferRanges.map(({ byteOffset, length }, buffer) =>
      fetch.gathered(
        { byteOffsets: Float64Array.of(byteOffset), lengths: Float64Array.of(length) },
        borrows && buffer === CHUNK_BUFFER ? (byteLength) => scratch.lend(byteLength) : undefined,
      ),
    ),
  );
  return wholePage(file, plan, buffers, borrows ? (buffers[CHUNK_BUFFER] ?? null) : null);
}

function wholePage(
  file: DataFile,
  { request, page, origin }: RequestPlan,
  buffers: readonly Uint8Array[],
  borrowed: Uint8Array<ArrayBuffer> | null,
): EncodedRows {
  for (const [buffer, bytes] of buffers.entries()) {
    const { byteOffset } = page.bufferRanges[buffer];
    file.checksums?.verify(request.columnIndex, page.bufferIndex + buffer, bytes, file.path, byteOffset);
  }
  const { rowCount, layout } = page;
  return { rows: allRows(rowCount), rowCount, layout, buffers, origin, borrowed };
}

/** Fetches what says where rows lie, and cuts the slices. */
async function locateRows(
  source: PageSource,
  file: DataFile,
  plans: readonly RequestPlan[],
  fetch: Fetch,
): Promise<void> {
  const mapping = plans.flatMap((plan) => plan.mapRanges ?? []);
  const [mapBytes, ...entries] = await Promise.all([
    mapping.length > 0 ? fetch.ranges(mapping) : [],
    ...plans.map((plan) => plan.entryRanges && fetch.gathered(plan.entryRanges)),
  ]);
  let next = 0;
  for (const [index, plan] of plans.entries()) {
    const count = plan.mapRanges?.length ?? 0;
    plan.slice = makeSlice(source, file, plan, mapBytes.slice(next, next + count), entries[index]);
    next += count;
  }
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
  /** Of a mini-block page whose chunks are known. */
  readonly map: ChunkMap | null;
  /** What the chunk map of a mini-block page is made of; null where it is known. */
  readonly mapRanges: readonly ByteRange[] | null;
  /** The entries of a repetition index that say where the rows lie; null where the page has none. */
  readonly entryRanges: RangeList | null;
  slice: PageSlice | null;
}

function planRequest(source: PageSource, file: DataFile, request: RowsRequest): RequestPlan {
  const page = file.columns[request.columnIndex].pages[request.pageIndex];
  const origin = { path: file.path, byteOffset: page.bufferRanges[0]?.byteOffset ?? 0 };
  const way = worthSlicing(page, request.rows) ? sliceable(page) : null;
  let map: ChunkMap | null = null;
  let mapRanges: readonly ByteRange[] | null = null;
  let entryRanges: RangeList | null = null;
  if (way?.kind === "variableRows" && request.rows !== null) {
    entryRanges = indexEntryRanges(page, way.entryBytes, request.rows);
  } else if (way?.kind === "miniBlock") {
    map = source.chunkMaps.peek(mapKey(file, request)) ?? null;
    if (map === null) mapRanges = way.buffers.map((buffer) => page.bufferRanges[buffer]);
  }
  return { request, page, origin, way, map, mapRanges, entryRanges, slice: null };
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
  mapBytes: readonly Uint8Array[],
  entries: Uint8Array | null,
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
      slice = sliceVariableRows(page, way.layout, way.entryBytes, rows, entries as Uint8Array, origin);
      break;
    case "miniBlock":
      slice = sliceChunks(page, way.layout, plan.map ?? readMap(source, file, plan, way, mapBytes), rows);
      break;
  }
  const { blob } = page.layout;
  if (blob !== undefined) slice = { ...slice, layout: { blob: { ...blob, innerLayout: slice.layout } } };
  return gatheredBytes(slice.ranges) > bufferBytes(page.bufferRanges) * MOST ? null : slice;
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
