/**
 * Every command in a real pseudo-terminal, wide and narrow, and with `--json` in a pipe. The steps are one session:
 * each begins with the tables that the steps before it left.
 */

import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands/commands.js";
import { makeTempDir } from "../support/tempDir.js";
import { HAS_PTY, inTerminal, plain, SCRIPT, widthOf } from "./pseudoTerminal.js";

interface Step {
  /** Words after `tiltyard`; `@` stands before the name of a file of the session. */
  readonly line: string;
  /** Text that a terminal shows. */
  readonly says: RegExp;
  /** Text that a terminal of 40 columns shows, whose tables are cut. Default: the same. */
  readonly narrow?: RegExp;
  /** Part of the JSON that `--json` prints. */
  readonly json: unknown;
  /** Text at which the command gets Ctrl-C, if it goes on until then. */
  readonly untilSaid?: string;
  /** Default: 0. */
  readonly exitCode?: number;
}

const ANY = expect.anything();
const orders = (...rows: object[]) => rows.map((row) => expect.objectContaining(row));

const SESSION: readonly Step[] = [
  {
    line: "import orders @orders.csv --message first",
    says: /3 rows in orders, version 1/,
    json: { table: "orders", version: 1, inserted: 3 },
  },
  {
    line: "import orders @more.csv -m merge --on id",
    says: /1 new row and 1 changed row in orders, version 2/,
    json: { inserted: 1, updated: 1 },
  },
  {
    line: "ls",
    says: /name .*rows[\s\S]*orders +4/,
    narrow: /name .*rows[\s\S]*ord… +4/,
    json: { tables: orders({ name: "orders", rows: 4 }) },
  },
  {
    line: "schema orders",
    says: /column +type[\s\S]*city +utf8/,
    json: { columns: orders({ name: "id", type: "int64" }, { name: "city" }, { name: "price" }) },
  },
  { line: "head orders -n 2", says: /Oslo[\s\S]*Bergen[\s\S]*2 rows/, json: orders({ id: 1 }, { id: 2 }) },
  { line: "tail orders -n 1", says: /Bodø[\s\S]*1 row/, json: orders({ id: 4, city: "Bodø" }) },
  { line: "sample orders -n 2 --seed 7", says: /│ +id[\s\S]*2 rows/, json: [ANY, ANY] },
  { line: "count orders --where price>5", says: /^2$/, json: { rows: 2 } },
  {
    line: "query orders --group-by city --order city",
    says: /Bergen[\s\S]*Oslo[\s\S]*3 rows/,
    json: orders({ city: "Bergen", count: 1 }, { city: "Bodø" }, { city: "Oslo", count: 2 }),
  },
  { line: "export orders @out.csv", says: /4 rows of orders in/, json: { format: "csv", rows: 4 } },
  {
    line: "versions orders",
    says: /version +time +operation[\s\S]*2 .* Update[\s\S]*1 .* Overwrite/,
    narrow: /ver… +time[\s\S]*2 .*Upd…[\s\S]*1 .*Ove…/,
    json: { versions: orders({ version: 2, rowsAdded: 1 }, { version: 1, message: "first" }) },
  },
  {
    line: "diff orders 1 2 --on id",
    says: /- \{ "id": 3.*7\.25[\s\S]*\+ \{ "id": 3.*8[\s\S]*1 row added, 0 removed, 1 changed/,
    json: orders({ kind: "changed" }, { kind: "added", row: { id: 4, city: "Bodø", price: 1 } }),
  },
  { line: "tag create orders first 1", says: /first names version 1/, json: { tag: "first", version: 1 } },
  { line: "tag list orders", says: /tag +version[\s\S]*first +1/, json: { tags: orders({ tag: "first" }) } },
  {
    line: "branch create orders trial --tag first",
    says: /made the branch trial/,
    json: { branch: "trial" },
  },
  {
    line: "branch list orders",
    says: /trial +main +1/,
    json: { branches: orders({ branch: "trial", parent: "main" }) },
  },
  { line: "branch merge orders trial --on id", says: /0 rows added, 0 changed/, json: { version: ANY } },
  { line: "branch delete orders trial", says: /deleted the branch trial/, json: { deleted: "trial" } },
  { line: "restore orders first", says: /with the rows of first/, json: { version: ANY } },
  { line: "tag delete orders first", says: /deleted the tag first/, json: { deleted: "first" } },
  {
    line: "index create orders city --type BITMAP",
    says: /built city_idx \(BITMAP\) on orders/,
    json: { index: expect.objectContaining({ indexName: "city_idx", indexType: "BITMAP" }) },
  },
  {
    line: "index list orders",
    says: /city_idx +city +BITMAP +3/,
    narrow: /cit… +city +BIT… +3/,
    json: { indexes: orders({ indexName: "city_idx", numIndexedRows: 3 }) },
  },
  {
    line: "jobs orders",
    says: /index[\s\S]*orders[\s\S]*Succeeded/,
    narrow: /ind… +ord… +Suc…/,
    json: { jobs: orders({ kind: "index", state: "Succeeded" }) },
  },
  { line: "index drop orders city_idx", says: /dropped city_idx; version/, json: { dropped: "city_idx" } },
  {
    line: "optimize orders",
    says: /merged 0 fragments into 0/,
    json: { dryRun: false, fragmentsRemoved: 0 },
  },
  {
    line: "cleanup orders --older-than 0s",
    says: /removed \d+ versions and \d+ files/,
    json: { dryRun: false, versionsRemoved: ANY },
  },
  {
    line: "verify",
    says: /orders: sound/,
    json: { tables: orders({ table: "orders", isSound: true, readableRows: 3 }) },
  },
  {
    line: "file orders",
    says: /orders, version[\s\S]*city[\s\S]*fragment/,
    json: { fragments: [expect.objectContaining({ rows: 3 })] },
  },
  { line: "publish", says: /wrote tiltyard-index\.json/, json: { tables: ANY } },
  {
    line: "doctor",
    says: /runtime +Node\.js +ok/,
    json: { findings: expect.arrayContaining(orders({ area: "disk", name: "writing", state: "ok" })) },
  },
  {
    line: "serve --port 0",
    says: /serving .* at http:\/\/127\.0\.0\.1:\d+/,
    json: { url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+/) },
    untilSaid: "127.0.0.1:",
  },
  {
    line: "inspect",
    says: /http:\/\/127\.0\.0\.1:\d+\/\S*\w{16}/,
    json: { url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+/) },
    untilSaid: "127.0.0.1:",
  },
  { line: "head absent", says: /table absent does not exist/, json: null, exitCode: 1 },
];

