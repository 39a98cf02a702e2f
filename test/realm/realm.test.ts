/** The engine in one realm, and the file system, its callers and their values in another. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import vm from "node:vm";
import { makeVector, Table, tableToIPC } from "apache-arrow";
import { isPending } from "../../src/async/pending.js";
import { messageOf } from "../../src/errors.js";
import { codeOf } from "../../src/io/disk/errno.js";
import { exitOf, nextMessage, startProcess } from "../support/childProcess.js";
import { describe, expect, it } from "../support/fixtures.js";
import { makeTempDir } from "../support/tempDir.js";

it.each(["runner", "bare"])("tables are made, filled, read and dropped in a %s's realm", async (kind) => {
  const root = await makeTempDir();
  const child = startProcess("otherRealm.mjs", [root, kind], ["--experimental-vm-modules", "--no-warnings"]);
  const report = await nextMessage(child);
  expect(await exitOf(child)).toBe(0);
  expect(report).toEqual({
    isOtherRealm: true,
    exists: "TableNotFoundError",
    again: "TableAlreadyExistsError",
    rows: [1, 2, 3, 4, 5, 6, 5, 6, 5, 6, 5, 6],
    taken: ["b1", "a5"],
    dataView: "InvalidInputError",
    withoutHint: 12,
    tags: ["first"],
    branchRows: 14,
    properties: { color: "red" },
    mapAsProperties: "InvalidInputError",
    optimized: 12,
    counted: "12",
    tooLarge: 413,
    missing: 404,
    abortedBefore: "AbortError",
    abortedWithin: "AbortError",
    failingSource: "the rows' source failed: no more rows",
    dropped: "TableNotFoundError",
    left: [],
  });
});

it("no code asks for a class of the language", async () => {
  const source = fileURLToPath(new URL("../../src/", import.meta.url));
  const files = (await readdir(source, { recursive: true })).filter((name) => name.endsWith(".ts"));
  const classes = Object.getOwnPropertyNames(globalThis).filter((name) => /^[A-Z]\w*$/.test(name));
  const asked = new RegExp(`\\binstanceof\\s+(?:${classes.join("|")})\\b`);
  const asking: string[] = [];
  for (const name of files) {
    if (asked.test(await readFile(join(source, name), "utf8"))) asking.push(name);
  }
  expect(files.length).toBeGreaterThan(100);
  expect(asking).toEqual([]);
});

describe("values of another realm", () => {
  const foreign = (code: string): unknown => vm.runInNewContext(code, { URL });

  it("errors tell their code and their message", () => {
    const error = foreign(`Object.assign(new Error("gone"), { code: "ENOENT" })`);
    expect(error).not.toBeInstanceOf(Error);
    expect(codeOf(error)).toBe("ENOENT");
    expect(messageOf(error)).toBe("gone");
  });

  it.each([
    ["null", null],
    ["undefined", undefined],
    ["a string", "ENOENT"],
    ["an error of the engine, whose code is a number", { code: 4 }],
  ])("%s has no code of the platform", (_, thrown) => {
    expect(codeOf(thrown)).toBeUndefined();
  });

  it.each([
    ["a string", "enough", "enough"],
    ["undefined", undefined, "undefined"],
    ["an object without a text", Object.create(null), "an object that is no error"],
    ["an object whose message is none", { message: 7, toString: () => "seven" }, "seven"],
  ])("%s that is thrown has a text", (_, thrown, text) => {
    expect(messageOf(thrown)).toBe(text);
  });

  it("promises are awaited, and results are not", () => {
    expect(isPending(foreign("Promise.resolve(1)"))).toBe(true);
    expect(isPending(new Uint8Array(1))).toBe(false);
    expect(isPending(undefined)).toBe(false);
  });

  it("rows come in memory of a realm that the engine does not know", async ({ ns }) => {
    const ipc = tableToIPC(new Table({ v: makeVector(Int32Array.of(1, 2, 3)) }));
    const memory = vm.runInNewContext("Uint8Array.from(bytes).buffer", { bytes: Array.from(ipc) });
    expect(memory).not.toBeInstanceOf(ArrayBuffer);
    expect((await ns.createTable({ id: ["t"] }, memory)).numInsertedRows).toBe(3);
  });

  it("a source that throws what has no text fails with a typed error", async ({ ns }) => {
    const source = {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(Object.create(null)) }),
    } as unknown as AsyncIterable<Uint8Array>;
    await expect(ns.createTable({ id: ["t"] }, source)).rejects.toMatchObject({ type: "InvalidInput" });
  });
});
