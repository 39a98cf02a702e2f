/** Runs the commands of docs/cli.md with the built command, and compares what they print. */

import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands/commands.js";
import { codeBlocks, readPage } from "../support/documents.js";
import { CHECKOUT } from "../support/packedProject.js";
import { makeTempDir } from "../support/tempDir.js";

const PAGE = "docs/cli.md";
const SCRIPT = join(CHECKOUT, "dist/esm/cli/tiltyard.js");

interface Example {
  readonly line: number;
  readonly command: string;
  readonly output: string;
}

/** Returns the commands of the blocks that begin with a prompt. */
function examples(): Example[] {
  const blocks = codeBlocks(PAGE).filter(({ text, exempted }) => exempted === null && text.startsWith("$ "));
  return blocks.flatMap(({ text, line }) => {
    const parts = text.split(/^\$ /m).slice(1);
    return parts.map((part) => {
      const [command, ...output] = part.split("\n");
      return { line, command, output: output.join("\n") };
    });
  });
}

// The examples are for the shell of Unix systems.
it.skipIf(process.platform === "win32")("the examples of the page print what the page says", async () => {
  const [root, bin] = [await makeTempDir(), await makeTempDir()];
  await mkdir(join(root, "data"));
  await writeFile(
    join(bin, "tiltyard"),
    `#!/bin/sh\nexec ${JSON.stringify(process.execPath)} ${SCRIPT} "$@"\n`,
    {
      mode: 0o755,
    },
  );
  const env = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    TILTYARD_ROOT: join(root, "data"),
  };
  const printed: string[] = [];
  const expected: string[] = [];
  for (const { line, command, output } of examples()) {
    const run = promisify(execFile)("bash", ["-c", `${command} 2>&1`], { cwd: root, env });
    const { stdout } = await run.catch((error) => error as { stdout: string });
    printed.push(`${line} $ ${command}\n${stdout}`);
    expected.push(`${line} $ ${command}\n${output}`);
  }
  expect(printed.length).toBeGreaterThan(40);
  expect(printed).toEqual(expected);
});

it("the page names every command", () => {
  const page = readPage(PAGE);
  const missing = COMMANDS.map(({ usage }) => usage.replace(/ [<[].*$/, "")).filter(
    (name) => !page.includes(`tiltyard ${name}`) && !page.includes(`\`${name}\``),
  );
  expect(missing).toEqual([]);
});
