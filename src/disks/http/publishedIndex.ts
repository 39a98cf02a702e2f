/**
 * The index of a published namespace: the file `tiltyard-index.json` in its directory. A host of files
 * cannot list directories. The index says which tables there are, and names the files whose names a reader
 * cannot know: manifests, tags, branches. Sizes and ETags of these files save requests.
 *
 *     { "format": "tiltyard-index", "version": 1,
 *       "tables": [{
 *         "location": "trees.lance",                        directory below the namespace's
 *         "files": [{ "path": "_versions/…", "size": 812, "etag": "…" }],
 *         "indices": ["<uuid>"],                            names of the directories below _indices
 *         "heads": { "path": "_tiltyard/heads-….bin", "size": 12345, "etag": "…" } }] }
 *
 * `heads` names a file with what a reader of the latest version reads first (publishedHeads.ts).
 */

import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { DirectoryEntry } from "../../io/disk/disk.js";
import { tablePathOf } from "./hostPaths.js";

export const INDEX_NAME = "tiltyard-index.json";
export const INDEX_FORMAT = "tiltyard-index";
export const INDEX_VERSION = 1;
/** Maximum size of an index that is read. */
export const MAX_INDEX_BYTES = 64 * 1024 * 1024;

/** A file of a published table. */
export interface PublishedFile {
  /** Path below the directory of the table, with `/`. */
  readonly path: string;
  readonly size: number;
  /** 16 hexadecimal digits that change with the content; of heads and small files, its XXH64. */
  readonly etag: string;
}

export interface PublishedTable {
  /** Directory of the table below that of the namespace, with `/`. */
  readonly location: string;
  readonly files: readonly PublishedFile[];
  readonly indices: readonly string[];
  readonly heads: PublishedFile | null;
}

/** Parts of a table whose files the index does not name. */
const UNLISTED: ReadonlySet<string> = new Set([
  "data",
  "_indices",
  "_deletions",
  "_transactions",
  "_computed",
]);

/** An index, by path. */
export class PublishedIndex {
  readonly tables: ReadonlyMap<string, PublishedTable>;
  readonly #files = new Map<string, PublishedFile>();
  readonly #directories = new Map<string, Map<string, DirectoryEntry["kind"]>>([["", new Map()]]);

  constructor(tables: readonly PublishedTable[]) {
    this.tables = new Map(tables.map((table) => [table.location, table]));
    for (const { location, files, indices } of tables) {
      this.#add(location, "directory");
      for (const part of UNLISTED) this.#add(`${location}/${part}`, "directory");
      for (const name of indices) this.#add(`${location}/_indices/${name}`, "directory");
      for (const file of files) {
        this.#add(`${location}/${file.path}`, "file");
        this.#files.set(`${location}/${file.path}`, file);
      }
    }
  }

  #add(path: string, kind: DirectoryEntry["kind"]): void {
    const names = path.split("/");
    let parent = "";
    for (const [index, name] of names.entries()) {
      const isLast = index === names.length - 1;
      this.#directories.get(parent)?.set(name, isLast ? kind : "directory");
      const child = parent === "" ? name : `${parent}/${name}`;
      if ((!isLast || kind === "directory") && !this.#directories.has(child)) {
        this.#directories.set(child, new Map());
      }
      parent = child;
    }
  }

  file(path: string): PublishedFile | undefined {
    return this.#files.get(path);
  }

  /** Entries of a directory; null if it is not known. */
  entries(path: string): DirectoryEntry[] | null {
    const entries = this.#directories.get(path);
    return entries === undefined ? null : Array.from(entries, ([name, kind]) => ({ name, kind }));
  }

  /** True if the index names all files of the directory in which a path lies. */
  covers(path: string): boolean {
    const { rest } = tablePathOf(path);
    return rest.length < 2 || !UNLISTED.has(rest[0]);
  }

  /** Returns the table in which a path lies. */
  tableOf(path: string): PublishedTable | undefined {
    for (let end = path.indexOf("/"); end > 0; end = path.indexOf("/", end + 1)) {
      const table = this.tables.get(path.slice(0, end));
      if (table !== undefined) return table;
    }
    return undefined;
  }
}

/**
 * Parses an index; null if the bytes are something else, such as the page of a host in place of a missing
 * file.
 * @throws UnsupportedError for an index of a later version; CorruptFileError
 */
export function parseIndex(bytes: Uint8Array): PublishedIndex | null {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // Many hosts answer any path with a page.
    return null;
  }
  if (!isRecord(value) || value.format !== INDEX_FORMAT) return null;
  if (value.version !== INDEX_VERSION) {
    throw new UnsupportedError(`${INDEX_NAME} has version ${String(value.version).slice(0, 20)}, not 1`);
  }
  return new PublishedIndex(listOf(value.tables, "tables").map(tableOf));
}

function tableOf(value: unknown): PublishedTable {
  if (!isRecord(value)) throw invalid("a table");
  const { heads } = value;
  return {
    location: pathOf(value.location),
    files: listOf(value.files, "files").map(fileOf),
    indices: listOf(value.indices, "indices").map((name) => {
      if (typeof name !== "string" || !/^[\w-]{1,64}$/.test(name)) throw invalid("the name of an index");
      return name;
    }),
    heads: heads === null || heads === undefined ? null : fileOf(heads),
  };
}

function fileOf(value: unknown): PublishedFile {
  if (!isRecord(value)) throw invalid("a file");
  const { size, etag } = value;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) throw invalid("a size");
  if (typeof etag !== "string" || !/^[0-9a-f]{16}$/.test(etag)) throw invalid("an ETag");
  return { path: pathOf(value.path), size, etag };
}

function pathOf(value: unknown): string {
  const isPath =
    typeof value === "string" &&
    value.length <= 4096 &&
    value.split("/").every((name) => name !== "" && name !== "." && name !== ".." && !name.includes("\\"));
  if (!isPath) throw invalid("a path");
  return value;
}

function listOf(value: unknown, name: string): unknown[] {
  if (!Array.isArray(value)) throw invalid(`the list ${name}`);
  return value;
}

const invalid = (what: string): CorruptFileError =>
  new CorruptFileError(INDEX_NAME, 0, `${what} is not valid`);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
