/** Requests whose answers are lost, late, cut or replaced by 503. */

import { DirectoryNamespace } from "tiltyard";
import type { S3Disk, S3DiskOptions } from "tiltyard/disks";
import { describe, expect, it } from "vitest";
import { type BucketSetup, bytesOf, startBucket, textOf } from "../../support/bucketDisks.js";
import type { Fault } from "../../support/faultyProxy.js";
import { failure } from "../../support/s3Server.js";

const once = (fault: Fault, method: string) => {
  let isDue = true;
  return (request: { readonly method: string }): Fault | undefined => {
    if (!isDue || request.method !== method) return undefined;
    isDue = false;
    return fault;
  };
};

/** Opens a disk that has seen the server check conditions. */
async function openProven({ open }: BucketSetup, options: Partial<S3DiskOptions> = {}): Promise<S3Disk> {
  const disk = open(options);
  await disk.putIfAbsent?.("/proven", []);
  return disk;
}

const LOSSES: readonly Fault[] = [
  "lose the request",
  "lose the answer",
  "refuse with 503",
  "carry out and refuse with 503",
];

describe.each(LOSSES)("a put whose proxy does: %s", (fault) => {
  it("succeeds once, and the next put finds the name taken", async () => {
    const bucket = await startBucket();
    const disk = await openProven(bucket);
    const { proxy } = bucket;
    proxy.faultOf = once(fault, "PUT");
    expect(await disk.putIfAbsent?.("/a", [bytesOf("mine")])).toBeTypeOf("string");
    expect(await disk.putIfAbsent?.("/a", [bytesOf("mine")])).toBe(false);
    expect(proxy.faults).toBe(1);
  });

  it("replaces an object once", async () => {
    const { proxy, open } = await startBucket();
    const disk = open();
    await disk.putIfAbsent?.("/a", [bytesOf("1")]);
    const { identity } = (await disk.open("/a"))!;
    proxy.faultOf = once(fault, "PUT");
    const replaced = await disk.replaceIf?.("/a", [bytesOf("2")], identity);
    expect((await disk.open("/a"))?.identity).toBe(replaced);
    expect(await disk.replaceIf?.("/a", [bytesOf("3")], identity)).toBeNull();
  });

  it("gives up to another writer that got in between, even with equal bytes", async () => {
    const bucket = await startBucket();
    const { server, proxy } = bucket;
    const disk = await openProven(bucket);
    const fails = once(fault, "PUT");
    proxy.faultOf = (request) => {
      const due = fails(request);
      if (due !== undefined && request.method === "PUT") {
        // Another engine replaces whatever this request left.
        setTimeout(() => {
          server.objects.set("a", { bytes: Buffer.alloc(0), etag: '"x"', metadata: {} });
        }, 10);
      }
      return due;
    };
    server.objects.set("a", { bytes: Buffer.from("theirs"), etag: '"y"', metadata: {} });
    expect(await disk.putIfAbsent?.("/a", [])).toBe(false);
  });
});

