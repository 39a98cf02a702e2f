/**
 * Round trips of one Arrow table between us and the reference. The reference is an oracle with faults of its own
 * (nestings it cannot read back, types it panics on): what it does to its own table of the same rows decides whose
 * fault a difference is. Ours must be right in every case.
 */

import { readdir } from "node:fs/promises";
import { DataType, type Table, tableFromIPC, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { CorruptFileError, DirectoryNamespace, UnsupportedError } from "tiltyard";
import { runsOf } from "./effort.js";
import { compareTables, reference } from "./reference.js";

/** What the reference itself gets wrong on these rows, in its words; undefined if nothing. */
export type ReferenceFault = string | undefined;

export const FILE_VERSIONS = ["2.0", "2.1", "2.2"] as const;
export type FileVersion = (typeof FILE_VERSIONS)[number];

/** Namespaces at one root that make new tables in one version each. */
export function namespacesOf(root: string): Record<FileVersion, DirectoryNamespace> {
  const open = (dataStorageVersion: FileVersion) =>
    new DirectoryNamespace({ root, durability: "none", dataStorageVersion });
  return { "2.0": open("2.0"), "2.1": open("2.1"), "2.2": open("2.2") };
}

export async function closeAll(namespaces: Record<FileVersion, DirectoryNamespace>): Promise<void> {
  await Promise.all(Object.values(namespaces).map((namespace) => namespace.close()));
}

let tableCount = 0;

/** Writes the rows as a new table by the reference and tells its name; or what the reference said. */
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

/** Whether the reference reads from a table what was put into it. */
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
 * Reference → us: the reference writes, we read.
 *
 * @throws if we read anything but the rows, unless the reference does so too
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
 * Ours → us, and ours → reference: we write, both read.
 *
 * @throws if we read anything but the rows; if the reference does, unless it fails on its own table of them too
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

/**
 * Whether the reference can be handed rows of a type: the apache-arrow that it takes its input from knows no large
 * lists, and sends columns of type null in others with a wrong count of nulls.
 */
export function canBeSent(type: DataType): boolean {
  if (DataType.isLargeList(type) || DataType.isNull(type)) return false;
  return (type.children ?? []).every((field) => canBeSent(field.type));
}

export interface Exchange<Spec> {
  /** What is exchanged, for the lines printed. */
  readonly label: string;
  readonly namespace: DirectoryNamespace;
  readonly root: string;
  readonly dataStorageVersion: string;
  readonly specs: fc.Arbitrary<Spec>;
  readonly tableOf: (spec: Spec) => Table;
  /** Number of tables, where the environment does not ask for INTEROP_RUNS. */
  readonly runs: number;
}

/**
 * Puts arbitrary tables through us and the reference in both directions. Prints the seed first (FC_SEED sets it) and,
 * at the end, how many tables went each way and where the reference failed on rows of its own.
 *
 * @throws where ours is wrong, naming the seed and the spec
 */
export async function exchangeTables<Spec>(exchange: Exchange<Spec>): Promise<void> {
  const { label, namespace, root, dataStorageVersion, tableOf } = exchange;
  const seed = Number(process.env.FC_SEED ?? Math.floor(Math.random() * 1_000_000_007));
  console.info(`${label}: seed ${seed}`);
  let here = 0;
  let there = 0;
  const faults = new Map<string, number>();
  const count = (fault: ReferenceFault) => {
    if (fault === undefined) return;
    // Names and numbers are another in every table.
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

/** Who writes: we (both read) or the reference (we read). */
export type Direction = "here" | "there";

/**
 * Round trips of many columns at once; where that fails, of each by itself, so that the column at fault is known.
 *
 * @returns by names of columns, what the reference gets wrong
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
  // Right one by one, wrong together.
  if (faults.size === 0)
    throw outcome.failure ?? new Error(`the reference, of the whole table: ${outcome.fault}`);
  return faults;
}

/**
 * Columns that the version cannot store are refused one by one, and nothing is left of the attempts.
 *
 * @throws an error that names the column that was not refused with an UnsupportedError
 */
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
