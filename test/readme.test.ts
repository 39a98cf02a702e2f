/** What README.md prints is what happens: its example runs, its commands and dependencies are those of the package. */

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const CHECKOUT = fileURLToPath(new URL("../", import.meta.url));
const readme = readFileSync(join(CHECKOUT, "README.md"), "utf8");
const manifest = JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8"));

it("has an example that runs as printed and prints what its comments say", async () => {
  const [, example] = /^## Example\n+```js\n([\s\S]*?)```/m.exec(readme) ?? [];
  const expected = [...example.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, output]) => output);
  expect(expected.length).toBeGreaterThan(0);
  if (!existsSync(join(CHECKOUT, "dist/index.js"))) throw new Error("not built: run npm run build");
  const directory = await mkdtemp(join(tmpdir(), "tiltyard-readme-"));
  // Inside the checkout, where the package's own name resolves to its build; data goes to the directory it runs in.
  const script = join(CHECKOUT, "build", `readme-example-${process.pid}.mjs`);
  try {
    await writeFile(script, example);
    const { stdout } = await promisify(execFile)(process.execPath, [script], { cwd: directory });
    expect(stdout.trimEnd().split("\n")).toEqual(expected);
  } finally {
    await rm(script, { force: true });
    await rm(directory, { recursive: true, force: true });
  }
});

it("names scripts that exist", () => {
  const scripts = [...readme.matchAll(/npm (?:run )?([a-z:]+)/g)].map(([, name]) => name);
  const unknown = scripts.filter((name) => name !== "ci" && !(name in manifest.scripts));
  expect(unknown).toEqual([]);
});

it("lists the runtime dependencies, each with a reason", () => {
  const [, section] = /^## Runtime dependencies\n([\s\S]*?)^## /m.exec(readme) ?? [];
  const rows = [...section.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(([, name]) => name);
  expect(rows.sort()).toEqual(Object.keys(manifest.dependencies).sort());
});

it("keeps the markers that the benchmarks write between", () => {
  expect(readme).toMatch(/<!-- bench:start -->[\s\S]*<!-- bench:end -->/);
});

it("links to files that exist", () => {
  const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path]) => path);
  expect(links.filter((path) => !existsSync(join(CHECKOUT, path)))).toEqual([]);
});