describe("a put without an answer", () => {
  it("is taken for its own by its bytes, where the server keeps no metadata", async () => {
    const bucket = await startBucket({ forgetsMetadata: true });
    const { proxy } = bucket;
    const disk = await openProven(bucket);
    proxy.faultOf = once("lose the answer", "PUT");
    expect(await disk.putIfAbsent?.("/a", [bytesOf("mine")])).toBeTypeOf("string");
  });

  it("is not taken for its own if another writer's bytes are there", async () => {
    const bucket = await startBucket({ forgetsMetadata: true });
    const { server, proxy } = bucket;
    const disk = await openProven(bucket);
    server.objects.set("a", { bytes: Buffer.from("else"), etag: '"y"', metadata: {} });
    proxy.faultOf = once("lose the answer", "PUT");
    expect(await disk.putIfAbsent?.("/a", [bytesOf("mine")])).toBe(false);
  });

  it("fails as uncertain if no attempt can tell", async () => {
    const bucket = await startBucket();
    const { proxy } = bucket;
    const disk = await openProven(bucket, { maxAttempts: 2 });
    proxy.faultOf = () => "lose the request";
    const putting = disk.putIfAbsent?.("/a", [bytesOf("mine")]);
    await expect(putting).rejects.toMatchObject({ code: "EUNCERTAIN" });
  });

  it.each([
    ["access is denied", failure(403, "AccessDenied")],
    ["the bucket is gone", failure(404, "NoSuchBucket")],
    ["the server redirects", failure(301, "PermanentRedirect")],
    ["the request is refused", failure(400, "InvalidArgument")],
  ])("fails as uncertain if %s after an attempt whose answer was lost", async (_refusal, answer) => {
    const bucket = await startBucket();
    const { server, proxy } = bucket;
    const disk = await openProven(bucket);
    proxy.faultOf = once("lose the answer", "PUT");
    let requests = 0;
    server.answerInstead = () => (requests++ === 0 ? undefined : answer);
    const putting = disk.putIfAbsent?.("/a", [bytesOf("mine")]);
    await expect(putting).rejects.toMatchObject({ code: "EUNCERTAIN" });
    expect(server.objects.get("a")?.bytes.toString()).toBe("mine");
  });

  it("of a new file of rows fails an insert as unavailable, by the name of the file", async () => {
    const { server, open } = await startBucket();
    await using ns = new DirectoryNamespace({ root: "/", disk: open({ maxAttempts: 2 }) });
    await ns.createTable({ id: ["t"] }, [{ a: 1 }]);
    server.answerInstead = ({ method }) => (method === "PUT" ? { status: 500 } : undefined);
    await expect(ns.insertIntoTable({ id: ["t"] }, [{ a: 2 }])).rejects.toMatchObject({
      type: "ServiceUnavailable",
      message: expect.stringMatching(/a file may have been written \(EUNCERTAIN: write \w+\.lance\)/),
    });
    server.answerInstead = () => undefined;
    expect(await ns.countTableRows({ id: ["t"] })).toBe(1);
  });

  it("succeeds if its answer is unreadable, and its object is there", async () => {
    const bucket = await startBucket();
    const { server } = bucket;
    const disk = await openProven(bucket);
    const nonces: string[] = [];
    server.answerInstead = ({ method, key, headers }) => {
      if (method !== "PUT" || nonces.length > 0) return undefined;
      const nonce = String(headers["x-amz-meta-tiltyard-nonce"]);
      nonces.push(nonce);
      const metadata = { "x-amz-meta-tiltyard-nonce": nonce };
      server.objects.set(key, { bytes: Buffer.from("mine"), etag: '"y"', metadata });
      return { status: 200, headers: { "content-length": "5000000" }, body: Buffer.alloc(5_000_000) };
    };
    expect(await disk.putIfAbsent?.("/a", [bytesOf("mine")])).toBe('4:"y"');
    expect(nonces).toHaveLength(1);
  });

  it("succeeds if the last attempt's object is there", async () => {
    const bucket = await startBucket();
    const { proxy } = bucket;
    const disk = await openProven(bucket, { maxAttempts: 2 });
    proxy.faultOf = ({ method }) => (method === "PUT" ? "lose the answer" : undefined);
    expect(await disk.putIfAbsent?.("/a", [bytesOf("mine")])).toBeTypeOf("string");
  });

  it("fails as unavailable, and not as uncertain, if every attempt was refused before it began", async () => {
    const bucket = await startBucket();
    const { proxy } = bucket;
    const disk = await openProven(bucket, { maxAttempts: 2 });
    proxy.faultOf = () => "refuse with 503";
    const putting = disk.putIfAbsent?.("/a", [bytesOf("mine")]);
    await expect(putting).rejects.toMatchObject({ type: "ServiceUnavailable" });
  });
});

describe("a commit", () => {
  it("keeps its rows if its answer is lost and the next attempt is refused", async () => {
    const { server, proxy, open } = await startBucket();
    await using ns = new DirectoryNamespace({ root: "/", disk: open() });
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    let puts = 0;
    const isManifestPut = (method: string, path: string) => method === "PUT" && path.includes(".manifest");
    proxy.faultOf = ({ method, path }) =>
      isManifestPut(method, path) && puts++ === 0 ? "lose the answer" : undefined;
    let arrived = 0;
    server.answerInstead = ({ method, key }) =>
      isManifestPut(method, `/${key}`) && arrived++ === 1 ? failure(403, "AccessDenied") : undefined;
    expect((await ns.insertIntoTable({ id: ["t"] }, [{ id: 2 }])).version).toBe(2);
    expect(arrived).toBe(2);
    await using other = new DirectoryNamespace({ root: "/", disk: open() });
    expect(await other.table("t").scan().toArray()).toEqual([{ id: 1 }, { id: 2 }]);
  });
});

