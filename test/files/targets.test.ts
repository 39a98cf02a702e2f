/** Sources and targets of all formats: paths, bytes and streams, and what failures leave behind. */

import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { InvalidInputError } from "tiltyard";
import { readCsv, readJsonLines, writeCsv, writeJsonLines } from "tiltyard/files";
import { describe, expect } from "vitest";
import { it } from "../support/fixtures.js";
import { batchesOf, bytesOfText, rejection } from "./support.js";

const TEXT = "a\n1\n2\n";
const ROWS = [{ a: 1 }, { a: 2 }];

const countOf = async (rows: ReturnType<typeof readCsv>): Promise<number> =>
  (await batchesOf(rows)).reduce((sum, { numRows }) => sum + numRows, 0);

describe("a source", () => {
  it("may be a path, a URL, bytes, a Blob, a File or a stream", async ({ root }) => {
    const path = join(root, "rows.csv");
    await writeFile(path, TEXT);
    const sources = [
      path,
      pathToFileURL(path),
      bytesOfText(TEXT),
      bytesOfText(TEXT).buffer as ArrayBuffer,
      new Blob([TEXT]),
      new File([TEXT], "rows.csv"),
      new Blob([TEXT]).stream() as ReadableStream<Uint8Array>,
      new Response(TEXT).body as ReadableStream<Uint8Array>,
      createReadStream(path),
      Readable.from([bytesOfText("a\n1"), bytesOfText("\n2\n")]),
      [bytesOfText("a\n1"), bytesOfText("\n2\n")],
    ];
    for (const source of sources) expect(await countOf(readCsv(source))).toBe(2);
  });

  it("can be read again unless it is a stream", async () => {
    const rows = readCsv(bytesOfText(TEXT));
    expect([await countOf(rows), await countOf(rows)]).toEqual([2, 2]);
    const once = readCsv(new Blob([TEXT]).stream() as ReadableStream<Uint8Array>);
    expect(await countOf(once)).toBe(2);
    expect(await rejection(countOf(once))).toMatchObject({
      message: "readCsv: a stream can be read only once",
    });
  });

  it("that does not exist or is no file gives a typed error", async ({ root }) => {
    const errors = await Promise.all(
      [join(root, "none.csv"), root, "", 7, null, {}, [TEXT], new URL("https://a.b/c")].map((source) =>
        rejection((async () => countOf(readCsv(source as string)))()),
      ),
    );
    for (const error of errors) expect(error).toBeInstanceOf(InvalidInputError);
    expect(errors.map((error) => (error as Error).message.replaceAll(root, "ROOT"))).toEqual([
      `readCsv: ${join("ROOT", "none.csv")}: there is no such file or directory`,
      "readCsv: ROOT: a directory has this name",
      'readCsv: "" is no path',
      "readCsv: the source must be a path, bytes or a stream of bytes, not 7",
      "readCsv: the source must be a path, bytes or a stream of bytes, not null",
      "readCsv: the source must be a path, bytes or a stream of bytes, not an object",
      `readCsv: the stream gave ${JSON.stringify(TEXT)} where bytes are wanted`,
      "readCsv: https: URLs are not read; pass the body of a fetch() instead",
    ]);
  });

  it("that fails is named as the cause, and one that is not wanted any more is closed", async () => {
    const cause = new Error("the line broke");
    const failing = (async function* () {
      yield bytesOfText("a\n1\n");
      throw cause;
    })();
    expect(await rejection(countOf(readCsv(failing)))).toMatchObject({
      message: "readCsv: the stream failed: the line broke",
      cause,
    });
    let isClosed = false;
    const endless = (async function* () {
      try {
        yield bytesOfText('{"a":1}\n');
        for (;;) yield bytesOfText('{"a":1}\n'.repeat(10_000));
      } finally {
        isClosed = true;
      }
    })();
    for await (const _ of readJsonLines(endless)) break;
    expect(isClosed).toBe(true);
  });

  it("ends with the reason of a signal, also while a stream is silent", async () => {
    const controller = new AbortController();
    const silent = new ReadableStream<Uint8Array>({
      start: (stream) => stream.enqueue(bytesOfText("a\n1\n")),
    });
    const reading = countOf(readCsv(silent, { signal: controller.signal }));
    controller.abort(new Error("enough"));
    expect(await rejection(reading)).toMatchObject({ message: "enough" });
  });
});

