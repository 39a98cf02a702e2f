/** Credentials from a function: fetched when needed, renewed when they end. */

import type { S3Credentials } from "tiltyard/disks";
import { describe, expect, it } from "vitest";
import { startBucket } from "../../support/bucketDisks.js";
import { CREDENTIALS, failure } from "../../support/s3Server.js";

describe("credentials from a function", () => {
  it("are fetched once for concurrent requests, and again before they end", async () => {
    const { server, open } = await startBucket();
    let calls = 0;
    let lifeMs = 3_600_000;
    const disk = open({
      credentials: async (): Promise<S3Credentials> => {
        calls++;
        return { ...CREDENTIALS, expiration: new Date(Date.now() + lifeMs) };
      },
    });
    await Promise.all([disk.list("/"), disk.list("/a"), disk.readFile!("/b")]);
    expect(calls).toBe(1);
    lifeMs = 1000;
    const brief = open({
      credentials: () => {
        calls++;
        return { ...CREDENTIALS, expiration: new Date(Date.now() + lifeMs) };
      },
    });
    await brief.list("/");
    await brief.list("/");
    expect(calls).toBe(3);
    expect(server.requests).toHaveLength(5);
  });

  it("send a session token, and are renewed when the server says that it has expired", async () => {
    const { server, open } = await startBucket();
    server.sessionToken = "second";
    const tokens = ["first", "second"];
    const now = Date.now;
    const disk = open({
      credentials: () => ({ ...CREDENTIALS, sessionToken: tokens.shift() ?? "none" }),
    });
    // A key that has just been fetched is not fetched again at once.
    await expect(disk.list("/")).rejects.toMatchObject({ type: "PermissionDenied" });
    Date.now = () => now() + 20_000;
    try {
      expect(await disk.list("/")).toBeNull();
    } finally {
      Date.now = now;
    }
    expect(tokens).toEqual([]);
  });

  it("fail with a typed error if the function fails, or returns none", async () => {
    const { server, open } = await startBucket();
    const failing = open({ credentials: () => Promise.reject(new Error("no network")) });
    await expect(failing.list("/")).rejects.toMatchObject({ type: "ServiceUnavailable" });
    const empty = open({ credentials: (() => ({})) as never });
    await expect(empty.list("/")).rejects.toThrow(/^credentials.accessKeyId/);
    expect(server.requests).toHaveLength(0);
  });

  it("that are wrong fail at once, with the server's code and without the secret", async () => {
    const { server, open } = await startBucket();
    const disk = open({ credentials: { ...CREDENTIALS, secretAccessKey: "another-secret" } });
    const failing = disk.list("/");
    await expect(failing).rejects.toThrow(/SignatureDoesNotMatch/);
    await expect(failing).rejects.not.toThrow(/another-secret/);
    expect(server.requests).toHaveLength(1);
  });

  it("are absent from requests to a public bucket", async () => {
    const { server, open } = await startBucket();
    server.answerInstead = ({ headers }) =>
      headers.authorization === undefined
        ? { status: 200, body: "<ListBucketResult/>" }
        : failure(400, "Signed");
    expect(await open({ credentials: undefined }).list("/")).toBeNull();
  });
});

describe("a machine whose clock is wrong", () => {
  it.each([
    ["another time each time", (attempt: number) => `Sat, 28 Nov ${2030 + attempt} 10:00:00 GMT`, 4],
    ["a time that no signature can have", () => "Sat, 01 Jan 200000 00:00:00 GMT", 1],
    ["a time before 1970", () => "Sat, 01 Jan 1938 00:00:00 GMT", 1],
    ["no time", () => "yesterday", 1],
  ])("is refused within bounds if the server sends %s", async (_what, dateOf, attempts) => {
    const { server, open } = await startBucket();
    server.answerInstead = () => ({
      ...failure(403, "RequestTimeTooSkewed"),
      headers: { date: dateOf(server.requests.length) },
    });
    await expect(open({ maxAttempts: 4 }).list("/")).rejects.toMatchObject({
      type: "PermissionDenied",
      message: expect.stringMatching(/RequestTimeTooSkewed/),
    });
    expect(server.requests).toHaveLength(attempts);
  });

  it("signs with the time of the server after the first refusal", async () => {
    const { server, open } = await startBucket();
    const serverMs = Date.now() + 3_600_000;
    server.answerInstead = ({ headers }) => {
      const [, ...digits] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(String(headers["x-amz-date"]))!;
      const [year, month, day, hour, minute, second] = digits.map(Number);
      const sentMs = Date.UTC(year, month - 1, day, hour, minute, second);
      if (Math.abs(sentMs - serverMs) < 900_000) return undefined;
      return { ...failure(403, "RequestTimeTooSkewed"), headers: { date: new Date(serverMs).toUTCString() } };
    };
    const disk = open();
    expect(await disk.list("/")).toBeNull();
    expect(await disk.list("/")).toBeNull();
    expect(server.requests).toHaveLength(3);
    // Requests that were refused together are sent again together.
    const other = open();
    const names = ["a", "b", "c", "d"];
    expect(await Promise.all(names.map((name) => other.list(`/${name}`)))).toEqual(names.map(() => null));
    expect(server.requests).toHaveLength(3 + 8);
  });
});