describe("a read", () => {
  const READ_FAULTS: readonly Fault[] = [...LOSSES, "cut the answer", "slow the answer", "stall the answer"];
  it.each(READ_FAULTS)("gets its bytes after the proxy did: %s", async (fault) => {
    const { proxy, open } = await startBucket();
    const disk = open({ timeoutMs: 300 });
    const content = new Uint8Array(300_000).map((_, index) => index % 251);
    await disk.putIfAbsent?.("/a", [content]);
    proxy.faultOf = once(fault, "GET");
    expect(await disk.readFile!("/a")).toEqual(content);
    proxy.faultOf = once(fault, "GET");
    const handle = (await disk.open("/a", 1000))!;
    expect(handle.takeTail?.()).toEqual(content.subarray(299_000));
    proxy.faultOf = once(fault, "GET");
    const memory = new Uint8Array(new SharedArrayBuffer(100_000));
    expect(Uint8Array.from(await handle.read(7, 100_000, memory))).toEqual(content.subarray(7, 100_007));
    proxy.faultOf = once(fault, "GET");
    expect(await disk.list("/")).toEqual([{ name: "a", kind: "file" }]);
    expect(proxy.faults).toBe(4);
  });

  it("fails within bounds if the server stays away", async () => {
    const { proxy, open } = await startBucket();
    proxy.faultOf = () => "stall the answer";
    const reading = open({ maxAttempts: 2, timeoutMs: 100 }).readFile!("/a");
    await expect(reading).rejects.toMatchObject({ type: "ServiceUnavailable", status: 503 });
  });
});

describe("a large file", () => {
  const MIB = 1024 * 1024;
  const content = new Uint8Array(12 * MIB + 7).map((_, index) => (index * 31) >> 5);

  it.each(["POST", "PUT"])("is complete after a lost answer of any %s", async (method) => {
    for (let lost = 0; lost < 3; lost++) {
      const { server, proxy, open } = await startBucket();
      let seen = 0;
      proxy.faultOf = (request) =>
        request.method === method && seen++ === lost ? "lose the answer" : undefined;
      const handle = await open({ partBytes: 5 * MIB }).create!("/big");
      for (let start = 0; start < content.length; start += MIB) {
        await handle.write([content.subarray(start, start + MIB)]);
      }
      expect(server.objects.size).toBe(0);
      await handle.close();
      expect(Buffer.compare(server.objects.get("big")!.bytes, content)).toBe(0);
      expect(server.objects.get("big")!.etag).toMatch(/-3"$/);
    }
  });

  it("leaves no parts behind if its name is taken, or a part cannot be sent", async () => {
    const { server, proxy, open } = await startBucket();
    const disk = open({ partBytes: 5 * MIB, maxAttempts: 2 });
    await disk.putIfAbsent?.("/big", [bytesOf("first")]);
    const handle = await disk.create!("/big");
    await handle.write([content]);
    await expect(handle.close()).rejects.toMatchObject({ code: "EEXIST" });
    expect(server.uploads.size).toBe(0);
    expect(textOf(await disk.readFile!("/big"))).toBe("first");

    proxy.faultOf = ({ path }) => (path.includes("partNumber=2") ? "refuse with 503" : undefined);
    const failing = await disk.create!("/other");
    const writing = (async () => {
      await failing.write([content]);
      await failing.close();
    })().catch(async (error) => {
      await failing.close().catch(() => undefined);
      throw error;
    });
    await expect(writing).rejects.toMatchObject({ type: "ServiceUnavailable" });
    expect(server.uploads.size).toBe(0);
    expect(server.objects.has("other")).toBe(false);
  });

  it("is put with one request where its name decides, and read in parts", async () => {
    const { server, open } = await startBucket();
    const disk = open({ partBytes: 5 * MIB });
    expect(await disk.putIfAbsent?.("/big", [content.subarray(0, 7), content.subarray(7)])).toBeTypeOf(
      "string",
    );
    expect(await disk.putIfAbsent?.("/big", [content])).toBe(false);
    expect(server.requests.filter(({ method }) => method === "POST")).toEqual([]);
    const handle = (await disk.open("/big", 100))!;
    expect(Buffer.compare(await handle.read(3, content.length - 3), content.subarray(3))).toBe(0);
  });
});
