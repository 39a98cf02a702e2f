/** SQL columns of both engines: each knows which values the other computed, and which are outdated. */

import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openBothEngines } from "../support/bothEngines.js";

const { root, namespace, connection } = await openBothEngines();

type Engine = "LanceDB" | "Tiltyard";

const signaturesIn = async (name: string): Promise<string[]> =>
  (await readdir(join(root, `${name}.lance`, "_computed"))).sort();

async function fillHere(name: string, column = "doubled") {
  const { jobId } = await namespace.alterTableBackfillColumns({ id: [name], column });
  const { result } = await namespace.waitForJob({ jobId });
  return result as unknown as { rows: number; version: number | null };
}

async function staleHere(name: string): Promise<number> {
  const { columns } = await namespace.describeComputedColumns({ id: [name] });
  return columns[0].staleRows;
}

/** Fills a column. @returns the number of rows that got a value */
async function fill(by: Engine, name: string): Promise<number> {
  if (by === "Tiltyard") return (await fillHere(name)).rows;
  return (await (await connection.openTable(name)).refreshColumn("doubled")).rowsFilled;
}

async function rowsOf(name: string): Promise<[number, number | null][]> {
  const rows = await (await connection.openTable(name)).query().toArray();
  return rows
    .map(({ x, doubled }): [number, number | null] => [Number(x), doubled === null ? null : Number(doubled)])
    .sort(([a], [b]) => a - b);
}

const expectRight = async (name: string): Promise<void> => {
  for (const [x, doubled] of await rowsOf(name)) expect(doubled).toBe(2 * x);
};

const rows = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ x: first + index, other: "a" }));

async function declared(name: string, by: Engine): Promise<void> {
  const table = await connection.createTable(name, rows(1, 3));
  await table.add(rows(10, 3));
  if (by === "LanceDB") await table.addColumns({ computed: [{ name: "doubled", valueSql: "x * 2" }] });
  else {
    const computed = "x * 2";
    await namespace.alterTableAddColumns({
      id: [name],
      newColumns: [{ name: "doubled", computed }],
    } as never);
  }
}

it("both engines write the same signatures of the same files", async () => {
  const table = await connection.createTable("same", [
    { x: 1, y: 2, "a-b": 1, s: { u: 3, v: { w: 4 } }, list: [1, 2], text: "é" },
  ]);
  await table.add([{ x: 5, y: 2, "a-b": 1, s: { u: 3, v: { w: 4 } }, list: [1], text: "z" }]);
  await table.addColumns([{ name: "later", valueSql: "x + 1" }]);
  const expressions = {
    one: "x * 2",
    two: "y + x",
    nested: "s.u + x",
    deep: "s.v.w * 2",
    listed: "array_length(list)",
    others: "later + x",
    length: "length(text)",
    quoted: "`a-b` + 1",
  };
  for (const [name, valueSql] of Object.entries(expressions)) {
    await table.addColumns({ computed: [{ name, valueSql }] });
  }
  await cp(join(root, "same.lance"), join(root, "copied.lance"), { recursive: true });
  const copied = await connection.openTable("copied");
  for (const column of Object.keys(expressions)) {
    await fillHere("same", column);
    await copied.refreshColumn(column);
  }
  expect(await signaturesIn("same")).toEqual(await signaturesIn("copied"));
  const metadataIn = async (name: string) => {
    const { fields } = await (await connection.openTable(name)).schema();
    return fields.map(({ metadata }) =>
      [...metadata].filter(([key]) => /source_signature|definition_version/.test(key)).sort(),
    );
  };
  expect(await metadataIn("same")).toEqual(await metadataIn("copied"));
  for (const column of Object.keys(expressions)) {
    expect((await (await connection.openTable("same")).refreshColumn(column)).rowsFilled).toBe(0);
  }
});

const ENGINES: readonly Engine[] = ["LanceDB", "Tiltyard"];
const CASES = ENGINES.flatMap((declares) =>
  ENGINES.flatMap((fills) => ENGINES.map((next) => [declares, fills, next] as const)),
);

it.each(CASES)("a column that %s declares and %s fills is filled on by %s", async (declares, fills, next) => {
  const name = `filled_${declares}_${fills}_${next}`;
  await declared(name, declares);
  expect(await fill(fills, name)).toBe(6);
  const table = await connection.openTable(name);
  expect(await staleHere(name)).toBe(0);
  expect(await fill(next, name)).toBe(0);
  await table.add(rows(20, 2));
  expect(await staleHere(name)).toBe(2);
  expect(await fill(next, name)).toBe(2);
  await expectRight(name);
  // LanceDB's update leaves the old value.
  await table.update({ values: { x: 50 }, where: "x = 2" });
  expect(await staleHere(name)).toBe(1);
  expect(await fill(next, name)).toBe(1);
  await expectRight(name);
  // Tiltyard's update clears it.
  await namespace.updateTable({ id: [name], predicate: "x = 3", updates: [["x", "60"]] });
  await fill(next, name);
  await expectRight(name);
  for (const compact of [() => table.optimize(), () => namespace.optimizeTable({ id: [name] })]) {
    await table.add(rows(100, 2));
    await fill(next, name);
    await compact();
    expect(await staleHere(name)).toBe(0);
    await fill(fills, name);
    await fill(next, name);
    await expectRight(name);
  }
  expect(await fill("LanceDB", name)).toBe(0);
});

it("signatures tell which values fit after the versions that computed them are gone", async () => {
  await declared("cleaned", "LanceDB");
  await fill("LanceDB", "cleaned");
  const table = await connection.openTable("cleaned");
  await table.update({ values: { x: 70 }, where: "x = 11" });
  await namespace.cleanupTable({ id: ["cleaned"], olderThanMs: 0, retainVersions: 1 } as never);
  expect(await staleHere("cleaned")).toBe(1);
  expect(await fill("Tiltyard", "cleaned")).toBe(1);
  expect(await fill("LanceDB", "cleaned")).toBe(0);
  await expectRight("cleaned");
});

it.each([
  ["is cut", (bytes: Buffer) => bytes.subarray(0, 20)],
  ["is empty", () => Buffer.alloc(0)],
  ["has another signature", (bytes: Buffer) => Buffer.from(bytes).fill(7, 15)],
])("a file of signatures that %s is not believed", async (what, damage) => {
  const name = `damaged_${what.replaceAll(" ", "_")}`;
  await declared(name, "LanceDB");
  await fill("LanceDB", name);
  const [file] = await signaturesIn(name);
  const path = join(root, `${name}.lance`, "_computed", file);
  await writeFile(path, damage(await readFile(path)));
  await (await connection.openTable(name)).update({ values: { x: 80 }, where: "x = 1" });
  expect(await staleHere(name)).toBe(1);
  await fill("Tiltyard", name);
  await expectRight(name);
});

it.each([
  "sidecar:../../../secret",
  `sidecar:${"0".repeat(64)}`,
  "{",
  "[]",
  '{"0":7}',
  "",
])("the metadata %j name no signatures", async (text) => {
  const name = `forged_${[...text].reduce((sum, each) => sum + each.charCodeAt(0), 0)}`;
  await declared(name, "LanceDB");
  await fill("LanceDB", name);
  const metadata = { "computed_refresh.source_signature": text };
  await namespace.updateFieldMetadata({ id: [name], updates: [{ path: "doubled", metadata }] });
  await (await connection.openTable(name)).update({ values: { x: 80 }, where: "x = 1" });
  expect(await staleHere(name)).toBe(1);
  await fill("Tiltyard", name);
  await expectRight(name);
});
