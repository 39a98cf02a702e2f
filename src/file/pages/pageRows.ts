/**
 * Reads rows of pages. It reads as few bytes of each page as the rows need, nearby rows in one read, and all
 * pages of a request in at most two rounds. The first round fetches chunk words, dictionaries and entries of
 * repetition indexes, which tell where the rows are; the second round fetches the rows. Chunk maps are cached
 * for later reads.
 *
 * If most of a page would be read anyway, it is read whole and verified against its checksums. Parts of a
 * page are verified in blocks, if the file has checksums of blocks (checkedParts.ts).
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { isPending, whenReady } from "../../async/pending.js";
import type { WorkerPool } from "../../async/workerPool.js";
import type { HandlePool } from "../../io/disk/handles.js";
import type { ByteRange } from "../../io/disk/ranges.js";
import {
  countBytes,
  gatheredBytes,
  gatherRanges,
  type RangeList,
  readAtOnce,
  readRanges,
} from "../../io/disk/ranges.js";
import { Arena } from "../../io/memory/arena.js";
import type { LruCache } from "../../io/memory/cache.js";
import type { ScratchMemory } from "../../io/memory/scratch.js";
import { SMALL_PAGE_BYTES } from "../container/blockChecksums.js";
import { BUFFER_ALIGNMENT } from "../container/container.js";
import type { PageOrigin } from "../container/page.js";
import type { DataFileMetadata, DataPage } from "../container/reader.js";
import { type CheckedRead, cutChecked, type PageChecks, planChecks, weightOfChecks } from "./checkedParts.js";
import { loadDecoders } from "./decoders.js";
import {
  CHUNK_BUFFER,
  type ChunkMap,
  countRows,
  expectedShare,
  indexEntryRanges,
  layoutOfSlice,
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
import { cutSmallPage } from "./smallPages.js";

/**
 * Maximum size of a page that is read like a slice if few of its rows are wanted. Such a read does not wait
 * if the system's cache has the bytes.
 */
const MAX_GATHERED_PAGE_BYTES = 4 * 1024 * 1024;
/**
 * Maximum size of whole pages that are gathered into reused memory. Copying that many bytes takes about as
 * long as a call on the thread pool.
 */
const MAX_AT_ONCE_BYTES = 1024 * 1024;
/** Share of a page's bytes or rows above which it is read whole. */
const MOST = 0.5;

interface RowsRequest {
  readonly columnIndex: number;
  readonly pageIndex: number;
  /** The wanted rows of the page; null for all of them. */
  readonly rows: RowRuns | null;
}

/**
 * Memory for the buffers of pages:
 *
 * - `own`: memory of their own.
 * - `untilUsed`: lent memory that goes back when `use` has returned. `use` decodes the rows, and copies the
 *   wanted ones if more were read. A buffer always has memory of its own if decoded values may be views of
 *   it.
 * - An arena: its memory if all rows of a page are wanted, else memory of their own. The caller releases the
 *   arena.
 */
type BufferMemory = "own" | "untilUsed" | Arena;

/** Rows of a page as they lie in the file. They decode like a page. */
export interface EncodedRows {
  /** Wanted rows and others that came with them, relative to the page's first. */
  readonly rows: RowRuns;
  readonly rowCount: number;
  readonly layout: DataPage["layout"];
  readonly buffers: readonly Uint8Array[];
  readonly origin: PageOrigin;
}

/** Dependencies of reads: open files, cached metadata of pages, and memory. */
export interface PageSource {
  readonly handles: HandlePool;
  readonly chunkMaps: LruCache<ChunkMap>;
  /** Blocks of pages that are verified, for pages that were read in part. */
  readonly pageChecks: LruCache<PageChecks>;
  readonly scratch: ScratchMemory;
  /** Threads that decode large pages; absent if this thread decodes them. */
  readonly workers?: WorkerPool;
}

/**
 * Reads rows of pages of one file, and hands each page to `use` as soon as it is there. Pages that the system
 * has in memory come one after the other, so the next one may be read into the memory of the last.
 * @param use gets the rows and the index of their request, in any order
 * @returns the results of `use`, in the order of the requests
 * @throws CorruptFileError if a buffer fails its checksum or says that rows lie outside it; any error of
 *   `use`
 */
