// Adds to a number in a file under a table's lock: node lockCounter.mjs <directory> <rounds> <staleMs>.
// With rounds 0 it takes the lock, says so, and holds it until it is killed.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { withLock } from "../../../dist/io/lock/lock.js";

const [directory, rounds, staleMs] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const counter = path.join(directory, "counter");

if (rounds === 0) {
  await withLock(directory, { staleMs }, async () => {
    process.send("holding");
    await new Promise((resolve) => setTimeout(resolve, 600_000));
  });
}
for (let round = 0; round < rounds; round++) {
  await withLock(directory, { staleMs, keep: round % 3 !== 0 }, async () => {
    const value = Number(readFileSync(counter, "utf8"));
    if (round % 8 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    writeFileSync(counter, String(value + 1));
  });
}
process.disconnect?.();
