/** Comments and names follow "How we write" of docs/CONTRIBUTING.md, as far as a machine sees it. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { proseFaults, sentencesOf } from "./support/prose.js";

const CHECKOUT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const FOLDERS = ["src", "bench", "examples"];

describe("prose", () => {
  it.each(FOLDERS)("of %s has no half docstring, long sentence, wide comment or private word", (folder) => {
    const faults = readdirSync(join(CHECKOUT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .flatMap((name) => {
        const path = `${folder}/${name.replaceAll("\\", "/")}`;
        const text = readFileSync(join(CHECKOUT, path), "utf8");
        return proseFaults(path, text).map(({ line, rule, text }) => `${path}:${line} ${rule}: ${text}`);
      });
    expect(faults).toEqual([]);
  });

  it("faults are found by line and rule", () => {
    const words = (count: number): string =>
      Array.from({ length: count }, (_, index) => `w${index}`).join(" ");
    const text = [
      "/** Of a table, its rows. */",
      "export function rowsOf(at: number): number {",
      `  // ${words(31)}`,
      `  return at; // ${"x".repeat(20)}`,
      "}",
      `/** ${"x".repeat(110)} */`,
      "export const placeOf = 1;",
    ].join("\n");
    expect(proseFaults("a.ts", text).map(({ line, rule }) => [line, rule])).toEqual([
      [1, "docstring starts with"],
      [3, "sentence of 31 words"],
      [3, "comment of 118 columns"],
      [6, "comment of 117 columns"],
      [2, "private word"],
    ]);
  });

  it("sentences end at full stops, list items and tags", () => {
    expect(sentencesOf("Reads it. Then\nstops.\n\n- one\n- two\n@param x a thing\n@returns `y`")).toEqual([
      "Reads it.",
      "Then stops.",
      "- one",
      "- two",
      "a thing",
      "`y`",
    ]);
  });
});
