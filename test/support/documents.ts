/**
 * Pages of documentation and their programs. The `js` blocks of a page form one program; a block that imports
 * the engine begins another. Blocks after `<!-- not run: why -->` or `<!-- run by <file> -->` are left out.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT } from "./packedProject.js";

export interface CodeBlock {
  readonly language: string;
  readonly text: string;
  readonly line: number;
  /** The comment before it that exempts it, or null. */
  readonly exempted: string | null;
}

export interface Program {
  /** The page and the first line. */
  readonly name: string;
  readonly text: string;
  /** Expected output: one line per comment after `console.log(…);`, or several with ` | ` in between. */
  readonly output: readonly string[];
}

/** README.md and all pages below docs/, relative to the checkout. */
export const PAGES: readonly string[] = [
  "README.md",
  ...readdirSync(join(CHECKOUT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name.replaceAll("\\", "/")}`)
    .sort(),
];

export const readPage = (page: string): string => readFileSync(join(CHECKOUT, page), "utf8");

export function codeBlocks(page: string): CodeBlock[] {
  const text = readPage(page);
  return [...text.matchAll(/(?:^<!-- ((?:not run|run by)[^>]*) -->\n)?^```(\w*)\n([\s\S]*?)^```$/gm)].map(
    ([, exempted, language, code]) => ({
      language,
      text: code,
      line: text.slice(0, text.indexOf(code)).split("\n").length,
      exempted: exempted ?? null,
    }),
  );
}

/** @param file of the test that runs them; undefined for programs without a test of their own */
export function programsOf(page: string, file?: string): Program[] {
  const wanted = file === undefined ? null : `run by ${file}`;
  const parts: { line: number; text: string }[] = [];
  for (const { language, text, line, exempted } of codeBlocks(page)) {
    if (language !== "js" || exempted !== wanted) continue;
    if (parts.length === 0 || /^import \{[^}]*\bDirectoryNamespace\b/m.test(text)) parts.push({ line, text });
    else parts[parts.length - 1].text += text;
  }
  return parts.map(({ line, text }) => ({ name: `${page}:${line}`, text, output: printed(text) }));
}

const printed = (text: string): string[] =>
  [...text.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].flatMap(([, output]) => output.split(" | "));
