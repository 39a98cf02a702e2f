/** The terminal of a command: its streams, its environment, and what the streams can show. */

import type { Readable, Writable } from "node:stream";
import pc from "picocolors";

/** Part of a stream that a terminal adds. */
interface TerminalStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Streams and environment of a command. */
export interface CommandTerminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & TerminalStream;
  readonly stderr: Writable & TerminalStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted when the user interrupts the command, or when nobody reads its output any more. */
  readonly signal: AbortSignal;
}

/** Columns of a line that goes to a file or a pipe: tables are not cut there. */
const UNLIMITED_COLUMNS = 10_000;

/** Returns the number of columns of a line on standard output. */
export function terminalColumns({ stdout, env }: CommandTerminal): number {
  const columns = stdout.isTTY ? stdout.columns : Number(env.COLUMNS);
  return Number.isInteger(columns) && (columns as number) > 0 ? (columns as number) : UNLIMITED_COLUMNS;
}

/** Returns functions that colour a text, or leave it if the stream shows no colours. */
export function coloursOf(
  { env }: CommandTerminal,
  stream: TerminalStream,
): ReturnType<typeof pc.createColors> {
  const isForced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0";
  const isRefused = (env.NO_COLOR ?? "") !== "" || env.TERM === "dumb";
  return pc.createColors(isForced || (stream.isTTY === true && !isRefused));
}
