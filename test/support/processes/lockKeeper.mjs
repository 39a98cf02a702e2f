// Takes the lock of a directory and keeps it when it releases it: node lockKeeper.mjs <directory> <then>. Says so, and
// then ends, or stands still until it is killed.
import { withLock } from "../../../dist/io/lock/lock.js";

const [directory, then] = process.argv.slice(2);
await withLock(directory, { keep: true }, async () => {});
if (then === "stand") {
  await new Promise((resolve) => process.send("kept", resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
process.disconnect();
