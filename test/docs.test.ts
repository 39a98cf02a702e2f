/**
 * Runs the programs of the documentation in a project with the packed package, and compares their output
 * with their comments.
 */

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { codeBlocks, PAGES, type Program, programsOf, readPage } from "./support/documents.js";
import { CHECKOUT, makePackedProject } from "./support/packedProject.js";

let project: string;

beforeAll(async () => {
  project = (await makePackedProject(["@lancedb/lancedb", "express", "jose", "rolldown", "vite"])).directory;
});

/** README's server listens until somebody ends it: it is asked once, at a port that is free. */
const SERVER = /^createServer\(toNodeListener\(handler\)\)\.listen\(8080, "127\.0\.0\.1"\);$/m;

function asRun({ text, output }: Program): { text: string; output: readonly string[] } {
  if (!SERVER.test(text)) return { text, output };
  const asked = `const server = createServer(toNodeListener(handler)).listen(0, "127.0.0.1", async () => {
    const url = \`http://127.0.0.1:\${server.address().port}/openapi.json\`;
    console.log((await fetch(url, { headers: { "x-api-key": process.env.TILTYARD_API_KEY } })).status);
    process.exit(0);
  });`;
  return { text: text.replace(SERVER, asked), output: [...output, "200"] };
}

it.each(
  PAGES.flatMap((page) => programsOf(page)),
)("$name runs as printed and prints what its comments say", async (program) => {
  const { text, output } = asRun(program);
  expect(output.length).toBeGreaterThan(0);
  const script = join(project, `${program.name.replaceAll(/[^\w]/g, "-")}.mjs`);
  await writeFile(script, text);
  // The programs of a page find what those before them left.
  const cwd = join(project, `data of ${program.name.split(":")[0].replaceAll("/", " ")}`);
  await mkdir(cwd, { recursive: true });
  // A second run finds what the first one left: README's example may be run again.
  for (const _ of program.name.startsWith("README") ? [1, 2] : [1]) {
    const { stdout } = await promisify(execFile)(process.execPath, [script], {
      cwd,
      env: { ...process.env, TILTYARD_API_KEY: "a key", LANCEDB_LOG: "off" },
    });
    expect(stdout.trimEnd().split("\n")).toEqual(output);
  }
});

it.each(PAGES)("%s has no block of code that nobody runs without a reason", (page) => {
  const others = codeBlocks(page).filter(({ language, exempted }) => language !== "js" && exempted === null);
  expect(others.filter(({ language }) => language !== "sh").map(({ line }) => `${page}:${line}`)).toEqual([]);
  for (const { exempted } of codeBlocks(page)) {
    const [, file] = /^run by (\S+)$/.exec(exempted ?? "") ?? [];
    if (file !== undefined) expect(existsSync(join(CHECKOUT, file))).toBe(true);
  }
});

/** Paths of the files and folders in the package. */
const packedPaths = async (): Promise<ReadonlySet<string>> => {
  const { stdout } = await promisify(execFile)("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    ...{ cwd: CHECKOUT, maxBuffer: 2 ** 26, shell: process.platform === "win32" },
  });
  const files: string[] = JSON.parse(stdout)[0].files.map(({ path }: { path: string }) => path);
  const folders = files.flatMap((path) =>
    path.split("/").map((_, depth, names) => names.slice(0, depth).join("/")),
  );
  return new Set([...files, ...folders]);
};

/** The anchors of a page's headings, as they are shown on the web. */
function anchorsOf(page: string): string[] {
  const prose = readPage(page).replace(/^```[\s\S]*?^```$/gm, "");
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-"),
  );
}

it("the pages of the package link to what is in the package only, and to headings that are there", async () => {
  const packed = await packedPaths();
  const pages = [...packed].filter((path) => path.endsWith(".md"));
  expect(pages).toEqual(expect.arrayContaining([...PAGES, "src/README.md"]));
  const broken: string[] = [];
  for (const page of pages) {
    const prose = readPage(page).replace(/^```[\s\S]*?^```$/gm, "");
    for (const [, link] of prose.matchAll(/\]\(\s*([^)\s]+)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [path, anchor] = link.split("#");
      const target = path === "" ? page : posix.join(posix.dirname(page), path).replace(/\/$/, "");
      const isThere = packed.has(target) && (anchor === undefined || anchorsOf(target).includes(anchor));
      if (!isThere) broken.push(`${page}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});

it.each(PAGES)("%s names scripts that exist", (page) => {
  const text = readPage(page);
  const { scripts } = JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8"));
  const named = [...text.matchAll(/npm (?:run )?([a-z:]+)/g)].map(([, name]) => name);
  const npms = ["ci", "install", "pack", "packs"];
  expect(named.filter((name) => !npms.includes(name) && !(name in scripts))).toEqual([]);
});
