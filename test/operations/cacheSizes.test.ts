import { Int32, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { cacheSizesOf } from "../../src/operations/cacheSizes.js";
import { describe, expect, it } from "../support/fixtures.js";

const sumOf = (sizes: object) => Object.values(sizes).reduce((sum, size) => sum + size, 0);

describe("sizes of caches", () => {
  it("an option scales the caches of its group and leaves the others", () => {
    const all = cacheSizesOf({});
    expect(sumOf(all)).toBe((336 + 544) * 1024 * 1024);
    const { manifests, indexParts } = cacheSizesOf({ metadataCacheBytes: 336 * 1024 });
    expect([manifests, indexParts]).toEqual([64 * 1024, all.indexParts]);
    expect(cacheSizesOf({ indexCacheBytes: 0 })).toEqual({ ...all, openIndexes: 0, indexParts: 0 });
    expect(sumOf(cacheSizesOf({ indexCacheBytes: 1e18, metadataCacheBytes: 7 }))).toBeLessThanOrEqual(
      1e18 + 7,
    );
  });

  it("a namespace without caches gives the same rows and keeps only its catalog", async ({ root }) => {
    const rows = new Table({ v: vectorFromArray([3, 1, 2], new Int32()) });
    const options = { root, durability: "none" as const };
    await using ns = new DirectoryNamespace({ ...options, metadataCacheBytes: 0, indexCacheBytes: 0 });
    await ns.createTable({ id: ["t"] }, rows);
    await ns.waitForJob(await ns.createTableIndex({ id: ["t"], column: "v", indexType: "BTREE" }));
    for (let time = 0; time < 2; time++) {
      const found = await ns.queryTable({ id: ["t"], filter: "v > 1", useScalarIndex: true });
      expect((await found.toArray()).map(({ v }) => v)).toEqual([3, 2]);
    }
    const { total, catalogs, vectors } = await ns.cacheStatistics();
    expect(total.maxBytes).toBe(vectors.maxBytes);
    expect(total.bytes).toBe(catalogs.bytes);
  });

  it("the constructor refuses a size that is not a number of bytes", () => {
    const refused = (options: object) => () => new DirectoryNamespace({ root: "/nowhere", ...options });
    expect(refused({ metadataCacheBytes: -1 })).toThrow("metadataCacheBytes: must be a number of bytes");
    expect(refused({ indexCacheBytes: "1" })).toThrow("indexCacheBytes: must be a number of bytes");
    expect(refused({ indexCacheBytes: Number.NaN })).toThrow("indexCacheBytes: must be a number of bytes");
  });
});
