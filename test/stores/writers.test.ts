/** Many processes write one table in a bucket at the same time. */

import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FaultyProxy } from "../support/faultyProxy.js";
import { chooseFault } from "./support/faults.js";
import { STORES, Store } from "./support/stores.js";
import { BucketWriter, expectRows } from "./support/writers.js";

const WRITERS = 8;
const KILL_ROUNDS = Number(process.env.STORE_KILLS ?? 12);
const COMMITS = Number(process.env.STORE_COMMITS ?? 500);

describe.each(STORES)("processes that append to a table in a bucket of %s", (name) => {
  let store: Store;
  beforeAll(async () => {
    store = await Store.start(name);
  });
  afterAll(() => store?.[Symbol.asyncDispose]());

  async function prepare(prefix: string): Promise<DirectoryNamespace> {
    const ns = new DirectoryNamespace({ root: "/", disk: store.disk(prefix) });
    await ns.createTable({ id: ["t"] }, [{ writer: -1, n: -1 }]);
    return ns;
  }

  it(`${WRITERS} writers make ${COMMITS} commits, and each acknowledged row is there once`, async () => {
    await using ns = await prepare("race");
    const shares = Array.from(
      { length: WRITERS },
      (_, writer) => Math.floor(COMMITS / WRITERS) + (writer < COMMITS % WRITERS ? 1 : 0),
    );
    const writers = await Promise.all(
      shares.map((commits, writer) => BucketWriter.start(store.options("race"), "t", writer, commits)),
    );
    for (const writer of writers) writer.go();
    const retries = await Promise.all(writers.map((writer) => writer.end()));
    expect(retries).not.toContain(null);
    const acknowledged = writers.flatMap((writer) => writer.acknowledged);
    expect(acknowledged).toHaveLength(COMMITS);
    // The row that the table was made with.
    expect(await expectRows(ns, "t", acknowledged)).toBe(1);
    expect((await ns.describeTable({ id: ["t"] })).version).toBe(COMMITS + 1);
  });

  it("lose nothing and store nothing twice over a network that loses one answer in ten", async () => {
    await using ns = await prepare("lossy");
    await using proxy = await FaultyProxy.start(store.endpoint);
    proxy.faultOf = chooseFault(0.1);
    const writers = await Promise.all(
      [0, 1, 2].map((writer) =>
        BucketWriter.start({ ...store.options("lossy", proxy.endpoint), timeoutMs: 3000 }, "t", writer, 20),
      ),
    );
    for (const writer of writers) writer.go();
    const retries = await Promise.all(writers.map((writer) => writer.end()));
    expect(retries).not.toContain(null);
    const acknowledged = writers.flatMap((writer) => writer.acknowledged);
    expect(acknowledged).toHaveLength(60);
    expect(await expectRows(ns, "t", acknowledged)).toBe(1);
    expect(proxy.faults).toBeGreaterThan(20);
  });

  it("that are killed leave the old version or the new one, and nothing that blocks others", async () => {
    await using ns = await prepare("kills");
    const all = [];
    let unacknowledged = 0;
    for (let round = 0; round < KILL_ROUNDS; round++) {
      const writers = await Promise.all(
        [0, 1].map((each) => BucketWriter.start(store.options("kills"), "t", 2 * round + each, 1000)),
      );
      for (const writer of writers) writer.go();
      await new Promise((resolve) => setTimeout(resolve, 3000 + 97 * round));
      for (const writer of writers) writer.kill();
      await Promise.all(writers.map((writer) => writer.end()));
      all.push(...writers.flatMap((writer) => writer.acknowledged));
      unacknowledged = await expectRows(ns, "t", all);
      // A killed writer has at most one commit under way.
      expect(unacknowledged).toBeLessThanOrEqual(1 + 2 * (round + 1));
    }
    expect(all.length).toBeGreaterThan(KILL_ROUNDS / 2);
    const { version } = await ns.insertIntoTable({ id: ["t"] }, [{ writer: 1000, n: 0 }]);
    expect(version).toBe(all.length + unacknowledged + 1);
  });
});
