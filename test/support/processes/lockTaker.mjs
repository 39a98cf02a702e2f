// Takes a directory's lock once, and says what came of it: node lockTaker.mjs <directory> <options as JSON> [<user id>]
// Options are those of withLock, and `holdMs`: how long to hold the lock; it says "holding" first.
import { setTimeout as sleep } from "node:timers/promises";

const [directory, json, user] = process.argv.slice(2);
const { holdMs = 0, ...options } = JSON.parse(json);
if (user !== undefined) process.setuid(Number(user));
const { withLock } = await import("../../../dist/io/lock/lock.js");
const outcome = await withLock(directory, options, async () => {
  if (holdMs > 0) process.send("holding");
  await sleep(holdMs);
  return "held";
}).catch((error) => (typeof error.code === "string" ? error.code : error.name));
process.send(outcome, () => process.disconnect());
