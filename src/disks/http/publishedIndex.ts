/**
 * The index of a published namespace: the file `tiltyard-index.json` in its directory. A host of files
 * cannot list directories. The index says which tables there are, and names the files whose names a reader
 * cannot know: manifests, tags, branches. Sizes and ETags of these files save requests.
 *
 *     {"format":"tiltyard-index","version":1,"tables":[
 *     {"location":"trees.lance",                          directory below the namespace's
 *      "files":[{"path":"_versions/…","size":812,"etag":"…"}],
 *      "indices":["<uuid>"],                              names of the directories below _indices
 *      "heads":{"path":"_tiltyard/heads-….bin","size":12345,"etag":"…"}},
 *     …
 *     ]}
 *
 * Each table has a line, so that a large index is parsed piece by piece. A table with many files has several
 * lines, each with some of them.
 *
 * `heads` names a file with what a reader of the latest version reads first (publishedHeads.ts).
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { DirectoryEntry } from "../../io/disk/disk.js";
import { tablePathOf } from "./hostPaths.js";

export const INDEX_NAME = "tiltyard-index.json";
const INDEX_FORMAT = "tiltyard-index";
const INDEX_VERSION = 1;
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
  readonly tables = new Map<string, Pick<PublishedTable, "location" | "heads">>();
  readonly #files = new Map<string, PublishedFile>();
  readonly #directories = new Map<string, Map<string, DirectoryEntry["kind"]>>([["", new Map()]]);
  /** Length of the paths of all directories together. */
  #pathLength = 0;

  /** Adds a table, or further files of it. */
  add({ location, files, indices, heads }: PublishedTable): void {
    const present = this.tables.get(location);
    this.tables.set(location, { location, heads: heads ?? present?.heads ?? null });
    for (const part of UNLISTED) this.#directory(`${location}/${part}`);
    for (const name of indices) this.#directory(`${location}/_indices/${name}`);
    for (const file of files) {
      const path = `${location}/${file.path}`;
      const [directory, name] = splitPath(path);
      this.#directory(directory).set(name, "file");
      this.#files.set(path, file);
    }
  }

  /**
   * Returns the entries of a directory, which is added if it is new.
   * @throws CorruptFileError if the paths of all directories together are too long for memory
   */
  #directory(path: string): Map<string, DirectoryEntry["kind"]> {
    const present = this.#directories.get(path);
    if (present !== undefined) return present;
    this.#pathLength += path.length;
    if (this.#pathLength > MAX_PATH_LENGTH) throw invalid("the depth of directories");
    const entries = new Map<string, DirectoryEntry["kind"]>();
    this.#directories.set(path, entries);
    const [parent, name] = splitPath(path);
    this.#directory(parent).set(name, "directory");
    return entries;
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
  tableOf(path: string): Pick<PublishedTable, "location" | "heads"> | undefined {
    for (let end = path.indexOf("/"); end > 0; end = path.indexOf("/", end + 1)) {
      const table = this.tables.get(path.slice(0, end));
      if (table !== undefined) return table;
    }
    return undefined;
  }
}

/** Splits a path at its last slash. The directory is empty for a path without one. */
function splitPath(path: string): [directory: string, name: string] {
  const slash = path.lastIndexOf("/");
  return [path.slice(0, Math.max(0, slash)), path.slice(slash + 1)];
}

/** Returns the text of an index, a table per line. */
export function formatIndex(tables: readonly PublishedTable[]): string {
  const lines = tables.flatMap(({ location, files, indices, heads }) => {
    const pieces = [JSON.stringify({ location, files: files.slice(0, LINE_FILES), indices, heads })];
    for (let start = LINE_FILES; start < files.length; start += LINE_FILES) {
      const some = files.slice(start, start + LINE_FILES);
      pieces.push(JSON.stringify({ location, files: some, indices: [], heads: null }));
    }
    return pieces;
  });
  const header = JSON.stringify({ format: INDEX_FORMAT, version: INDEX_VERSION, tables: [] });
  return `${header.slice(0, -2)}\n${lines.join(",\n")}\n]}\n`;
}

/**
 * Parses an index; null if the bytes are something else, such as the page of a host in place of a missing
 * file.
 * @throws UnsupportedError for an index of a later version; CorruptFileError
 */
export async function parseIndex(bytes: Uint8Array): Promise<PublishedIndex | null> {
  const decoder = new TextDecoder();
  const headerEnd = bytes.indexOf(LINE_FEED);
  const header = headerEnd < 0 ? "" : decoder.decode(bytes.subarray(0, Math.min(headerEnd, LINE_BYTES)));
  const index = new PublishedIndex();
  if (!header.endsWith("[")) {
    // Another program has formatted it anew, or it is no index.
    const whole = bytes.length <= LINE_BYTES ? jsonOf(decoder.decode(bytes)) : undefined;
    if (!isIndex(whole)) return null;
    for (const table of listOf(whole.tables, "tables")) index.add(tableOf(table));
    return index;
  }
  if (!isIndex(jsonOf(`${header}]}`))) return null;
  for (let start = headerEnd + 1; ; ) {
    const lineEnd = bytes.indexOf(LINE_FEED, start);
    const end = lineEnd < 0 ? bytes.length : lineEnd;
    if (end - start > LINE_BYTES) throw invalid("a line");
    const line = decoder.decode(bytes.subarray(start, end)).trim();
    if (line === "]}") return index;
    if (lineEnd < 0) throw invalid("the end");
    if (line !== "") index.add(tableOf(jsonOf(line.endsWith(",") ? line.slice(0, -1) : line)));
    start = end + 1;
    await yieldToEventLoop();
  }
}

/** Maximum length of the paths of all directories together. Long paths have many directories on their way. */
const MAX_PATH_LENGTH = 256 * 1024 * 1024;
/** Maximum number of files in a line. */
const LINE_FILES = 2000;
/** Maximum bytes of a line. */
const LINE_BYTES = 1024 * 1024;
const LINE_FEED = 0x0a;

/** Returns undefined for text that is not JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Many hosts answer any path with a page.
    return undefined;
  }
}

/** @throws UnsupportedError for an index of a later version */
function isIndex(value: unknown): value is { readonly tables: unknown } {
  if (!isRecord(value) || value.format !== INDEX_FORMAT) return false;
  if (value.version === INDEX_VERSION) return true;
  throw new UnsupportedError(`${INDEX_NAME} has version ${String(value.version).slice(0, 20)}, not 1`);
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
