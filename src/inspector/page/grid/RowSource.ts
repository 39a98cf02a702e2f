/** Rows of the grid: read in blocks when they come into sight, and kept for a while. */

import type { CellPreview } from "../../calls/answers.ts";
import { call, type TableChoice } from "../calls.ts";

export const BLOCK_ROWS = 64;
const BLOCK_COLUMNS = 16;
const MAX_BLOCKS = 240;
/** Row ids that one call for matches returns: few at first, so that the first rows appear soon. */
export const FIRST_MATCHES = 2000;
const MORE_MATCHES = 50_000;
/** Rows of a filtered or sorted list that can be scrolled to. */
const MAX_MATCHES = 1_000_000;

export interface GridQuery {
  readonly choice: TableChoice;
  readonly columns: readonly string[];
  readonly filter: string;
  readonly orderBy: { readonly column: string; readonly ascending: boolean } | null;
  /** Number of rows without a filter. */
  readonly totalRows: number;
}

interface Block {
  readonly cells: readonly (readonly CellPreview[])[] | null;
  readonly rowIds: readonly string[];
}

/** A cell that is not read yet. */
export const PENDING = Symbol("pending");

export class RowSource {
  /** Number of rows in the grid. Null while it is unknown. */
  rowCount: number | null;
  /** Number of rows that the filter selects. Null while it is unknown. */
  matchCount: number | null = null;
  error: Error | null = null;
  readonly #isDirect: boolean;
  readonly #blocks = new Map<string, Block>();
  readonly #wanted = new Map<string, AbortController>();
  readonly #end = new AbortController();
  /** Ranges of rows and columns in sight. */
  #sight: Parameters<RowSource["show"]> | null = null;
  #rowIds: string[] = [];
  #isComplete = false;
  #isReadingMatches = false;

  constructor(
    private readonly query: GridQuery,
    private readonly changed: () => void,
  ) {
    this.#isDirect = query.filter === "" && query.orderBy === null;
    this.rowCount = this.#isDirect ? query.totalRows : null;
    if (this.#isDirect) this.matchCount = query.totalRows;
    else this.#begin();
  }

  close(): void {
    this.#end.abort();
    for (const abort of this.#wanted.values()) abort.abort();
  }

  rowId(row: number): string | null {
    if (!this.#isDirect) return this.#rowIds[row] ?? null;
    const block = Math.floor(row / BLOCK_ROWS);
    for (let group = 0; group * BLOCK_COLUMNS < this.query.columns.length; group++) {
      const rowId = this.#blocks.get(`${block}:${group}`)?.rowIds[row % BLOCK_ROWS];
      if (rowId !== undefined) return rowId;
    }
    return null;
  }

  cell(row: number, column: number): CellPreview | typeof PENDING {
    const key = `${Math.floor(row / BLOCK_ROWS)}:${Math.floor(column / BLOCK_COLUMNS)}`;
    const cells = this.#blocks.get(key)?.cells?.[row % BLOCK_ROWS];
    return cells === undefined ? PENDING : (cells[column % BLOCK_COLUMNS] ?? null);
  }

  /** Reads what is in sight, and gives up what no longer is. */
  show(rows: readonly [number, number], columns: readonly [number, number]): void {
    this.#sight = [rows, columns];
    const keys = new Set<string>();
    const lastRow = Math.min(rows[1], (this.rowCount ?? 0) - 1);
    for (let block = Math.floor(rows[0] / BLOCK_ROWS); block * BLOCK_ROWS <= lastRow; block++) {
      for (let group = Math.floor(columns[0] / BLOCK_COLUMNS); group * BLOCK_COLUMNS <= columns[1]; group++) {
        keys.add(`${block}:${group}`);
      }
    }
    for (const [key, abort] of this.#wanted) {
      if (keys.has(key)) continue;
      abort.abort();
      this.#wanted.delete(key);
    }
    for (const key of keys) if (!this.#blocks.has(key) && !this.#wanted.has(key)) this.#read(key);
    if (!this.#isDirect && lastRow >= this.#rowIds.length - BLOCK_ROWS) this.#readMatches();
  }

  async #begin(): Promise<void> {
    const { choice, filter } = this.query;
    this.#readMatches();
    try {
      const { count } = await call("count", { ...choice, filter }, this.#end.signal);
      this.matchCount = count;
      this.rowCount = Math.min(count, MAX_MATCHES);
      this.changed();
    } catch (error) {
      this.#fail(error);
    }
  }

  async #readMatches(): Promise<void> {
    if (this.#isReadingMatches || this.#isComplete || this.error !== null) return;
    this.#isReadingMatches = true;
    const { choice, filter, orderBy } = this.query;
    const offset = this.#rowIds.length;
    const limit = offset === 0 ? FIRST_MATCHES : Math.min(MORE_MATCHES, MAX_MATCHES - offset);
    try {
      const order = orderBy === null ? {} : { orderBy };
      const answer = await call("matches", { ...choice, filter, ...order, offset, limit }, this.#end.signal);
      this.#isReadingMatches = false;
      this.#rowIds = [...this.#rowIds, ...answer.rowIds];
      this.#isComplete = !answer.hasMore || this.#rowIds.length >= MAX_MATCHES;
      if (!answer.hasMore) this.rowCount = this.#rowIds.length;
      else this.rowCount = Math.max(this.rowCount ?? 0, this.#rowIds.length);
      if (offset % BLOCK_ROWS !== 0) this.#drop(Math.floor(offset / BLOCK_ROWS));
      if (this.#sight !== null) this.show(...this.#sight);
      this.changed();
    } catch (error) {
      this.#isReadingMatches = false;
      this.#fail(error);
    }
  }

  /** Forgets a block, which gets more rows. */
  #drop(block: number): void {
    for (let group = 0; group * BLOCK_COLUMNS < this.query.columns.length; group++) {
      const key = `${block}:${group}`;
      this.#blocks.delete(key);
      this.#wanted.get(key)?.abort();
      this.#wanted.delete(key);
    }
  }

  async #read(key: string): Promise<void> {
    const [block, group] = key.split(":").map(Number);
    const start = block * BLOCK_ROWS;
    const rowIds = this.#isDirect ? null : this.#rowIds.slice(start, start + BLOCK_ROWS);
    if (rowIds?.length === 0) return;
    const columns = this.query.columns.slice(group * BLOCK_COLUMNS, (group + 1) * BLOCK_COLUMNS);
    const rows =
      rowIds === null
        ? { offset: start, count: Math.min(BLOCK_ROWS, this.query.totalRows - start) }
        : { rowIds };
    const abort = new AbortController();
    this.#wanted.set(key, abort);
    try {
      const answer = await call("rows", { ...this.query.choice, columns, ...rows }, abort.signal);
      if (abort.signal.aborted) return;
      this.#wanted.delete(key);
      this.#keep(key, { cells: answer.rows, rowIds: answer.rowIds });
      this.changed();
    } catch (error) {
      if (abort.signal.aborted) return;
      this.#wanted.delete(key);
      this.#fail(error);
    }
  }

  #keep(key: string, block: Block): void {
    this.#blocks.delete(key);
    this.#blocks.set(key, block);
    for (const oldest of this.#blocks.keys()) {
      if (this.#blocks.size <= MAX_BLOCKS) break;
      this.#blocks.delete(oldest);
    }
  }

  #fail(error: unknown): void {
    if (this.#end.signal.aborted) return;
    this.error = error as Error;
    this.changed();
  }
}
