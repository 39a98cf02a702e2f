/**
 * The engine in a process that stops itself at one of its disk calls, as a laptop that is closed does, and goes on when it
 * is told to. Runs the built package, so `npm run build` comes first.
 *
 *   parent → process   { options, step: [method, request], pause: { verb, path, when }, immovable }
 *                                                                         `path` is a regular expression; `immovable`:
 *                                                                         whether directories can't be renamed
 *   process → parent   { stopping: true }                                 right before it stops
 *   process → parent   { outcome: { ok: response } | { type, message }, paused }   `paused`: whether it ever did
 *
 * A call that starts a job is answered when the job has ended, with the job.
 */

import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { NodeDisk } from "../../../dist/io/disk/nodeDisk.js";

const { options, step, pause, immovable } = await new Promise((resolve) => process.once("message", resolve));
const pattern = new RegExp(pause.path);
let paused = false;

const stop = async () => {
  paused = true;
  await new Promise((resolve) => process.send({ stopping: true }, resolve));
  process.kill(process.pid, "SIGSTOP");
};

class ImmovableDisk extends NodeDisk {
  async rename(from, to) {
    if ((await this.stat(from))?.kind !== "directory") return super.rename(from, to);
    throw Object.assign(new Error(`EXDEV: rename '${from}' -> '${to}'`), { code: "EXDEV" });
  }
}

const disk = new Proxy(new (immovable ? ImmovableDisk : NodeDisk)({ durability: "none" }), {
  get(target, verb) {
    const value = Reflect.get(target, verb);
    if (typeof value !== "function") return value;
    return async (...operands) => {
      const path = operands.filter((operand) => typeof operand === "string").join(" ");
      const isMoment = !paused && verb === pause.verb && pattern.test(path);
      if (isMoment && pause.when === "before") await stop();
      const result = await Reflect.apply(value, target, operands);
      if (isMoment && pause.when === "after") await stop();
      return result;
    };
  },
});

const namespace = new DirectoryNamespace({ ...options, durability: "none", disk });
const [method, request] = step;
let outcome;
try {
  const answer = await namespace[method](request);
  const jobId = answer?.jobId;
  outcome = { ok: jobId === undefined ? answer : await namespace.waitForJob({ jobId }) };
} catch (error) {
  if (!(error instanceof NamespaceError)) throw error;
  outcome = { type: error.type, message: error.message };
}
await namespace.close();
process.send({ outcome, paused }, () => process.exit(0));
