/** Runs command lines in this process, with streams that the test reads. */

import { PassThrough, Readable } from "node:stream";
import { runCommandLine } from "../../src/cli/run.js";

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as bytes. */
  readonly bytes: Buffer;
}

export interface CommandSetting {
  readonly root?: string;
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  /** Columns of the terminal. Default: the output goes to a pipe. */
  readonly columns?: number;
  readonly signal?: AbortSignal;
}

/** Runs a command line: words that stand between spaces, or in a list. */
export async function tiltyard(
  line: string | readonly string[],
  { root, input, env = {}, columns, signal = new AbortController().signal }: CommandSetting = {},
): Promise<CommandResult> {
  const words = typeof line === "string" ? line.split(" ") : line;
  const [stdout, stderr] = [collected(columns), collected(columns)];
  const exitCode = await runCommandLine(words, {
    stdin: Readable.from(input === undefined ? [] : [Buffer.from(input)]),
    ...{ stdout: stdout.stream, stderr: stderr.stream },
    env: { ...(root !== undefined && { TILTYARD_ROOT: root }), ...env },
    signal,
  });
  const bytes = stdout.bytes();
  return { exitCode, stdout: bytes.toString(), stderr: stderr.bytes().toString(), bytes };
}

function collected(columns: number | undefined) {
  const pieces: Buffer[] = [];
  const stream = new PassThrough();
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  if (columns !== undefined) Object.assign(stream, { isTTY: true, columns });
  return { stream, bytes: () => Buffer.concat(pieces) };
}
