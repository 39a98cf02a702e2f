/** `tiltyard doctor`: what the runtime and the disk can do, and what dead programs left. */

import {
  link,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  writeFile,
} from "node:fs/promises";
import { arch, availableParallelism, freemem, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import type { CommandCall } from "../call/call.js";
import type { CommandSpec } from "../call/command.js";
import { EXIT } from "../call/exitCodes.js";
import { printJson, printNote, printTable } from "../output/print.js";
import { countOf, sizeText } from "../output/text.js";

/** State of a checked part: `warn` needs a look, `fail` keeps tables from being changed safely. */
type State = "ok" | "warn" | "fail";

interface Finding {
  readonly area: "runtime" | "disk" | "locks" | "jobs" | "leftovers";
  readonly name: string;
  readonly state: State;
  readonly text: string;
}

/** Age from which a lock that nobody renews is of a dead program. */
const STALE_LOCK_MS = 60_000;
/** Directory levels that are searched for locks and files of dead writers. */
const MAX_DEPTH = 6;
/** Files that are looked at. */
const MAX_FILES = 200_000;

export const doctorCommand: CommandSpec = {
  usage: "doctor",
  summary: "Check the runtime, the abilities of the disk, locks, jobs and files that dead programs left",
  examples: ["tiltyard doctor --root ./data"],
  options: [{ flags: "--no-probe", text: "do not write a test file to the root" }],
  async run(call) {
    const findings = [...runtimeFindings(), ...(await rootFindings(call))];
    const { terminal } = call;
    if (call.options.json === true) printJson(terminal, { findings });
    else {
      printTable(
        terminal,
        ["area", "check", "state", "finding"].map((name) => ({ name })),
        findings.map(({ area, name, state, text }) => [area, name, state, text]),
      );
      const problems = findings.filter(({ state }) => state !== "ok").length;
      printNote(terminal, problems === 0 ? "everything is fine" : `${countOf(problems, "check")} not fine`);
    }
    if (findings.some(({ state }) => state === "fail")) call.exitCode = EXIT.failed;
  },
};

function runtimeFindings(): Finding[] {
  const major = Number(process.versions.node.split(".")[0]);
  const finding = (name: string, state: State, text: string): Finding => ({
    area: "runtime",
    name,
    state,
    text,
  });
  return [
    finding("Node.js", major >= 20 ? "ok" : "fail", `${process.version}; tiltyard needs 20 or newer`),
    finding("system", "ok", `${platform()} ${release()}, ${arch()}`),
    finding("processors", "ok", `${availableParallelism()} for threads`),
    finding("memory", "ok", `${sizeText(freemem())} free of ${sizeText(totalmem())}`),
    finding(
      "WebAssembly",
      typeof WebAssembly === "object" ? "ok" : "warn",
      typeof WebAssembly === "object" ? "present" : "absent: searches and filters are slower",
    ),
  ];
}

async function rootFindings(call: CommandCall): Promise<Finding[]> {
  const { root } = call;
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(root) && !root.startsWith("file:")) {
    const namespace = await call.namespace();
    const { tables } = await namespace.listAllTables({ signal: call.signal });
    return [
      {
        area: "disk",
        name: "root",
        state: "ok",
        text: `${root} answers, ${countOf(tables.length, "table")}`,
      },
    ];
  }
  // Refuses a root that does not exist.
  const namespace = await call.namespace();
  const [path] = await namespace.rootPaths();
  const probes = call.options.probe === false ? [] : await diskFindings(path);
  const { jobs } = await namespace.listJobs({ signal: call.signal });
  const interrupted = jobs.filter(({ isInterrupted }) => isInterrupted === true);
  return [
    ...probes,
    await spaceFinding(path),
    {
      area: "jobs",
      name: "interrupted jobs",
      state: interrupted.length === 0 ? "ok" : "warn",
      text:
        interrupted.length === 0
          ? "none"
          : `${interrupted.map(({ kind, table }) => `${kind} of ${table.join("/")}`).join(", ")}; ask for the same work again`,
    },
    ...(await leftoverFindings(path)),
  ];
}

