/** Servers that answer wrongly, without end, or that refuse. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { bytesOf, startBucket } from "../../support/bucketDisks.js";
import { failure } from "../../support/s3Server.js";

const page = (content: string) => ({
  status: 200,
  body: `<ListBucketResult>${content}</ListBucketResult>`,
});

describe("a server that refuses", () => {
  it.each([
    [403, failure(403, "AccessDenied"), "PermissionDenied", /AccessDenied/],
    [404, failure(404, "NoSuchBucket"), "NamespaceNotFound", /the bucket tables does not exist/],
    [
      301,
      failure(301, "PermanentRedirect", "<Endpoint>tables.s3.example</Endpoint>"),
      "InvalidInput",
      /^endpoint: the server redirects/,
    ],
    [
      301,
      { status: 301, headers: { "x-amz-bucket-region": "us-west-2" } },
      "InvalidInput",
      /^region: the bucket tables is in us-west-2, not in eu-central-1/,
    ],
    [
      400,
      failure(400, "AuthorizationHeaderMalformed", "<Region>us-west-2</Region>"),
      "InvalidInput",
      /is in us-west-2/,
    ],
    [400, failure(400, "InvalidArgument"), "Internal", /InvalidArgument/],
    [501, failure(501, "NotImplemented"), "Internal", /does not implement this request/],
  ])("with %i gives a typed error on every call", async (_status, answer, type, message) => {
    const { server, open } = await startBucket();
    server.answerInstead = () => answer;
    const disk = open();
    const calls = [
      () => disk.readFile!("/a"),
      () => disk.open("/a", 100),
      () => disk.list("/a"),
      () => disk.putIfAbsent!("/a", [bytesOf("x")]),
      () => disk.replaceIf!("/a", [bytesOf("x")], '1:"e"'),
      () => disk.remove!("/a"),
    ];
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ type, message: expect.stringMatching(message) });
    }
    expect(server.requests).toHaveLength(calls.length);
  });

  it("without a body is understood as far as possible", async () => {
    const { server, open } = await startBucket();
    server.answerInstead = () => ({ status: 403 });
    await expect(open().stat!("/a")).rejects.toMatchObject({ type: "PermissionDenied" });
  });
});

describe("a server that redirects", () => {
  it.each([301, 302, 307, 308])("with %i sends no request and no credentials elsewhere", async (status) => {
    const { server, open } = await startBucket();
    const { server: elsewhere } = await startBucket();
    server.answerInstead = ({ key }) => ({
      status,
      headers: { location: `${elsewhere.endpoint}/tables/${key}`, "x-amz-bucket-region": "us-west-2" },
    });
    const disk = open();
    const refusal = { type: "InvalidInput", message: expect.stringMatching(/^region: .* is in us-west-2/) };
    await expect(disk.readFile!("/a")).rejects.toMatchObject(refusal);
    await expect(disk.putIfAbsent!("/a", [bytesOf("x")])).rejects.toMatchObject(refusal);
    expect(server.requests).toHaveLength(2);
    expect(elsewhere.requests).toHaveLength(0);
  });
});

describe("a server that reports a failure after the status of a success", () => {
  const late = (code: string) => ({ ...failure(200, code) });

  /** Writes a file of two parts; the server answers the requests that join them. */
  async function writeParts(answers: (ReturnType<typeof late> | undefined)[], maxAttempts = 3) {
    const { server, open } = await startBucket();
    const disk = open({ partBytes: 5 * 2 ** 20, maxAttempts });
    const handle = (await disk.create!("/big"))!;
    await handle.write([new Uint8Array(6 * 2 ** 20)]);
    let joins = 0;
    server.answerInstead = ({ method, query }) =>
      method === "POST" && query.has("uploadId") ? answers[Math.min(joins++, answers.length - 1)] : undefined;
    const error = await handle.close().then(
      () => null,
      (failed: unknown) => failed,
    );
    return { server, error, joins: () => joins };
  }

  it("joins the parts again if that may help", async () => {
    const { server, error, joins } = await writeParts([late("InternalError"), late("SlowDown"), undefined]);
    expect(error).toBeNull();
    expect(joins()).toBe(3);
    expect(server.objects.get("big")?.bytes).toHaveLength(6 * 2 ** 20);
  });

  it.each([
    ["AccessDenied", { type: "PermissionDenied" }],
    ["InvalidPart", { type: "Internal", message: expect.stringMatching(/InvalidPart/) }],
    ["NoSuchBucket", { type: "NamespaceNotFound" }],
    ["NoSuchUpload", { type: "Internal", message: expect.stringMatching(/the upload of big is gone/) }],
  ])("fails at once with %s, and leaves no parts", async (code, expected) => {
    const { server, error, joins } = await writeParts([late(code)]);
    expect(error).toMatchObject(expected);
    expect(joins()).toBe(1);
    expect([server.objects.size, server.uploads.size]).toEqual([0, 0]);
  });

  it.each([
    ["an error of the server", late("InternalError")],
    ["a name of a property", late("constructor")],
    ["a page in HTML", { status: 200, body: "<html><body>Welcome</body></html>" }],
    ["nothing", { status: 200 }],
  ])("fails as uncertain after all attempts with %s", async (_what, answer) => {
    const { server, error, joins } = await writeParts([answer as ReturnType<typeof late>], 2);
    expect(error).toMatchObject({ code: "EUNCERTAIN" });
    expect(joins()).toBe(2);
    expect([server.objects.size, server.uploads.size]).toEqual([0, 0]);
  });
});

