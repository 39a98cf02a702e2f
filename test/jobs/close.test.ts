import { Int32 } from "apache-arrow";
import { DirectoryNamespace, type NamespaceWarning } from "tiltyard";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

let root: string;
const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
beforeEach(async () => {
  root = await makeTempDir();
  warn.mockClear();
});
afterEach(() => warn.mockClear());

/** Opens a namespace with a backfill that lasts until `release`. */
async function openBusy(options: Partial<ConstructorParameters<typeof DirectoryNamespace>[0]> = {}) {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const row = async (
    { a }: Readonly<Record<string, unknown>>,
    { signal }: { readonly signal: AbortSignal },
  ) => {
    await Promise.race([gate, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
    return a;
  };
  const functions = { slow: { version: "1", inputs: ["a"], output: new Int32(), row } };
  const ns = new DirectoryNamespace({ root, durability: "none", workers: 0, functions, ...options });
  await ns.createTable({ id: "t" }, [{ a: 1 }]);
  await ns.alterTableAddColumns({ id: "t", newColumns: [{ name: "b", virtualColumn: { udfName: "slow" } }] });
  const job = await ns.alterTableBackfillColumns({ id: "t", column: "b" });
  return { ns, job, release };
}

const stateOf = async (jobId: string) => {
  const other = new DirectoryNamespace({ root });
  const { state } = await other.describeJob({ jobId });
  await other.close();
  return state;
};

describe("close", () => {
  it("says once on the console that it cancelled a job", async () => {
    const { ns, job } = await openBusy();
    await ns.close();
    await ns.close();
    expect(warn.mock.calls).toHaveLength(1);
    expect(warn.mock.calls[0][0]).toMatch(/cancelled unfinished jobs \(backfill of "t"\).*jobs: "wait"/);
    expect(await stateOf(job.jobId)).toBe("Cancelled");
  });
  it("tells onWarning instead of the console", async () => {
    const warnings: NamespaceWarning[] = [];
    const { ns } = await openBusy({ onWarning: (warning) => warnings.push(warning) });
    await ns.close();
    expect(warnings.map(({ kind }) => kind)).toEqual(["jobsCancelled"]);
    expect(warn).not.toHaveBeenCalled();
  });
  it.each([
    {},
    { jobs: "cancel" as const },
  ])("says nothing if told to cancel, by an option of %j", async (options) => {
    const { ns } = await openBusy(options);
    await ns.close({ jobs: "cancel" });
    expect(warn).not.toHaveBeenCalled();
  });
  it("says nothing without jobs", async () => {
    const ns = new DirectoryNamespace({ root });
    await ns.createTable({ id: "t" }, [{ a: 1 }]);
    await ns.table("t").waitForJob(await ns.table("t").createIndex("a"));
    await ns.close();
    expect(warn).not.toHaveBeenCalled();
  });
  it("waits for jobs with the option jobs: wait of the namespace", async () => {
    const { ns, job, release } = await openBusy({ jobs: "wait" });
    const closed = ns[Symbol.asyncDispose]();
    release();
    await closed;
    expect(warn).not.toHaveBeenCalled();
    expect(await stateOf(job.jobId)).toBe("Succeeded");
  });
  it("refuses another choice", () => {
    expect(() => new DirectoryNamespace({ root, jobs: "later" as never })).toThrow(
      /^jobs: must be "wait" or "cancel"/,
    );
  });
});
