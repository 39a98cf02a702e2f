/** The jar that gives Spark Lance tables, from the registry of Maven's settings or from a path. */

import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ENGINES } from "./environments.js";

const GROUP = "org.lance";
const ARTIFACT = "lance-spark-bundle-4.0_2.13";
const VERSION = "0.7.1";
const MINUTES_MS = 60_000;
/** Maven's words for an artifact that its registry does not have, now or when it last asked. */
const NOT_SERVED = /^.*(Could not find artifact|was not found in .* during a previous attempt).*$/m;

/** Path of the jar, or Maven's message about a registry without it. */
export type SparkBundle = { readonly jar: string } | { readonly notServed: string };

/**
 * Finds the bundle: at `TILTYARD_SPARK_BUNDLE`, or by Maven.
 * @throws Error if there is no Maven, or if its registry can't be reached
 */
export async function sparkBundle(): Promise<SparkBundle> {
  const path = process.env.TILTYARD_SPARK_BUNDLE;
  if (path !== undefined) {
    await stat(path);
    return { jar: path };
  }
  const repository = join(ENGINES, "maven");
  const request = [
    "--batch-mode",
    "--no-transfer-progress",
    `-Dmaven.repo.local=${repository}`,
    "dependency:get",
    `-Dartifact=${GROUP}:${ARTIFACT}:${VERSION}`,
    "-Dtransitive=false",
  ];
  try {
    await promisify(execFile)("mvn", request, { timeout: 10 * MINUTES_MS, maxBuffer: 2 ** 26 });
  } catch (failure) {
    const { message, stdout = "" } = failure as Error & { stdout?: string };
    const [line] = NOT_SERVED.exec(stdout) ?? [];
    if (line === undefined || !line.includes(ARTIFACT)) {
      throw new Error(`Maven can't get ${ARTIFACT}: ${message}\n${stdout.slice(-2000)}`, { cause: failure });
    }
    // The rest of the line names the registry of this machine.
    const [said] = /Could not find artifact \S+|\S+ was not found/.exec(line) ?? [line];
    return { notServed: said };
  }
  return { jar: join(repository, ...GROUP.split("."), ARTIFACT, VERSION, `${ARTIFACT}-${VERSION}.jar`) };
}
