/** Commands that list, show, query, import and export, with their output and exit codes. */

import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import * as arrow from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { beforeEach, describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands/commands.js";
import { runCommandLine } from "../../src/cli/run.js";
import { makeTempDir } from "../support/tempDir.js";
import { tiltyard } from "./support.js";

let root: string;
const run = (line: string | readonly string[], setting = {}) => tiltyard(line, { root, ...setting });

const ORDERS = "id,city,price\n1,Oslo,2.5\n2,Bergen,10\n3,Oslo,7.25\n";

beforeEach(async () => {
  root = await makeTempDir();
});

const importOrders = () => run("import orders - --format csv", { input: ORDERS });

describe("import", () => {
  it("creates a table from standard input, and refuses to create it again", async () => {
    expect(await importOrders()).toMatchObject({ exitCode: 0, stderr: "3 rows in orders, version 1\n" });
    const again = await importOrders();
    expect(again.exitCode).toBe(2);
    expect(again.stderr).toContain("table orders exists: add --mode append");
  });

  it("appends, overwrites and merges", async () => {
    await importOrders();
    await run("import orders - -f csv -m append", { input: "id,city,price\n4,Tromsø,1\n" });
    const merged = await run("import orders - -f jsonl -m merge --on id --json", {
      input: '{"id":4,"city":"Oslo","price":2}\n{"id":5,"city":"Oslo","price":3}\n',
    });
    expect(JSON.parse(merged.stdout)).toEqual({ table: "orders", version: 3, inserted: 1, updated: 1 });
    expect((await run("count orders")).stdout).toBe("5\n");
    await run("import orders - -f csv -m overwrite", { input: ORDERS });
    expect((await run("count orders")).stdout).toBe("3\n");
    expect((await run("count orders --version 2")).stdout).toBe("4\n");
  });

  it.each([
    ["orders.csv", ORDERS],
    ["orders.tsv", ORDERS.replaceAll(",", "\t")],
    ["orders.csv.gz", gzipSync(ORDERS)],
    ["orders.jsonl", '{"id":1,"city":"Oslo"}\n{"id":2,"city":"Bergen"}\n{"id":3,"city":"Oslo"}\n'],
  ])("reads %s by its name", async (name, content) => {
    const path = join(root, name);
    await writeFile(path, content);
    expect(await run(["import", "orders", path])).toMatchObject({ exitCode: 0 });
    expect((await run("query orders --where id=3 --select city -f csv")).stdout).toBe("city\nOslo\n");
  });

  it("takes the columns of --schema", async () => {
    await run(
      ["import", "t", "-", "-f", "csv", "--schema", "id int64 not null, v vector(2), tags list<utf8>"],
      {
        input: 'id,v,tags\n1,"[1,2]","[""a""]"\n',
      },
    );
    const { stdout } = await run("schema t --json");
    expect(
      JSON.parse(stdout).columns.map(({ name, type, nullable }: never) => [name, type, nullable]),
    ).toEqual([
      ["id", "int64", false],
      ["v", "vector(2)", true],
      ["tags", "list<utf8>", true],
    ]);
  });

  it("names the line of a file that is wrong, and makes no table", async () => {
    const { exitCode, stderr } = await run("import orders - -f csv", { input: "a,b\n1,2\n3\n" });
    expect(exitCode).toBe(1);
    expect(stderr).toContain("line 3");
    expect((await run("ls --json")).stdout).toContain('"tables": []');
  });
});

describe("export", () => {
  it.each([
    "csv",
    "tsv",
    "jsonl",
    "parquet",
    "arrow",
    "arrows",
  ])("to %s can be imported again", async (ending) => {
    await importOrders();
    const path = join(root, `copy.${ending}`);
    expect(await run(["export", "orders", path])).toMatchObject({ exitCode: 0, stdout: "" });
    expect(await run(["import", "copy", path])).toMatchObject({ exitCode: 0 });
    expect((await run("query copy -f csv")).stdout).toBe(ORDERS);
  });

  it("writes Arrow files and streams that Arrow reads", async () => {
    await importOrders();
    const { bytes } = await run("export orders - --format arrow");
    expect(bytes.subarray(0, 6).toString()).toBe("ARROW1");
    expect(arrow.tableFromIPC(bytes).numRows).toBe(3);
    expect(arrow.tableFromIPC((await run("export orders - -f arrows")).bytes).numRows).toBe(3);
  });

  it("selects and sorts rows", async () => {
    await importOrders();
    const line = [
      "export",
      "orders",
      "-",
      "-f",
      "csv",
      "-s",
      "id, price * 2 AS double",
      "-o",
      "price desc",
      "-l",
      "2",
    ];
    expect((await run(line)).stdout).toBe("id,double\n2,20\n3,14.5\n");
  });

  it("leaves an older file when it fails", async () => {
    await importOrders();
    const path = join(root, "old.arrow");
    await writeFile(path, "old");
    expect((await run(["export", "orders", path, "--where", "nonsense("])).exitCode).toBe(1);
    expect(await readFile(path, "utf8")).toBe("old");
  });

  it("refuses to write bytes to a terminal", async () => {
    await importOrders();
    const { exitCode, stderr } = await run("export orders - -f parquet", { columns: 80 });
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("parquet is binary")]);
  });
});

