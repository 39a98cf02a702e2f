/** Sizes and hit counts of the caches of a namespace. */

import { expect, it } from "../support/fixtures.js";

it("cacheStatistics counts what queries put into caches, and what they find there", async ({
  ns,
  root,
  open,
}) => {
  const empty = await ns.cacheStatistics();
  expect(empty.total).toMatchObject({ entries: 0, bytes: 0, hits: 0, misses: 0 });
  expect(empty.vectors.maxBytes).toBe(256 * 1024 * 1024);
  const rows = Array.from({ length: 3000 }, (_, n) => ({
    n,
    s: `text ${n % 7}`,
    vector: [n % 11, n % 13, 1, 0],
  }));
  await ns.createTable({ id: "t" }, rows);
  const { jobId } = await ns.table("t").createIndex("n", { indexType: "BTREE" });
  await ns.waitForJob({ jobId: jobId as string });
  const read = async () => {
    expect(await ns.table("t").scan({ filter: "n = 7" }).toArray()).toHaveLength(1);
    await ns
      .table("t")
      .search({ vector: [1, 2, 1, 0], limit: 3 })
      .toArray();
  };
  await read();
  const first = await ns.cacheStatistics();
  for (const cache of [first.manifests, first.dataFiles, first.indexes, first.indexParts]) {
    expect(cache.entries).toBeGreaterThan(0);
    expect(cache.bytes).toBeGreaterThan(0);
    expect(cache.bytes).toBeLessThanOrEqual(cache.maxBytes);
  }
  for (let time = 0; time < 5; time++) await read();
  const later = await ns.cacheStatistics();
  for (const name of ["manifests", "dataFiles", "indexes", "indexParts", "vectors"] as const) {
    expect(later[name].hits, name).toBeGreaterThan(first[name].hits);
    expect(later[name].misses, name).toBeGreaterThanOrEqual(first[name].misses);
  }
  expect(later.indexParts.misses).toBe(first.indexParts.misses);
  const { total, ...caches } = later;
  for (const member of ["entries", "bytes", "maxBytes", "hits", "misses"] as const) {
    expect(total[member]).toBe(Object.values(caches).reduce((sum, use) => sum + use[member], 0));
  }
  // Another namespace has caches of its own; a closed one has let go of them.
  expect((await open({ root }).cacheStatistics()).total.entries).toBe(0);
  await ns.close();
  expect((await ns.cacheStatistics()).indexParts.entries).toBe(0);
});
