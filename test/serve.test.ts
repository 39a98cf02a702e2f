/** The server example serves, and the calls that it prints work as printed. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterEach, beforeEach, expect, it } from "vitest";
import { makeTempDir } from "./support/tempDir.js";

const EXAMPLE = fileURLToPath(new URL("../build/examples/server.js", import.meta.url));
const KEY = "a key with a 'quote'";

let server: ChildProcess | null = null;
let directory: string;

beforeEach(async () => {
  if (!existsSync(EXAMPLE)) throw new Error("the examples are not built: run npm run build:tools");
  directory = await makeTempDir();
});
afterEach(() => {
  server?.kill();
  server = null;
});

/** Starts the example, and returns its output until it is ready. */
async function serve(env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(process.execPath, [EXAMPLE], { cwd: directory, env: { ...process.env, ...env } });
  server = child;
  let said = "";
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (piece) => {
      said += piece;
      if (said.includes("Ctrl-C")) resolve(said);
    });
    child.stderr.on("data", (piece) => {
      said += piece;
    });
    child.once("exit", (code) => reject(new Error(`ended with ${code}: ${said}`)));
  });
}

it("answers the three calls that it prints, with the key and not without, and ends when it is told to", async () => {
  const said = await serve({ TILTYARD_API_KEY: KEY, PORT: "0" });
  const calls = said.split("\n").filter((line) => line.startsWith("curl "));
  expect(calls.length).toBe(3);
  const hasCurl = await promisify(execFile)("curl", ["--version"]).then(
    () => process.platform !== "win32",
    () => false,
  );
  const call = async (line: string, key: string): Promise<number> => {
    if (hasCurl) {
      const { stdout } = await promisify(execFile)(
        "sh",
        ["-c", `${line} -s -o /dev/null -w '%{http_code}'`],
        {
          env: { ...process.env, TILTYARD_API_KEY: key },
        },
      );
      return Number(stdout.slice(-3));
    }
    const url = /http:\S+/.exec(line)?.[0] ?? "";
    const headers = { "x-api-key": key, "content-type": "application/json" };
    return (await fetch(url, { method: "POST", body: "{}", headers })).status;
  };
  for (const line of calls) expect(await call(line, "wrong"), line).toBe(401);
  for (const line of calls) expect(await call(line, KEY), line).toBe(200);
  const ended = new Promise((resolve) => server?.once("exit", resolve));
  server?.kill("SIGTERM");
  expect(await ended).toBe(process.platform === "win32" ? null : 0);
});

it("answers every request that it began before it ends", async () => {
  const said = await serve({ TILTYARD_API_KEY: "key", PORT: "0" });
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
  const rows = tableToIPC(new Table({ v: vectorFromArray([1], new Int32()) }), "stream") as BodyInit;
  const send = (tail: string) =>
    fetch(`${url}/v1/table/t/${tail}`, { method: "POST", body: rows, headers: { "x-api-key": "key" } });
  expect((await send("create")).status).toBe(200);
  let inserted = 0;
  const clients = Array.from({ length: 8 }, async () => {
    // Until nobody listens any more.
    for (;;) {
      const answer = await send("insert").catch(() => null);
      if (answer?.status !== 200) return;
      await answer.json();
      if (++inserted === 12) server?.kill("SIGTERM");
    }
  });
  const ended = new Promise((resolve) => server?.once("exit", resolve));
  await Promise.all(clients);
  expect(await ended).toBe(process.platform === "win32" ? null : 0);
  const namespace = new DirectoryNamespace({ root: join(directory, "serve-data") });
  const count = await namespace.countTableRows({ id: ["t"] });
  await namespace.close();
  // Where the system ends a process by force, it cannot finish.
  if (process.platform !== "win32") expect(count).toBe(inserted + 1);
});

it("does not start without a key", async () => {
  await expect(serve({ TILTYARD_API_KEY: "", PORT: "0" })).rejects.toThrow(/Set TILTYARD_API_KEY/);
});
