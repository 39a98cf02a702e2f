/**
 * Round trips of one Arrow table between us and the reference. The reference fails on some of its own tables:
 * its result for its own table of the same rows decides whose fault a difference is. Ours must be right.
 */

import { readdir } from "node:fs/promises";
import { DataType, type Table, tableFromIPC, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { CorruptFileError, DirectoryNamespace, UnsupportedError } from "tiltyard";
import { afterAll } from "vitest";
import { RUN_SEED, runsOf } from "./effort.js";
import { compareTables, reference } from "./reference.js";

/** Message of the reference about its own table of these rows; undefined if it is right. */
export type ReferenceFault = string | undefined;

export const FILE_VERSIONS = ["2.0", "2.1", "2.2"] as const;
export type FileVersion = (typeof FILE_VERSIONS)[number];

/** Namespaces at one root, each with another version for new tables. */
export function namespacesOf(root: string): Record<FileVersion, DirectoryNamespace> {
  const open = (dataStorageVersion: FileVersion) =>
    new DirectoryNamespace({ root, durability: "none", dataStorageVersion });
  return { "2.0": open("2.0"), "2.1": open("2.1"), "2.2": open("2.2") };
}

export async function closeAll(namespaces: Record<FileVersion, DirectoryNamespace>): Promise<void> {
  await Promise.all(Object.values(namespaces).map((namespace) => namespace.close()));
}

/** {@link namespacesOf}, open while the tests of the file run. */
export function sharedNamespaces(root: string): ReturnType<typeof namespacesOf> {
  const namespaces = namespacesOf(root);
  afterAll(() => closeAll(namespaces));
  return namespaces;
}

let tableCount = 0;

/** Lets the reference write the rows as a new table; returns its name or the error. */
async function createThere(
  root: string,
  rows: Table,
  dataStorageVersion: string,
): Promise<{ name: string } | { fault: string }> {
  const name = `there${tableCount++}`;
  try {
    await reference.createTable(root, name, tableToIPC(rows), { dataStorageVersion });
    return { name };
  } catch (failure) {
    return { fault: `cannot write: ${messageOf(failure)}` };
  }
}

/** Compares what the reference reads from a table with the expected rows. */
async function faultOfReading(root: string, name: string, expected: Table): Promise<ReferenceFault> {
  try {
    compareTables(expected, tableFromIPC(await reference.readTable(root, name)), { metadata: false });
    return undefined;
  } catch (failure) {
    return `cannot read its own: ${messageOf(failure)}`;
  }
}

function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message.split("\n", 1)[0]! : String(failure);
}

/**
 * Reads a table of the reference.
 * @throws if our rows are wrong, unless the reference reads wrong rows too
 */
export async function writeThere(
  namespace: DirectoryNamespace,
  root: string,
  rows: Table,
  dataStorageVersion: string,
): Promise<ReferenceFault> {
  const created = await createThere(root, rows, dataStorageVersion);
  if ("fault" in created) return created.fault;
  const id = [created.name];
  try {
    compareTables(rows, await namespace.table(id).scan().toArrow(), { metadata: false });
    return undefined;
  } catch (failure) {
    const fault = await faultOfReading(root, created.name, rows);
    if (fault === undefined) throw failure;
    return fault;
  } finally {
    await namespace.dropTable({ id });
  }
}

/**
 * Reads a table of ours in both engines.
 * @throws if our rows are wrong, or the reference's unless it fails on its own table too
 */
export async function writeHere(
  namespace: DirectoryNamespace,
  root: string,
  rows: Table,
  dataStorageVersion: string,
): Promise<ReferenceFault> {
  const id = [`here${tableCount++}`];
  await namespace.createTable({ id }, rows);
  try {
    compareTables(rows, await namespace.table(id).scan().toArrow(), { metadata: false });
    const fault = await faultOfReading(root, id[0]!, rows);
    if (fault === undefined) return undefined;
    const control = await createThere(root, rows, dataStorageVersion);
    if ("fault" in control) return control.fault;
    const controlFault = await faultOfReading(root, control.name, rows);
    await namespace.dropTable({ id: [control.name] });
    if (controlFault === undefined) throw new Error(`the reference ${fault.replace("its own", "ours")}`);
    return controlFault;
  } finally {
    await namespace.dropTable({ id });
  }
}

