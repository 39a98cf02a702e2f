/** Databases in buckets, by their addresses and storage options. */

import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { connect, connectNamespace } from "../../src/lancedb/connect.js";
import { BUCKET, CREDENTIALS, S3Server } from "../support/s3Server.js";

afterEach(() => vi.unstubAllEnvs());

async function start(): Promise<S3Server> {
  const server = await S3Server.start({ region: "eu-central-1" });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const optionsOf = ({ endpoint, region }: S3Server): Record<string, string> => ({
  endpoint,
  region,
  allowHttp: "true",
  awsAccessKeyId: CREDENTIALS.accessKeyId,
  awsSecretAccessKey: CREDENTIALS.secretAccessKey,
});

describe("a database in a bucket", () => {
  it("holds tables under its prefix, which another connection opens", async () => {
    const server = await start();
    const storageOptions = optionsOf(server);
    const db = await connect(`s3://${BUCKET}/lake`, { storageOptions });
    const table = await db.createTable("t", [{ id: 1 }, { id: 2 }]);
    await table.add([{ id: 3 }]);
    expect(table.display()).toContain(`uri=s3://${BUCKET}/lake/t.lance`);
    expect([...server.objects.keys()].every((key) => key.startsWith("lake/"))).toBe(true);
    const other = await connectNamespace("dir", { root: `s3://${BUCKET}/lake/` }, { storageOptions });
    expect(await other.tableNames()).toEqual(["t"]);
    expect(await (await other.openTable("t")).countRows()).toBe(3);
  });

  it("takes its options from the environment, as LanceDB does", async () => {
    const { endpoint, region } = await start();
    vi.stubEnv("AWS_ENDPOINT", endpoint);
    vi.stubEnv("AWS_DEFAULT_REGION", region);
    vi.stubEnv("AWS_ALLOW_HTTP", "true");
    vi.stubEnv("AWS_ACCESS_KEY_ID", CREDENTIALS.accessKeyId);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", CREDENTIALS.secretAccessKey);
    const db = await connect(`s3://${BUCKET}`);
    expect(await db.tableNames()).toEqual([]);
  });

  it("refuses DynamoDB, missing keys, plain HTTP and bad names by name", async () => {
    const server = await start();
    const options = optionsOf(server);
    const refused = (uri: string, storageOptions: Record<string, string>) =>
      expect(connect(uri, { storageOptions })).rejects;
    await refused(`s3+ddb://${BUCKET}/t?ddbTableName=x`, options).toThrow(
      /s3\+ddb: commits through a DynamoDB/,
    );
    const { allowHttp: _, ...silent } = options;
    await refused(`s3://${BUCKET}`, silent).toThrow(/allow_http must be "true"/);
    const { awsAccessKeyId: __, ...keyless } = options;
    vi.stubEnv("AWS_ACCESS_KEY_ID", "");
    await refused(`s3://${BUCKET}`, keyless).toThrow(/awsAccessKeyId and awsSecretAccessKey are needed/);
    await refused("s3://a_", options).toThrow(/bucket: must be the name of a bucket/);
    expect(server.requests).toHaveLength(0);
  });
});
