/**
 * Appends rows to a table in a bucket, one after the other, and reports each that was acknowledged. Runs the
 * built package.
 *
 *   argument           { disk, table, writer, commits }   options of `s3Disk`; rows are { writer, n }
 *   worker → parent    { ready: true }, then { n, version } per row, then { done: retries }
 *   parent → worker    "go"
 */

import { ConcurrentModificationError, DirectoryNamespace, ServiceUnavailableError } from "tiltyard";
import { s3Disk } from "tiltyard/disks";

const { disk, table, writer, commits } = JSON.parse(process.argv[2]);
// The lock of a writer that was killed is free again after this time.
const lock = { staleMs: 2000 };
const namespace = new DirectoryNamespace({ root: "/", disk: s3Disk(disk), lock });
const go = new Promise((resolve) => process.once("message", resolve));
process.send({ ready: true });
await go;
let retries = 0;
for (let n = 0; n < commits; n++) {
  for (;;) {
    try {
      const { version } = await namespace.insertIntoTable({ id: [table] }, [{ writer, n }]);
      process.send({ n, version });
      break;
    } catch (error) {
      // Both say that nothing was changed.
      const mayRetry =
        error instanceof ConcurrentModificationError || error instanceof ServiceUnavailableError;
      if (!mayRetry) throw error;
      retries++;
    }
  }
}
await namespace.close();
process.send({ done: retries }, () => process.exit(0));
