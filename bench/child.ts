/**
 * The process of a case (or of several, where speed is of no interest): prepares it, warms every side up,
 * times the sides in turn, and sends the samples home.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SideProcess } from "./apart.js";
import type { BenchCase, CaseSamples, Side, Size } from "./case.js";
import { caseNamed } from "./cases.js";
import { type Timed, timeInTurn, timeRun } from "./timing.js";

type Sample = CaseSamples["samples"][number];

function sampleOf(side: Sample["side"], timed: readonly Timed[]): Sample {
  const calls = timed.flatMap((each) => each.calls);
  return {
    side,
    milliseconds: timed.map(({ milliseconds }) => milliseconds),
    cpuMilliseconds: timed.map(({ cpuMilliseconds }) => cpuMilliseconds),
    callMilliseconds: calls.length === 0 ? undefined : calls,
  };
}

/** Like `measure`, with each side in a process of its own. */
async function measureApart({ area, name, rounds }: BenchCase, size: Size): Promise<CaseSamples> {
  const directory = await makeDirectory();
  const processes: SideProcess[] = [];
  const start = async (index: number): Promise<SideProcess> => {
    const started = await SideProcess.start(name, size, index, join(directory, String(index)));
    processes.push(started);
    return started;
  };
  try {
    const { work, bytes, sides } = (await start(0)).introduction;
    for (let index = 1; index < sides.length; index++) await start(index);
    const runs = processes.map((each) => () => each.run());
    const times = await timeInTurn(runs, { rounds: rounds[size], warmUp: size === "large" });
    return { area, name, work, bytes, samples: sides.map((side, index) => sampleOf(side, times[index])) };
  } finally {
    for (const each of processes) await each.close();
    await rm(directory, { recursive: true, force: true });
  }
}

const makeDirectory = (): Promise<string> =>
  mkdtemp(join(process.env["TILTYARD_BENCH_DIR"] ?? tmpdir(), "tiltyard-bench-"));

async function measure(benchCase: BenchCase, size: Size): Promise<CaseSamples> {
  const directory = await makeDirectory();
  try {
    const prepared = await benchCase.prepare(directory, size);
    const rounds = benchCase.rounds[size];
    const collectFirst = size === "large" && benchCase.collectFirst === true;
    const warmUp = size === "large";
    // Syncing would make one side pay for bytes that another left to the system, so those runs come last.
    const syncs = (side: Side) => side.name === "tiltyard, fsync";
    const groups = [prepared.sides.filter((side) => !syncs(side)), prepared.sides.filter(syncs)];
    const samples: Sample[] = [];
    for (const sides of groups) {
      const runs = sides.map((side) => () => timeRun(side, collectFirst));
      const times = await timeInTurn(runs, { rounds, warmUp });
      for (const [i, { name }] of sides.entries()) samples.push(sampleOf(name, times[i]));
    }
    const sizes = await prepared.fileBytes?.();
    await prepared.close();
    const { area, name } = benchCase;
    const withSizes = samples.map((sample) => ({ ...sample, fileBytes: sizes?.[sample.side] }));
    return { area, name, work: prepared.work, bytes: prepared.bytes, samples: withSizes };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const [size, ...names] = process.argv.slice(2);
for (const name of names) {
  const benchCase = caseNamed(name);
  const samples = await (benchCase.isApart === true ? measureApart : measure)(benchCase, size as Size);
  await new Promise((resolve) => process.send?.(samples, undefined, undefined, resolve));
}
process.disconnect();
