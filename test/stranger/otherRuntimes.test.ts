/** Runtimes other than Node.js run the engine, its handler, and their own servers with it. */

import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandOf, folderOf, makeRegistryProject, needRegistry } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";
import { PROGRAM, PROGRAM_MAIN, PROGRAM_PRINTS, PROGRAM_REQUIRES } from "../support/strangersProgram.js";

/** @param serve an expression that serves `handler` and gives a port, and a statement that ends it */
const served = (serve: string, end: string) => `import { DirectoryNamespace } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
const ns = new DirectoryNamespace({ root: process.cwd() + "/served" });
await ns.createTable({ id: ["t"], mode: "Overwrite" }, [{ id: 1 }, { id: 2 }]);
const handler = createRestHandler(ns, { auth: { apiKeys: ["k"] } });
${serve}
const url = "http://127.0.0.1:" + port + "/v1/table/t/count_rows";
const asked = await fetch(url, { method: "POST", headers: { "x-api-key": "k" } });
console.log(asked.status, await asked.text(), (await fetch(url, { method: "POST" })).status);
${end}
await ns.close();
`;

describe("Bun", () => {
  it("runs ES modules and CommonJS, and serves the handler", async (context) => {
    await needRegistry(context);
    const project = await makeRegistryProject(["bun"]);
    const bun = commandOf(project, "bun/bin/bun.exe");
    if (!existsSync(bun)) context.skip(`not shown here: there is no Bun for this machine`);
    const directory = await folderOf(project, "programs");
    await writeFile(join(directory, "app.mjs"), PROGRAM);
    await writeFile(join(directory, "app.cjs"), PROGRAM_REQUIRES + PROGRAM_MAIN);
    const serve = `const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: handler });\nconst { port } = server;`;
    await writeFile(join(directory, "server.mjs"), served(serve, "await server.stop(true);"));
    expect(await printedBy(bun, ["run", "app.mjs"], directory)).toBe(PROGRAM_PRINTS);
    expect(await printedBy(bun, ["run", "app.cjs"], directory)).toBe(PROGRAM_PRINTS);
    expect(await printedBy(bun, ["run", "server.mjs"], directory)).toBe("200 2 401");
  });
});

describe("Deno", () => {
  it("runs ES modules with the permissions that it needs, and serves the handler", async (context) => {
    await needRegistry(context);
    const project = await makeRegistryProject(["deno"]);
    const deno = commandOf(project, "deno/bin.cjs");
    const directory = await folderOf(project, "programs");
    await writeFile(join(directory, "app.mjs"), PROGRAM);
    const serve = `const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, handler);\nconst { port } = server.addr;`;
    await writeFile(join(directory, "server.mjs"), served(serve, "await server.shutdown();"));
    const run = (file: string, allowed: readonly string[]) =>
      printedBy(
        process.execPath,
        [deno, "run", "--no-prompt", "--node-modules-dir=manual", ...allowed, file],
        directory,
        { DENO_NO_UPDATE_CHECK: "1" },
      );
    const allowed = ["--allow-read", "--allow-write=.", "--allow-env", "--allow-sys"];
    expect(await run("app.mjs", allowed)).toBe(PROGRAM_PRINTS);
    expect(await run("server.mjs", [...allowed, "--allow-net=127.0.0.1"])).toBe("200 2 401");
  });
});
