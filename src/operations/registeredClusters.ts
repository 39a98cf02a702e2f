/** Executors of backfills that the host registers. They are checked once, when the namespace is opened. */

import { InvalidInputError } from "../errors.js";
import { formatFieldPath } from "../ident.js";
import type { ClusterExecutor } from "../namespace/clusters.js";
import { isObject } from "../optionMembers.js";

/** An executor and environment that a request names. */
export interface ChosenCluster {
  readonly name: string;
  readonly executor: ClusterExecutor;
  readonly manifest: string | undefined;
}

/**
 * Checks the option `clusters`.
 * @param clusters unchecked
 * @throws InvalidInputError naming the cluster and the member
 */
export function registerClusters(clusters: unknown): ReadonlyMap<string, ClusterExecutor> {
  if (clusters === undefined) return new Map();
  if (!isObject(clusters)) {
    throw new InvalidInputError("clusters: must be an object with an executor for each name");
  }
  for (const [name, executor] of Object.entries(clusters)) {
    const label = `clusters.${formatFieldPath([name])}`;
    const { run, manifests } = isObject(executor) ? (executor as Partial<ClusterExecutor>) : {};
    if (typeof run !== "function") {
      throw new InvalidInputError(`${label}: must be an executor, with a function run`);
    }
    const areTexts = Array.isArray(manifests) && manifests.every((each) => typeof each === "string");
    if (manifests !== undefined && !areTexts) {
      throw new InvalidInputError(`${label}.manifests: must be a list of names`);
    }
  }
  return new Map(Object.entries(clusters));
}

/**
 * Returns the executor that a request names.
 * @throws InvalidInputError naming the registered executors, or the environments of the executor
 */
export function clusterNamed(
  clusters: ReadonlyMap<string, ClusterExecutor>,
  name: string,
  manifest: string | undefined,
): ChosenCluster {
  const executor = clusters.get(name);
  if (executor === undefined) {
    throw new InvalidInputError(
      `cluster: there is no cluster ${name}; ${listed(clusters.keys())} registered`,
    );
  }
  const { manifests = [] } = executor;
  if (manifest !== undefined && !manifests.includes(manifest)) {
    throw new InvalidInputError(
      `manifest: cluster ${name} has no environment ${manifest}; ${listed(manifests)} registered`,
    );
  }
  return { name, executor, manifest };
}

function listed(names: Iterable<string>): string {
  const [first, ...others] = names;
  if (first === undefined) return "none is";
  return others.length === 0 ? `${first} is` : `${[first, ...others].join(", ")} are`;
}
