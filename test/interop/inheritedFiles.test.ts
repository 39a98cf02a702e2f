/** Both engines find blobs, deletions and indexes that branches inherit, and we do after a move. */

import { rename } from "node:fs/promises";
import { join } from "node:path";
import * as arrow from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { connect, Index, type Table as ReferenceTable } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { resolveIndexDirectory } from "../../src/table/fragments/fileLookup.js";
import { branchRoot } from "../../src/table/refs/refNames.js";
import { fieldOf, int32s } from "../support/arrowColumns.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";
import { disk, latestFile } from "../table/support.js";

const id = ["t"];
const MAKERS = ["us", "them"] as const;
type Maker = (typeof MAKERS)[number];

const made = new Map<number, Uint8Array>();
function blob(size: number): Uint8Array {
  const bytes = made.get(size) ?? new Uint8Array(size);
  if (!made.has(size)) for (let index = 0; index < size; index++) bytes[index] = index * 7 + size;
  made.set(size, bytes);
  return bytes;
}

/** In the data file, null, in a shared side file, in a side file of its own, empty. */
const SIZES = [5, null, 70_000, 4_194_305, 0];

/** The file version decides where blobs lie. */
const KINDS = {
  "version 2": {
    fileVersion: "2.2",
    field: fieldOf(
      "b",
      new arrow.Struct([fieldOf("data", new arrow.LargeBinary()), fieldOf("uri", new arrow.Utf8())]),
      true,
      { "ARROW:extension:name": "lance.blob.v2" },
    ),
    asValue: (bytes: Uint8Array | null): unknown => bytes && { data: bytes, uri: null },
  },
  "version 1": {
    fileVersion: "2.1",
    field: fieldOf("b", new arrow.LargeBinary(), true, { "lance-encoding:blob": "true" }),
    asValue: (bytes: Uint8Array | null): unknown => bytes,
  },
} as const;
type Kind = keyof typeof KINDS;

function rowsOf(kind: Kind, first: number): arrow.Table {
  const { field, asValue } = KINDS[kind];
  const ids = SIZES.map((_, row) => first + row);
  const values = SIZES.map((size) => asValue(size === null ? null : blob(size + first)));
  return new arrow.Table(new arrow.Schema([fieldOf("id", new arrow.Int32()), field]), {
    id: int32s(ids),
    b: arrow.vectorFromArray(values, field.type),
  });
}

const createBranch = (ns: DirectoryNamespace, maker: Maker, name: string, fromBranch?: string) =>
  maker === "us"
    ? ns.createTableBranch({ id, name, fromBranch })
    : reference.createBranch(ns.root, "t", name, { fromBranch });

/** Ids and blobs as text, of a full scan or of single reads. */
const summary = (ids: Iterable<unknown>, blobs: Iterable<unknown>) => {
  const texts = Array.from(blobs, (value) => {
    const data = value instanceof Uint8Array || value === null ? value : (value as { data: Uint8Array }).data;
    return data && `${data.length} ${Buffer.from(data.subarray(0, 20)).toString("hex")}`;
  });
  return Array.from(ids, Number).map((each, index) => `${each}: ${texts[index]}`);
};

const expectedOf = (ids: readonly number[]) =>
  ids.map((each) => {
    const first = Math.floor(each / 10) * 10;
    const size = SIZES[each - first];
    const bytes = size === null ? null : blob(size + first);
    return `${each}: ${bytes && `${bytes.length} ${Buffer.from(bytes.subarray(0, 20)).toString("hex")}`}`;
  });

async function withReference<T>(
  root: string,
  branch: string | undefined,
  use: (table: ReferenceTable) => Promise<T>,
): Promise<T> {
  const connection = await connect(root, { readConsistencyInterval: 0 });
  try {
    return await use(await connection.openTable("t", [], { branch }));
  } finally {
    connection.close();
  }
}

const cells = MAKERS.flatMap(
  (tableMaker) =>
    MAKERS.flatMap((branchMaker) =>
      (Object.keys(KINDS) as Kind[]).map((kind) => ({ tableMaker, branchMaker, kind })),
    ),
  // We do not write blobs of version 2.
).filter(({ tableMaker, kind }) => tableMaker === "them" || kind === "version 1");

