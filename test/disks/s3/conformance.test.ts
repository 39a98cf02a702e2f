/** The conformance suite, on a bucket of a server in this process, also over a bad network. */

import { s3Disk } from "tiltyard/disks";
import { diskConformance } from "tiltyard/disks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import { FaultyProxy } from "../../support/faultyProxy.js";
import { BUCKET, CREDENTIALS, S3Server } from "../../support/s3Server.js";

let server: S3Server;
let proxy: FaultyProxy;
let disks = 0;
beforeAll(async () => {
  server = await S3Server.start({ pageSize: 7 });
  proxy = await FaultyProxy.start(server.endpoint);
  proxy.faultOf = ({ index }) => (index % 9 === 8 ? "lose the answer" : undefined);
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const open = (endpoint: string) =>
  s3Disk({
    endpoint,
    region: server.region,
    bucket: BUCKET,
    prefix: `disk-${disks++}`,
    credentials: CREDENTIALS,
  });

describe("a disk in a bucket", () => {
  diskConformance({ describe, it }, () => open(server.endpoint));
});

describe("a disk in a bucket whose server loses an answer in nine", () => {
  diskConformance({ describe, it }, () => open(proxy.endpoint));
});
