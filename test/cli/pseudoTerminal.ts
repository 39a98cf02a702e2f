/** Runs the built command in a real pseudo-terminal. */

import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { CHECKOUT } from "../support/packedProject.js";

export const SCRIPT = join(CHECKOUT, "dist/esm/cli/tiltyard.js");
/** False where Python has no pseudo-terminals, as on Windows. */
export const HAS_PTY = spawnSync("python3", ["-c", "import pty, fcntl, termios"]).status === 0;

/**
 * Runs a program in a pseudo-terminal, and prints what the terminal got.
 * Arguments: columns, milliseconds until an interrupt (0 for none), text that
 * brings the interrupt at once (may be empty), program and its arguments.
 */
const IN_TERMINAL = `
import fcntl, os, pty, select, signal, struct, sys, termios, time
columns, interrupt, until = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode()
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[4], sys.argv[4:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
output, end = b"", time.time() + 60
due = time.time() + interrupt / 1000 if interrupt else None
while time.time() < end:
    if due is not None and (time.time() > due or (until and until in output)):
        os.write(fd, b"\\x03")
        due = None
    ready, _, _ = select.select([fd], [], [], 0.05)
    if not ready:
        continue
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    output += piece
if time.time() >= end:
    os.kill(pid, signal.SIGKILL)
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(output)
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
`;

export interface TerminalRun {
  readonly output: string;
  readonly exitCode: number;
}

export interface TerminalSetting {
  readonly root: string;
  /** Default: 80. */
  readonly columns?: number;
  /** Milliseconds until Ctrl-C. Default: none. */
  readonly interruptMs?: number;
  /** Text of the output that brings Ctrl-C at once. */
  readonly interruptAt?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export async function inTerminal(
  words: readonly string[],
  { root, columns = 80, interruptMs = 0, interruptAt = "", env = {} }: TerminalSetting,
): Promise<TerminalRun> {
  const setting = [String(columns), String(interruptMs), interruptAt];
  const call = ["-c", IN_TERMINAL, ...setting, process.execPath, SCRIPT, ...words];
  const options = {
    env: { ...process.env, TILTYARD_ROOT: root, TERM: "xterm-256color", ...env },
    maxBuffer: 2 ** 26,
  };
  const run = promisify(execFile)("python3", call, options);
  return run.then(
    ({ stdout }) => ({ output: stdout, exitCode: 0 }),
    (error: { stdout: string; code: number }) => ({ output: error.stdout, exitCode: error.code }),
  );
}

/** Removes colours and movements of the cursor, which the command itself writes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: sequences begin with such a character
export const plain = (output: string): string => output.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "");

/** Width of a line: characters of East Asian scripts take two columns. */
export const widthOf = (line: string): number =>
  [...line].reduce(
    (sum, character) =>
      sum + (/[\u1100-\uffe6]/.test(character) && !/[\u2500-\u257f…]/.test(character) ? 2 : 1),
    0,
  );
