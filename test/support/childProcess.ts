/** Runs the scripts under processes/, which import the built package: `npm run build` first. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";

/** Starts a script, by its name or the absolute path of a copy, with options of Node. */
export function startProcess(
  script: string,
  args: readonly string[],
  execArgv: readonly string[] = [],
): ChildProcess {
  const path = isAbsolute(script) ? script : fileURLToPath(new URL(`./processes/${script}`, import.meta.url));
  return fork(path, [...args], { execArgv: [...execArgv] });
}

export async function exitOf(child: ChildProcess): Promise<number | string> {
  if (child.exitCode !== null) return child.exitCode;
  if (child.signalCode !== null) return child.signalCode;
  const [code, signal] = await once(child, "exit");
  return code ?? signal;
}

/** Resolves with the next message of a script; rejects if it ends first. */
export function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const forget = whenGone(child, (code) =>
      reject(new Error(`the process ended (${code}) without a message`)),
    );
    child.once("message", (message) => {
      forget();
      resolve(message);
    });
  });
}

/**
 * Calls back once a script has ended and its messages are delivered: the exit event may precede the last
 * message. Returns a function that cancels the call.
 */
export function whenGone(child: ChildProcess, callback: (code: number | null) => void): () => void {
  const onExit = (code: number | null) => {
    if (child.connected) child.once("disconnect", onDisconnect);
    else callback(code);
  };
  const onDisconnect = () => callback(child.exitCode);
  if (child.exitCode === null && child.signalCode === null) child.once("exit", onExit);
  else if (child.connected) child.once("disconnect", onDisconnect);
  else queueMicrotask(onDisconnect);
  return () => {
    child.off("exit", onExit);
    child.off("disconnect", onDisconnect);
  };
}
