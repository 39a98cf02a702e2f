/**
 * Content of a job's files: each is a JSON object with a checksum (bytes/sealedJson.ts). jobFiles.ts shows
 * the directories.
 *
 *   job.json         {"format":1,"kind":"index","table":["a","t"],"location":"1f2e3d4c_a$t","branch":null,
 *                     "key":"…","identity":{…},"parameters":{…},"unit":"rows","createdMs":1700000000000}
 *   progress.json    {"done":10,"total":100,"rate":2.5,"startedMs":…,"isClosed":true}
 *   checkpoint.json  {"state":…}
 *   outcome.json     {"state":"Failed","finishedMs":…,"done":10,"total":100,
 *                     "error":{"type":"…","message":"…"},"result":…}
 *
 * The decoders trust nothing: a file of any other form counts as absent. A release increments `format` when
 * older releases must not read its jobs.
 */

import { decodeSealedJson, encodeSealedJson } from "../bytes/sealedJson.js";
import type { JobKind, JobState, JobUnit } from "../namespace/jobs.js";
import { isJsonObject } from "../table/versions/jsonValues.js";
import { isTableIdentity, type TableIdentity } from "../table/versions/tableIdentity.js";
import { type FailureRecord, isErrorType } from "../typedErrors.js";
import type { JsonValue } from "./job.js";

/** Immutable description of a job. */
export interface JobRecord {
  readonly kind: JobKind;
  readonly table: readonly string[];
  /** The table's directory relative to the namespace's; never used as a path. */
  readonly location: string;
  /** Null for the main branch. */
  readonly branch: string | null;
  readonly key: string;
  /** Identity of the table or branch. */
  readonly identity: TableIdentity;
  readonly parameters: JsonValue;
  readonly unit: JobUnit;
  readonly createdMs: number;
}

/** Progress of a job. */
export interface JobProgress {
  readonly done: number;
  readonly total?: number;
  /** Units per second. */
  readonly rate?: number;
  readonly startedMs?: number;
  /** True if the run ended because its namespace was closed. */
  readonly isClosed?: boolean;
}

/** Outcome of a job. */
export interface JobOutcome {
  readonly state: Extract<JobState, "Succeeded" | "Failed" | "Cancelled">;
  readonly finishedMs: number;
  readonly done: number;
  readonly total?: number;
  readonly error?: FailureRecord;
  readonly result?: JsonValue;
}

const FORMAT = 1;
const KINDS = namesOf<JobKind>({ index: true, backfill: true, optimize: true, cleanup: true });
const UNITS = namesOf<JobUnit>({ rows: true, fragments: true, files: true, versions: true });
const END_STATES = namesOf<JobOutcome["state"]>({ Succeeded: true, Failed: true, Cancelled: true });
/** Largest value of a JavaScript date, in milliseconds since the epoch. */
const MAX_DATE_MS = 8.64e15;

/** Returns all names of a type; the compiler reports missing ones. */
function namesOf<Name extends string>(names: Readonly<Record<Name, true>>): ReadonlySet<unknown> {
  return new Set(Object.keys(names));
}

/** Parses bytes as a JSON object; null for anything else. */
function decode(bytes: Uint8Array): Record<string, unknown> | null {
  const value = decodeSealedJson(bytes);
  return isJsonObject(value) ? value : null;
}

export const encodeRecord = (record: JobRecord): Uint8Array =>
  encodeSealedJson({ format: FORMAT, ...record });

/** Returns null for bytes that are not a record, or that a later release wrote. */
export function decodeRecord(bytes: Uint8Array): JobRecord | null {
  const value = decode(bytes);
  if (value === null || value.format !== FORMAT) return null;
  const { kind, table, location, branch, key, identity, parameters, unit, createdMs } = value;
  const isRecord =
    KINDS.has(kind) &&
    Array.isArray(table) &&
    table.length > 0 &&
    table.every(isText) &&
    isText(location) &&
    (branch === null || isText(branch)) &&
    isText(key) &&
    isTableIdentity(identity) &&
    parameters !== undefined &&
    UNITS.has(unit) &&
    isTime(createdMs);
  return isRecord
    ? ({ kind, table, location, branch, key, identity, parameters, unit, createdMs } as JobRecord)
    : null;
}

export function decodeProgress(bytes: Uint8Array): JobProgress | null {
  const value = decode(bytes);
  if (value === null) return null;
  const { done, total, rate, startedMs, isClosed } = value;
  const isProgress =
    isAmount(done) &&
    (total === undefined || isAmount(total)) &&
    (rate === undefined || isAmount(rate)) &&
    (startedMs === undefined || isTime(startedMs)) &&
    (isClosed === undefined || typeof isClosed === "boolean");
  return isProgress ? ({ done, total, rate, startedMs, isClosed } as JobProgress) : null;
}

/** Returns null if the bytes hold no checkpoint. */
export const decodeCheckpoint = (bytes: Uint8Array): JsonValue | null =>
  (decode(bytes)?.state as JsonValue | undefined) ?? null;

export function decodeOutcome(bytes: Uint8Array): JobOutcome | null {
  const value = decode(bytes);
  if (value === null) return null;
  const { state, finishedMs, done, total, error, result } = value;
  const isOutcome =
    END_STATES.has(state) &&
    isTime(finishedMs) &&
    isAmount(done) &&
    (total === undefined || isAmount(total)) &&
    (state === "Failed" ? isFailure(error) : error === undefined);
  return isOutcome ? ({ state, finishedMs, done, total, error, result } as JobOutcome) : null;
}

const isText = (value: unknown): value is string => typeof value === "string";
const isAmount = (value: unknown): boolean =>
  typeof value === "number" && Number.isFinite(value) && value >= 0;
/** True for a finite number of milliseconds; negative if the clock was set before 1970. */
const isTime = (value: unknown): boolean =>
  Number.isInteger(value) && Math.abs(value as number) <= MAX_DATE_MS;
const isFailure = (value: unknown): boolean =>
  isJsonObject(value) && isErrorType(value.type) && isText(value.message);
