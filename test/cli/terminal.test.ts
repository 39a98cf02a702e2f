/** The command in a real pseudo-terminal: widths, colours, progress bars, interrupts and completion. */

import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { DirectoryNamespace } from "tiltyard";
import { beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";
import * as terminal from "./pseudoTerminal.js";
import { HAS_PTY, plain, SCRIPT, widthOf } from "./pseudoTerminal.js";

let root: string;

const inTerminal = (words: readonly string[], setting: Partial<terminal.TerminalSetting> = {}) =>
  terminal.inTerminal(words, { root, ...setting });

beforeAll(async () => {
  root = await makeTempDir();
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable(
    { id: "wide" },
    Array.from({ length: 30 }, (_, row) => ({
      id: row,
      text: "a long text that no narrow terminal shows whole ".repeat(3),
      evil: "\u001b[31mred\u0007\u009b2J",
      wide: "日本語のとても長いテキスト",
    })),
  );
  await ns.close();
});

describe.skipIf(!HAS_PTY)("in a terminal", () => {
  it.each([40, 100])("tables fit into %i columns", async (columns) => {
    for (const words of [["head", "wide"], ["ls"], ["schema", "wide"], ["versions", "wide"]]) {
      const { output, exitCode } = await inTerminal(words, { columns });
      expect(exitCode).toBe(0);
      const lines = plain(output).split(/\r?\n/);
      expect({ words, tooWide: lines.filter((line) => widthOf(line) > columns) }).toEqual({
        words,
        tooWide: [],
      });
    }
  });

  it.each([
    "head wide",
    "head wide -f csv",
    "head wide -f jsonl",
    "head wide --json",
    "query wide -g evil",
  ])("values of %s change nothing", async (line) => {
    const { output } = await inTerminal(line.split(" "), { env: { NO_COLOR: "1" } });
    expect(output).toMatch(/\S/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that must be absent
    expect(output.replace(/\r?\n/g, "")).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });

  it("headings are bold unless NO_COLOR is set", async () => {
    expect((await inTerminal(["ls"])).output).toContain("\u001b[1m");
    expect((await inTerminal(["ls"], { env: { NO_COLOR: "1" } })).output).not.toContain("\u001b[");
  });

  it("import, index, verify and export draw a bar that is full at its end", async () => {
    const csv = join(root, "rows.csv");
    await writeFile(
      csv,
      `id,city\n${Array.from({ length: 50_000 }, (_, id) => `${id},city ${id % 97}\n`).join("")}`,
    );
    const runs = [
      ["import", "bars", csv],
      ["index", "create", "bars", "city"],
      ["verify", "bars"],
      ["export", "bars", join(root, "rows.parquet")],
    ];
    for (const words of runs) {
      const { output, exitCode } = await inTerminal(words);
      expect({ words, exitCode }).toEqual({ words, exitCode: 0 });
      expect(plain(output)).toMatch(/■+ 100 %/);
      // The cursor that the bar hides is shown again.
      expect(output.lastIndexOf("\u001b[?25h")).toBeGreaterThanOrEqual(output.lastIndexOf("\u001b[?25l"));
    }
    expect((await inTerminal(["import", "bars", csv, "-m", "append", "--no-progress"])).output).not.toContain(
      "■",
    );
  });

  it("an interrupt ends a server with success, and other work with 130", async () => {
    const served = await inTerminal(["serve", "--port", "0"], { interruptMs: 3000 });
    expect(served.exitCode).toBe(0);
    expect(plain(served.output)).toMatch(/serving .* at http:\/\/127\.0\.0\.1:\d+/);
    const imported = await inTerminal(["import", "endless", "-", "-f", "csv"], { interruptMs: 3000 });
    expect(imported.exitCode).toBe(130);
    expect(plain(imported.output)).toContain("interrupted");
  });
});

describe("completion", () => {
  const complete = async (...words: string[]): Promise<string[]> => {
    const env = { ...process.env, TILTYARD_ROOT: root };
    const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, "complete", "--", ...words], {
      env,
    });
    return stdout.split("\n").map((line) => line.split("\t")[0]);
  };

  it("offers commands, options, values and names of tables", async () => {
    expect(await complete("ver")).toEqual(expect.arrayContaining(["verify", "versions"]));
    expect(await complete("index", "cr")).toContain("create");
    expect(await complete("head", "")).toContain("wide");
    expect(await complete("head", "wide", "--wh")).toContain("--where");
    expect(await complete("head", "wide", "--format", "")).toContain("parquet");
  });

  it.each(["bash", "powershell"])("has a script for %s", async (shell) => {
    const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, "complete", shell]);
    expect(stdout).toContain("tiltyard");
  });
});

describe("pipes", () => {
  it.skipIf(process.platform === "win32")("a reader that stops early is no failure", async () => {
    await mkdir(join(root, "x"), { recursive: true });
    const line = `"${process.execPath}" "${SCRIPT}" query wide -f csv | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await promisify(execFile)("bash", ["-c", line], {
      env: { ...process.env, TILTYARD_ROOT: root },
    });
    expect([stdout.trim().split("\n").at(-1), stderr]).toEqual(["0", ""]);
  });
});
