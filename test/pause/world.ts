/** Directories of the pause loop, and their state as an engine sees it. */

import { readdir, utimes } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeVector, Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import { namespacesOf } from "../model/observed.js";
import { isKeptLock } from "../support/lockEntries.js";

export type TableId = readonly string[];

export const ROOT_TABLE: TableId = ["t"];
export const CHILD_TABLE: TableId = ["a", "t"];
/** Returns an unused id beside a table. */
export const besides = (id: TableId, name: string): TableId => [...id.slice(0, -1), name];
export const isRoot = (id: TableId): boolean => id.length === 1;

/** Rows of the initial tables. */
export const rowsOf = (...values: number[]): Uint8Array =>
  tableToIPC(new Table({ v: makeVector(Int32Array.from(values)) }));
/** Rows of any other table. */
export const otherRowsOf = (...values: string[]): Uint8Array =>
  tableToIPC(new Table({ w: vectorFromArray(values, new Utf8()) }));

/** Initial state of an id. */
export type Beginning = "table" | "refs" | "declared" | "hidden" | "absent";

/**
 * Makes an initial state. Rows of tables in child namespaces keep their ids.
 *
 * - "table": versions 1 to 3, each with one more fragment, without refs
 * - "refs": also a tag `v` of version 1, a branch `dev` of version 2 with a version of its own, and a branch
 *   `old`
 * - "declared": a table without versions
 * - "hidden": a version of a deregistered table
 * - "absent": nothing, now and before
 */
export async function prepare(ns: DirectoryNamespace, id: TableId, beginning: Beginning): Promise<void> {
  if (!isRoot(id)) await ns.createNamespace({ id: id.slice(0, -1), mode: "ExistOk" });
  if (beginning === "absent") return;
  if (beginning === "declared") {
    await ns.declareTable({ id });
    return;
  }
  await ns.createTable({ id, stableRowIds: !isRoot(id) }, rowsOf(1));
  if (beginning === "hidden") {
    await ns.deregisterTable({ id });
    return;
  }
  await ns.insertIntoTable({ id }, rowsOf(2));
  await ns.insertIntoTable({ id }, rowsOf(3));
  if (beginning === "table") return;
  await ns.createTableTag({ id, tag: "v", version: 1 });
  await ns.createTableBranch({ id, name: "dev", fromVersion: 2 });
  await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(50));
  await ns.createTableBranch({ id, name: "old", fromVersion: 1 });
}

/** Columns, and rows in no order. */
export interface Content {
  readonly columns: string;
  readonly rows: readonly string[];
}

/** Content by version. */
export type History = Readonly<Record<string, Content>>;

export interface TableState {
  /** By branch; the main branch is "main". The history of a declared table is empty. */
  readonly branches: Readonly<Record<string, History>>;
  readonly tags: Readonly<Record<string, string>>;
}

/** All content that the catalog shows. */
export interface State {
  readonly namespaces: readonly string[];
  readonly tables: Readonly<Record<string, TableState>>;
  /** Latest content of directories in the root that have versions and no table in the catalog. */
  readonly unlisted: number;
}

/** @throws errors of the engine for unreadable tables, with their location */
export async function stateOf(ns: DirectoryNamespace): Promise<State> {
  const namespaces = await namespacesOf(ns);
  const tables: Record<string, TableState> = {};
  const locations = new Set<string>();
  for (const key of [...(await ns.listAllTables()).tables].sort()) {
    const id = key.split("$");
    locations.add((await ns.describeTable({ id })).location);
    tables[key] = await tableStateOf(ns, id);
  }
  return { namespaces, tables, unlisted: await countUnlisted(ns.root, locations) };
}

async function tableStateOf(ns: DirectoryNamespace, id: string[]): Promise<TableState> {
  if ((await ns.describeTable({ id })).isOnlyDeclared) return { branches: { main: {} }, tags: {} };
  const branches: Record<string, History> = { main: await historyOf(ns, id) };
  for (const branch of Object.keys((await ns.listTableBranches({ id })).branches).sort()) {
    branches[branch] = await historyOf(ns, id, branch);
  }
  const tags: Record<string, string> = {};
  for (const [tag, { branch = "main", version }] of Object.entries((await ns.listTableTags({ id })).tags)) {
    tags[tag] = `${branch} ${version}`;
    const { numRows } = (await ns.table(id, { tag }).scan().toArrow()) ?? {};
    const tagged = branches[branch]?.[version];
    if (tagged?.rows.length !== numRows) throw new Error(`tag ${tag} of ${id} names ${tags[tag]}: not there`);
  }
  return { branches, tags };
}

