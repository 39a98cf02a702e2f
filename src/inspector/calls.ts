/**
 * The calls of the inspector's page by their names. Each takes an object from JSON and returns an object for
 * JSON. They use the namespace's public methods only, so they also run in a page that has the engine itself.
 */

import type { CallContext } from "./calls/context.js";
import { profile } from "./calls/profileCall.js";
import { cell, countMatches, matches, matchesPlan, rows } from "./calls/rowCalls.js";
import { neighbours, plan, search, vectors } from "./calls/searchCalls.js";
import { about, file, gain, storage, table, tables } from "./calls/tableCalls.js";
import {
  differences,
  endJob,
  history,
  jobs,
  refs,
  removeTag,
  restore,
  setTag,
} from "./calls/versionCalls.js";

type Call = (context: CallContext, request: unknown) => Promise<object>;

export const CALLS = {
  ...{ about, tables, table, storage, file, gain },
  ...{ rows, matches, matchesPlan, count: countMatches, cell, profile },
  ...{ search, plan, vectors, neighbours },
  ...{ history, refs, differences, jobs },
  ...{ cancelJob: endJob, restore, createTag: setTag, deleteTag: removeTag },
} satisfies Readonly<Record<string, Call>>;

/** Answers of the calls by name. */
export type CallAnswers = {
  readonly [Name in keyof typeof CALLS]: Awaited<ReturnType<(typeof CALLS)[Name]>>;
};

/** Returns the call of a name. Null if there is none. */
export const findCall = (name: string): Call | null =>
  Object.hasOwn(CALLS, name) ? CALLS[name as keyof typeof CALLS] : null;
