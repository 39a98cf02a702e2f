/**
 * Round trips of one Arrow table between us and the reference. The reference is an oracle with faults of its own
 * (nestings it cannot read back, types it panics on): what it does to its own table of the same rows decides whose
 * fault a difference is. Ours must be right in every case.
 */

import { DataType, type Table, tableFromIPC, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import type { DirectoryNamespace } from "tiltyard";
import { compareTables, reference } from "./reference.js";

/** What the reference itself gets wrong on these rows, in its words; undefined if nothing. */
export type ReferenceFault = string | undefined;

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
function canBeSent(type: DataType): boolean {
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
    if (fault !== undefined) faults.set(fault, (faults.get(fault) ?? 0) + 1);
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
    { numRuns: Number(process.env.INTEROP_RUNS ?? exchange.runs), seed, endOnFailure: true },
  );
  const failed = [...faults.values()].reduce((sum, times) => sum + times, 0);
  console.info(
    `${label}: ${here} tables of ours, ${there} of the reference, ${failed} faults of the reference`,
  );
  for (const [fault, times] of faults) console.info(`${label}: ${times} × the reference ${fault}`);
}
