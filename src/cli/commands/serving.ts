/** `tiltyard serve`, `inspect` and `publish`: a root for other programs. */

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { createRestHandler, toNodeListener } from "tiltyard/rest";
import { wholeNumber } from "../arguments/lists.js";
import { CommandMistake } from "../arguments/mistake.js";
import type { CommandCall } from "../call/call.js";
import type { CommandSpec } from "../call/command.js";
import { printJson, printLine, printNote } from "../output/print.js";

const PORT = (byDefault: string) => ({
  flags: "-p, --port <number>",
  text: "port to listen on; 0 takes a free one",
  byDefault,
  parse: (text: string) => wholeNumber("--port", text),
});

/** Host that only programs on this computer reach. */
const LOOPBACK = "127.0.0.1";

export const serveCommand: CommandSpec = {
  usage: "serve",
  summary: "Serve the root over HTTP by the REST interface, until interrupted",
  examples: [
    "tiltyard serve --root ./data",
    "TILTYARD_API_KEY=secret tiltyard serve --host 0.0.0.0 --port 8080",
  ],
  options: [
    PORT("2333"),
    {
      flags: "--host <name>",
      text: "address to listen on; others than loopback need a key",
      byDefault: LOOPBACK,
    },
    { flags: "--read-only", text: "refuse changes" },
    { flags: "--allowed-host <name>", text: "name by which clients may call the server", isList: true },
  ],
  async run(call) {
    const { options, terminal } = call;
    const host = (options.host as string | undefined) ?? LOOPBACK;
    const apiKey = terminal.env.TILTYARD_API_KEY;
    const isLocal = [LOOPBACK, "::1", "localhost"].includes(host);
    if (!isLocal && (apiKey ?? "") === "") {
      throw new CommandMistake(`--host ${host}: set TILTYARD_API_KEY, or listen on ${LOOPBACK}`);
    }
    const namespace = await call.namespace(true);
    const handler = createRestHandler(namespace, {
      auth: apiKey === undefined || apiKey === "" ? { anonymous: true } : { apiKeys: [apiKey] },
      ...(options.allowedHost !== undefined && { allowedHosts: options.allowedHost as string[] }),
    });
    const listener = toNodeListener(options.readOnly === true ? readOnly(handler) : handler);
    const url = await listen(
      call,
      createServer(listener),
      host,
      (options.port as number | undefined) ?? 2333,
    );
    const state =
      apiKey === undefined || apiKey === "" ? "without a key, for this computer" : "with TILTYARD_API_KEY";
    if (options.json === true) printJson(terminal, { url });
    else printLine(terminal, `serving ${call.root} at ${url} ${state}; interrupt to end`);
    await interrupted(call);
  },
};

type FetchHandler = (request: Request) => Promise<Response>;

/** Operations of the REST interface that POST and change nothing, by the end of their path. */
const READING =
  /\/(?:list|describe|exists|query|count_rows|explain_plan|analyze_plan|stats|diff|take|aggregate|tokenize|verify|storage)\/?$/;

function readOnly(handler: FetchHandler): FetchHandler {
  return async (request) => {
    const { pathname } = new URL(request.url);
    const isReading = ["GET", "HEAD", "OPTIONS"].includes(request.method) || READING.test(pathname);
    if (isReading) return handler(request);
    const problem = { title: "Forbidden", status: 403, code: 15, detail: "this server is read-only" };
    return Response.json(problem, { status: 403, headers: { "content-type": "application/problem+json" } });
  };
}

/** Starts a server, and returns its URL. */
async function listen(call: CommandCall, server: Server, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const inUse = error.code === "EADDRINUSE";
      reject(inUse ? new CommandMistake(`--port ${port} is in use; --port 0 takes a free one`) : error);
    });
    server.listen(port, host, resolve);
  });
  call.signal.addEventListener("abort", () => {
    server.close();
    server.closeAllConnections();
  });
  const { address, port: bound, family } = server.address() as AddressInfo;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${bound}`;
}

/** Resolves when the user ends the command. That is no failure of a server. */
const interrupted = ({ signal }: CommandCall): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

// --------------------------------------------------------------------------------------------- inspector

export const inspectCommand: CommandSpec = {
  usage: "inspect [root]",
  summary: "Open a page that shows the tables in the browser, on this computer only, until interrupted",
  examples: ["tiltyard inspect ./data", "tiltyard inspect --write --port 8000"],
  options: [PORT("0"), { flags: "--write", text: "allow changes: restore, tags" }],
  async run(call, root) {
    const { options, terminal } = call;
    const { inspectorHandler } = await import("tiltyard/inspector");
    const namespace = root === undefined ? await call.namespace() : await call.namespaceAt(root);
    // The handler takes the token once, and answers for names of this computer only.
    const token = randomBytes(24).toString("base64url");
    const title = `Tiltyard: ${root ?? call.root}`.slice(0, 200);
    const handler = inspectorHandler(namespace, { write: options.write === true, token, title });
    const url = await listen(
      call,
      createServer(toNodeListener(handler)),
      LOOPBACK,
      (options.port as number | undefined) ?? 0,
    );
    const address = `${url}/?token=${token}`;
    if (options.json === true) printJson(terminal, { url: address });
    else {
      printLine(terminal, `open ${address}`);
      printNote(terminal, "The address holds a token for one browser. Interrupt to end.");
    }
    await interrupted(call);
  },
};

// ----------------------------------------------------------------------------------------------- publish

/** Returns the path of the page that needs no server. */
const inspectorFile = (): string => fileURLToPath(import.meta.resolve("tiltyard/inspector.html"));

export const publishCommand: CommandSpec = {
  usage: "publish",
  summary: "Write the index files by which browsers read the root from any web server",
  examples: ["tiltyard publish --root ./data", "tiltyard publish --root ./data --inspector"],
  options: [
    { flags: "--inspector", text: "also write inspector.html, a page that shows the tables to visitors" },
  ],
  async run(call) {
    const { publishIndex } = await import("tiltyard/disks");
    const page = call.options.inspector === true ? await readFile(inspectorFile(), "utf8") : undefined;
    const result = await publishIndex(await call.namespace(), { page });
    if (call.options.json === true) return printJson(call.terminal, result);
    const files = page === undefined ? "tiltyard-index.json" : "tiltyard-index.json and inspector.html";
    printNote(call.terminal, `wrote ${files} in ${call.root}: any web server can serve the tables now`);
  },
};
