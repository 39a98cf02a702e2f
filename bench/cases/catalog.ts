/**
 * Namespaces of many tables: making one more, describing one, listing all. The catalog is laid down at once,
 * as making 10,000 tables one by one would take longer than all there is to measure.
 */

import { cp, lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Field, List, Schema, Table, Utf8, vectorFromArray } from "apache-arrow";
import type { BenchCase, PreparedCase, Side, Size } from "../case.js";
import { makeRows } from "../data.js";
import { openReferenceCatalog, openTiltyard, referenceTable, tiltyardTable } from "../sides.js";

const NAMESPACE = "bench";
/** Tables that are more than a row and a directory; all of them where there are no more. */
const REAL_TABLES = 20;

const nameOf = (index: number): string => `t${String(index).padStart(5, "0")}`;
const locationOf = (index: number): string =>
  `${index.toString(16).padStart(8, "0")}_${NAMESPACE}$${nameOf(index)}`;

/** A root with one namespace of `count` tables, of which every `stride`th holds rows. */
async function layDown(root: string, count: number, stride: number): Promise<void> {
  const ns = openTiltyard(root);
  await ns.createTable({ id: ["m"] }, catalogTable(count));
  await ns.createTable({ id: ["t"] }, tiltyardTable(makeRows(100, 1)));
  await ns.close();
  await rm(join(root, "__manifest"), { recursive: true });
  await rename(join(root, "m.lance"), join(root, "__manifest"));
  for (let index = 0; index < count; index++) {
    const directory = join(root, locationOf(index));
    if (index % stride === 0) await cp(join(root, "t.lance"), directory, { recursive: true });
    else await mkdir(directory);
  }
  await rm(join(root, "t.lance"), { recursive: true });
}

function catalogTable(count: number): Table {
  const indices = Array.from({ length: count }, (_, index) => index);
  const text = (values: (string | null)[]) => vectorFromArray(values, new Utf8());
  const list = new List(new Field("object_id", new Utf8(), true));
  const fields = [
    new Field("object_id", new Utf8(), false),
    new Field("object_type", new Utf8(), false),
    new Field("location", new Utf8(), true),
    new Field("metadata", new Utf8(), true),
    new Field("base_objects", list, true),
  ];
  return new Table(new Schema(fields), {
    object_id: text([NAMESPACE, ...indices.map((index) => `${NAMESPACE}$${nameOf(index)}`)]),
    object_type: text(["namespace", ...indices.map(() => "table")]),
    location: text([null, ...indices.map(locationOf)]),
    metadata: text([null, ...indices.map(() => null)]),
    base_objects: vectorFromArray([null, ...indices.map(() => null)], list),
  });
}

interface Catalogs {
  readonly ns: ReturnType<typeof openTiltyard>;
  readonly reference: Awaited<ReturnType<typeof openReferenceCatalog>>;
  readonly count: number;
  /** A table that holds rows, another one at each call. */
  nextReal(): string;
}

/** A case whose sides only read, from one root. */
function readingCase(
  name: string,
  tables: number,
  rounds: number,
  sides: (catalogs: Catalogs) => Side[],
): BenchCase {
  return {
    area: "catalog",
    name: `${name}, ${tables.toLocaleString("en")} tables`,
    rounds: { small: 3, large: rounds },
    async prepare(directory: string, size: Size): Promise<PreparedCase> {
      const root = join(directory, "root");
      const count = size === "large" ? tables : Math.min(tables, 12);
      const stride = Math.max(1, Math.floor(count / REAL_TABLES));
      await layDown(root, count, stride);
      const ns = openTiltyard(root);
      const reference = await openReferenceCatalog(root);
      let next = 0;
      const nextReal = () => nameOf((next++ * stride) % (Math.floor((count - 1) / stride + 1) * stride));
      return {
        work: { amount: 1, unit: "calls" },
        sides: sides({ ns, reference, count, nextReal }),
        async close() {
          await ns.close();
          reference.close();
        },
      };
    },
  };
}

const describe = (tables: number): BenchCase =>
  readingCase("describe one", tables, 200, ({ ns, reference, nextReal }) => [
    {
      name: "tiltyard",
      async run() {
        await ns.describeTable({ id: [NAMESPACE, nextReal()] });
      },
    },
    {
      name: "reference",
      async run() {
        const table = await reference.openTable(nextReal(), [NAMESPACE]);
        await table.version();
        await table.schema();
        table.close();
      },
    },
  ]);

const exists = (tables: number): BenchCase =>
  readingCase("one exists", tables, 200, ({ ns, reference, nextReal }) => [
    { name: "tiltyard", run: () => ns.tableExists({ id: [NAMESPACE, nextReal()] }) },
    {
      name: "reference",
      async run() {
        (await reference.openTable(nextReal(), [NAMESPACE])).close();
      },
    },
  ]);

const list = (tables: number): BenchCase =>
  readingCase("list", tables, 50, ({ ns, reference, count }) => [
    {
      name: "tiltyard",
      async run() {
        expectCount((await ns.listTables({ id: [NAMESPACE] })).tables.length, count);
      },
    },
    {
      name: "reference",
      async run() {
        expectCount((await reference.tableNames([NAMESPACE])).length, count);
      },
    },
  ]);

function expectCount(actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`${actual} tables are listed instead of ${expected}`);
}

/**
 * Each side has a root of its own, with a table more after each run.
 * @param parent namespace of the new tables
 */
