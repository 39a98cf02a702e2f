/** If the first load of a part fails for a passing reason, a later call loads it. Each case has a process. */

import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, sharedDirectory } from "../support/fixtures.js";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/** Calls that need parts of their own. */
const CALLS = `
  const callsOf = (ns, t) => ({
    count: () => t.countRows(),
    insert: () => t.insert([{ id: 9, s: "z" }]),
    optimize: () => t.optimize(),
    search: () => t.search({ text: "a" }).toArray(),
    function: () => t.countRows("lower(s) = 'a'"),
    index: async () => ns.waitForJob(await t.createIndex("id", { replace: true, name: "i" })),
    versions: () => t.versions(),
    update: () => t.update({ where: "id = 1", valuesSql: { s: "s" } }),
    list: () => ns.listTables({ id: [] }),
    sorted: () => t.scan({ orderBy: [{ columnName: "s" }] }).toArray(),
  });
  const outcomes = async (calls) => {
    const failed = {};
    for (const [name, call] of Object.entries(calls)) {
      try { await call(); } catch (error) { failed[name] = error.name; }
    }
    return failed;
  };
`;

const MAKE = `
  async function make(DirectoryNamespace, root) {
    const ns = new DirectoryNamespace({ root, workers: 0, durability: "none" });
    await ns.createTable({ id: ["t"] }, [{ id: 1, s: "a b" }, { id: 2, s: "c" }]);
    await ns.waitForJob(await ns.table("t").createIndex("s", { indexType: "FTS" }));
    await ns.close();
  }
`;

/** Copy of the package, with a table. */
const copy = sharedDirectory();
const root = sharedDirectory();

beforeAll(async () => {
  await mkdir(join(copy, "dist"));
  for (const name of ["package.json", "dist/esm", "dist/cjs"]) {
    await cp(join(CHECKOUT, name), join(copy, name), { recursive: true });
  }
  await symlink(join(CHECKOUT, "node_modules"), join(copy, "node_modules"), "junction");
  await runText(`${IMPORTS.esm} ${MAKE} await make(DirectoryNamespace, process.argv[2]);`);
});

const IMPORTS = {
  esm: `import fs from "node:fs"; import { DirectoryNamespace } from "./dist/esm/index.js";`,
  cjs: `import fs from "node:fs"; import { createRequire } from "node:module";
    const { DirectoryNamespace } = createRequire(import.meta.url)("./dist/cjs/index.cjs");`,
};

async function runText(text: string, prefix = ""): Promise<string> {
  const script = join(copy, `${crypto.randomUUID()}.mjs`);
  await writeFile(script, text);
  const { stdout } =
    prefix === ""
      ? await run(process.execPath, [script, root])
      : await run("sh", ["-c", `${prefix}; exec "$0" "$@"`, process.execPath, script, root]);
  return stdout;
}

describe.runIf(process.platform !== "win32")("a process without free descriptors", () => {
  it.each([
    { form: "esm", free: 0, before: "nothing" },
    { form: "esm", free: 3, before: "nothing" },
    { form: "esm", free: 6, before: "nothing" },
    { form: "esm", free: 6, before: "a count" },
    { form: "cjs", free: 0, before: "nothing" },
  ] as const)("can make every call once there are descriptors again: $form, $free free, after $before", async ({
    form,
    free,
    before,
  }) => {
    const text = `${IMPORTS[form]} ${CALLS}
      const ns = new DirectoryNamespace({ root: process.argv[2], workers: 0, durability: "none" });
      const { count, insert, ...others } = callsOf(ns, ns.table("t"));
      if (${before === "a count"}) await count();
      const calls = ${before === "a count"} ? { insert } : { count, insert, ...(${free < 4} ? others : {}) };
      const held = [];
      for (;;) try { held.push(fs.openSync("/dev/null")); } catch { break; }
      for (let count = 0; count < ${free}; count++) fs.closeSync(held.pop());
      const first = await outcomes(calls);
      while (held.length > 0) fs.closeSync(held.pop());
      const later = await outcomes(calls);
      console.log(JSON.stringify({ first, later }));
      await ns.close();`;
    const { first, later } = JSON.parse(await runText(text, "ulimit -n 300"));
    expect(new Set(Object.values(first))).toEqual(new Set(["ServiceUnavailableError"]));
    expect(later).toEqual({});
  });

  it("makes its first calls with 40 free descriptors", async () => {
    const text = `${IMPORTS.esm} ${CALLS}
      const ns = new DirectoryNamespace({ root: process.argv[2], workers: 0, durability: "none" });
      const held = [];
      for (;;) try { held.push(fs.openSync("/dev/null")); } catch { break; }
      for (let count = 0; count < 40; count++) fs.closeSync(held.pop());
      console.log(JSON.stringify(await outcomes(callsOf(ns, ns.table("t")))));
      await ns.close();`;
    expect(JSON.parse(await runText(text, "ulimit -n 300"))).toEqual({});
  });
});

it("every import() runs after the proof that it can succeed", () => {
  const source = join(CHECKOUT, "src");
  const bare = readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    // An optional peer is installed by the program, or missing for good.
    .filter((name) => !/^lancedb.embedding\b/.test(name))
    // A command is a process of its own, which ends if a module is missing.
    .filter((name) => !/^cli\b/.test(name))
    .flatMap((name) => readFileSync(join(source, name), "utf8").split("\n"))
    .filter((line) => /(?<!typeof )\bimport\("[^"]*"\)(?!\.)/.test(line) && !/^\s*(\*|\/\/)/.test(line))
    .filter(
      (line) => !/\b(lazyModule|importNodeModule|importModule)\(\(\) => import\("[^"]*"\)\)/.test(line),
    );
  expect(bare).toEqual([]);
});

describe("a file of the package", () => {
  it.each(["esm", "cjs"] as const)("may be missing for a while, and is loaded later: %s", async (form) => {
    const part = join(copy, "dist", form, form === "esm" ? "writer.js" : "writer.cjs");
    const text = `${IMPORTS[form]} ${CALLS}
      const ns = new DirectoryNamespace({ root: process.argv[2], workers: 0, durability: "none" });
      const calls = callsOf(ns, ns.table("t"));
      fs.renameSync(${JSON.stringify(part)}, ${JSON.stringify(`${part}.away`)});
      let first;
      try { first = await outcomes(calls); } finally { fs.renameSync(${JSON.stringify(`${part}.away`)}, ${JSON.stringify(part)}); }
      const later = await outcomes(calls);
      console.log(JSON.stringify({ first: Object.keys(first), later }));
      await ns.close();`;
    const { first, later } = JSON.parse(await runText(text));
    expect(first).toContain("insert");
    expect(later).toEqual({});
  });
});