async function historyOf(ns: DirectoryNamespace, id: string[], branch?: string): Promise<History> {
  const history: Record<string, Content> = {};
  let last = 0;
  const listed = (await ns.listTableVersions({ id, branch })).versions;
  for (const { version } of listed) {
    if (version <= last) throw new Error(`${id} lists version ${version} behind ${last}`);
    last = version;
    try {
      const table = ns.table(id, { branch, version });
      history[version] = contentOf(await table.scan().toArrow());
      const ids = (await table.scan({ columns: ["_rowid"] }).toArrow()).getChild("_rowid");
      if (new Set(ids).size !== ids?.length) throw new Error("two rows have one id");
    } catch (error) {
      throw new Error(`version ${version} of ${id} ${branch ?? ""} is unreadable: ${error}`, {
        cause: error,
      });
    }
  }
  const opened = await ns.table(id, { branch }).version();
  if (opened !== last) throw new Error(`${id} ${branch ?? ""} opens version ${opened}, and lists ${last}`);
  return history;
}

export const contentOf = (table: Table): Content => ({
  columns: table.schema.fields
    .map(({ name, type, metadata }) => `${name} ${type} ${JSON.stringify([...metadata])}`)
    .join(),
  rows: table
    .toArray()
    .map((row) => textOf(row as object))
    .sort(),
});

/** Formats a row for comparison. */
export const textOf = (row: object): string =>
  JSON.stringify(row, (_, value) => (typeof value === "bigint" ? Number(value) : value));

async function countUnlisted(root: string, listed: ReadonlySet<string>): Promise<number> {
  let count = 0;
  for (const name of await readdir(root)) {
    const directory = join(root, name);
    if (name === "__manifest" || listed.has(directory)) continue;
    const versions = await readdir(join(directory, "_versions")).catch(() => []);
    if (versions.some((version) => version.endsWith(".manifest"))) count++;
  }
  return count;
}

/** Milliseconds in which another process removes a cached lock. */
const REMOVED_MS = 500;

/** Returns relative paths of locks and temporary files, and of directories that were moved away. */
export async function leftoversIn(root: string): Promise<string[]> {
  const untilMs = performance.now() + REMOVED_MS;
  for (;;) {
    const orphans = await leftoversNow(root);
    // Between the two steps of its removal, a lock does not count as cached.
    if (orphans.length === 0 || performance.now() > untilMs) return orphans;
    await sleep(50);
  }
}

async function leftoversNow(root: string): Promise<string[]> {
  const names = await namesBelow(root, "");
  const kept = new Set<string>();
  for (const name of names)
    if (basename(name) === LOCK_NAME && (await isKeptLock(join(root, name)))) kept.add(name);
  return names.filter(
    (name) =>
      !kept.has(name) && /(^|[/\\])(\.tiltyard\.lock|\.tmp-[^/\\]*|\.tiltyard-dropped-[^/\\]*)$/.test(name),
  );
}

/** Lists names recursively; unlike `readdir`, it tolerates locks that vanish. */
async function namesBelow(root: string, below: string): Promise<string[]> {
  const entries = await readdir(join(root, below), { withFileTypes: true }).catch((error) => {
    if ((error as { code?: string }).code === "ENOENT") return [];
    throw error;
  });
  const names: string[] = [];
  for (const entry of entries) {
    const name = join(below, entry.name);
    names.push(name);
    if (entry.isDirectory()) names.push(...(await namesBelow(root, name)));
  }
  return names;
}

const STALE_SECONDS = 120;

/** Ages all locks below a directory like those of a suspended holder, and returns their number. */
export async function ageLocks(root: string): Promise<number> {
  const then = Date.now() / 1000 - STALE_SECONDS;
  const locks = await locksIn(root);
  for (const lock of locks) {
    // A lock that another call releases right now needs no age.
    for (const owner of await readdir(lock).catch(() => [])) {
      await utimes(join(lock, owner), then, then).catch(() => undefined);
    }
    await utimes(lock, then, then).catch(() => undefined);
  }
  return locks.length;
}

/** Returns the paths of held locks, including those of dead processes. */
export async function locksIn(root: string): Promise<string[]> {
  const locks: string[] = [];
  const look = async (directory: string): Promise<void> => {
    for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
      if (!entry.isDirectory()) continue;
      const path = join(directory, entry.name);
      if (entry.name === LOCK_NAME) {
        if (!(await isKeptLock(path))) locks.push(path);
      } else if (!NEVER_LOCKED.has(entry.name)) await look(path);
    }
  };
  await look(root);
  return locks;
}

/** Directories that never contain locks. */
const NEVER_LOCKED = new Set(["data", "_versions", "_transactions", "_deletions", "_indices"]);