describe("rows", () => {
  beforeEach(importOrders);

  it("of head and tail are the first and the last", async () => {
    expect((await run("head orders -n 1 -f csv")).stdout).toBe("id,city,price\n1,Oslo,2.5\n");
    expect((await run("tail orders -n 1 -f csv")).stdout).toBe("id,city,price\n3,Oslo,7.25\n");
  });

  it("of a sample are the same for the same seed", async () => {
    const first = await run("sample orders -n 2 --seed 7 -f csv");
    expect(first.stdout.trim().split("\n")).toHaveLength(3);
    expect((await run("sample orders -n 2 --seed 7 -f csv")).stdout).toBe(first.stdout);
  });

  it("are an array with --json", async () => {
    expect(JSON.parse((await run("head orders --json")).stdout)).toHaveLength(3);
    expect(JSON.parse((await run("query orders -w false --json")).stdout)).toEqual([]);
  });

  it("are grouped, and the groups counted without --select", async () => {
    const line = ["query", "orders", "-g", "city", "-o", "city", "-f", "csv"];
    expect((await run(line)).stdout).toBe("city,count\nBergen,1\nOslo,2\n");
    const sums = [...line, "-s", "city, sum(price) AS total", "--having", "total > 9.8"];
    expect((await run(sums)).stdout).toBe("city,total\nBergen,10\n");
  });

  it("are found by vector, by a row's vector and by words", async () => {
    const ns = new DirectoryNamespace({ root });
    const table = ns.table("articles");
    await table.create([
      { id: 1, vector: [0, 0], text: "a red fox" },
      { id: 2, vector: [3, 4], text: "a blue bird" },
    ]);
    await table.waitForJob(await table.createIndex("text", { indexType: "FTS" }));
    await ns.close();
    const found = async (words: string[]) =>
      (await run(["query", "articles", ...words, "-s", "id", "-l", "1", "-f", "csv"])).stdout;
    expect(await found(["--near", "[3, 3]"])).toBe("id,_distance\n2,1\n");
    expect(await found(["--near-row", "1"])).toBe("id,_distance\n2,0\n");
    expect(await found(["--match", "foxes"])).toMatch(/^id,_score\n1,/);
    expect((await run(["query", "articles", "--match", "fox", "--explain"])).stdout).toMatch(/\S/);
    expect((await run(["query", "articles", "--match", "fox", "--analyze"])).stdout).toMatch(/\S/);
  });
});

describe("diff", () => {
  it("shows vectors as arrays, and bytes as base64", async () => {
    const ns = new DirectoryNamespace({ root });
    const table = ns.table("t");
    await table.create([{ id: 1, vector: new Float32Array([1, 2.5]), bytes: Uint8Array.of(1, 2) }]);
    await table.delete("id = 1");
    await ns.close();
    const shown = '{ "id": 1, "vector": [ 1, 2.5 ], "bytes": "AQI=" }';
    expect((await run("diff t 1 --on id")).stdout).toBe(`- ${shown}\n`);
    expect(JSON.parse((await run("diff t 1 --on id --json")).stdout)[0].row).toEqual(JSON.parse(shown));
  });
});

