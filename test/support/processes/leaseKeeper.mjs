// Takes a directory's lock, says so, and asks its lease again and again: node leaseKeeper.mjs <directory> <staleMs>.
// Says how the first question failed, and ends.
import { setTimeout as sleep } from "node:timers/promises";
import { withLock } from "../../../dist/io/lock/lock.js";

const [directory, staleMs] = [process.argv[2], Number(process.argv[3])];
await withLock(directory, { staleMs }, async (lease) => {
  process.send("holding");
  for (;;) {
    try {
      await lease.confirm();
    } catch (error) {
      process.send(error.constructor.name);
      return;
    }
    await sleep(5);
  }
});
process.disconnect?.();