describe("a server that answers wrongly", () => {
  it.each([
    ["a page in HTML", { status: 200, body: "<html><body>Welcome</body></html>" }],
    ["text", { status: 200, body: "OK" }],
    ["nothing", { status: 200 }],
    ["bytes that are not UTF-8", { status: 200, body: Buffer.from([0x3c, 0xff, 0xfe]) }],
    ["deeply nested XML", { status: 200, body: "<a>".repeat(50_000) }],
    ["an entity bomb", { status: 200, body: '<!DOCTYPE a [<!ENTITY b "bbb">]><a>&b;</a>' }],
    ["keys of others", page("<Contents><Key>other/key</Key></Contents>")],
    [
      "a key that is not encoded",
      page("<EncodingType>url</EncodingType><Contents><Key>d/%</Key></Contents>"),
    ],
    ["a page without a next one", page("<IsTruncated>true</IsTruncated>")],
  ])("to a list with %s gives an error", async (_what, answer) => {
    const { server, open } = await startBucket();
    server.answerInstead = () => answer;
    await expect(open().list("/d")).rejects.toMatchObject({ type: "Internal" });
  });

  it("to a list without end is stopped", async () => {
    const { server, open } = await startBucket();
    let pages = 0;
    server.answerInstead = () =>
      page(`<IsTruncated>true</IsTruncated><NextContinuationToken>${pages++}</NextContinuationToken>`);
    await expect(open().list("/d")).rejects.toThrow(/does not end/);
    expect(pages).toBeLessThan(200);
  });

  it("with names that are no names hides them", async () => {
    const { server, open } = await startBucket();
    for (const key of ["d/", "d/.", "d/../x", "d//y", "d/ok"]) {
      server.objects.set(key, { bytes: Buffer.from("1"), etag: '"1"', metadata: {} });
    }
    expect(await open().list("/d")).toEqual([{ name: "ok", kind: "file" }]);
  });

  it("with an endless body is stopped", async () => {
    const endless = createServer((_request, response) => {
      response.writeHead(200);
      const more = () => {
        while (response.write("<Contents>".repeat(1000)));
      };
      response.on("drain", more);
      more();
    });
    await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      endless.closeAllConnections();
      endless.close();
    });
    const { open } = await startBucket();
    const disk = open({ endpoint: `http://127.0.0.1:${(endless.address() as AddressInfo).port}` });
    await expect(disk.list("/d")).rejects.toThrow(/sent more than the \d+ bytes/);
    await expect(disk.readFile!("/d", 1000)).rejects.toThrow(/sent more than the 1001 bytes/);
    await expect(disk.open("/d", 1000)).rejects.toThrow(/sent more than the 1000 bytes/);
  });

  it.each([
    ["no range", { status: 206, body: "0123456789" }],
    ["another range", { status: 206, headers: { "content-range": "bytes 5-14/100" }, body: "0123456789" }],
    ["a range without end", { status: 206, headers: { "content-range": "bytes 0-9/*" }, body: "0123456789" }],
    [
      "a huge range",
      { status: 206, headers: { "content-range": "bytes 0-9/99999999999999999999" }, body: "0123456789" },
    ],
    ["fewer bytes", { status: 206, headers: { "content-range": "bytes 0-4/100" }, body: "01234" }],
    [
      "another ETag",
      { status: 206, headers: { "content-range": "bytes 0-9/100", etag: '"new"' }, body: "0123456789" },
    ],
    ["the start of the object", { status: 200, body: "01234" }],
  ])("to a read of ten bytes with %s gives an error", async (_what, answer) => {
    const { server, open } = await startBucket();
    const disk = open({ maxAttempts: 2 });
    await disk.putIfAbsent!("/a", [new Uint8Array(100)]);
    const handle = (await disk.open("/a"))!;
    server.answerInstead = () => answer;
    await expect(handle.read(0, 10)).rejects.toMatchObject({ type: "Internal" });
  });

  it.each([
    ["a later part", { status: 206, headers: { "content-range": "bytes 5-9/10" }, body: "56789" }],
    ["the beginning", { status: 206, headers: { "content-range": "bytes 0-4/10" }, body: "01234" }],
    ["the answer that the object is empty", { status: 416 }],
  ])("to a read of a whole object with %s gives an error", async (_what, answer) => {
    const { server, open } = await startBucket();
    const disk = open({ maxAttempts: 2 });
    await disk.putIfAbsent!("/a", [bytesOf("0123456789")]);
    server.answerInstead = ({ method }) => (method === "GET" ? answer : undefined);
    await expect(disk.readFile!("/a", 1000)).rejects.toMatchObject({ type: "Internal" });
  });

  it("to a read with too few bytes is asked again, then given up", async () => {
    const { server, open } = await startBucket();
    const disk = open({ maxAttempts: 2 });
    await disk.putIfAbsent!("/a", [new Uint8Array(100)]);
    const handle = (await disk.open("/a"))!;
    server.answerInstead = () => ({
      status: 206,
      headers: { "content-range": "bytes 0-9/100" },
      body: "0123",
    });
    await expect(handle.read(0, 10)).rejects.toMatchObject({ type: "ServiceUnavailable" });
  });
});