describe("ls", () => {
  it("lists tables with rows, bytes and versions, and namespaces", async () => {
    await importOrders();
    const ns = new DirectoryNamespace({ root });
    await ns.createNamespace({ id: ["sales"] });
    await ns.createTable({ id: ["sales", "visits"] }, [{ n: 1 }]);
    await ns.declareTable({ id: ["later"] });
    await ns.close();
    const { stdout } = await run("ls --json");
    const { namespaces, tables } = JSON.parse(stdout);
    expect(namespaces).toEqual(["sales"]);
    expect(tables.map(({ name, rows, versions }: never) => [name, rows, versions])).toEqual([
      ["later", undefined, undefined],
      ["orders", 3, 1],
      ["sales/visits", 1, 1],
    ]);
    const listed = (await run("ls sales")).stdout.trim().split("\n");
    expect(listed.map((line) => line.split(/\s+/)[0])).toEqual(["name", "sales/visits"]);
    expect((await run("count sales/visits")).stdout).toBe("1\n");
    expect((await run("count sales$visits")).stdout).toBe("1\n");
  });

  it("takes a table by the path of its directory", async () => {
    await importOrders();
    expect((await run(["count", join(root, "orders.lance")], { root: "nowhere" })).stdout).toBe("3\n");
  });
});

describe("mistakes", () => {
  it.each([
    ["hed orders", 2, "Did you mean head?"],
    ["head", 2, "missing required argument 'table'"],
    ["head orders --colour", 2, "unknown option '--colour'"],
    ["head orders -n many", 2, "--rows: wants a whole number of at least 1"],
    ["head orders -f pdf", 2, "Allowed choices are table, csv"],
    ["head orders --version 1 --as-of now", 2, "name the same thing"],
    ["head orders --as-of soon", 2, "wants a moment"],
    ["head orders extra", 2, "too many arguments"],
    ["head absent", 1, "table absent does not exist"],
    ["head orders --version 9", 1, "version 9"],
    ["query orders --select (id", 2, ") is missing"],
    ["import orders - ", 2, "add --format csv"],
    ["ls --root nowhere", 2, "the root nowhere does not exist"],
    ["ls --root ftp://host/", 2, "ftp is not a scheme of a disk"],
  ])("of %j are explained", async (line, exitCode, text) => {
    await importOrders();
    const result = await run(line.trim());
    expect(result.stderr).toContain(text);
    expect(result.exitCode).toBe(exitCode);
    expect(result.stdout).toBe("");
  });

  it("are JSON with --json", async () => {
    const { stderr } = await run("head absent --json");
    expect(JSON.parse(stderr).error).toMatchObject({ type: "TableNotFound", code: 4 });
  });
});

describe("texts of a table", () => {
  const HOSTILE = "\u001b[2J\u001b]0;x\u0007 \u009b31m \u202e \u0000 \r\n";

  it.each([
    "head t",
    "head t -f csv",
    "head t -f jsonl",
    "head t --json",
    "query t -g text",
  ])("reach a terminal without what it obeys: %s", async (line) => {
    const ns = new DirectoryNamespace({ root });
    await ns.createTable({ id: "t" }, [{ text: HOSTILE }]);
    await ns.close();
    const { stdout, exitCode } = await run(line, { columns: 100, env: { NO_COLOR: "1" } });
    expect(exitCode).toBe(0);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that must be absent
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  });
});

describe("help", () => {
  it.each(
    COMMANDS.map((command) => [command.usage, command] as const),
  )("of %s has its examples, and fits the terminal", async (usage, { examples, summary }) => {
    const words = usage.replace(/ [<[].*$/, "").split(" ");
    const { stdout, exitCode } = await run([...words, "--help"], { columns: 100, env: { NO_COLOR: "1" } });
    expect(exitCode).toBe(0);
    expect(stdout.replace(/\s+/g, " ")).toContain(summary);
    for (const example of examples) expect(stdout).toContain(example);
    const tooWide = stdout.split("\n").filter((line) => line.length > 100 && !line.includes("$ tiltyard"));
    expect(tooWide).toEqual([]);
  });

  it("lists all commands without arguments", async () => {
    const { stdout, exitCode } = await run([]);
    expect(exitCode).toBe(0);
    for (const { usage } of COMMANDS) expect(stdout).toContain(`\n  ${usage.split(" ")[0]}`);
  });
});

describe("verify and file", () => {
  it("exit with 3 for a damaged table, and say what can be saved", async () => {
    await importOrders();
    await run("import orders - -f csv -m append", { input: ORDERS });
    expect(await run("verify")).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("orders: sound"),
    });
    const { fragments } = JSON.parse((await run("file orders --json")).stdout);
    const path = join(root, "orders.lance", fragments[1].files[0].path);
    const described = await run(["file", path]);
    expect(described.stdout).toContain("3 rows");
    expect(described.stdout).toMatch(/city\s+[\d.]+ B/);
    const bytes = await readFile(path);
    bytes[0] ^= 1;
    await writeFile(path, bytes);
    const { exitCode, stdout } = await run("verify orders");
    expect(exitCode).toBe(3);
    expect(stdout).toContain("3 of 6 rows can be read whole");
    expect(stdout).toContain("version 1 is without damage: tiltyard restore orders 1");
  });
});

