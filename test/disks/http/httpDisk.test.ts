/** Tables on hosts of files: what readers see, how many requests they make, and what bad hosts do to them. */

import { appendFile, mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Field, FixedSizeList, Float32, makeData, Table, Vector } from "apache-arrow";
import {
  ConcurrentModificationError,
  CorruptFileError,
  DirectoryNamespace,
  InvalidInputError,
  NamespaceError,
  PermissionDeniedError,
  ServiceUnavailableError,
  TableNotFoundError,
  ThrottlingError,
  UnauthenticatedError,
  UnsupportedError,
} from "tiltyard";
import { type HttpDiskOptions, httpDisk, memoryDisk, publishIndex } from "tiltyard/disks";
import { diskConformance } from "tiltyard/disks/conformance";
import { int32s, utf8s } from "../../support/arrowColumns.js";
import { type FileHost, type Misbehaviour, startFileHost } from "../../support/fileHost.js";
import { beforeAll, describe, expect, it, onTestFinished, sharedDirectory } from "../../support/fixtures.js";
import { makeTempDir } from "../../support/tempDir.js";
import { randomNumbers } from "../../support/vectorTables.js";

async function hostOf(directory: string, misbehave: Misbehaviour | null = null): Promise<FileHost> {
  const host = await startFileHost(directory);
  host.misbehave = misbehave;
  onTestFinished(() => host[Symbol.asyncDispose]());
  return host;
}

function readerOf(url: string, options: HttpDiskOptions = {}): DirectoryNamespace {
  const ns = new DirectoryNamespace({ root: "/", disk: httpDisk(url, options) });
  onTestFinished(() => ns.close());
  return ns;
}

const ROWS = 40_000;
const DIMENSION = 64;
const FRAGMENTS = 4;

/** A table with an index of each family, in four fragments. */
async function makeTable(root: string): Promise<void> {
  await using ns = new DirectoryNamespace({ root, durability: "none", jobs: "wait" });
  const next = randomNumbers(3);
  const words = Array.from({ length: 3000 }, (_, index) => `word${index.toString(36)}`);
  for (let fragment = 0; fragment < FRAGMENTS; fragment++) {
    const count = ROWS / FRAGMENTS;
    const ids = Array.from({ length: count }, (_, row) => fragment * count + row);
    const texts = ids.map(() =>
      Array.from({ length: 8 + Math.floor(next() * 20) }, () => words[Math.floor(next() ** 3 * 3000)]).join(
        " ",
      ),
    );
    const values = Float32Array.from({ length: count * DIMENSION }, () => next());
    const type = new FixedSizeList(DIMENSION, new Field("item", new Float32(), true));
    const child = makeData({ type: new Float32(), length: values.length, data: values });
    const vector = new Vector([makeData({ type, length: count, child })]);
    const rows = new Table({ id: int32s(ids), text: utf8s(texts), vector });
    if (fragment === 0) await ns.createTable({ id: ["docs"] }, rows);
    else await ns.insertIntoTable({ id: ["docs"] }, rows);
  }
  await ns.createTableIndex({ id: ["docs"], column: "id", indexType: "BTREE" });
  await ns.createTableIndex({ id: ["docs"], column: "vector", indexType: "IVF_PQ", distanceType: "l2" });
  await ns.createTableIndex({ id: ["docs"], column: "text", indexType: "FTS" });
}