/** False for large lists and columns of type null, which the reference's apache-arrow sends wrong. */
export function canBeSent(type: DataType): boolean {
  if (DataType.isLargeList(type) || DataType.isNull(type)) return false;
  return (type.children ?? []).every((field) => canBeSent(field.type));
}

export interface Exchange<Spec> {
  readonly label: string;
  readonly namespace: DirectoryNamespace;
  readonly root: string;
  readonly dataStorageVersion: string;
  readonly specs: fc.Arbitrary<Spec>;
  readonly tableOf: (spec: Spec) => Table;
  /** Number of tables without INTEROP_RUNS. */
  readonly runs: number;
}

/**
 * Puts arbitrary tables through both engines in both directions. Prints the seed first (FC_SEED sets it), and
 * then the number of tables and the faults of the reference.
 * @throws if ours is wrong, with the seed and the spec
 */
export async function exchangeTables<Spec>(exchange: Exchange<Spec>): Promise<void> {
  const { label, namespace, root, dataStorageVersion, tableOf } = exchange;
  const seed = RUN_SEED;
  console.info(`${label}: seed ${seed}`);
  let here = 0;
  let there = 0;
  const faults = new Map<string, number>();
  const count = (fault: ReferenceFault) => {
    if (fault === undefined) return;
    // Names and numbers differ between tables.
    const kind = fault.replace(/\([^)]*\)|'[^']*'|"[^"]*"|-?\d+/g, "…").slice(0, 160);
    faults.set(kind, (faults.get(kind) ?? 0) + 1);
  };
  await fc.assert(
    fc.asyncProperty(exchange.specs, async (spec) => {
      const rows = tableOf(spec);
      count(await writeHere(namespace, root, rows, dataStorageVersion));
      here++;
      const sent = rows.schema.fields.filter((field) => canBeSent(field.type)).map(({ name }) => name);
      if (sent.length === 0) return;
      count(await writeThere(namespace, root, rows.select(sent), dataStorageVersion));
      there++;
    }),
    { numRuns: runsOf("INTEROP_RUNS", exchange.runs), seed, endOnFailure: true },
  );
  const failed = [...faults.values()].reduce((sum, times) => sum + times, 0);
  console.info(
    `${label}: ${here} tables of ours, ${there} of the reference, ${failed} faults of the reference`,
  );
  for (const [fault, times] of faults) console.info(`${label}: ${times} × the reference ${fault}`);
}

/** The writer: we (both read) or the reference (we read). */
export type Direction = "here" | "there";

/**
 * Round trips of many columns at once; after a failure of each alone.
 * @returns faults of the reference by column name
 * @throws an error that names the first column that we get wrong
 */
export async function exchangeColumns(
  namespace: DirectoryNamespace,
  root: string,
  rows: Table,
  dataStorageVersion: string,
  direction: Direction,
): Promise<Map<string, string>> {
  const exchange = direction === "here" ? writeHere : writeThere;
  const outcome = await exchange(namespace, root, rows, dataStorageVersion).then(
    (fault) => ({ fault, failure: undefined }),
    (failure: unknown) => ({ fault: undefined, failure }),
  );
  const faults = new Map<string, string>();
  if (outcome.fault === undefined && outcome.failure === undefined) return faults;
  for (const { name } of rows.schema.fields) {
    try {
      const fault = await exchange(namespace, root, rows.select([name]), dataStorageVersion);
      if (fault !== undefined) faults.set(name, fault);
    } catch (cause) {
      throw new Error(`column ${name}, version ${dataStorageVersion}, ${direction}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }
  // Each column alone is right.
  if (faults.size === 0)
    throw outcome.failure ?? new Error(`the reference, of the whole table: ${outcome.fault}`);
  return faults;
}

/** Expects a refusal of each column that the version cannot store, without remains. */
export async function refuseColumns(namespace: DirectoryNamespace, root: string, rows: Table): Promise<void> {
  for (const { name } of rows.schema.fields) {
    const table = `refused${tableCount++}`;
    const failure = await namespace.createTable({ id: [table] }, rows.select([name])).then(
      () => "is taken",
      (reason: unknown) => reason,
    );
    if (!(failure instanceof UnsupportedError) || failure instanceof CorruptFileError) {
      throw new Error(`column ${name}: ${messageOf(failure)}`, { cause: failure });
    }
    if ((await readdir(root)).includes(`${table}.lance`))
      throw new Error(`column ${name}: something is left behind`);
  }
}