describe("a server that ignores conditions", () => {
  it("is refused by name before anything is written, and stays readable", async () => {
    const { server, open } = await startBucket({ ignoresConditions: true });
    server.objects.set("a", { bytes: Buffer.from("1"), etag: '"1"', metadata: {} });
    const disk = open();
    const refusal = { type: "Unsupported", message: expect.stringMatching(/ignores If-None-Match/) };
    await expect(disk.putIfAbsent!("/b", [bytesOf("x")])).rejects.toMatchObject(refusal);
    await expect(disk.replaceIf!("/a", [bytesOf("x")], '1:"1"')).rejects.toMatchObject(refusal);
    expect([...server.objects.keys()]).toEqual(["a"]);
    expect(await disk.readFile!("/a")).toEqual(bytesOf("1"));
  });
});

describe("an object that changes under its reader", () => {
  it("is reported as replaced, or as removed", async () => {
    const { open } = await startBucket();
    const disk = open();
    await disk.putIfAbsent!("/a", [new Uint8Array(1000)]);
    const handle = (await disk.open("/a", 10))!;
    await disk.replaceIf!("/a", [new Uint8Array(1000).fill(1)], null);
    await expect(handle.read(0, 10)).rejects.toThrow(/was replaced while it was open/);
    await disk.remove!("/a");
    await expect(handle.read(0, 10)).rejects.toMatchObject({ code: "ENOENT" });
    await expect(handle.read(995, 10)).rejects.toThrow(/the file ends at 1000/);
    expect(await disk.open("/a", 10)).toBeNull();
    expect(await disk.readFile!("/a")).toBeNull();
  });

  it("may be empty, or longer than the caller takes", async () => {
    const { open } = await startBucket();
    const disk = open();
    await disk.putIfAbsent!("/empty", []);
    expect(await disk.readFile!("/empty", 5)).toEqual(new Uint8Array(0));
    expect((await disk.open("/empty", 10))?.size).toBe(0);
    expect(await disk.stat!("/empty")).toMatchObject({ kind: "file", size: 0 });
    await disk.putIfAbsent!("/long", [bytesOf("123456")]);
    await expect(disk.readFile!("/long", 5)).rejects.toMatchObject({ name: "CorruptFileError" });
    expect(await disk.readFile!("/long", 6)).toEqual(bytesOf("123456"));
  });
});
