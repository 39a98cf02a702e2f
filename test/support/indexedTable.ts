/** Tables with indexes of either engine, and comparisons with full scans. */

import type { Table } from "apache-arrow";
import { tableFromIPC } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { connect, type Table as ReferenceTable } from "tiltyard-reference/session.js";
import { expect } from "vitest";
import type { CreateTableIndexRequest } from "../../src/namespace/indexes.js";
import { reference } from "./reference.js";
import { mirrored } from "./suite/mirror.js";

export async function buildIndex(
  namespace: DirectoryNamespace,
  request: CreateTableIndexRequest,
): Promise<void> {
  const { jobId } = await namespace.createTableIndex(request);
  await namespace.waitForJob({ jobId });
}

/** Opens a table of the reference for the duration of a call. */
export async function withReference<T>(
  root: string,
  name: string,
  use: (table: ReferenceTable) => Promise<T>,
): Promise<T> {
  return mirrored(root, async () => {
    const connection = await connect(root, { readConsistencyInterval: 0 });
    try {
      return await use(await connection.openTable(name));
    } finally {
      connection.close();
    }
  });
}

/** The reference's plan for a filter. */
export const planThere = (root: string, name: string, filter: string): Promise<string> =>
  withReference(root, name, (table) => table.query().where(filter).explainPlan(true));

/** Ascending ids of the rows that the reference finds. */
export async function foundThere(root: string, name: string, filter: string): Promise<number[]> {
  const rows = tableFromIPC(await reference.readTable(root, name, { filter, columns: ["id"] }));
  return idsOf(rows);
}

/** Ascending ids of the rows that we find. */
export async function foundHere(
  namespace: DirectoryNamespace,
  name: string,
  filter: string,
  target: object = {},
): Promise<number[]> {
  return idsOf(
    await namespace
      .table([name], target)
      .scan({ filter, columns: ["id"] })
      .toArrow(),
  );
}

const idsOf = (rows: Table): number[] => Array.from(rows.getChild("id") ?? [], Number).sort((a, b) => a - b);

/** Compares both engines' answers with those of the table `plain`, which has the same rows and no index. */
export async function expectSameAnswers(
  namespace: DirectoryNamespace,
  root: string,
  name: string,
  plain: (filter: string) => Promise<number[]>,
  filters: readonly string[],
): Promise<void> {
  for (const filter of filters) {
    const expected = await plain(filter);
    expect(await foundThere(root, name, filter), `there: ${filter}`).toEqual(expected);
    expect(await foundHere(namespace, name, filter), `here: ${filter}`).toEqual(expected);
  }
}