describe("requests", () => {
  const root = sharedDirectory();
  beforeAll(async () => {
    await makeTable(root);
    await using ns = new DirectoryNamespace({ root });
    expect(await publishIndex(ns)).toMatchObject({ tables: 2 });
  });

  /** Runs a query in a new namespace, and compares its rows with those from the disk. */
  async function requestsOf(query: (ns: DirectoryNamespace) => Promise<unknown>): Promise<FileHost> {
    await using local = new DirectoryNamespace({ root });
    const expected = await query(local);
    const host = await hostOf(root);
    expect(await query(readerOf(host.url))).toEqual(expected);
    return host;
  }

  it("the first row of all columns takes at most 6 requests", async () => {
    const { requests } = await requestsOf((ns) => ns.table("docs").scan({ limit: 1 }).toArray());
    expect(requests.length).toBeLessThanOrEqual(6);
  });

  it("a row by a BTREE takes at most 8 requests", async () => {
    const { requests } = await requestsOf((ns) => ns.table("docs").scan({ filter: "id = 23456" }).toArray());
    expect(requests.length).toBeLessThanOrEqual(8);
  });

  it("the ten nearest rows by IVF_PQ take at most 14 requests", async () => {
    const vector = Array.from({ length: DIMENSION }, (_, index) => (index % 7) / 7);
    const { requests } = await requestsOf((ns) =>
      ns
        .table("docs")
        .search({ vector, limit: 10, columns: ["id"] })
        .toArray(),
    );
    expect(requests.length).toBeLessThanOrEqual(14);
  });

  it("a search of two words takes at most 12 requests and a megabyte", async () => {
    const { requests, byteLength } = await requestsOf((ns) =>
      ns
        .table("docs")
        .search({ text: "word5 word1k", limit: 10, columns: ["id"] })
        .toArray(),
    );
    expect(requests.length).toBeLessThanOrEqual(12);
    expect(byteLength).toBeLessThan(1_000_000);
  });

  it("a scan of all rows makes few, large requests", async () => {
    const { requests } = await requestsOf(
      async (ns) =>
        (
          await ns
            .table("docs")
            .scan({ columns: ["id"] })
            .toArrow()
        ).numRows,
    );
    expect(requests.length).toBeLessThanOrEqual(2 + FRAGMENTS);
  });

  it("a second query of the same pages makes no request", async () => {
    const host = await hostOf(root);
    const table = readerOf(host.url).table("docs");
    const first = await table.scan({ filter: "id = 77" }).toArray();
    host.reset();
    expect(await table.scan({ filter: "id = 77" }).toArray()).toEqual(first);
    expect(host.requests).toEqual([]);
  });

  it("without an index, the hint leads to the latest version", async () => {
    const host = await hostOf(root, hideIndex);
    const rows = await readerOf(host.url)
      .table("docs")
      .scan({ limit: 1, columns: ["id"] })
      .toArray();
    expect(rows).toEqual([{ id: 0 }]);
    expect(host.requests.length).toBeLessThanOrEqual(6);
  });
});

/** Answers as if the host had no index. */
const hideIndex: Misbehaviour = (_request, response, path) => {
  if (path !== "tiltyard-index.json") return false;
  response.writeHead(404).end();
  return true;
};

const isData = (path: string): boolean => path.includes("/data/");