export async function readPageRows<T>(
  source: PageSource,
  file: DataFileMetadata,
  requests: readonly RowsRequest[],
  use: (rows: EncodedRows, index: number) => T,
  memory: BufferMemory,
): Promise<T[]> {
  const loading = loadPageDecoders(file, requests);
  if (loading !== null) await loading;
  const { content } = file;
  if (content !== null && requests.every(({ rows }) => rows === null)) {
    return requests.map((request, index) => use(pageOf(file, request, content), index));
  }
  const isLent = memory === "untilUsed";
  if (content !== null) {
    const fetch = contentFetch(content, file.sharesContent);
    return read({ source, file, fetch }, requests, use, isLent);
  }
  const allocate =
    memory === "own" || memory === "untilUsed" ? undefined : (byteLength: number) => memory.lend(byteLength);
  return source.handles.withHandle(file.path, (handle) => {
    const fetch: Fetch = {
      ranges: (ranges) => readRanges(handle, ranges),
      pages: (ranges) =>
        allocate !== undefined && bufferBytes(ranges) <= MAX_AT_ONCE_BYTES
          ? readAtOnce(handle, ranges, allocate)
          : readRanges(handle, ranges, allocate),
      gathered: (ranges, allocate) => gatherRanges(handle, ranges, source.scratch, allocate),
    };
    return read({ source, file, fetch }, requests, use, isLent);
  });
}

/** Loads the decoders of pages; returns null if they are loaded. */
function loadPageDecoders(file: DataFileMetadata, requests: readonly RowsRequest[]): Promise<unknown> | null {
  let loading: Promise<unknown>[] | null = null;
  for (const { columnIndex, pageIndex } of requests) {
    const decoders = loadDecoders(file.columns[columnIndex].pages[pageIndex].layout);
    if (decoders !== null) (loading ??= []).push(decoders);
  }
  return loading && Promise.all(loading);
}

/**
 * True if every decoded column is a copy, or is released together with the bytes of its page.
 */
export const endsWithItsRows = ({ layout }: Pick<DataPage, "layout">): boolean =>
  layout.fullZip !== undefined || layout.miniBlock !== undefined;

/** True if the decoded values of a page are never views of its bytes. */
export const endsWithDecoding = ({ layout }: Pick<DataPage, "layout">): boolean =>
  layout.fullZip?.bitsPerOffset !== undefined || layout.miniBlock !== undefined;

/**
 * Returns a whole page of a file in memory. Copies the page if other readers share the file's memory and
 * callers may get decoded values that are views.
 */
function pageOf(
  file: DataFileMetadata,
  { columnIndex, pageIndex }: RowsRequest,
  content: Uint8Array,
): EncodedRows {
  const page = file.columns[columnIndex].pages[pageIndex];
  const isCopy = file.sharesContent && page.layout.miniBlock === undefined;
  const buffers = page.bufferRanges.map(({ byteOffset, length }, buffer) => {
    const bytes = content.subarray(byteOffset, byteOffset + length);
    file.checksums?.verify(columnIndex, page.bufferIndex + buffer, bytes, file.path, byteOffset);
    return isCopy ? bytes.slice() : bytes;
  });
  const { rowCount, layout } = page;
  const origin = { path: file.path, byteOffset: page.bufferRanges[0]?.byteOffset ?? 0 };
  return { rows: allRows(rowCount), rowCount, layout, buffers, origin };
}

/** Access to the bytes of the file, with the functions of io/disk/ranges. */
interface Fetch {
  ranges(ranges: readonly ByteRange[]): Promise<Uint8Array[]>;
  /** Reads whole pages. */
  pages(ranges: readonly ByteRange[]): Promise<Uint8Array[]>;
  gathered(
    ranges: RangeList,
    allocate?: AllocateOwn,
  ): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>;
}

/** Makes memory of `byteLength` bytes. */
type AllocateOwn = (byteLength: number) => Uint8Array<ArrayBuffer>;

/**
 * Reads from a file in memory. Makes copies if others share it, since callers may get views.
 */
