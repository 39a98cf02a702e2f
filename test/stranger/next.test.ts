/** Next.js builds and serves an application with the package, bundled or in `serverExternalPackages`. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import {
  commandOf,
  makeRegistryProject,
  needRegistry,
  type RegistryProject,
} from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";

const ENGINE = `import { DirectoryNamespace } from "tiltyard";
export const ns = new DirectoryNamespace({ root: "./tables" });
`;
const FILES: Readonly<Record<string, string>> = {
  "app/engine.js": ENGINE,
  "app/layout.jsx": `export default ({ children }) => <html><body>{children}</body></html>;\n`,
  // Rendered when the application is built.
  "app/page.jsx": `import { ns } from "./engine.js";
export default async function Page() {
  await ns.createTable({ id: ["t"], mode: "Overwrite" }, [{ id: 1 }, { id: 2 }]);
  return <p>{"rows: " + (await ns.table("t").countRows())}</p>;
}
`,
  // Rendered for each request.
  "app/now/page.jsx": `import { ns } from "../engine.js";
export const dynamic = "force-dynamic";
export default async function Page() {
  return <p>{"now: " + (await ns.table("t").scan({ filter: "id > 1" }).toArray()).map(({ id }) => id)}</p>;
}
`,
  "app/lance/[...path]/route.js": `import { createRestHandler } from "tiltyard/rest";
import { ns } from "../../engine.js";
const handler = createRestHandler(ns, { basePath: "/lance", auth: { apiKeys: ["k"] } });
export const GET = handler;
export const POST = handler;
`,
};

async function writeApplication({ directory }: RegistryProject, configuration: object): Promise<void> {
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), text);
  }
  await writeFile(
    join(directory, "next.config.mjs"),
    `export default ${JSON.stringify({ ...configuration, outputFileTracingRoot: directory })};`,
  );
}

/** Starts the application's server; resolves once it listens. */
async function started(next: string, directory: string) {
  const child = spawn(process.execPath, [next, "start", "--port", "0", "--hostname", "127.0.0.1"], {
    cwd: directory,
    env: { ...process.env, ...ENVIRONMENT },
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface(child.stdout)) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url !== undefined) return { url, child };
  }
  throw new Error("the server of Next.js ended");
}

const ENVIRONMENT = { NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" };

it("Next.js, with the package bundled, and left outside", async (context) => {
  await needRegistry(context);
  const project = await makeRegistryProject(["next", "react", "react-dom"]);
  const { directory } = project;
  const next = commandOf(project, "next/dist/bin/next");
  for (const configuration of [{}, { serverExternalPackages: ["tiltyard"] }]) {
    await writeApplication(project, configuration);
    await printedBy(process.execPath, [next, "build"], directory, ENVIRONMENT);
    const { url, child } = await started(next, directory);
    try {
      const textOf = async (path: string) => (await fetch(url + path)).text();
      expect(await textOf("/")).toContain("rows: 2");
      expect(await textOf("/now")).toContain("now: 2");
      const counted = await fetch(`${url}/lance/v1/table/t/count_rows`, {
        method: "POST",
        headers: { "x-api-key": "k" },
      });
      expect([configuration, counted.status, await counted.text()]).toEqual([configuration, 200, "2"]);
    } finally {
      child.kill();
      await once(child, "exit");
    }
  }
});