/** Makes the files of a session, and returns its root and a function that makes the words of a step. */
async function session() {
  const directory = await makeTempDir();
  const root = join(directory, "root");
  await mkdir(root);
  const file = (name: string) => join(directory, name);
  await writeFile(file("orders.csv"), "id,city,price\n1,Oslo,2.5\n2,Bergen,10\n3,Oslo,7.25\n");
  await writeFile(file("more.csv"), "id,city,price\n3,Oslo,8\n4,Bodø,1\n");
  const words = ({ line }: Step) =>
    line.split(" ").map((word) => (word.startsWith("@") ? file(word.slice(1)) : word));
  return { root, words, file };
}

describe.skipIf(!HAS_PTY).each([80, 40])("in a terminal of %i columns", (columns) => {
  it("every command shows what it did", async () => {
    const { root, words, file } = await session();
    for (const step of SESSION) {
      const { line, says, narrow, untilSaid: interruptAt, exitCode = 0 } = step;
      const interruptMs = interruptAt === undefined ? 0 : 30_000;
      const run = await inTerminal(words(step), { root, columns, interruptMs, interruptAt });
      const text = plain(run.output).replaceAll("\r\n", "\n").trim();
      expect({ line, exitCode: run.exitCode, text }).toEqual({
        line,
        exitCode,
        text: expect.stringMatching(columns < 80 ? (narrow ?? says) : says),
      });
      // A bar is drawn over itself.
      const lines = text.split("\n").filter((each) => !each.includes(" % "));
      expect({
        line,
        tooWide: lines.filter((each) => /[│┌…]/.test(each) && widthOf(each) > columns),
      }).toEqual({
        line,
        tooWide: [],
      });
    }
    expect(await readFile(file("out.csv"), "utf8")).toBe(
      "id,city,price\n1,Oslo,2.5\n2,Bergen,10\n3,Oslo,8\n4,Bodø,1\n",
    );
  });
});

describe("without a terminal", () => {
  it("every command prints JSON", async () => {
    const { root, words } = await session();
    for (const step of SESSION.filter(({ untilSaid }) => untilSaid === undefined)) {
      const { line, json, exitCode = 0 } = step;
      const call = [SCRIPT, ...words(step), "--json"];
      const { stdout, stderr, code } = await promisify(execFile)(process.execPath, call, {
        env: { ...process.env, TILTYARD_ROOT: root },
      }).then(
        (output) => ({ ...output, code: 0 }),
        (error: { stdout: string; stderr: string; code: number }) => error,
      );
      expect({ line, code }).toEqual({ line, code: exitCode });
      if (exitCode !== 0) expect(JSON.parse(stderr).error.message).toMatch(step.says);
      else if (Array.isArray(json))
        expect({ line, printed: JSON.parse(stdout) }).toEqual({ line, printed: json });
      else expect({ line, printed: JSON.parse(stdout) }).toMatchObject({ line, printed: json });
    }
  });
});

it("the session has every command", () => {
  const lines = SESSION.map(({ line }) => `${line} `);
  const missing = COMMANDS.map(({ usage }) => usage.replace(/ [<[].*$/, "")).filter(
    (name) => !lines.some((line) => line.startsWith(`${name} `)),
  );
  expect(missing).toEqual([]);
});
