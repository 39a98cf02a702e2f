// Appends through the reference's REST namespace client: node namespaceClient.mjs <url> <table> <process> <appends>.
// Says "ready", waits for a message, appends one row at a time, and sends how often a lost race was tried again.
import { connectNamespace } from "tiltyard-reference/session.js";

const [url, name, own, appends] = process.argv.slice(2);
const connection = await connectNamespace("rest", { uri: url });
const table = await connection.openTable(name);
process.send("ready");
await new Promise((resolve) => process.once("message", resolve));
let again = 0;
for (let step = 0; step < Number(appends); step++) {
  for (;;) {
    try {
      await table.add([{ v: Number(own) * 1000 + step }]);
      break;
    } catch (error) {
      // The client gives up on an append after some lost races; what it reports so was not committed.
      if (!/conflict|concurrent writers/i.test(String(error)) || ++again > 1000) throw error;
    }
  }
}
process.send(again);
process.disconnect();