function contentFetch(content: Uint8Array, isShared: boolean): Fetch {
  const ranges = async (ranges: readonly ByteRange[]) =>
    ranges.map(({ byteOffset, length }) =>
      isShared
        ? content.slice(byteOffset, byteOffset + length)
        : content.subarray(byteOffset, byteOffset + length),
    );
  return {
    ranges,
    pages: ranges,
    gathered({ byteOffsets, lengths }, allocate = (byteLength) => new Uint8Array(byteLength)) {
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

/** A file that is being read, and access to its bytes. */
interface Reading {
  readonly source: PageSource;
  readonly file: DataFileMetadata;
  readonly fetch: Fetch;
}

async function read<T>(
  reading: Reading,
  requests: readonly RowsRequest[],
  use: (rows: EncodedRows, index: number) => T,
  isLent: boolean,
): Promise<T[]> {
  const { source, file, fetch } = reading;
  const plans = requests.map((request) => planRequest(source, file, request));
  await locateRows(reading, plans);
  const large = plans.filter(isReadAhead);
  const largeBytes = readAhead(large, fetch);
  return Promise.all(
    plans.map(async (plan, index) => {
      const { slice } = plan;
      if (isReadAhead(plan)) {
        const buffers = (await largeBytes)[large.indexOf(plan)];
        // Verifying takes long: a page may have several megabytes.
        await yieldToEventLoop();
        return use(wholePage(file, plan, buffers), index);
      }
      const arena = isLent && mayLend(plan) ? new Arena(source.scratch) : null;
      const fetching =
        slice === null ? fetchPage(reading, plan, arena) : fetchSlice(reading, plan, slice, arena);
      // No `await` for bytes that are there: others would read their pages before this page's memory is
      // released.
      const buffers = isPending(fetching) ? await fetching : fetching;
      const rows = slice === null ? wholePage(file, plan, buffers) : slicedPage(plan, slice, buffers);
      const used = use(rows, index);
      arena?.release();
      return used;
    }),
  );
}

/** Reads the buffers of each page, neighbouring buffers in one read. */
async function readAhead(plans: readonly RequestPlan[], fetch: Fetch): Promise<Uint8Array[][]> {
  if (plans.length === 0) return [];
  const bytes = await fetch.pages(plans.flatMap(({ page }) => page.bufferRanges));
  let next = 0;
  return plans.map(({ page }) => bytes.slice(next, (next += page.bufferRanges.length)));
}

/**
 * True for pages whose rows are all wanted, and for large pages that are read whole. They come together,
 * neighbouring ones in one read.
 */
function isReadAhead({ slice, page, request }: RequestPlan): boolean {
  if (slice !== null) return false;
  return request.rows === null || bufferBytes(page.bufferRanges) > MAX_GATHERED_PAGE_BYTES;
}

/** Buffers of a page or slice. */
type FetchedBuffers = readonly Uint8Array[];

/**
 * True if decoding copies the wanted rows of a page out of its buffers. Decoding copies all values of
 * mini-block pages, and a selection of rows of a full-zip page that was read whole. A slice of a full-zip
 * page may hold just the wanted rows, and become a view.
 */
function mayLend({ request: { rows }, page, slice }: RequestPlan): boolean {
  const { miniBlock, fullZip } = page.layout;
  if (miniBlock !== undefined) return true;
  return fullZip !== undefined && slice === null && rows !== null && countRows(rows) < page.rowCount;
}

function fetchSlice(
  reading: Reading,
  plan: RequestPlan,
  { ranges, assemble }: PageSlice,
  arena: Arena<ArrayBuffer> | null,
): FetchedBuffers | Promise<FetchedBuffers> {
  const allocate = arena === null ? undefined : (byteLength: number) => arena.lend(byteLength);
  const bytes = fetchParts(reading, plan, ranges, plan.sliceChecks, allocate);
  return whenReady(bytes, assemble);
}

/**
 * Reads parts of a page, back to back.
 * @param checked plan of their verification; null if there is nothing to verify
 */
function fetchParts(
  { source: { scratch }, file: { path }, fetch }: Reading,
  { checks }: RequestPlan,
  ranges: RangeList,
  checked: CheckedRead | null,
  allocate: AllocateOwn = (byteLength) => new Uint8Array(byteLength),
): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
  if (checks === null || checked === null) return fetch.gathered(ranges, allocate);
  const read = fetch.gathered(checked.reads, (byteLength) => scratch.lend(byteLength));
  const finish = (read: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> => {
    const parts = cutChecked(checked, checks, read, allocate, path);
    scratch.giveBack(read);
    return parts;
  };
  return whenReady(read, finish);
}

function fetchPage(
  { fetch }: Reading,
  plan: RequestPlan,
  arena: Arena<ArrayBuffer> | null,
): FetchedBuffers | Promise<FetchedBuffers> {
  const { bufferRanges } = plan.page;
  // A page of lists needs its repetition index, too.
  const map = plan.map?.rowEnds === null ? plan.map : null;
  const wanted = map === null ? bufferRanges : [bufferRanges[CHUNK_BUFFER]];
  const span = arena === null ? null : spanOf(wanted);
  if (span === null || arena === null) {
    return Promise.all(bufferRanges.map((range) => fetch.gathered(listOf(range))));
  }
  const bytes = fetch.gathered(listOf(span), (byteLength) => arena.lend(byteLength));
  const finish = (bytes: Uint8Array<ArrayBuffer>): FetchedBuffers => {
    const buffers = wanted.map(({ byteOffset, length }) => {
      const start = byteOffset - span.byteOffset;
      return bytes.subarray(start, start + length);
    });
    if (map === null) return buffers;
    const dictionary = map.dictionary === null ? [] : [map.dictionary];
    return [map.words, ...buffers, ...dictionary];
  };
  return whenReady(bytes, finish);
}

/** Returns the range of all the buffers if they are as close together as writers put them, else null. */
function spanOf(ranges: readonly ByteRange[]): ByteRange | null {
  let start = Number.POSITIVE_INFINITY;
  let end = 0;
  for (const { byteOffset, length } of ranges) {
    start = Math.min(start, byteOffset);
    end = Math.max(end, byteOffset + length);
  }
  // Keeps the alignment that the bytes have in the file.
  start -= start % BUFFER_ALIGNMENT;
  return end - start <= bufferBytes(ranges) + ranges.length * BUFFER_ALIGNMENT
    ? { byteOffset: start, length: end - start }
    : null;
}

const slicedPage = (
  { origin }: RequestPlan,
  { rows, rowCount, layout, layoutOf }: PageSlice,
  buffers: readonly Uint8Array[],
): EncodedRows => ({ rows, rowCount, layout: layoutOf?.(buffers[0]) ?? layout, buffers, origin });

const listOf = ({ byteOffset, length }: ByteRange): RangeList => ({
  byteOffsets: Float64Array.of(byteOffset),
  lengths: Float64Array.of(length),
});

function wholePage(
  file: DataFileMetadata,
  { request, page, origin }: RequestPlan,
  buffers: readonly Uint8Array[],
): EncodedRows {
  for (const [buffer, bytes] of buffers.entries()) {
    const { byteOffset } = page.bufferRanges[buffer];
    file.checksums?.verify(request.columnIndex, page.bufferIndex + buffer, bytes, file.path, byteOffset);
  }
  const { rowCount, layout } = page;
  const cut = cutSmallPage(page, request.rows, buffers, origin);
  return cut === null ? { rows: allRows(rowCount), rowCount, layout, buffers, origin } : { ...cut, origin };
}

/** Fetches what tells where the rows are, and plans the slices. */
async function locateRows(reading: Reading, plans: readonly RequestPlan[]): Promise<void> {
  const { source, file, fetch } = reading;
  const mapping = plans.flatMap((plan) => plan.mapRanges ?? []);
  const [mapBytes, ...entries] = await Promise.all([
    mapping.length > 0 ? fetch.ranges(mapping) : [],
    ...plans.map(
      (plan) =>
        plan.entryRanges &&
        fetchParts(reading, plan, plan.entryRanges, plan.checks && planChecks(plan.checks, plan.entryRanges)),
    ),
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

/** Plan of one request. */
interface RequestPlan {
  readonly request: RowsRequest;
  readonly page: DataPage;
  readonly origin: PageOrigin;
  /** Way to slice the page; null if it is read whole. */
  readonly way: Sliceable | null;
  /** The chunk map of a mini-block page; set at the latest when the rows are located. */
  map: ChunkMap | null;
  /** Ranges that a chunk map is made from; null if the map is there. */
  readonly mapRanges: readonly ByteRange[] | null;
  /** Entries of a repetition index that tell where the rows are; null if the page has none. */
  readonly entryRanges: RangeList | null;
  /** Checks for parts of the page; null if it is read whole, or the file has no checksums. */
  readonly checks: PageChecks | null;
  slice: PageSlice | null;
  /** Plan of the slice's verification; null if there is nothing to verify. */
  sliceChecks: CheckedRead | null;
}

function planRequest(source: PageSource, file: DataFileMetadata, request: RowsRequest): RequestPlan {
  const page = file.columns[request.columnIndex].pages[request.pageIndex];
  const origin = { path: file.path, byteOffset: page.bufferRanges[0]?.byteOffset ?? 0 };
  const way = wayToSlice(page, request.rows);
  let map: ChunkMap | null = null;
  let mapRanges: readonly ByteRange[] | null = null;
  let entryRanges: RangeList | null = null;
  if (way?.kind === "variableRows" && request.rows !== null) {
    entryRanges = indexEntryRanges(page, way.entryBytes, request.rows);
  } else if (way?.kind === "miniBlock") {
    map = source.chunkMaps.peek(mapKey(file, request)) ?? null;
    if (map === null) mapRanges = way.buffers.map((buffer) => page.bufferRanges[buffer]);
  }
  const checks = way === null ? null : checksOf(source, file, request, page);
  return { request, page, origin, way, map, mapRanges, entryRanges, checks, slice: null, sliceChecks: null };
}

function checksOf(
  { pageChecks }: PageSource,
  file: DataFileMetadata,
  request: RowsRequest,
  { bufferIndex, bufferRanges }: DataPage,
): PageChecks | null {
  const { checksums, path } = file;
  if (checksums === null) return null;
  const key = mapKey(file, request);
  const before = pageChecks.peek(key);
  if (before !== undefined) return before;
  const checks = bufferRanges.map((range, buffer) =>
    checksums.blocksOf(request.columnIndex, bufferIndex + buffer, range, path),
  );
  pageChecks.set(key, checks, weightOfChecks(checks));
  return checks;
}

/** Returns null if the page is to be read whole. */
function wayToSlice(page: DataPage, rows: RowRuns | null): Sliceable | null {
  if (!worthSlicing(page, rows)) return null;
  const way = sliceable(page);
  // Rows all over the page are not worth locating.
  return way?.kind === "miniBlock" && expectedShare(page, rows) > MOST ? null : way;
}

/** Constant pages of any size are sliced: making their rows is what takes time. */
function worthSlicing(page: DataPage, rows: RowRuns | null): rows is RowRuns {
  if (rows === null || countRows(rows) > page.rowCount * MOST) return false;
  return page.layout.constant !== undefined || bufferBytes(page.bufferRanges) > SMALL_PAGE_BYTES;
}

function bufferBytes(ranges: readonly ByteRange[]): number {
  let sum = 0;
  for (const { length } of ranges) sum += length;
  return sum;
}

const mapKey = ({ path, identity }: DataFileMetadata, { columnIndex, pageIndex }: RowsRequest): string =>
  `${path}\0${identity}\0${columnIndex}\0${pageIndex}`;

function makeSlice(
  source: PageSource,
  file: DataFileMetadata,
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
      slice = sliceConstant(page, rows);
      break;
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
      plan.map ??= readMap(source, file, plan, way, mapBytes);
      slice = sliceChunks(page, way.layout, plan.map, rows);
      break;
  }
  slice = { ...slice, layout: layoutOfSlice(page, slice) };
  plan.sliceChecks = plan.checks && planChecks(plan.checks, slice.ranges);
  if (way.kind === "constant") return slice;
  const reads = plan.sliceChecks?.reads ?? slice.ranges;
  return gatheredBytes(reads) > bufferBytes(page.bufferRanges) * MOST ? null : slice;
}

function readMap(
  source: PageSource,
  file: DataFileMetadata,
  { request, page, origin }: RequestPlan,
  { layout, buffers }: Extract<Sliceable, { kind: "miniBlock" }>,
  located: readonly Uint8Array[],
): ChunkMap {
  for (const [index, buffer] of buffers.entries()) {
    const { byteOffset } = page.bufferRanges[buffer];
    const number = page.bufferIndex + buffer;
    file.checksums?.verify(request.columnIndex, number, located[index], file.path, byteOffset);
  }
  // Copies: a view would keep everything alive that was read with it.
  const copies = located.map((bytes) => bytes.slice());
  const map = mapChunks(page, layout, copies, origin);
  source.chunkMaps.set(mapKey(file, request), map, map.memoryWeight);
  return map;
}
