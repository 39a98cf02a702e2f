/**
 * Tests that a disk keeps its promises (`docs/disks.md`). They run in the program's own test runner, and test
 * the calls that the disk has:
 *
 *     import { describe, it } from "vitest";
 *     import { diskConformance } from "tiltyard/disks/conformance";
 *
 *     diskConformance({ describe, it }, () => new MyDisk());
 *
 * A disk that only reads comes with its files: `() => ({ disk, root: "/", files: { "a.txt": bytes } })`.
 */

import { InvalidInputError, messageOf } from "../errors.js";
import { completeDisk, hasLeaseVerbs } from "../io/completeDisk.js";
import type { Disk, DiskImplementation, WriteHandle } from "../io/disk/disk.js";
import { codeOf } from "../io/disk/errno.js";
import type { DiskLock } from "../io/disk/locks.js";
import { isObject, shortly } from "../optionMembers.js";
import { join } from "../platform/native.js";

/** Functions of a test runner: those of vitest, jest, mocha or node:test. */
export interface ConformanceSuite {
  /** Groups tests. Default: the tests stand alone. */
  readonly describe?: ((name: string, body: () => void) => unknown) | undefined;
  /** Adds a test. */
  readonly it?: ((name: string, body: () => Promise<void>) => unknown) | undefined;
  /** Adds a test, in place of `it`. */
  readonly test?: ((name: string, body: () => Promise<void>) => unknown) | undefined;
}

/** A disk to test. */
export interface ConformanceDisk {
  readonly disk: DiskImplementation;
  /** Absolute path of a directory in which the tests may do anything. Default: `/conformance`. */
  readonly root?: string | undefined;
  /** Files that a read-only disk holds, by their paths below `root`. */
  readonly files?: Readonly<Record<string, Uint8Array>> | undefined;
  /** Called after each test. */
  readonly dispose?: (() => unknown) | undefined;
}

type Made = DiskImplementation | ConformanceDisk;

/** Makes a new disk for each test, or returns one that holds nothing below the root. */
export type MakeDisk = () => Made | Promise<Made>;

/** A disk during a test. */
interface Tested {
  /** The disk with the calls that the engine adds. */
  readonly disk: Disk;
  readonly implementation: DiskImplementation;
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly pathOf: (name: string) => string;
}

interface Test {
  readonly name: string;
  /** Returns true if the disk has the calls that the test needs. Default: always. */
  readonly needs?: (disk: DiskImplementation) => boolean;
  readonly run: (tested: Tested) => Promise<void>;
}

/**
 * Adds the tests of a disk to a suite.
 * @param suite functions of the test runner
 * @param makeDisk called once in each test
 * @throws InvalidInputError if the suite has neither `it` nor `test`
 */
export function diskConformance(suite: ConformanceSuite, makeDisk: MakeDisk): void {
  if (!isObject(suite)) throw new InvalidInputError(`suite: must be an object, not ${shortly(suite)}`);
  if (typeof makeDisk !== "function") {
    throw new InvalidInputError(`makeDisk: must be a function, not ${shortly(makeDisk)}`);
  }
  const { describe = (_name: string, body: () => void) => body() } = suite;
  const it = suite.it ?? suite.test;
  if (typeof it !== "function") throw new InvalidInputError("suite: has neither it nor test");
  describe("a disk", () => {
    for (const test of TESTS) it(test.name, () => runTest(test, makeDisk));
  });
}

async function runTest({ needs, run }: Test, makeDisk: MakeDisk): Promise<void> {
  const made = await makeDisk();
  const {
    disk: implementation,
    root = "/conformance",
    files = {},
    dispose,
  } = isBare(made) ? { disk: made } : made;
  try {
    const isTested = needs === undefined ? true : needs(implementation);
    if (!isTested) return;
    const disk = completeDisk(implementation);
    if (disk.isReadOnly !== true) await disk.makeDirectory(root);
    await run({ disk, implementation, files, pathOf: (name) => join(root, ...name.split("/")) });
  } finally {
    await dispose?.();
  }
}

const isBare = (made: Made): made is DiskImplementation =>
  typeof (made as Partial<DiskImplementation>).open === "function";

// ------------------------------------------------------------------------------------------------- checking

/** @throws Error with both values unless they are equal as JSON */
function expectEqual(actual: unknown, expected: unknown, what: string): void {
  const [actualText, expectedText] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (actualText !== expectedText) throw new Error(`${what}: expected ${expectedText}, got ${actualText}`);
}