describe.each(cells)("blobs of $kind, of a table made by $tableMaker, on branches made by $branchMaker", ({
  tableMaker,
  branchMaker,
  kind,
}) => {
  it("are read with what is deleted here and there", async () => {
    const base = await makeTempDir();
    const before = join(base, "before");
    const { fileVersion } = KINDS[kind];
    const options = { durability: "none", dataStorageVersion: fileVersion } as const;
    const ns = new DirectoryNamespace({ root: before, ...options });
    const append = (first: number, branch?: string) =>
      tableMaker === "us"
        ? ns.insertIntoTable({ id, branch }, rowsOf(kind, first))
        : reference.appendTable(before, "t", arrow.tableToIPC(rowsOf(kind, first)), { branch });
    if (tableMaker === "us") await ns.createTable({ id }, rowsOf(kind, 0));
    else {
      await reference.createTable(before, "t", arrow.tableToIPC(rowsOf(kind, 0)), {
        dataStorageVersion: fileVersion,
      });
    }
    // Deletions: inherited, of inherited rows, of own rows, and on top of the first.
    await reference.deleteRows(before, "t", "id = 0");
    await createBranch(ns, branchMaker, "dev");
    await append(10, "dev");
    await reference.deleteRows(before, "t", "id = 11", { branch: "dev" });
    await createBranch(ns, branchMaker, "a/b", "dev");
    await append(20, "a/b");
    await reference.deleteRows(before, "t", "id = 1 OR id = 24", { branch: "a/b" });

    const ids = {
      dev: [1, 2, 3, 4, 10, 12, 13, 14],
      "a/b": [2, 3, 4, 10, 12, 13, 14, 20, 21, 22, 23],
    };
    const expectBlobs = async (engine: DirectoryNamespace) => {
      for (const [branch, rows] of Object.entries(ids)) {
        const handle = engine.table(id, { branch });
        const scanned = await handle.scan().toArrow();
        expect(summary(scanned.getChild("id") ?? [], scanned.getChild("b") ?? [])).toEqual(expectedOf(rows));
        const offsets = rows.map((_, index) => rows.length - 1 - index);
        const lazy = await handle.takeBlobs("b", offsets);
        const read = await Promise.all(lazy.map((each) => each?.read() ?? null));
        const reversed = [...rows].reverse();
        expect(summary(reversed, read)).toEqual(expectedOf(reversed));
        const last = lazy.findIndex((each) => each !== null && each.size > 1000);
        const part = await lazy[last]?.read(100, 50);
        expect(part).toEqual(read[last]?.subarray(100, 150));
      }
      await engine.close();
    };
    await expectBlobs(ns);
    for (const [branch, rows] of Object.entries(ids)) {
      const there = arrow.tableFromIPC(await reference.readTable(before, "t", { branch, columns: ["id"] }));
      expect(Array.from(there.getChild("id") ?? [], Number)).toEqual(rows);
      if (kind === "version 1") continue;
      const fetched = await withReference(before, branch, async (table) => {
        const matches = await table.query().withRowId().select(["id"]).toArray();
        const rowIds = matches.map((row) => row._rowid as bigint);
        return summary(
          matches.map((row) => row.id),
          await table.fetchBlobs("b", rowIds),
        );
      });
      expect(fetched).toEqual(expectedOf(rows));
    }
    await rename(before, join(base, "after"));
    await expectBlobs(new DirectoryNamespace({ root: join(base, "after"), ...options }));
  });
});

describe.each(MAKERS)("indexes on a branch made by %s", (branchMaker) => {
  it("are found, by the reference and by us, where they lie", async () => {
    const base = await makeTempDir();
    const root = join(base, "root");
    const ns = new DirectoryNamespace({ root, durability: "none" });
    const numbers = (first: number, count: number) =>
      new arrow.Table({
        v: int32s(count, (row) => first + row),
      });
    await ns.createTable({ id }, numbers(0, 500));
    await withReference(root, undefined, (table) => table.createIndex("v", { config: Index.btree() }));
    await createBranch(ns, branchMaker, "dev");
    await createBranch(ns, branchMaker, "dev/sub", "dev");
    await ns.insertIntoTable({ id, branch: "dev/sub" }, numbers(500, 20));

    const expectIndex = async (
      location: string,
      branch: string | undefined,
      indexed: number,
      unindexed: number,
    ) => {
      const tableRoot = branchRoot(join(location, "t.lance"), branch);
      const { manifest, indexSection } = await latestFile(tableRoot);
      const [index] = indexSection?.indices ?? [];
      const directory = await resolveIndexDirectory({ disk, root: tableRoot }, manifest, index!);
      expect(directory.startsWith(join(location, "t.lance", "_indices"))).toBe(true);
      expect((await disk.stat(directory))?.kind).toBe("directory");
      if (location !== root) return;
      expect(await ns.getTableStats({ id, branch })).toEqual(
        await reference.tableStats(root, "t", { branch }),
      );
      expect((await ns.getTableStats({ id, branch })).numIndices).toBe(1);
      await withReference(root, branch, async (table) => {
        const stats = await table.indexStats("v_idx");
        expect(stats).toMatchObject({ numIndexedRows: indexed, numUnindexedRows: unindexed });
        const query = () => table.query().where("v >= 490 AND v < 510");
        expect(await query().explainPlan(true)).toContain("ScalarIndexQuery");
        // The reference does not find an index's files on a branch whose parent inherited them.
        if (branch === "dev/sub" && branchMaker === "them") {
          await expect(query().toArray()).rejects.toThrow(/Not found/);
        } else {
          expect(await query().toArray()).toHaveLength(10 + Math.min(unindexed, 10));
        }
      });
    };
    await expectIndex(root, undefined, 500, 0);
    await expectIndex(root, "dev", 500, 0);
    await expectIndex(root, "dev/sub", 500, 20);
    // Rows rewritten in a branch leave the index there only.
    await ns.insertIntoTable({ id, branch: "dev", mode: "Overwrite" }, numbers(0, 500));
    await ns.insertIntoTable({ id }, numbers(1000, 1));
    await ns.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true });
    expect(await reference.countRows(root, "t", "v = 7", { branch: "dev" })).toBe(1);
    await expectIndex(root, "dev/sub", 500, 20);
    await ns.close();
    const after = join(base, "after");
    await rename(root, after);
    for (const branch of [undefined, "dev/sub"]) await expectIndex(after, branch, 500, 20);
  });
});