describe("namespaces", () => {
  it("tables of child namespaces, tags, branches and old versions are read by the index", async ({
    root,
    ns,
  }) => {
    await ns.createNamespace({ id: ["maps"] });
    await ns.createTable({ id: ["maps", "trees"] }, [{ id: 1 }]);
    const trees = ns.table(["maps", "trees"]);
    await trees.insert([{ id: 2 }]);
    await trees.createTag("two");
    await trees.insert([{ id: 3 }]);
    await ns.declareTable({ id: ["later"] });
    await publishIndex(ns);
    const host = await hostOf(root);
    const reader = readerOf(host.url);
    expect((await reader.listNamespaces()).namespaces).toEqual(["maps"]);
    expect((await reader.listTables({ id: ["maps"] })).tables).toEqual(["trees"]);
    expect(await reader.countTableRows({ id: ["maps", "trees"] })).toBe(3);
    expect(await reader.countTableRows({ id: ["maps", "trees"], version: 1 })).toBe(1);
    expect(await reader.table(["maps", "trees"], { tag: "two" }).countRows()).toBe(2);
    await expect(reader.countTableRows({ id: ["none"] })).rejects.toThrow(TableNotFoundError);
  });

  it("a reader sees a new publication after the refresh, and not before", async ({ root, ns }) => {
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    await publishIndex(ns);
    const host = await hostOf(root);
    const fresh = readerOf(host.url, { refreshMs: 0 });
    const steady = readerOf(host.url, { refreshMs: 3_600_000 });
    expect(await fresh.countTableRows({ id: ["t"] })).toBe(1);
    expect(await steady.countTableRows({ id: ["t"] })).toBe(1);
    await ns.insertIntoTable({ id: ["t"] }, [{ id: 2 }]);
    expect(await fresh.countTableRows({ id: ["t"] })).toBe(1);
    await publishIndex(ns);
    expect(await fresh.countTableRows({ id: ["t"] })).toBe(2);
    expect(await steady.countTableRows({ id: ["t"] })).toBe(1);
  });

  it("without an index, a reader sees new versions after the refresh", async ({ root, ns }) => {
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    const host = await hostOf(root);
    const reader = readerOf(host.url, { refreshMs: 0 });
    for (let rows = 1; rows < 4; rows++) {
      expect(await reader.countTableRows({ id: ["t"] })).toBe(rows);
      await ns.insertIntoTable({ id: ["t"] }, [{ id: rows + 1 }]);
    }
    expect(await reader.countTableRows({ id: ["t"], version: 2 })).toBe(2);
    await expect(reader.countTableRows({ id: ["none"] })).rejects.toThrow(TableNotFoundError);
  });

  it("deleted rows stay deleted over HTTP", async ({ root, ns }) => {
    await ns.createTable(
      { id: ["t"] },
      Array.from({ length: 100 }, (_, id) => ({ id })),
    );
    await ns.deleteFromTable({ id: ["t"], predicate: "id % 3 = 0" });
    await publishIndex(ns);
    const host = await hostOf(root);
    expect(await readerOf(host.url).countTableRows({ id: ["t"] })).toBe(66);
  });

  it("heads of the last two publications stay, older ones go", async ({ root, ns }) => {
    await ns.createTable({ id: ["t"] }, [{ id: 0 }]);
    for (let id = 1; id < 5; id++) {
      await publishIndex(ns);
      await ns.insertIntoTable({ id: ["t"] }, [{ id }]);
    }
    const heads = (await readdir(join(root, "t.lance", "_tiltyard"))).filter((name) =>
      name.startsWith("heads-"),
    );
    expect(heads).toHaveLength(2);
  });

  it("heads that are missing or of another publication cost requests, not rows", async ({ root, ns }) => {
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    await publishIndex(ns);
    const isHeads = (path: string) => path.includes("heads-");
    for (const body of [null, "garbage", "TYHEADS1 and more"]) {
      const host = await hostOf(root, (_request, response, path) => {
        if (!isHeads(path)) return false;
        response.writeHead(body === null ? 404 : 200).end(body ?? undefined);
        return true;
      });
      expect(await readerOf(host.url).countTableRows({ id: ["t"] })).toBe(1);
    }
  });

  it("a table in memory is published and read by a disk of the program's fetch", async () => {
    const disk = memoryDisk();
    await using ns = new DirectoryNamespace({ root: "/tables", disk });
    await ns.createTable({ id: ["t"] }, [{ id: 1, name: "ash" }]);
    await publishIndex(ns);
    const serve: typeof fetch = async (input, init) => {
      const path = decodeURIComponent(new URL(String(input)).pathname);
      const bytes = await disk.readFile?.(path);
      if (!bytes) return new Response(null, { status: 404 });
      const [, first, last] = /bytes=(\d*)-(\d*)/.exec(new Headers(init?.headers).get("range") ?? "") ?? [];
      if (first === undefined) return new Response(bytes.slice());
      const start = first === "" ? Math.max(0, bytes.length - Number(last)) : Number(first);
      const end = first === "" ? bytes.length : Number(last) + 1;
      const headers = { "content-range": `bytes ${start}-${end - 1}/${bytes.length}` };
      return new Response(bytes.slice(start, end), { status: 206, headers });
    };
    const reader = readerOf("https://tables.example/tables", { fetch: serve });
    expect(await reader.table("t").scan().toArray()).toEqual([{ id: 1, name: "ash" }]);
  });

  it("nothing is written to a host", async ({ root, ns }) => {
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    await publishIndex(ns);
    const host = await hostOf(root);
    const reader = readerOf(host.url);
    await expect(reader.insertIntoTable({ id: ["t"] }, [{ id: 2 }])).rejects.toThrow(UnsupportedError);
    await expect(reader.createTable({ id: ["u"] }, [{ id: 2 }])).rejects.toThrow(UnsupportedError);
    await expect(reader.dropTable({ id: ["t"] })).rejects.toThrow(UnsupportedError);
    await expect(publishIndex(reader)).rejects.toThrow(UnsupportedError);
    expect(host.requests.every(({ method }) => method === "GET")).toBe(true);
  });
});

