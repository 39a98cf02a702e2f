/** A disk on the binding of a bucket of R2: conformance, lost answers, parts, and tables. */

import { DirectoryNamespace } from "tiltyard";
import { r2Disk } from "tiltyard/disks";
import { diskConformance } from "tiltyard/disks/conformance";
import { describe, expect, it } from "vitest";
import { failure, r2Bucket } from "../../support/r2Bucket.js";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("a disk on a binding", () => {
  diskConformance({ describe, it }, () => r2Disk(r2Bucket()));
});

describe("a disk on a binding that loses an answer in nine", () => {
  diskConformance({ describe, it }, () => {
    const bucket = r2Bucket();
    bucket.lose = (call, index) => (index % 9 === 8 ? failure(call, 10001) : undefined);
    return r2Disk(bucket, { prefix: "a/b" });
  });
});

describe("putIfAbsent", () => {
  it("a put whose answer was lost has succeeded, and one of another writer has not", async () => {
    const bucket = r2Bucket();
    const disk = r2Disk(bucket);
    bucket.lose = (call, index) => (call === "put" && index === 0 ? failure(call, 10001) : undefined);
    expect(await disk.putIfAbsent?.("/a", [bytesOf("one")])).toBeTypeOf("string");
    expect(await disk.putIfAbsent?.("/a", [bytesOf("two")])).toBe(false);
    expect(bucket.objects.get("a")?.bytes).toEqual(bytesOf("one"));
  });

  it("a put whose answers are all lost is uncertain", async () => {
    const bucket = r2Bucket();
    bucket.lose = (call) =>
      call === "put" || call === "head" ? new Error("the connection broke") : undefined;
    await expect(r2Disk(bucket).putIfAbsent?.("/a", [bytesOf("one")])).rejects.toMatchObject({
      code: "EUNCERTAIN",
    });
  });

  it("a put that is refused after a lost answer is uncertain", async () => {
    const bucket = r2Bucket();
    bucket.lose = (call, index) => failure(call, index === 0 ? 10001 : 10004);
    await expect(r2Disk(bucket).putIfAbsent?.("/a", [bytesOf("one")])).rejects.toMatchObject({
      code: "EUNCERTAIN",
    });
    expect(bucket.objects.get("a")?.bytes).toEqual(bytesOf("one"));
  });

  it("a refusal of R2 is not tried again", async () => {
    const bucket = r2Bucket();
    let puts = 0;
    bucket.lose = (call) => {
      if (call !== "put") return undefined;
      puts++;
      return failure(call, 10004);
    };
    await expect(r2Disk(bucket).putIfAbsent?.("/a", [bytesOf("one")])).rejects.toThrow("10004");
    expect(puts).toBe(1);
  });
});

describe("create", () => {
  const PART = 8 * 1024 * 1024;

  it("a large file appears when it is closed, in parts of one size", async () => {
    const bucket = r2Bucket();
    const disk = r2Disk(bucket);
    const file = await disk.create?.("/t.lance/data/x.lance");
    const bytes = new Uint8Array(2 * PART + 5).map((_, index) => index);
    await file?.write([bytes.subarray(0, 3), bytes.subarray(3)]);
    expect(bucket.objects.size).toBe(0);
    await file?.close();
    const stored = bucket.objects.get("t.lance/data/x.lance")?.bytes ?? new Uint8Array();
    expect(Buffer.compare(stored, bytes)).toBe(0);
    expect(bucket.openUploads).toBe(0);
    await expect(
      (async () => {
        const second = await disk.create?.("/t.lance/data/x.lance");
        await second?.write([bytes]);
        await second?.close();
      })(),
    ).rejects.toMatchObject({ code: "EEXIST" });
  });

  it("a file that is given up leaves no upload", async () => {
    const bucket = r2Bucket();
    const file = await r2Disk(bucket).create?.("/x");
    await file?.write([new Uint8Array(PART + 1)]);
    expect(bucket.openUploads).toBe(1);
    await file?.discard?.();
    expect([bucket.openUploads, bucket.objects.size]).toEqual([0, 0]);
  });
});

describe("reads", () => {
  it("a file that was replaced while it was open is refused", async () => {
    const bucket = r2Bucket();
    const disk = r2Disk(bucket, { cacheBytes: 0 });
    await disk.replaceIf?.("/a", [bytesOf("old bytes")], null);
    const handle = await disk.open("/a");
    await disk.replaceIf?.("/a", [bytesOf("new bytes")], null);
    await expect(handle?.read(0, 4)).rejects.toMatchObject({ name: "CorruptFileError" });
    await disk.remove?.("/a");
    await expect(handle?.read(0, 4)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("options", () => {
  it("anything but a binding and known options is refused", () => {
    for (const bucket of [null, undefined, "bucket", {}, { get() {} }]) {
      expect(() => r2Disk(bucket as never)).toThrow("bucket: must be the binding");
    }
    for (const options of [{ prefix: "../x" }, { cacheBytes: -1 }, { bucketName: "" }, { other: 1 }, 7]) {
      expect(() => r2Disk(r2Bucket(), options as never)).toThrow(
        /prefix|cacheBytes|bucketName|other|must be an object/,
      );
    }
  });

  it("with the name of the bucket, locations are addresses", async () => {
    const disk = r2Disk(r2Bucket(), { prefix: "lake", bucketName: "tables" });
    await using ns = new DirectoryNamespace({ root: "/", disk });
    const { location } = await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    expect(location).toBe("s3://tables/lake/t.lance");
    expect(disk.pathOf?.("s3://tables/lake/t.lance")).toBe("/t.lance");
    expect(disk.pathOf?.("s3://tables/other/t.lance")).toBeNull();
  });
});

describe("tables", () => {
  it("writers with handles of their own lose no row", async () => {
    const bucket = r2Bucket(1000);
    const open = () => new DirectoryNamespace({ root: "/", disk: r2Disk(bucket) });
    await using first = open();
    await using second = open();
    await first.createTable({ id: ["t"] }, [{ id: 0 }]);
    const insertAll = async (ns: DirectoryNamespace, start: number) => {
      for (let id = start; id < start + 10; id++) await ns.table("t").insert([{ id }]);
    };
    await Promise.all([insertAll(first, 100), insertAll(second, 200)]);
    expect(await first.table("t").countRows()).toBe(21);
    await first.table("t").delete("id < 100");
    await first.dropTable({ id: ["t"] });
    expect([...bucket.objects.keys()].filter((key) => key.startsWith("t.lance"))).toEqual([]);
  });
});
