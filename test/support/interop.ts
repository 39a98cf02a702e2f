/**
 * Round trips of one Arrow table between us and the reference. The reference is an oracle with faults of its own
 * (nestings it cannot read back, types it panics on): what it does to its own table of the same rows decides whose
 * fault a difference is. Ours must be right in every case.
 */

import { type Table, tableFromIPC, tableToIPC } from "apache-arrow";
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