function create(tables: number, parent: readonly string[] = [NAMESPACE]): BenchCase {
  const where = parent.length === 0 ? " in the root" : "";
  return {
    area: "catalog",
    name: `create one more${where}, ${tables.toLocaleString("en")} tables`,
    rounds: { small: 2, large: 40 },
    async prepare(directory, size) {
      const count = size === "large" ? tables : Math.min(tables, 12);
      const rows = makeRows(1, 1, ["id", "score"]);
      const rootOf = async (name: string) => {
        const root = join(directory, name);
        await layDown(root, count, count);
        return root;
      };
      const tiltyard = async (name: Side["name"], durability: "none" | "fsync") => {
        const ns = openTiltyard(await rootOf(durability), durability);
        let made = 0;
        const side: Side = {
          name,
          async run() {
            await ns.createTable({ id: [...parent, `new${made++}`] }, tiltyardTable(rows));
          },
        };
        return { side, close: () => ns.close() };
      };
      const [plain, synced] = [
        await tiltyard("tiltyard", "none"),
        await tiltyard("tiltyard, fsync", "fsync"),
      ];
      const reference = await openReferenceCatalog(await rootOf("reference"));
      let made = 0;
      return {
        work: { amount: 1, unit: "calls" },
        sides: [
          plain.side,
          synced.side,
          {
            name: "reference",
            async run() {
              (await reference.createTable(`new${made++}`, referenceTable(rows), [...parent])).close();
            },
          },
        ],
        async close() {
          await plain.close();
          await synced.close();
          reference.close();
        },
      };
    },
  };
}

/**
 * Measures the effect of many earlier changes: the time of a pair of changes, and the bytes of the catalog on
 * disk. The reference cannot declare a table from JavaScript, so it creates and drops a namespace, which
 * changes its catalog equally.
 */
function changeAgain(pairs: number): BenchCase {
  return {
    area: "catalog",
    name: `declare and drop one${pairs === 0 ? "" : `, after ${pairs.toLocaleString("en")} others`}`,
    rounds: { small: 2, large: 100 },
    async prepare(directory, size) {
      const history = size === "large" ? pairs : Math.min(pairs, 20);
      const rootOf = (name: string) => join(directory, name);
      const tiltyard = async (name: Side["name"], durability: "none" | "fsync") => {
        const root = rootOf(name);
        const changeWith = async (ns: ReturnType<typeof openTiltyard>) => {
          await ns.declareTable({ id: [NAMESPACE, "t"] });
          await ns.dropTable({ id: [NAMESPACE, "t"] });
        };
        const before = openTiltyard(root);
        await before.createNamespace({ id: [NAMESPACE] });
        for (let pair = 0; pair < history; pair++) await changeWith(before);
        await before.close();
        const ns = openTiltyard(root, durability);
        return { side: { name, run: () => changeWith(ns) }, close: () => ns.close() };
      };
      const plain = await tiltyard("tiltyard", "none");
      const synced = await tiltyard("tiltyard, fsync", "fsync");
      await mkdir(rootOf("reference"));
      const reference = await openReferenceCatalog(rootOf("reference"));
      const run = async () => {
        await reference.createNamespace([NAMESPACE, "t"]);
        await reference.dropNamespace([NAMESPACE, "t"]);
      };
      await reference.createNamespace([NAMESPACE]);
      for (let pair = 0; pair < history; pair++) await run();
      return {
        work: { amount: 2, unit: "calls" },
        sides: [plain.side, synced.side, { name: "reference", run }],
        async fileBytes() {
          const sizes: Partial<Record<Side["name"], number>> = {};
          for (const side of ["tiltyard", "reference"] as const) {
            sizes[side] = await bytesOnDisk(join(rootOf(side), "__manifest"));
          }
          return sizes;
        },
        async close() {
          await plain.close();
          await synced.close();
          reference.close();
        },
      };
    },
  };
}

/** Returns the bytes of a directory and everything below it. Counts a file with several names once. */
async function bytesOnDisk(directory: string): Promise<number> {
  const bytes = new Map<number, number>();
  // A released lock may vanish meanwhile.
  const parts = (await readdir(directory))
    .filter((name) => !name.startsWith("."))
    .map((name) => join(directory, name));
  const below = await Promise.all(
    parts.map(async (part) => (await readdir(part, { recursive: true })).map((name) => join(part, name))),
  );
  for (const path of [directory, ...parts, ...below.flat()]) {
    const { ino, blocks } = await lstat(path);
    bytes.set(ino, blocks * 512);
  }
  return [...bytes.values()].reduce((sum, each) => sum + each, 0);
}

/** Tables of the root, which are found by their directories. */
function listRoot(tables: number): BenchCase {
  return {
    area: "catalog",
    name: `list the root, ${tables.toLocaleString("en")} tables`,
    rounds: { small: 2, large: 10 },
    collectFirst: true,
    async prepare(directory, size) {
      const root = join(directory, "root");
      const count = size === "large" ? tables : Math.min(tables, 12);
      const ns = openTiltyard(root);
      await ns.createTable({ id: ["t"] }, tiltyardTable(makeRows(1, 1)));
      for (let index = 1; index < count; index++) {
        await cp(join(root, "t.lance"), join(root, `${nameOf(index)}.lance`), { recursive: true });
      }
      const reference = await openReferenceCatalog(root);
      return {
        work: { amount: 1, unit: "calls" },
        sides: [
          {
            name: "tiltyard",
            async run() {
              expectCount((await ns.listTables()).tables.length, count);
            },
          },
          {
            name: "reference",
            async run() {
              expectCount((await reference.tableNames()).length, count);
            },
          },
        ],
        async close() {
          await ns.close();
          reference.close();
        },
      };
    },
  };
}

const SIZES = [10, 1_000, 10_000];

export const catalogCases: readonly BenchCase[] = [
  ...SIZES.map((tables) => create(tables)),
  create(10, []),
  ...SIZES.map(describe),
  ...SIZES.map(exists),
  ...SIZES.map(list),
  ...[1_000, 10_000].map(listRoot),
  ...[0, 10_000].map(changeAgain),
];
