/** Clients of a server whose tables lie in a bucket: they open the files with the options that the server gives. */

import { type Table, tableFromArrays } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import type { S3Disk } from "tiltyard/disks";
import type { RestHandlerOptions } from "tiltyard/rest";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Python } from "../engines/support/python.js";
import { startRestServer } from "../support/restServer.js";
import { STORES, Store } from "./support/stores.js";

describe.each(STORES)("a server of tables in a bucket of %s", (name) => {
  let store: Store;
  let python: Python;
  beforeAll(async () => {
    store = await Store.start(name);
    // No variable names the bucket's server or its keys.
    python = await Python.start("lancedb", "rest_clients");
  });
  afterAll(async () => {
    await python?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });

  async function start(prefix: string, more: RestHandlerOptions = {}) {
    const disk: S3Disk = store.disk(prefix);
    const ns = new DirectoryNamespace({ root: "/", disk });
    const server = await startRestServer(ns, { storageOptions: () => disk.storageOptions(), ...more });
    await python.call("connect_namespace", server.url, null);
    return { ns, server };
  }

  it("lets pylance read and append with the storage options of its answers", async () => {
    const { ns, server } = await start("plain");
    await using _ = server;
    await ns.createTable({ id: ["t"] }, [{ id: 1 }, { id: 2 }]);
    expect((await python.call<Table>("rows", ["t"])).numRows).toBe(2);
    await python.call("write", ["t"], tableFromArrays({ id: Float64Array.of(3) }), "append");
    expect(await ns.countTableRows({ id: ["t"] })).toBe(3);
    await python.call("write", ["new"], tableFromArrays({ id: Float64Array.of(7, 8) }));
    expect(await ns.table("new").scan().toArray()).toEqual([{ id: 7 }, { id: 8 }]);
    await ns.close();
  });

  it("publishes the manifests that pylance leaves in the bucket", async () => {
    const { ns, server } = await start("managed", { managedVersioning: true });
    await using _ = server;
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    const rows = tableFromArrays({ id: Float64Array.of(2) });
    expect(await python.call("write", ["t"], rows, "append")).toEqual({ version: 2, managed: true });
    expect(await ns.table("t").scan().toArray()).toEqual([{ id: 1 }, { id: 2 }]);
    expect((await ns.describeTable({ id: ["t"] })).version).toBe(2);
    await ns.close();
  });
});
