/** A disk in a bucket of a server in this process. */

import { DirectoryNamespace } from "tiltyard";
import { s3Disk } from "tiltyard/disks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBucket } from "../../support/bucketDisks.js";
import { BUCKET, CREDENTIALS, S3Server } from "../../support/s3Server.js";

let server: S3Server;
beforeAll(async () => {
  server = await S3Server.start({ pageSize: 3 });
});
afterAll(() => server[Symbol.asyncDispose]());

const open = (prefix?: string) =>
  s3Disk({
    endpoint: server.endpoint,
    region: server.region,
    bucket: BUCKET,
    prefix,
    credentials: CREDENTIALS,
  });

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (content: Uint8Array | null) => content && new TextDecoder().decode(content);

describe("s3Disk", () => {
  it("puts an object only where there is none", async () => {
    const disk = open("puts");
    expect(await disk.putIfAbsent?.("/a/b", [bytes("on"), bytes("e")])).toBeTypeOf("string");
    expect(await disk.putIfAbsent?.("/a/b", [bytes("two")])).toBe(false);
    expect(text(await disk.readFile!("/a/b"))).toBe("one");
    expect(text(server.objects.get("puts/a/b")?.bytes ?? null)).toBe("one");
  });

  it("replaces an object whose identity is the expected one", async () => {
    const disk = open("replaces");
    await disk.putIfAbsent?.("/x", [bytes("1")]);
    const handle = await disk.open("/x", 16);
    const second = await disk.replaceIf?.("/x", [bytes("2")], handle!.identity);
    expect(second).not.toBeNull();
    expect((await disk.open("/x"))?.identity).toBe(second);
    expect(await disk.replaceIf?.("/x", [bytes("3")], handle!.identity)).toBeNull();
    expect(await disk.replaceIf?.("/missing", [bytes("3")], handle!.identity)).toBeNull();
    expect(await disk.replaceIf?.("/x", [bytes("4")], null)).not.toBeNull();
    expect(text(await disk.readFile!("/x"))).toBe("4");
  });

  it("lists one level, over pages, and names that need encoding", async () => {
    const disk = open("lists");
    const names = ["a b", "a+b", "ä", "100%", "x&<y>", "q?#", "~!'()*", "=;:@$,"];
    for (const name of names) await disk.putIfAbsent?.(`/d/${name}`, [bytes(name)]);
    await disk.putIfAbsent?.("/d/sub/deep/file", [bytes("")]);
    const entries = (await disk.list("/d"))!;
    expect(
      entries
        .filter(({ kind }) => kind === "file")
        .map(({ name }) => name)
        .sort(),
    ).toEqual(names.sort());
    expect(entries.filter(({ kind }) => kind === "directory")).toEqual([{ name: "sub", kind: "directory" }]);
    expect(await disk.list("/nothing")).toBeNull();
    for (const name of names) expect(text(await disk.readFile!(`/d/${name}`))).toBe(name);
    expect(await disk.stat!("/d/sub")).toMatchObject({ kind: "directory" });
    expect(await disk.stat!("/d/su")).toBeNull();
    await disk.removeTree!("/d");
    expect(await disk.list("/d")).toBeNull();
  });

  it("opens a lasting file again without a request, and notices that it was replaced", async () => {
    const disk = open("lasting");
    const path = "/t.lance/data/0110.lance";
    await disk.putIfAbsent?.(path, [new Uint8Array(40_000).fill(7)]);
    await (await disk.open(path, 20_000))!.close();
    server.requests.length = 0;
    const handle = (await disk.open(path, 20_000))!;
    expect((await handle.read(39_000, 1000))[0]).toBe(7);
    expect(server.requests).toHaveLength(0);
    expect((await handle.read(0, 10))[0]).toBe(7);
    expect(server.requests).toHaveLength(1);
    await disk.remove?.(path);
    expect(await disk.open(path, 1000)).toBeNull();
  });

  it("stores nothing of a file that is given up", async () => {
    const disk = open("given-up");
    const handle = await disk.create!("/f");
    await handle.write([bytes("half")]);
    await handle.discard?.();
    expect(await disk.stat!("/f")).toBeNull();
    expect(server.uploads.size).toBe(0);
  });

  it("works below a namespace", async () => {
    const ns = new DirectoryNamespace({ root: "/data", disk: open("ns") });
    await ns.createTable({ id: ["t"] }, [{ id: 1 }, { id: 2 }]);
    await ns.table("t").insert([{ id: 3 }]);
    await ns.table("t").delete("id = 1");
    expect(await ns.table("t").scan().toArray()).toEqual([{ id: 2 }, { id: 3 }]);
    await ns.close();
  });

  it("drops and makes tables where the server lists directories after their last object", async () => {
    const { server, open } = await startBucket({ keepsDirectories: true });
    await using ns = new DirectoryNamespace({ root: "/", disk: open() });
    const disk = open();
    for (const rows of [1, 2]) {
      await ns.createTable(
        { id: ["t"] },
        Array.from({ length: rows }, (_, id) => ({ id })),
      );
      await ns.table("t").delete("id = 0");
      expect(await ns.countTableRows({ id: ["t"] })).toBe(rows - 1);
      await ns.dropTable({ id: ["t"] });
      expect(await disk.stat?.("/t.lance")).toBeNull();
      expect(await disk.list("/t.lance")).toContainEqual({ name: "data", kind: "directory" });
      expect((await ns.listTables()).tables).toEqual([]);
    }
    expect([...server.objects.keys()].filter((key) => key.startsWith("t.lance"))).toEqual([]);
    expect([...server.objects.keys()].filter((key) => key.includes("dropped"))).toEqual([]);
  });
});
