/** The marker of a deregistered table hides its directory, so nothing may be created there. */

import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeVector, Table } from "apache-arrow";
import { DirectoryNamespace, TableAlreadyExistsError, TableNotFoundError } from "tiltyard";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { describe, expect, it } from "../support/fixtures.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];
const rows = new Table({ v: makeVector(Int32Array.of(1)) });

describe.each(["declared", "created"])("a %s table that was deregistered", (state) => {
  it("a deregistered table is not found, and nothing is created over it", async ({ root, ns }) => {
    if (state === "declared") await ns.declareTable({ id });
    else await ns.createTable({ id }, rows);
    const marker = join(root, "t.lance", ".lance-deregistered");
    await writeFile(marker, "");
    const before = await directorySnapshot(root);

    await expect(ns.insertIntoTable({ id }, rows)).rejects.toBeInstanceOf(TableNotFoundError);
    let batchesRead = 0;
    for (const mode of ["create", "existOk", "overwrite"] as const) {
      const input = (function* () {
        batchesRead++;
        yield* rows.batches;
      })();
      await expect(ns.createTable({ id, mode }, input)).rejects.toBeInstanceOf(TableAlreadyExistsError);
    }
    expect(batchesRead).toBe(0);
    await expect(ns.declareTable({ id })).rejects.toBeInstanceOf(TableAlreadyExistsError);
    expect(await directorySnapshot(root)).toEqual(before);

    await rm(marker);
    await ns.tableExists({ id });
  });
});

describe("the owner file of a child table", () => {
  const noteFailsWith = (code: string): Disk => {
    const disk = new NodeDisk({ durability: "none" });
    const rename: Disk["rename"] = async (from, to) => {
      if (to.includes("tiltyard-deregistered")) throw Object.assign(new Error(code), { code });
      return disk.rename(from, to);
    };
    return new Proxy(disk, {
      get(target, member) {
        if (member === "rename") return rename;
        const value: unknown = Reflect.get(target, member);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  };
  const child = ["a", "t"];
  const open = async (code: string) => {
    const root = await makeTempDir();
    const namespace = new DirectoryNamespace({ root, durability: "none", disk: noteFailsWith(code) });
    await namespace.createNamespace({ id: ["a"] });
    await namespace.createTable({ id: child }, rows);
    return namespace;
  };

  it("a registration fails if the owner file can't be written, and the table keeps its id", async () => {
    const namespace = await open("ENOSPC");
    await expect(namespace.deregisterTable({ id: child })).rejects.toThrow(/ENOSPC/);
    expect(await namespace.countTableRows({ id: child })).toBe(1);
  });

  it("a registration omits the owner file in a directory that the user may not write", async () => {
    const namespace = await open("EACCES");
    await namespace.deregisterTable({ id: child });
    await expect(namespace.tableExists({ id: child })).rejects.toBeInstanceOf(TableNotFoundError);
  });
});
