/** Options of disks in buckets: what is taken, what is refused, and that no secret is shown. */

import { inspect } from "node:util";
import { InvalidInputError, UnsupportedError } from "tiltyard";
import { s3Disk } from "tiltyard/disks";
import { describe, expect, it } from "vitest";
import { s3SettingsOf } from "../../../src/disks/s3/options.js";

const credentials = { accessKeyId: "id", secretAccessKey: "a-secret" };

describe("the options of s3Disk", () => {
  it.each([
    [{ bucket: "lake" }, "https://lake.s3.us-east-1.amazonaws.com"],
    [{ bucket: "lake.v2", region: "eu-west-1" }, "https://s3.eu-west-1.amazonaws.com/lake.v2"],
    [{ bucket: "lake", region: "cn-north-1" }, "https://lake.s3.cn-north-1.amazonaws.com.cn"],
    [{ bucket: "lake", endpoint: "http://127.0.0.1:9000/" }, "http://127.0.0.1:9000/lake"],
    [
      { bucket: "lake", endpoint: new URL("https://a.example"), virtualHostedStyle: true },
      "https://lake.a.example",
    ],
  ])("%j give the URL %s of the bucket", (options, url) => {
    expect(s3SettingsOf(options).bucketUrl).toBe(url);
  });

  it.each([
    [{}, /^bucket: must be the name of a bucket/],
    [{ bucket: "a" }, /^bucket/],
    [{ bucket: "a/b" }, /^bucket/],
    [{ bucket: "lake", prefix: "a//b" }, /^prefix/],
    [{ bucket: "lake", prefix: "a/../b" }, /^prefix/],
    [{ bucket: "lake", endpoint: "ftp://a" }, /^endpoint: must be an https: or http: URL/],
    [{ bucket: "lake", endpoint: "nowhere" }, /^endpoint: must be the URL of a server/],
    [{ bucket: "lake", endpoint: "https://user:pw@a.example" }, /^endpoint: must not contain a user/],
    [{ bucket: "lake", region: "Frankfurt am Main" }, /^region/],
    [{ bucket: "lake", credentials: {} }, /^credentials.accessKeyId/],
    [{ bucket: "lake", credentials: { accessKeyId: "id" } }, /^credentials.secretAccessKey/],
    [{ bucket: "lake", credentials: { ...credentials, sessionToken: 3 } }, /^credentials.sessionToken/],
    [{ bucket: "lake", partBytes: 1000 }, /^partBytes: must be an integer from 5242880/],
    [{ bucket: "lake", maxAttempts: 0 }, /^maxAttempts/],
    [{ bucket: "lake", endpiont: "http://a" }, /did you mean endpoint\?/],
  ])("refuse %j", (options, message) => {
    expect(() => s3Disk(options as never)).toThrow(InvalidInputError);
    expect(() => s3Disk(options as never)).toThrow(message);
  });

  it.each([
    { bucket: "s3+ddb://lake/t?ddbTableName=commits" },
    { bucket: "lake", endpoint: "s3+ddb://lake" },
  ])("refuse commits through DynamoDB by name: %j", (options) => {
    expect(() => s3Disk(options)).toThrow(UnsupportedError);
    expect(() => s3Disk(options)).toThrow(/^s3\+ddb: /);
  });

  it("are not shown by a disk that is printed", () => {
    const disk = s3Disk({ bucket: "lake", credentials });
    expect(inspect(disk, { depth: 9, showHidden: true })).not.toContain("a-secret");
    expect(JSON.stringify(disk)).not.toContain("a-secret");
  });

  it("make the storage options of other engines", async () => {
    const own = { ...credentials, sessionToken: "tok", expiration: new Date(8e12) };
    const disk = s3Disk({ bucket: "lake", prefix: "a/b/", endpoint: "http://127.0.0.1:9", credentials: own });
    expect(await disk.storageOptions()).toEqual({
      aws_endpoint: "http://127.0.0.1:9",
      allow_http: "true",
      aws_region: "us-east-1",
      aws_virtual_hosted_style_request: "false",
      aws_access_key_id: "id",
      aws_secret_access_key: "a-secret",
      aws_session_token: "tok",
      expires_at_millis: "8000000000000",
    });
    expect(await s3Disk({ bucket: "lake" }).storageOptions()).toMatchObject({ aws_skip_signature: "true" });
    expect(disk.uriOf("/t.lance")).toBe("s3://lake/a/b/t.lance");
    expect(s3Disk({ bucket: "lake" }).uriOf("/")).toBe("s3://lake");
  });
});
