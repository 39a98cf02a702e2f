import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Maximum characters shown of a failing program's output: a line may be a whole bundle. */
const TOLD = 2000;

/** @returns the program's standard output, trimmed */
export async function printedBy(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, [...args], {
      cwd,
      maxBuffer: 2 ** 26,
      env: { ...process.env, CI: "1", NO_COLOR: "1", VITEST: undefined, VITEST_POOL_ID: undefined, ...env },
    });
    return stdout.trim();
  } catch (error) {
    const { stdout = "", stderr = "", message } = error as Error & { stdout?: string; stderr?: string };
    const lines = `${stdout}\n${stderr}`.split("\n").map((line) => line.slice(0, 200));
    const told = lines.join("\n").trim();
    throw new Error(`${message.slice(0, 200)}\n${told.slice(0, TOLD)}\n…\n${told.slice(-TOLD)}`);
  }
}