describe("servers", () => {
  /** Runs a command that serves, calls `use` with its URL, and ends the command. */
  async function whileServing(line: string, use: (url: string) => Promise<void>, env = {}): Promise<number> {
    const controller = new AbortController();
    const terminal = new PassThrough();
    const served = runCommandLine(line.split(" "), {
      stdin: Readable.from([]),
      ...{ stdout: terminal, stderr: new PassThrough() },
      env: { TILTYARD_ROOT: root, ...env },
      signal: controller.signal,
    });
    const [first] = await once(terminal, "data");
    try {
      await use(JSON.parse(String(first)).url);
    } finally {
      controller.abort(new Error("interrupted"));
    }
    return served;
  }

  it("answers by REST, and refuses changes with --read-only", async () => {
    await importOrders();
    const exitCode = await whileServing("serve --port 0 --read-only --json", async (url) => {
      const request = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
      const counted = await fetch(`${url}/v1/table/orders/count_rows`, request);
      expect([counted.status, await counted.text()]).toEqual([200, "3"]);
      const dropped = await fetch(`${url}/v1/table/orders/drop`, request);
      expect(dropped.status).toBe(403);
    });
    expect(exitCode).toBe(0);
    expect((await run("count orders")).stdout).toBe("3\n");
  });

  it("needs the key of the environment, and does not listen for others without one", async () => {
    expect((await run("serve --host 0.0.0.0 --port 0")).exitCode).toBe(2);
    const refused = async (url: string) => {
      expect((await fetch(`${url}/v1/namespace/$/list`)).status).toBe(401);
    };
    await whileServing("serve --port 0 --json", refused, { TILTYARD_API_KEY: "a long secret" });
  });

  it("inspect opens its page for the token once, and for nobody else", async () => {
    await importOrders();
    await whileServing("inspect --json", async (address) => {
      const { origin } = new URL(address);
      expect((await fetch(origin)).status).toBe(401);
      const opened = await fetch(address, { redirect: "manual" });
      expect(opened.status).toBeLessThan(400);
      expect(opened.headers.get("set-cookie")).toMatch(/HttpOnly/i);
      expect((await fetch(address, { redirect: "manual" })).status).toBe(401);
    });
  });

  it("publish writes the index and the page for web servers, and a root on a web server is read", async () => {
    await importOrders();
    expect((await run("publish --inspector --json")).exitCode).toBe(0);
    const page = await readFile(join(root, "inspector.html"), "utf8");
    expect(page).toBe(await readFile(new URL("../../dist/inspector.html", import.meta.url), "utf8"));
    const server = createServer((request, response) => {
      const path = join(root, decodeURIComponent(new URL(request.url ?? "/", "http://h").pathname));
      readFile(path).then(
        (bytes) => {
          const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
          const piece = start === undefined ? bytes : bytes.subarray(Number(start), Number(end) + 1);
          const range =
            start === undefined ? {} : { "content-range": `bytes ${start}-${end}/${bytes.length}` };
          response.writeHead(start === undefined ? 200 : 206, { "accept-ranges": "bytes", ...range });
          response.end(request.method === "HEAD" ? undefined : piece);
        },
        () => response.writeHead(404).end(),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const { stdout, stderr } = await run(["query", "orders", "--root", url, "-s", "id", "-f", "csv"]);
      expect([stdout, stderr]).toEqual(["id\n1\n2\n3\n", ""]);
      expect((await run(["import", "t", "-", "-f", "csv", "--root", url], { input: ORDERS })).exitCode).toBe(
        1,
      );
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});