describe("a target", () => {
  it("may be a path, a URL, a WritableStream or a Writable", async ({ root }) => {
    const path = join(root, "rows.csv");
    const written = { rowCount: 2, byteCount: TEXT.length };
    const targets = [
      () => path,
      () => pathToFileURL(path),
      () => createWriteStream(path),
      () => Writable.toWeb(createWriteStream(path)),
    ];
    for (const target of targets) {
      await writeFile(path, "old");
      expect(await writeCsv(ROWS, target() as string)).toEqual(written);
      expect(await readFile(path, "utf8")).toBe(TEXT);
    }
    expect(await readdir(root)).toEqual(["rows.csv"]);
  });

  it("keeps its old content until the new file is complete, and after a failure", async ({ root }) => {
    const path = join(root, "rows.jsonl");
    await writeFile(path, "old");
    let seen = "";
    const rows = (async function* () {
      yield { a: 1 };
      for (let index = 0; index < 20_000; index++) yield { a: index };
      seen = await readFile(path, "utf8");
      throw new Error("no more");
    })();
    expect(await rejection(writeJsonLines(rows, path))).toMatchObject({
      message: expect.stringContaining("no more"),
    });
    expect(seen).toBe("old");
    expect(await readFile(path, "utf8")).toBe("old");
    const controller = new AbortController();
    const endless = (async function* () {
      for (let index = 0; ; index++) {
        if (index === 30_000) controller.abort(new Error("enough"));
        yield { a: index };
      }
    })();
    const aborted = writeJsonLines(endless, path, { signal: controller.signal });
    expect(await rejection(aborted)).toMatchObject({ message: "enough" });
    expect(await readdir(root)).toEqual(["rows.jsonl"]);
  });

  it("that takes no bytes is given up when the signal aborts", async () => {
    const controller = new AbortController();
    const stuck = new WritableStream({
      write() {
        controller.abort(new Error("enough"));
        return new Promise(() => undefined);
      },
    });
    const writing = writeCsv(ROWS, stuck, { signal: controller.signal });
    expect(await rejection(writing)).toMatchObject({ message: "enough" });
  });

  it("that is a symbolic link changes the file that it names", async ({ root }) => {
    await mkdir(join(root, "data"));
    const path = join(root, "data", "rows.csv");
    await writeFile(path, "old");
    const link = join(root, "link.csv");
    await symlink(path, link);
    await writeCsv(ROWS, link);
    expect(await readFile(path, "utf8")).toBe(TEXT);
    expect(await realpath(link)).toBe(await realpath(path));
  });

  it("that cannot be written gives a typed error", async ({ root }) => {
    const errors = await Promise.all(
      [join(root, "none", "rows.csv"), root, 7, {}].map((target) =>
        rejection(writeCsv(ROWS, target as string)),
      ),
    );
    for (const error of errors) expect(error).toBeInstanceOf(InvalidInputError);
  });

  it("that fails is named as the cause, and gets no further bytes", async () => {
    const cause = new Error("the pipe broke");
    let writes = 0;
    const broken = new Writable({
      write(_, __, callback) {
        writes++;
        callback(cause);
      },
    });
    const rows = Array.from({ length: 50_000 }, (_, a) => ({ a }));
    expect(await rejection(writeCsv(rows, broken))).toMatchObject({
      message: "writeCsv: the stream failed: the pipe broke",
      cause,
    });
    expect([writes, broken.destroyed]).toEqual([1, true]);
    const web = new WritableStream({ write: () => Promise.reject(cause) });
    expect(await rejection(writeCsv(rows, web))).toMatchObject({ cause });
  });

  it("that is slow is waited for", async () => {
    const slow = new PassThrough({ highWaterMark: 1 });
    let taken = 0;
    const rows = (async function* () {
      for (let index = 0; index < 100_000; index++) {
        taken++;
        yield { a: "x".repeat(100) };
      }
    })();
    const writing = writeJsonLines(rows, slow);
    await expect.poll(() => slow.readableLength).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(taken).toBeLessThan(50_000);
    slow.resume();
    expect((await writing).rowCount).toBe(100_000);
  });
});

describe("rows to write", () => {
  it("are refused if they are not rows, and leave no file", async ({ ns, root }) => {
    await mkdir(join(root, "out"));
    const path = join(root, "out", "rows.csv");
    for (const rows of [7, "a", null, ns.table("t"), ns.table("t").scan(), [1]]) {
      await rejection(writeCsv(rows as never, path));
    }
    expect(await readdir(join(root, "out"))).toEqual([]);
  });
});