async function expectCode(call: Promise<unknown>, code: string, what: string): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (codeOf(error) === code) return;
    throw new Error(`${what}: expected the code ${code}, got ${messageOf(error)}`, { cause: error });
  }
  throw new Error(`${what}: expected a failure with the code ${code}`);
}

async function expectFailure(call: Promise<unknown>, what: string): Promise<void> {
  try {
    await call;
  } catch {
    return;
  }
  throw new Error(`${what}: expected a failure`);
}

const textOf = (bytes: Uint8Array | null): string | null =>
  bytes === null ? null : new TextDecoder().decode(bytes);

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

const writes = (disk: DiskImplementation): boolean => disk.isReadOnly !== true;
const has =
  (...verbs: (keyof DiskImplementation)[]) =>
  (disk: DiskImplementation): boolean =>
    writes(disk) && verbs.every((verb) => disk[verb] !== undefined);

async function writeFile(disk: Disk, path: string, chunks: readonly Uint8Array[]): Promise<void> {
  const handle: WriteHandle = await disk.create(path);
  try {
    await handle.write(chunks);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const makeFile = async (disk: Disk, path: string, text: string): Promise<void> =>
  writeFile(disk, path, [bytesOf(text)]);

/** Returns bytes that differ at each position of the first 64 KiB. */
function pattern(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index++) bytes[index] = (index * 31 + (index >> 8)) & 255;
  return bytes;
}

const entriesOf = async (disk: Disk, path: string): Promise<string[] | null> =>
  (await disk.list(path))?.map(({ name, kind }) => `${kind} ${name}`).sort() ?? null;

/** Reads a file in several ways, and compares each with its content. */
async function expectContent(disk: Disk, path: string, content: Uint8Array): Promise<void> {
  const equal = (bytes: Uint8Array | null, start: number, end: number, what: string) => {
    const expected = content.subarray(start, end);
    const isEqual =
      bytes?.length === expected.length && expected.every((byte, index) => byte === bytes[index]);
    if (!isEqual) throw new Error(`${path}: ${what} gives other bytes than ${start} to ${end} of the file`);
  };
  equal(await disk.readFile(path), 0, content.length, "readFile");
  if (content.length > 1)
    await expectFailure(disk.readFile(path, content.length - 1), "a file over maxBytes");
  const handle = await disk.open(path, 100);
  if (handle === null) throw new Error(`${path}: open finds no file`);
  try {
    expectEqual(handle.size, content.length, "size of an open file");
    expectEqual((await disk.stat(path))?.identity, handle.identity, "identity of an open file");
    const tail = handle.takeTail?.() ?? null;
    if (tail !== null) equal(tail, content.length - tail.length, content.length, "takeTail");
    const half = content.length >> 1;
    equal(await handle.read(0, half), 0, half, "read");
    equal(await handle.read(half, content.length - half), half, content.length, "read");
    const memory = new Uint8Array(half);
    equal(
      await handle.read(content.length - half, half, memory),
      content.length - half,
      content.length,
      "read",
    );
    await expectFailure(handle.read(content.length - 1, 2), "a read beyond the end");
    if (handle.readInto !== undefined && content.length >= 8) {
      const target = new Uint8Array(8);
      await handle.readInto(target, {
        byteOffsets: Float64Array.of(content.length - 2, 0, 3),
        lengths: Float64Array.of(2, 3, 3),
        positions: Float64Array.of(0, 2, 5),
      });
      equal(target.subarray(0, 2), content.length - 2, content.length, "readInto");
      equal(target.subarray(2, 8), 0, 6, "readInto");
    }
  } finally {
    await handle.close();
  }
}

// ---------------------------------------------------------------------------------------------------- tests

const READING: readonly Test[] = [
  {
    name: "gives null for what does not exist",
    async run({ disk, pathOf }) {
      for (const name of ["missing", "missing/below"]) {
        expectEqual(await disk.open(pathOf(name)), null, "open");
        expectEqual(await disk.readFile(pathOf(name)), null, "readFile");
        expectEqual(await disk.stat(pathOf(name)), null, "stat");
        expectEqual(await disk.list(pathOf(name)), null, "list");
      }
    },
  },
  {
    name: "reads the files that it holds",
    async run({ disk, files, pathOf }) {
      for (const [name, content] of Object.entries(files)) {
        await expectContent(disk, pathOf(name), content);
        const stat = await disk.stat(pathOf(name));
        expectEqual([stat?.kind, stat?.size], ["file", content.length], `stat of ${name}`);
      }
    },
  },
  {
    name: "refuses to write if it is read-only",
    needs: (disk) => !writes(disk),
    async run({ disk, pathOf }) {
      await expectFailure(disk.create(pathOf("new")), "create");
      await expectFailure(disk.remove(pathOf("new")), "remove");
      expectEqual(disk.putIfAbsent === undefined, true, "putIfAbsent of a read-only disk is never called");
    },
  },
];

const WRITING: readonly Test[] = [
  {
    name: "reads back what was written, in any ranges",
    needs: has("create"),
    async run({ disk, pathOf }) {
      await disk.makeDirectory(pathOf("d"));
      for (const length of [1, 17, 70_000, 9_000_000]) {
        const content = pattern(length);
        const parts = [content.subarray(0, length >> 2), content.subarray(length >> 2)];
        await writeFile(disk, pathOf(`d/file-${length}`), parts);
        await expectContent(disk, pathOf(`d/file-${length}`), content);
      }
      await writeFile(disk, pathOf("d/empty"), []);
      expectEqual((await disk.readFile(pathOf("d/empty")))?.length, 0, "an empty file");
    },
  },
  {
    name: "keeps the bytes of a chunk that the writer changes once `write` has resolved",
    needs: has("create"),
    async run({ disk, pathOf }) {
      const chunk = bytesOf("before");
      const handle = await disk.create(pathOf("reused"));
      await handle.write([chunk]);
      if (handle.takesChunksAtOnce === true) chunk.fill(120);
      await handle.close();
      expectEqual(textOf(await disk.readFile(pathOf("reused"))), "before", "the file");
    },
  },
  {
    name: "lists files and directories at once, one level deep",
    needs: writes,
    async run({ disk, pathOf }) {
      await disk.makeDirectory(pathOf("d/inner"));
      await makeFile(disk, pathOf("d/a"), "a");
      await makeFile(disk, pathOf("d/inner/b"), "b");
      await makeFile(disk, pathOf("dd"), "not in d");
      expectEqual(await entriesOf(disk, pathOf("d")), ["directory inner", "file a"], "list");
      expectEqual((await disk.stat(pathOf("d")))?.kind, "directory", "stat of a directory");
    },
  },
  {
    name: "keeps any name that the engine gives a file",
    needs: writes,
    async run({ disk, pathOf }) {
      await disk.makeDirectory(pathOf("names"));
      const names = [".tmp-a", "a$b", "a b", "%41", "é", "ü+&=~", "18446744073709551614.manifest", "100%"];
      for (const name of names) await makeFile(disk, pathOf(`names/${name}`), name);
      expectEqual(await entriesOf(disk, pathOf("names")), names.map((name) => `file ${name}`).sort(), "list");
      for (const name of names) {
        expectEqual(textOf(await disk.readFile(pathOf(`names/${name}`))), name, `readFile of ${name}`);
      }
    },
  },
  {
    name: "changes the identity of a file whenever its content changes",
    needs: has("replaceIf"),
    async run({ disk, pathOf }) {
      await makeFile(disk, pathOf("file"), "one");
      const first = await disk.stat(pathOf("file"));
      expectEqual((await disk.stat(pathOf("file")))?.identity, first?.identity, "identity without a change");
      await disk.replaceIf?.(pathOf("file"), [bytesOf("two")], null);
      const second = await disk.stat(pathOf("file"));
      if (second?.identity === first?.identity) throw new Error("the identity stayed, and the bytes did not");
    },
  },
  {
    name: "removes files, and minds none that is gone",
    needs: has("remove"),
    async run({ disk, pathOf }) {
      await makeFile(disk, pathOf("gone"), "x");
      await makeFile(disk, pathOf("stays"), "x");
      await disk.remove(pathOf("gone"), 1);
      expectEqual(await disk.readFile(pathOf("gone")), null, "readFile after remove");
      expectEqual(await entriesOf(disk, pathOf("")), ["file stays"], "list after remove");
      await disk.remove(pathOf("gone"));
      await disk.remove(pathOf("never/was"));
    },
  },
  {
    name: "removes whole trees",
    needs: has("remove"),
    async run({ disk, pathOf }) {
      await disk.makeDirectory(pathOf("tree/a/b"));
      for (const name of ["tree/1", "tree/a/2", "tree/a/b/3"]) await makeFile(disk, pathOf(name), name);
      await disk.removeTree(pathOf("tree"));
      expectEqual(await disk.list(pathOf("tree")), null, "list after removeTree");
      await disk.removeTree(pathOf("tree"));
    },
  },
];

const DECIDING: readonly Test[] = [
  {
    name: "putIfAbsent creates a whole file, and never replaces one",
    needs: has("putIfAbsent"),
    async run({ disk, pathOf }) {
      await disk.makeDirectory(pathOf("d"));
      const put = (text: string) => disk.putIfAbsent?.(pathOf("d/file"), [bytesOf(text), bytesOf("!")]);
      const made = await put("first");
      expectEqual(await put("second"), false, "the second call");
      const identity = made === true ? true : (await disk.stat(pathOf("d/file")))?.identity;
      expectEqual(made, identity, "the identity that the first call returns");
      expectEqual(textOf(await disk.readFile(pathOf("d/file"))), "first!", "the file");
      expectEqual((await disk.putIfAbsent?.(pathOf("d/empty"), [])) !== false, true, "an empty file");
      expectEqual((await disk.stat(pathOf("d/empty")))?.size, 0, "size of an empty file");
    },
  },
  {
    name: "putIfAbsent has one winner among racing callers",
    needs: has("putIfAbsent"),
    async run({ disk, pathOf }) {
      for (let round = 0; round < 20; round++) {
        const path = pathOf(`race-${round}`);
        const calls = Array.from({ length: 8 }, (_, caller) =>
          disk.putIfAbsent?.(path, [bytesOf(`${caller}`)]),
        );
        const winners = (await Promise.all(calls)).flatMap((made, caller) =>
          made === false ? [] : [caller],
        );
        expectEqual(winners.length, 1, "number of winners");
        expectEqual(textOf(await disk.readFile(path)), String(winners[0]), "content of the winner");
      }
    },
  },
  {
    name: "replaceIf replaces a file of that identity, and no other",
    needs: has("replaceIf", "putIfAbsent", "remove"),
    async run({ disk, pathOf }) {
      const path = pathOf("file");
      const replace = (text: string, identity: string | null) =>
        disk.replaceIf?.(path, [bytesOf(text)], identity);
      await disk.putIfAbsent?.(path, [bytesOf("0")]);
      const first = (await disk.stat(path))?.identity ?? "";
      const second = await replace("one", first);
      expectEqual((await disk.stat(path))?.identity, second, "the identity that replaceIf returns");
      expectEqual(await replace("two", first), null, "a call with an old identity");
      expectEqual(textOf(await disk.readFile(path)), "one", "the file");
      const third = await replace("three", second ?? null);
      expectEqual(typeof third, "string", "a call with the new identity");
      await disk.remove(path);
      expectEqual(await replace("four", third ?? ""), null, "a call for a missing file");
      expectEqual(await disk.readFile(path), null, "the missing file");
      expectEqual(typeof (await replace("five", null)), "string", "a call for any content");
      expectEqual(textOf(await disk.readFile(path)), "five", "the file that any content allows");
    },
  },
  {
    name: "replaceIf has one winner among racing callers of one identity",
    needs: has("replaceIf", "putIfAbsent"),
    async run({ disk, pathOf }) {
      const path = pathOf("file");
      await disk.putIfAbsent?.(path, [bytesOf("start")]);
      for (let round = 0; round < 10; round++) {
        const identity = (await disk.stat(path))?.identity ?? "";
        const calls = Array.from({ length: 6 }, (_, caller) =>
          disk.replaceIf?.(path, [bytesOf(`${round}-${caller}`)], identity),
        );
        const winners = (await Promise.all(calls)).filter((answer) => answer !== null);
        expectEqual(winners.length, 1, "number of winners");
      }
    },
  },
  {
    name: "create fails for a name that exists, at the latest when the file is closed",
    needs: (disk) => has("create")(disk) && (disk.link !== undefined || disk.putIfAbsent === undefined),
    async run({ disk, pathOf }) {
      await makeFile(disk, pathOf("file"), "one");
      await expectCode(makeFile(disk, pathOf("file"), "two"), "EEXIST", "create");
      expectEqual(textOf(await disk.readFile(pathOf("file"))), "one", "the file");
    },
  },
  {
    name: "link gives a second name, and fails if that name exists",
    needs: has("link", "create"),
    async run({ disk, pathOf }) {
      await makeFile(disk, pathOf("a"), "a");
      await disk.link(pathOf("a"), pathOf("b"));
      expectEqual(textOf(await disk.readFile(pathOf("b"))), "a", "the second name");
      await expectCode(disk.link(pathOf("a"), pathOf("b")), "EEXIST", "link to a name that exists");
      await expectCode(disk.link(pathOf("none"), pathOf("c")), "ENOENT", "link of a missing file");
    },
  },
  {
    name: "rename moves a file over another, and a directory with all below it",
    needs: has("rename", "makeDirectory"),
    async run({ disk, pathOf }) {
      await makeFile(disk, pathOf("a"), "a");
      await makeFile(disk, pathOf("b"), "b");
      await disk.rename(pathOf("a"), pathOf("b"));
      expectEqual(
        [await disk.readFile(pathOf("a")), textOf(await disk.readFile(pathOf("b")))],
        [null, "a"],
        "files",
      );
      await disk.makeDirectory(pathOf("d/inner"));
      await makeFile(disk, pathOf("d/inner/c"), "c");
      await disk.rename(pathOf("d"), pathOf("e"));
      expectEqual(await disk.list(pathOf("d")), null, "the old name of a directory");
      expectEqual(textOf(await disk.readFile(pathOf("e/inner/c"))), "c", "a file below the new name");
      await expectCode(disk.rename(pathOf("none"), pathOf("f")), "ENOENT", "rename of a missing file");
    },
  },
  {
    name: "makeDirectory tells whether it made one, and removeEmptyDirectory spares one with entries",
    needs: has("makeDirectory", "removeEmptyDirectory"),
    async run({ disk, pathOf }) {
      expectEqual(await disk.makeDirectory(pathOf("d/e")), true, "the first call");
      expectEqual(await disk.makeDirectory(pathOf("d/e")), false, "the second call");
      expectEqual(await entriesOf(disk, pathOf("d/e")), [], "list of an empty directory");
      expectEqual(await disk.removeEmptyDirectory(pathOf("d")), false, "a directory with an entry");
      expectEqual(await disk.removeEmptyDirectory(pathOf("d/e")), true, "an empty directory");
      await expectCode(
        disk.makeDirectory(pathOf("x/y"), pathOf("x")),
        "ENOENT",
        "within a missing directory",
      );
    },
  },
  {
    name: "overwrite changes a file of exactly that length",
    needs: has("overwrite", "create"),
    async run({ disk, pathOf }) {
      await makeFile(disk, pathOf("file"), "one");
      expectEqual(await disk.overwrite?.(pathOf("file"), bytesOf("two")), true, "same length");
      expectEqual(await disk.overwrite?.(pathOf("file"), bytesOf("three")), false, "another length");
      expectEqual(await disk.overwrite?.(pathOf("none"), bytesOf("two")), false, "a missing file");
      expectEqual(textOf(await disk.readFile(pathOf("file"))), "two", "the file");
    },
  },
];

const LOCKING: readonly Test[] = [
  {
    name: "a lock has one holder at a time",
    needs: (disk) => writes(disk) && (disk.locks !== undefined || hasLeaseVerbs(disk)),
    async run({ disk, pathOf }) {
      const { locks } = disk;
      if (locks === undefined) throw new Error("the disk has no locks");
      await disk.makeDirectory(pathOf("locked"));
      const attempt = { staleMs: 10_000, fence: async () => undefined };
      const tries = Array.from({ length: 8 }, () => locks.tryAcquire(pathOf("locked"), attempt));
      const held: DiskLock[] = (await Promise.all(tries)).filter((lock) => lock !== null);
      expectEqual(held.length, 1, "number of holders");
      await held[0].confirm();
      expectEqual(await locks.tryAcquire(pathOf("locked"), attempt), null, "a lock that is held");
      expectEqual(await locks.stateOf(pathOf("locked"), 10_000), "held", "state of a held lock");
      await held[0].release();
      expectEqual(await locks.stateOf(pathOf("locked"), 10_000), "free", "state of a free lock");
      const next = await locks.tryAcquire(pathOf("locked"), attempt);
      if (next === null) throw new Error("a free lock cannot be taken");
      await next.release();
    },
  },
];

const TESTS: readonly Test[] = [...READING, ...WRITING, ...DECIDING, ...LOCKING];