describe("a host without tables", () => {
  const bytes = new Uint8Array(200_000).map((_, index) => index % 251);
  diskConformance({ describe, it }, async () => {
    const root = await makeTempDir();
    await mkdir(join(root, "data"));
    await writeFile(join(root, "data", "a b%.bin"), bytes);
    await writeFile(join(root, "empty"), "");
    const host = await startFileHost(root);
    const files = { "data/a b%.bin": bytes, empty: new Uint8Array(0) };
    return { disk: httpDisk(host.url), root: "/", files, dispose: () => host[Symbol.asyncDispose]() };
  });
});

describe("options", () => {
  it("headers, a query in the URL and credentials come with each request", async ({ root, ns }) => {
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    const seen: (string | undefined)[] = [];
    const host = await hostOf(root, (request) => {
      seen.push(`${request.headers["x-key"]} ${new URL(request.url ?? "", "http://h").search}`);
      return false;
    });
    let count = 0;
    const headers = async () => ({ "x-key": `k${++count}` });
    const reader = readerOf(`${host.url}?sig=a%20b`, { headers, credentials: "omit" });
    expect(await reader.countTableRows({ id: ["t"] })).toBe(1);
    expect(seen.length).toBeGreaterThan(2);
    expect(seen.sort()).toEqual(seen.map((_, index) => `k${index + 1} ?sig=a%20b`).sort());
  });

  it.each([
    ["ftp://host/", {}, "http: or https:"],
    ["no url", {}, "is not a URL"],
    ["http://u:p@host/", {}, "password"],
    ["http://host/#x", {}, "fragment"],
    ["http://host/", { headers: { range: "bytes=0-" } }, "range"],
    ["http://host/", { headers: { "bad name": "x" } }, "headers"],
    ["http://host/", { fetch: 7 }, "fetch"],
    ["http://host/", { credentials: "all" }, "credentials"],
    ["http://host/", { refreshMs: -1 }, "refreshMs"],
    ["http://host/", { header: {} }, "did you mean headers"],
  ])("%s with %j is refused", (url, options, message) => {
    expect(() => httpDisk(url, options as never)).toThrow(InvalidInputError);
    expect(() => httpDisk(url, options as never)).toThrow(message);
  });

  it("publishIndex writes a page beside the index, and refuses one that is no text", async () => {
    const disk = memoryDisk();
    const namespace = new DirectoryNamespace({ root: "/", disk });
    await namespace.createTable({ id: ["t"] }, [{ id: 1 }]);
    await publishIndex(namespace, { page: "<p>é</p>" });
    expect(new TextDecoder().decode((await disk.readFile("/inspector.html", 100)) ?? undefined)).toBe(
      "<p>é</p>",
    );
    await publishIndex(namespace, { page: "newer" });
    expect((await namespace.listTables()).tables).toEqual(["t"]);
    const wrong = { page: new Uint8Array(1) } as unknown as { page: string };
    await expect(publishIndex(namespace, wrong)).rejects.toThrow("page: must be a text");
    const unknown = { pages: "x" } as unknown as { page: string };
    await expect(publishIndex(namespace, unknown)).rejects.toThrow("did you mean page");
  });

  it("publishIndex refuses what is no namespace", async () => {
    for (const value of [null, {}, "x", memoryDisk()])
      await expect(publishIndex(value as never)).rejects.toThrow(InvalidInputError);
  });
});

