// Serves a directory in a process of its own, until its parent closes the channel.
// argv: root, options of the handler as JSON. Sends the port.
import { createServer } from "node:http";
import { DirectoryNamespace } from "../../../dist/esm/index.js";
import { createRestHandler, toNodeListener } from "../../../dist/esm/rest.js";

const [root, options] = process.argv.slice(2);
const namespace = new DirectoryNamespace({ root });
const handler = createRestHandler(namespace, JSON.parse(options));
const server = createServer(toNodeListener(handler)).listen(0, "127.0.0.1", () =>
  process.send(server.address().port),
);
process.once("disconnect", async () => {
  await handler.close({ graceMs: 1000 });
  server.closeAllConnections();
  server.close();
  await namespace.close();
});
