/** The directory of a namespace: file URLs, and reasons against creating it, which every operation names. */

import { mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { makeVector, Table } from "apache-arrow";
import {
  DirectoryNamespace,
  InvalidInputError,
  type NamespaceError,
  PermissionDeniedError,
  ServiceUnavailableError,
} from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { describe, expect, it } from "../support/fixtures.js";
import { errorOf } from "../support/outcomes.js";
import { makeTempDir } from "../support/tempDir.js";

const rows = new Table({ v: makeVector(Int32Array.of(1)) });
const id = ["t"];

const WAYS: [name: string, run: (ns: DirectoryNamespace) => Promise<unknown>][] = [
  ["createTable", (ns) => ns.createTable({ id }, rows)],
  ["createTable without rows", (ns) => ns.createTable({ id }, rows.slice(0, 0))],
  ["declareTable", (ns) => ns.declareTable({ id })],
  ["createNamespace", (ns) => ns.createNamespace({ id: ["n"] })],
  ["batchCommitTables", (ns) => ns.batchCommitTables({ operations: [{ declareTable: { id } }] })],
];

/** A disk that refuses to create a directory or its parents. */
class RefusingDisk extends NodeDisk {
  readonly #refused: string;
  readonly #code: string;

  constructor(refused: string, code: string) {
    super({ durability: "none" });
    this.#refused = refused;
    this.#code = code;
  }

  override async makeDirectory(directory: string): Promise<boolean> {
    if ((await this.stat(this.#refused)) !== null) return super.makeDirectory(directory);
    const told = { code: this.#code, syscall: "mkdir", path: this.#refused };
    throw Object.assign(new Error(`${this.#code}: refused, mkdir '${this.#refused}'`), told);
  }
}

const failureOf = (run: Promise<unknown>): Promise<unknown> => errorOf(run);

it("listings of a root that is a file fail with a clear error", async ({ root: base }) => {
  const root = join(base, "file");
  await writeFile(root, "");
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  // The calls run one after the other, because an unawaited error would end the process.
  for (const list of [
    () => ns.listTables({ id: [] }),
    () => ns.listAllTables(),
    () => ns.listNamespaces({ id: [] }),
  ]) {
    const error = await failureOf(list());
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toBe(`root: ${root} is not the path of a directory: there is a file`);
  }
  await using absent = new DirectoryNamespace({ root: join(base, "none"), durability: "none" });
  expect(await absent.listAllTables()).toMatchObject({ tables: [] });
  expect(await absent.listNamespaces({ id: [] })).toMatchObject({ namespaces: [] });
});

describe.each(WAYS)("%s", (_name, run) => {
  const impossible: [what: string, make: (base: string) => Promise<string>, reason: string][] = [
    [
      "a root that is a file",
      async (base) => {
        await writeFile(join(base, "file"), "");
        return join(base, "file");
      },
      "a part of it is not a directory",
    ],
    [
      "a root below a file",
      async (base) => {
        await writeFile(join(base, "file"), "");
        return join(base, "file", "deep", "ns");
      },
      "a part of it is not a directory",
    ],
    ["a root with too long a name", async (base) => join(base, "n".repeat(300), "ns"), "it is too long"],
  ];
  it.each(impossible)("the error names the impossible root: %s", async (_what, make, reason) => {
    const base = await makeTempDir();
    const root = await make(base);
    const before = await directorySnapshot(base);
    await using ns = new DirectoryNamespace({ root, durability: "none" });
    const error = await failureOf(run(ns));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toBe(`root: ${root} is not the path of a directory: ${reason}`);
    expect(await directorySnapshot(base)).toEqual(before);
  });

  it.skipIf(process.platform === "win32")(
    "a root that is a link to nowhere, or to itself, can't be one",
    async ({ root: base }) => {
      await symlink(join(base, "nowhere"), join(base, "dangling"));
      await symlink(join(base, "loop"), join(base, "loop"));
      for (const root of ["dangling", "loop", "loop/ns"]) {
        await using ns = new DirectoryNamespace({ root: join(base, root), durability: "none" });
        expect(await failureOf(run(ns)), root).toBeInstanceOf(InvalidInputError);
      }
      expect((await readdir(base)).sort()).toEqual(["dangling", "loop"]);
    },
  );

  // A missing drive of Windows, and /proc of Linux, answer with ENOENT.
  it.each([
    ["EROFS", PermissionDeniedError, "the file system is read-only (EROFS: mkdir"],
    ["EACCES", PermissionDeniedError, "the file system does not let this process do that (EACCES: mkdir"],
    ["EPERM", PermissionDeniedError, "the file system does not let this process do that (EPERM: mkdir"],
    ["ENOENT", InvalidInputError, "its parent directory does not exist"],
    ["ENOSPC", ServiceUnavailableError, "there is no room left (ENOSPC: mkdir"],
    ["EIO", ServiceUnavailableError, "reading or writing failed (EIO: mkdir"],
  ] as const)("a root that the disk refuses (%s)", async (code, kind, reason) => {
    const base = await makeTempDir();
    for (const refused of [join(base, "a"), join(base, "a", "ns")]) {
      const root = join(base, "a", "ns");
      await using ns = new DirectoryNamespace({ root, disk: new RefusingDisk(refused, code) });
      const error = await failureOf(run(ns));
      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject({ cause: { code } });
      expect((error as Error).message).toContain(
        `the namespace's directory ${root} cannot be made: ${reason}`,
      );
    }
    expect(await readdir(base)).toEqual([]);

    // Somebody else creates the directory.
    await mkdir(join(base, "a", "ns"), { recursive: true });
    await using ns = new DirectoryNamespace({ root: join(base, "a", "ns"), durability: "none" });
    await run(ns);
  });
});

it("a creation whose table is dropped meanwhile still reports the drop", async ({ root, ns }) => {
  async function* source() {
    yield rows.batches[0];
    await rm(join(root, "t.lance"), { recursive: true });
    yield rows.batches[0];
  }
  await expect(ns.createTable({ id }, source())).rejects.toMatchObject({ type: "ConcurrentModification" });
});

it("an insert whose source file is missing still reports the file", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root: join(root, "ns"), durability: "none" });
  const missing = Object.assign(new Error("ENOENT: no rows"), {
    code: "ENOENT",
    syscall: "open",
    path: "rows",
  });
  const source: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(missing) }),
  };
  const error = await failureOf(ns.createTable({ id }, source));
  expect((error as NamespaceError).message).toBe("the rows' source failed: ENOENT: no rows");
});

it("an answer over HTTP names no path of the server", async ({ root }) => {
  await writeFile(join(root, "file"), "");
  await using ns = new DirectoryNamespace({ root: join(root, "file", "ns"), durability: "none" });
  const handler = createRestHandler(ns, { auth: { anonymous: true } });
  const request = new Request("http://localhost/v1/namespace/n/create", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  const response = await handler(request);
  expect(response.status).toBe(400);
  expect(await response.text()).not.toContain(root);
});

it("the root may be a file URL", async ({ root: parent }) => {
  const root = join(parent, "a name with #, % and é");
  await using byUrl = new DirectoryNamespace({ root: pathToFileURL(root).href, durability: "none" });
  expect(byUrl.root).toBe(root);
  await byUrl.declareTable({ id: ["trees"] });
  await using byPath = new DirectoryNamespace({ root, durability: "none" });
  expect((await byPath.listTables()).tables).toEqual(["trees"]);
});

it.each(["file:///a%2Fb", "file:///a%00b", "file://[/"])("%s is refused as a root", (root) => {
  expect(() => new DirectoryNamespace({ root })).toThrow(InvalidInputError);
});
