/** Sessions, which count the caches of connections. */

import { connect, connectNamespace, Session } from "tiltyard/lancedb";
import { expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

it("a session counts the caches of all its connections", async () => {
  const session = new Session(1_000_000n, 1_000_000n);
  expect([session.sizeBytes(), session.approxNumItems()]).toEqual([0n, 0]);
  const table = await (await connect(await makeTempDir(), { session })).createTable("t", [{ id: 1 }]);
  await table.query().toArray();
  const [bytes, items] = [session.sizeBytes(), session.approxNumItems()];
  expect(bytes).toBeGreaterThan(0n);
  expect(items).toBeGreaterThan(0);
  const root = await makeTempDir();
  const second = await connectNamespace("dir", { root }, { session });
  await (await second.createTable("t", [{ id: 1 }])).countRows();
  expect(session.sizeBytes()).toBeGreaterThan(bytes);
  expect(Session.default().sizeBytes()).toBe(0n);
});

it("the sizes of a session bound the caches of its connections", async () => {
  const session = new Session(0n, 0n);
  const table = await (await connect(await makeTempDir(), { session })).createTable("t", [{ id: 1 }]);
  await table.createIndex("id");
  for (let time = 0; time < 3; time++) expect((await table.query().where("id = 1").toArray()).length).toBe(1);
  // The catalog alone stays.
  expect(session.sizeBytes()).toBeLessThan(1024n);
  expect(() => new Session(-1n)).toThrow("indexCacheSizeBytes must be at least 0");
  expect(() => new Session(null, "1" as never)).toThrow("metadataCacheSizeBytes must be at least 0");
});

it("a session may come as the third argument", async () => {
  const session = Session.default();
  const db = await connect(await makeTempDir(), {}, session);
  await (await db.createTable("t", [{ id: 1 }])).countRows();
  expect(session.sizeBytes()).toBeGreaterThan(0n);
});
