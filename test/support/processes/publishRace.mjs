// Tries to publish the names 0 to <count> - 1: node publishRace.mjs <directory> <count> <own name>.
// Sends the names it won. Starts when told to, so that all processes race.

import { NodeDisk } from "../../../dist/io/disk/nodeDisk.js";
import { createExclusive } from "../../../dist/io/publish.js";

const [directory, count, own] = [process.argv[2], Number(process.argv[3]), process.argv[4]];
const disk = new NodeDisk({ durability: "none" });
process.send("ready");
process.once("message", async () => {
  const won = [];
  for (let name = 0; name < count; name++) {
    const bytes = new TextEncoder().encode(`${own}:${name}:`.padEnd(5000, own));
    if (await createExclusive(disk, directory, String(name), [bytes])) won.push(name);
  }
  process.send(won, () => process.disconnect());
});
