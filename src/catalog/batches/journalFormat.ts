/**
 * Decodes and encodes a batch's journal, a JSON object with a checksum (bytes/sealedJson.ts):
 *
 *     {"format":1,"steps":[
 *       {"kind":"createVersion","location":"t.lance","branch":null,"version":7,"scheme":"V2",
 *        "manifest":"0.manifest","eTag":"…","metadata":{…},
 *        "identity":{"inode":"64769:1234","birthNs":"1700…","base":{"version":6,"sha256":"…"}}},
 *       {"kind":"declareTable","id":["a","t"],"location":"1f2e3d4c_a$t","properties":{…},"mark":"<uuid>"},
 *       {"kind":"deregisterTable","id":["a","t"],"location":"1f2e3d4c_a$t","properties":{…},"identity":{…}},
 *       {"kind":"deleteVersions","location":"t.lance","branch":null,"versions":[3,4],"identity":{…}}]}
 *
 * Identities and marks distinguish a table from a later one in the same directory. Journals of earlier
 * releases lack them, and lack the location in a `deregisterTable` step. A later release increments `format`
 * if earlier releases must not act on its steps.
 */

import { parseBoundedJson } from "../../bytes/boundedJson.js";
import { encodeSealedJson, isSealBroken } from "../../bytes/sealedJson.js";
import { NamespaceError } from "../../errors.js";
import { UUID_FORM } from "../../ident.js";
import type { Properties } from "../../namespace/request.js";
import { checkBranchName } from "../../table/refs/refNames.js";
import { isCount, isJsonObject, isStringMap } from "../../table/versions/jsonValues.js";
import type { NamingScheme } from "../../table/versions/paths.js";
import { isTableIdentity, type TableIdentity } from "../../table/versions/tableIdentity.js";
import { checkLocation, rootLocation, rootTableAt } from "../locations/locations.js";

/** A new version of a table or branch, whose manifest lies beside the journal. */
export interface CreateVersionStep {
  readonly kind: "createVersion";
  /** Directory relative to the namespace's. */
  readonly location: string;
  /** Name of the branch; null for the main branch. */
  readonly branch: string | null;
  readonly version: number;
  readonly scheme: NamingScheme;
  /** Name of the manifest's file in the batch's directory. */
  readonly manifest: string;
  readonly eTag?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Identity of the table or branch. */
  readonly identity?: TableIdentity;
}

export interface DeclareTableStep {
  readonly kind: "declareTable";
  readonly id: readonly string[];
  /** Location chosen for the table. */
  readonly location: string;
  readonly properties?: Properties;
  /** UUID in the markers of this declaration only. */
  readonly mark?: string;
}

export interface DeregisterTableStep {
  readonly kind: "deregisterTable";
  readonly id: readonly string[];
  readonly location?: string;
  /** Properties of the table, which undoing puts back. */
  readonly properties?: Properties;
  readonly identity?: TableIdentity;
}

export interface DeleteVersionsStep {
  readonly kind: "deleteVersions";
  readonly location: string;
  readonly branch: string | null;
  /** Version numbers, ascending. */
  readonly versions: readonly number[];
  /** Identity of the table or branch. */
  readonly identity?: TableIdentity;
}

export type BatchStep = CreateVersionStep | DeclareTableStep | DeregisterTableStep | DeleteVersionsStep;

/** Tables that a batch changes, as far as its journal alone names them. */
export interface BatchNames {
  /** Ids of tables that it declares or deregisters. */
  readonly ids: readonly (readonly string[])[];
  /** Directories of tables, relative to the namespace's. */
  readonly locations: readonly string[];
}

export type DecodedJournal =
  | { readonly kind: "steps"; readonly steps: readonly BatchStep[] }
  /** A journal of a later release, and its recognised names. */
  | { readonly kind: "later"; readonly names: BatchNames; readonly reason: string }
  /** A journal that no release wrote, and its recognised names. */
  | { readonly kind: "damaged"; readonly names: BatchNames; readonly cause: unknown };

const FORMAT = 1;
const MANIFEST_NAME = /^\d{1,9}\.manifest$/;
const NOTHING: BatchNames = { ids: [], locations: [] };

export const encodeJournal = (steps: readonly BatchStep[]): Uint8Array =>
  encodeSealedJson({ format: FORMAT, steps });

