/**
 * The content of a batch's journal, a JSON object with a checksum (bytes/sealedJson.ts):
 *
 *   {"format":1,"steps":[
 *     {"kind":"createVersion","location":"t.lance","branch":null,"version":7,"scheme":"V2","manifest":"0.manifest",
 *      "eTag":"…","metadata":{…},"identity":{"inode":"64769:1234","birthNs":"1700…","base":{"version":6,"sha256":"…"}}},
 *     {"kind":"declareTable","id":["a","t"],"location":"1f2e3d4c_a$t","properties":{…},"mark":"<uuid>"},
 *     {"kind":"deregisterTable","id":["a","t"],"location":"1f2e3d4c_a$t","properties":{…},"identity":{…}},
 *     {"kind":"deleteVersions","location":"t.lance","branch":null,"versions":[3,4],"identity":{…}}]}
 *
 * Identities and marks tell the table that is meant from one that was put in its place. Journals of earlier
 * releases have none, and no location where a table is deregistered. A later release increments `format`
 * where its steps are not for earlier releases.
 */

import { parseBoundedJson } from "../../bytes/boundedJson.js";
import { encodeSealedJson, isSealBroken } from "../../bytes/sealedJson.js";
import { NamespaceError } from "../../errors.js";
import { UUID_FORM } from "../../ident.js";
import type { Properties } from "../../namespace/request.js";
import { checkBranchName } from "../../table/refs/refs.js";
import { isCount, isJsonObject, isStringMap } from "../../table/versions/jsonValues.js";
import type { NamingScheme } from "../../table/versions/paths.js";
import { isTableIdentity, type TableIdentity } from "../../table/versions/tableIdentity.js";
import { checkLocation, rootLocation, rootTableAt } from "../places/locations.js";

/** A version of a table or branch, whose manifest lies beside the journal. */
export interface CreateVersionStep {
  readonly kind: "createVersion";
  /** Relative to the namespace's directory. */
  readonly location: string;
  /** Null is the main branch. */
  readonly branch: string | null;
  readonly version: number;
  readonly scheme: NamingScheme;
  /** Name of the manifest's file in the batch's directory. */
  readonly manifest: string;
  readonly eTag?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Of the table or branch. */
  readonly identity?: TableIdentity;
}

export interface DeclareTableStep {
  readonly kind: "declareTable";
  readonly id: readonly string[];
  /** The place chosen for it. */
  readonly location: string;
  readonly properties?: Properties;
  /** A UUID that the markers of this declaration hold, and those of no other. */
  readonly mark?: string;
}

export interface DeregisterTableStep {
  readonly kind: "deregisterTable";
  readonly id: readonly string[];
  readonly location?: string;
  /** The properties that the table has; they are put back where this is undone. */
  readonly properties?: Properties;
  readonly identity?: TableIdentity;
}

export interface DeleteVersionsStep {
  readonly kind: "deleteVersions";
  readonly location: string;
  readonly branch: string | null;
  /** Ascending. */
  readonly versions: readonly number[];
  /** Of the table or branch. */
  readonly identity?: TableIdentity;
}

export type BatchStep = CreateVersionStep | DeclareTableStep | DeregisterTableStep | DeleteVersionsStep;

/** What a batch changes, as far as its journal tells by itself. */
export interface BatchNames {
  /** Of tables that it declares or deregisters. */
  readonly ids: readonly (readonly string[])[];
  /** Of tables, relative to the namespace's directory. */
  readonly locations: readonly string[];
}

export type DecodedJournal =
  | { readonly kind: "steps"; readonly steps: readonly BatchStep[] }
  /** Written by a later release; what is recognised of it. */
  | { readonly kind: "later"; readonly names: BatchNames; readonly reason: string }
  /** What no release wrote; what is recognised of it. */
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
    if (format !== FORMAT || !Array.isArray(steps)) throw new TypeError("unknown format");
    return { kind: "steps", steps: steps.map(checkStep) };
  } catch (cause) {
    return { kind: "damaged", names, cause };
  }
}

/** The names in steps, even if the steps are wrong in all else. */
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

/** The names of what steps change. */
export function namesOf(steps: readonly BatchStep[]): BatchNames {
  const ids: (readonly string[])[] = [];
  const locations = new Set<string>();
  for (const step of steps) {
    if ("id" in step) ids.push(step.id);
    if (step.location !== undefined) locations.add(step.location);
  }
  return { ids, locations: [...locations] };
}

/** A part of a batch, as messages name it. */
export function formatStep(step: BatchStep): string {
  switch (step.kind) {
    case "createVersion":
      return `version ${step.version} of ${formatPlace(step)}`;
    case "deleteVersions":
      return `the deletion of versions of ${formatPlace(step)}`;
    case "declareTable":
      return `the declaration of table ${step.id.join("$")}`;
    case "deregisterTable":
      return `the deregistration of table ${step.id.join("$")}`;
  }
}

const formatPlace = ({ location, branch }: CreateVersionStep | DeleteVersionsStep): string =>
  branch === null ? location : `${location}, branch ${branch}`;

// ------------------------------------------------------------------------------------------------- checks

/** Everything that a journal names must lie where a batch may reach. */
function checkStep(step: unknown): BatchStep {
  if (!isJsonObject(step)) throw new TypeError("a step that is no object");
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
        isPlaceOf(step.id as string[], step.location as string), "location");
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
      throw new TypeError("unknown kind");
  }
  return step as unknown as BatchStep;
}

/**
 * A table of the root lies under its name, and no other does, as undoing a declaration takes the directory
 * away.
 */
const isPlaceOf = (id: readonly string[], location: string): boolean =>
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