async function spaceFinding(path: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(path);
  const free = bavail * bsize;
  const state = free < 2 ** 28 ? "warn" : "ok";
  return { area: "disk", name: "free space", state, text: sizeText(free) };
}

/** Tries what commits need of a disk, in a directory that is removed again. */
async function diskFindings(root: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  const add = (name: string, state: State, text: string) =>
    findings.push({ area: "disk", name, state, text });
  let directory: string;
  try {
    directory = await mkdtemp(join(root, ".tmp-doctor-"));
  } catch (error) {
    add("writing", "warn", `${(error as Error).message}; tables can only be read`);
    return findings;
  }
  const attempt = async (
    name: string,
    good: string,
    bad: string,
    state: State,
    step: () => Promise<void>,
  ) => {
    try {
      await step();
      add(name, "ok", good);
    } catch (error) {
      add(name, state, `${bad} (${(error as Error).message})`);
    }
  };
  const file = join(directory, "Probe");
  try {
    await attempt("writing", "files can be written", "files cannot be written", "fail", () =>
      writeFile(file, "probe"),
    );
    await attempt("fsync", "files reach the disk", "a power cut may lose commits", "warn", async () => {
      const handle = await open(file, "r+");
      await handle.sync().finally(() => handle.close());
    });
    await attempt("hard links", "commits are exclusive by links", "commits use locks only", "warn", () =>
      link(file, join(directory, "linked")),
    );
    await attempt(
      "rename",
      "files are replaced in one step",
      "files cannot be replaced",
      "fail",
      async () => {
        await writeFile(join(directory, "new"), "new");
        await rename(join(directory, "new"), file);
        if ((await readFile(file, "utf8")) !== "new") throw new Error("the old content stayed");
      },
    );
    const folds = await stat(join(directory, "PROBE")).then(
      () => true,
      () => false,
    );
    add("names", "ok", folds ? "upper and lower case are the same" : "upper and lower case differ");
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  return findings;
}

/** Looks for locks and temporary files below the root. */
async function leftoverFindings(root: string): Promise<Finding[]> {
  const locks: string[] = [];
  const stale: string[] = [];
  let temporary = 0;
  let bytes = 0;
  let count = 0;
  const visit = async (directory: string, depth: number): Promise<void> => {
    for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
      if (++count > MAX_FILES) return;
      const path = join(directory, entry.name);
      const isLock = entry.name.endsWith(".lock");
      const isTemporary = entry.name.startsWith(".tmp-");
      if (isLock || isTemporary) {
        const entryStat = await stat(path).catch(() => null);
        if (entryStat === null) continue;
        const isOld = Date.now() - entryStat.mtimeMs > STALE_LOCK_MS;
        if (isLock) (isOld ? stale : locks).push(path);
        else if (isOld) {
          temporary++;
          bytes += entryStat.size;
        }
      }
      if (entry.isDirectory() && !isLock && depth < MAX_DEPTH) await visit(path, depth + 1);
    }
  };
  await visit(root, 0);
  return [
    {
      area: "locks",
      name: "held locks",
      state: "ok",
      text: locks.length === 0 ? "none" : `${countOf(locks.length, "writer")} at work`,
    },
    {
      area: "locks",
      name: "stale locks",
      state: "ok",
      text: stale.length === 0 ? "none" : `${countOf(stale.length, "lock")} that the next writer takes over`,
    },
    {
      area: "leftovers",
      name: "temporary files",
      state: temporary === 0 ? "ok" : "warn",
      text:
        temporary === 0
          ? "none"
          : `${countOf(temporary, "file")}, ${sizeText(bytes)}; "tiltyard cleanup" removes them`,
    },
  ];
}