export function decodeJournal(bytes: Uint8Array): DecodedJournal {
  let names = NOTHING;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const journal = parseBoundedJson(text) as { readonly format?: unknown; readonly steps?: unknown } | null;
    const { format, steps } = journal ?? {};
    names = recognise(steps);
    if (isSealBroken(bytes)) throw new TypeError("the journal fails its checksum");
    if (Number.isSafeInteger(format) && Number(format) > FORMAT) {
      return { kind: "later", names, reason: `format ${format}` };
    }
    if (format !== FORMAT || !Array.isArray(steps)) throw new TypeError("the format is unknown");
    return { kind: "steps", steps: steps.map(checkStep) };
  } catch (cause) {
    return { kind: "damaged", names, cause };
  }
}

/** Returns the names in steps, even if everything else in them is wrong. */
function recognise(steps: unknown): BatchNames {
  if (!Array.isArray(steps)) return NOTHING;
  const ids: string[][] = [];
  const locations: string[] = [];
  for (const step of steps) {
    if (typeof step !== "object" || step === null) continue;
    if (isId(step.id)) ids.push(step.id);
    if (isLocation(step.location)) locations.push(step.location);
  }
  return { ids, locations };
}

/** Returns the names of the tables that steps change. */
export function namesOf(steps: readonly BatchStep[]): BatchNames {
  const ids: (readonly string[])[] = [];
  const locations = new Set<string>();
  for (const step of steps) {
    if ("id" in step) ids.push(step.id);
    if (step.location !== undefined) locations.add(step.location);
  }
  return { ids, locations: [...locations] };
}

/** Formats a part of a batch for messages. */
export function formatStep(step: BatchStep): string {
  switch (step.kind) {
    case "createVersion":
      return `version ${step.version} of ${formatTable(step)}`;
    case "deleteVersions":
      return `the deletion of versions of ${formatTable(step)}`;
    case "declareTable":
      return `the declaration of table ${step.id.join("$")}`;
    case "deregisterTable":
      return `the deregistration of table ${step.id.join("$")}`;
  }
}

const formatTable = ({ location, branch }: CreateVersionStep | DeleteVersionsStep): string =>
  branch === null ? location : `${location}, branch ${branch}`;

// ------------------------------------------------------------------------------------------------- checks

/** Checks a step. Everything that a journal names must lie within reach of a batch. */
function checkStep(step: unknown): BatchStep {
  if (!isJsonObject(step)) throw new TypeError("a step that is not an object");
  const require = (isRight: boolean, member: string): void => {
    if (!isRight) throw new TypeError(`${member} of ${String(step.kind).slice(0, 40)}`);
  };
  const requireVersions = () => {
    require(isLocation(step.location), "location");
    require(step.branch === null || typeof step.branch === "string", "branch");
    if (typeof step.branch === "string") checkBranchName(step.branch);
  };
  const requireOptional = (member: string, isRight: (value: unknown) => boolean) =>
    require(step[member] === undefined || isRight(step[member]), member);
  switch (step.kind) {
    case "createVersion":
      requireVersions();
      require(isCount(step.version), "version");
      require(step.scheme === "V1" || step.scheme === "V2", "scheme");
      require(matches(step.manifest, MANIFEST_NAME), "manifest");
      requireOptional("eTag", isString);
      requireOptional("metadata", isStringMap);
      requireOptional("identity", isTableIdentity);
      break;
    case "deleteVersions":
      requireVersions();
      require(Array.isArray(step.versions) && step.versions.every(isCount), "versions");
      requireOptional("identity", isTableIdentity);
      break;
    case "declareTable":
      require(isId(step.id), "id");
      require(isLocation(step.location) &&
        isLocationOf(step.id as string[], step.location as string), "location");
      requireOptional("properties", isStringMap);
      requireOptional("mark", (value) => matches(value, UUID_FORM));
      break;
    case "deregisterTable":
      require(isId(step.id), "id");
      requireOptional("location", isLocation);
      requireOptional("properties", isStringMap);
      requireOptional("identity", isTableIdentity);
      break;
    default:
      throw new TypeError("the kind is unknown");
  }
  return step as unknown as BatchStep;
}

/**
 * Returns true if a location fits a table's id. A root table lies under its name, and no other table does,
 * because undoing a declaration removes the directory.
 */
const isLocationOf = (id: readonly string[], location: string): boolean =>
  id.length === 1 ? location === rootLocation(id[0]) : rootTableAt(location.split("/")[0]) === null;

const isString = (value: unknown): value is string => typeof value === "string";
const matches = (value: unknown, pattern: RegExp): boolean => isString(value) && pattern.test(value);
const isId = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every(isString);

function isLocation(value: unknown): value is string {
  if (!isString(value)) return false;
  try {
    checkLocation(value);
    return true;
  } catch (error) {
    if (error instanceof NamespaceError) return false;
    throw error;
  }
}