describe("hosts that misbehave", () => {
  const root = sharedDirectory();
  const LONG = "x".repeat(300);
  beforeAll(async () => {
    await using ns = new DirectoryNamespace({ root, durability: "none" });
    const rows = Array.from({ length: 3000 }, (_, id) => ({
      id,
      text: `${id} ${LONG}${(id * 7919) % 3001}`,
    }));
    await ns.createTable({ id: ["t"] }, rows);
  });

  const read = (url: string, options?: HttpDiskOptions) =>
    readerOf(url, options)
      .table("t")
      .scan({ filter: "id = 1234", columns: ["id"] })
      .toArray();

  /** Returns the error of a read from a host, which must be one of ours and come soon. */
  async function errorOf(misbehave: Misbehaviour): Promise<NamespaceError> {
    const host = await hostOf(root, misbehave);
    const error = await read(host.url).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NamespaceError);
    return error as NamespaceError;
  }

  it("a host that ignores ranges of small files is coped with", async () => {
    const host = await hostOf(root, async (_request, response, path) => {
      const bytes = await readFile(join(root, path)).catch(() => null);
      response.writeHead(bytes === null ? 404 : 200).end(bytes ?? undefined);
      return true;
    });
    expect(await read(host.url)).toEqual([{ id: 1234 }]);
  });

  it("a host that ignores ranges of a large file is refused by name", async () => {
    const error = await errorOf((_request, response, path) => {
      if (!isData(path)) return false;
      response.writeHead(200, { "content-length": 2 ** 40 }).write(new Uint8Array(1000));
      return true;
    });
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toContain("ignores the header Range");
  });

  it("a body without an end is cut off", async () => {
    const error = await errorOf((_request, response, path) => {
      if (!isData(path)) return false;
      response.writeHead(200);
      const chunk = new Uint8Array(2 ** 20);
      const send = () => void (response.destroyed || response.write(chunk, () => setImmediate(send)));
      send();
      return true;
    });
    expect(error).toBeInstanceOf(UnsupportedError);
  });

  it("a range that is longer than asked for is refused", async () => {
    const error = await errorOf((_request, response, path) => {
      if (!isData(path)) return false;
      response.writeHead(206, { "content-range": "bytes 0-99/100" });
      const chunk = new Uint8Array(2 ** 16);
      const send = () => void (response.destroyed || response.write(chunk, () => setImmediate(send)));
      send();
      return true;
    });
    expect(error).toBeInstanceOf(CorruptFileError);
  });

  it.each([
    "bytes 5-9/100",
    "bytes 0-99/100000000",
    "bytes */100",
    "garbage",
    "bytes 99-0/100",
    "bytes 0-999999999999999999/5",
  ])("the content-range %s is refused", async (range) => {
    const error = await errorOf((_request, response, path) => {
      if (!isData(path)) return false;
      response.writeHead(206, { "content-range": range }).end(new Uint8Array(100));
      return true;
    });
    expect(error).toBeInstanceOf(CorruptFileError);
  });

  it("ranges of a compressed file are refused by name", async () => {
    const error = await errorOf((_request, response, path) => {
      if (!isData(path)) return false;
      const bytes = gzipSync(new Uint8Array(1000));
      response
        .writeHead(206, {
          "content-encoding": "gzip",
          "content-range": `bytes 0-${bytes.length - 1}/${bytes.length}`,
        })
        .end(bytes);
      return true;
    });
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toContain("compresses");
  });

  it("whole files that come compressed are coped with", async () => {
    const host = await hostOf(root, async (_request, response, path) => {
      const bytes = await readFile(join(root, path)).catch(() => null);
      if (bytes === null) response.writeHead(404).end();
      else response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(bytes));
      return true;
    });
    expect(await read(host.url)).toEqual([{ id: 1234 }]);
  });

  it("redirects are followed", async () => {
    const target = await hostOf(root);
    const host = await hostOf(root, (_request, response, path) => {
      response.writeHead(307, { location: target.url + path }).end();
      return true;
    });
    expect(await read(host.url)).toEqual([{ id: 1234 }]);
  });

  it("a circle of redirects ends in an error", async () => {
    const error = await errorOf((_request, response, path) => {
      response.writeHead(302, { location: `/${path}` }).end();
      return true;
    });
    expect(error).toBeInstanceOf(ServiceUnavailableError);
  });

  it("answers that break off are asked for again", async () => {
    let broken = 0;
    const host = await hostOf(root, (_request, response, path) => {
      if (!isData(path) || broken++ >= 2) return false;
      response.writeHead(206, { "content-range": "bytes 0-99/100", "content-length": 100 });
      response.write(new Uint8Array(10), () => response.destroy());
      return true;
    });
    expect(await read(host.url)).toEqual([{ id: 1234 }]);
    expect(broken).toBeGreaterThan(2);
  });

  it.each([500, 503, 429, 408])("status %i passes if a later answer is good", async (status) => {
    let failures = 0;
    const host = await hostOf(root, (_request, response) => {
      if (failures++ >= 2) return false;
      response.writeHead(status, { "retry-after": "0" }).end();
      return true;
    });
    expect(await read(host.url)).toEqual([{ id: 1234 }]);
  });

  it.each([
    [503, ServiceUnavailableError],
    [429, ThrottlingError],
    [401, UnauthenticatedError],
    [403, PermissionDeniedError],
    [418, UnsupportedError],
  ] as const)("status %i for all requests gives a typed error", async (status, type) => {
    const error = await errorOf((_request, response) => {
      response.writeHead(status, { "retry-after": "0" }).end();
      return true;
    });
    expect(error).toBeInstanceOf(type);
  });

  it("a missing file that the host refuses with 403 counts as missing", async () => {
    const host = await hostOf(root, async (_request, response, path) => {
      if (path === "tiltyard-index.json") return hideIndex(_request, response, path);
      if (await readFile(join(root, path)).catch(() => null)) return false;
      response.writeHead(403).end();
      return true;
    });
    expect(await read(host.url)).toEqual([{ id: 1234 }]);
  });

  it("a host that refuses all files with 403 after a while denies access, and does not hide tables", async () => {
    let isExpired = false;
    const host = await hostOf(root, (_request, response) => {
      if (isExpired) response.writeHead(403).end();
      return isExpired;
    });
    const reader = readerOf(host.url, { refreshMs: 0 });
    expect(await reader.countTableRows({ id: ["t"] })).toBe(3000);
    isExpired = true;
    await expect(reader.countTableRows({ id: ["t"] })).rejects.toThrow(PermissionDeniedError);
    await expect(reader.countTableRows({ id: ["none"] })).rejects.toThrow(PermissionDeniedError);
  });

  it("a host that answers missing files with a page is coped with", async () => {
    const host = await hostOf(root, async (_request, response, path) => {
      if (await readFile(join(root, path)).catch(() => null)) return false;
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end("<!doctype html>");
      return true;
    });
    expect(await read(host.url)).toEqual([{ id: 1234 }]);
    await expect(readerOf(host.url).table("none").countRows()).rejects.toThrow(TableNotFoundError);
  });

  it("a host that is not there gives a typed error", async () => {
    const host = await startFileHost(root);
    await host[Symbol.asyncDispose]();
    await expect(read(host.url)).rejects.toThrow(ServiceUnavailableError);
  });

  it("a hinted version that a cache denies is answered by the one before", async ({ root: own, ns }) => {
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    const before = await readdir(join(own, "t.lance", "_versions"));
    await ns.insertIntoTable({ id: ["t"] }, [{ id: 2 }]);
    const host = await hostOf(own, (_request, response, path) => {
      const name = path.split("/").at(-1) ?? "";
      if (!name.endsWith(".manifest") || before.includes(name)) return false;
      response.writeHead(404).end();
      return true;
    });
    expect(await readerOf(host.url).countTableRows({ id: ["t"] })).toBe(1);
  });

  it("a data file that changes under a reader gives a typed error", async ({ root: own, ns }) => {
    const rows = Array.from({ length: 40_000 }, (_, id) => ({
      id,
      text: `${id} ${LONG}${(id * 7919) % 40_001}`,
    }));
    await ns.createTable({ id: ["t"] }, rows);
    const [name] = await readdir(join(own, "t.lance", "data"));
    const path = join(own, "t.lance", "data", name);
    const host = await hostOf(own);
    const table = readerOf(host.url).table("t");
    await table.take([0]);
    const now = new Date(Date.now() + 60_000);
    await utimes(path, now, now);
    await expect(table.take([39_000])).rejects.toThrow(ConcurrentModificationError);
    // Soon, queries read the file as it is now.
    const rowsNow = async () => (await table.take([39_001])).numRows;
    await expect.poll(() => rowsNow().catch(() => 0), { timeout: 10_000 }).toBe(1);
    await appendFile(path, "more");
    await expect(table.take([20_000])).rejects.toThrow(ConcurrentModificationError);
    await rm(path);
    await expect(table.take([10_000])).rejects.toThrow(NamespaceError);
  });

  it("a published data file that is replaced in place gives a typed error for good", async ({
    root: own,
    ns,
  }) => {
    const rows = Array.from({ length: 40_000 }, (_, id) => ({
      id,
      text: `${id} ${LONG}${(id * 7919) % 40_001}`,
    }));
    await ns.createTable({ id: ["t"] }, rows);
    await publishIndex(ns);
    const host = await hostOf(own);
    const table = readerOf(host.url).table("t");
    await table.take([0]);
    const [name] = await readdir(join(own, "t.lance", "data"));
    const now = new Date(Date.now() + 60_000);
    await utimes(join(own, "t.lance", "data", name), now, now);
    for (const row of [39_000, 20_000])
      await expect(table.take([row])).rejects.toThrow(ConcurrentModificationError);
  });

  it.each([
    ["a later version", { format: "tiltyard-index", version: 2, tables: [] }, UnsupportedError],
    ["tables of another type", { format: "tiltyard-index", version: 1, tables: {} }, CorruptFileError],
    [
      "a path that leads out",
      { format: "tiltyard-index", version: 1, tables: [{ location: "../x", files: [], indices: [] }] },
      CorruptFileError,
    ],
    [
      "a size that is no number",
      {
        format: "tiltyard-index",
        version: 1,
        tables: [
          { location: "t.lance", files: [{ path: "_versions/a", size: "9", etag: "0" }], indices: [] },
        ],
      },
      CorruptFileError,
    ],
  ])("an index with %s is refused", async (_name, index, type) => {
    const error = await errorOf((_request, response, path) => {
      if (path !== "tiltyard-index.json") return false;
      response.writeHead(200).end(JSON.stringify(index));
      return true;
    });
    expect(error).toBeInstanceOf(type);
  });

  it("an aborted call ends although the host does not answer", async ({ root: own, ns }) => {
    const rows = Array.from({ length: 40_000 }, (_, id) => ({ id, x: (id * 7919) % 40_001 }));
    await ns.createTable({ id: ["t"] }, rows);
    await publishIndex(ns);
    const host = await hostOf(own, (_request, _response, path) => isData(path));
    const reader = readerOf(host.url);
    const aborted = expect.objectContaining({ name: "AbortError" });
    const call = { id: ["t"], signal: AbortSignal.timeout(200) };
    await expect(reader.queryTable(call).then((result) => result.toArray())).rejects.toEqual(aborted);
    const aggregate = { ...call, signal: AbortSignal.timeout(200), values: { most: "max(x)" } };
    await expect(reader.aggregateTable(aggregate).then((result) => result.toArray())).rejects.toEqual(
      aborted,
    );
    host.misbehave = () => true;
    const late = readerOf(host.url);
    await expect(late.countTableRows({ ...call, signal: AbortSignal.timeout(200) })).rejects.toEqual(aborted);
    await expect(late.listTables({ signal: AbortSignal.timeout(200) })).rejects.toEqual(aborted);
  });

  it("an index that lies about sizes gives a typed error", async ({ root: own, ns }) => {
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    const { path } = await publishIndex(ns);
    const index = JSON.parse(await readFile(path, "utf8"));
    for (const table of index.tables) {
      table.heads = null;
      for (const file of table.files) file.size += 5;
    }
    await writeFile(path, JSON.stringify(index));
    const host = await hostOf(own);
    await expect(readerOf(host.url).countTableRows({ id: ["t"] })).rejects.toThrow(NamespaceError);
  });
});
