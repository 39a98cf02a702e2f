/** CreateTableIndex: starts a job that builds the index. The index exists when the job has succeeded. */

import { ConcurrentModificationError, InvalidInputError, UnsupportedError } from "../../errors.js";
import type { BuildableKind } from "../../indexes/kind.js";
import { kindOfName } from "../../indexes/kinds/kinds.js";
import { defaultMetric } from "../../indexes/vector/distance/metric.js";
import { type VectorType, vectorTypeOf } from "../../indexes/vector/distance/vectorType.js";
import { vectorKindOfName, vectorRefusal } from "../../indexes/vector/ivf/vectorKinds.js";
import type { JobControl, JobSpec, JsonValue } from "../../jobs/job.js";
import type { CreateTableIndexRequest, CreateTableIndexResponse } from "../../namespace/indexes.js";
import { type FieldAtPath, resolveField } from "../../schema/fieldPaths.js";
import { decodeSchema } from "../../schema/schema.js";
import { openVersion } from "../../table/versions/openVersion.js";
import { buildIndex } from "../../write/indexes/buildIndex.js";
import {
  type IndexDefinition,
  indexExists,
  planReplacement,
  requireKind,
} from "../../write/indexes/indexPlan.js";
import { textRefusal } from "../../write/indexes/kindNames.js";
import { resumeBuild } from "../../write/indexes/resumeBuild.js";
import type { OperationContext } from "../context.js";
import { toldControl } from "../longWork.js";
import type { OperationBody } from "../operation.js";
import { rowProgress } from "../progress.js";
import { openWritable, type WritableTable } from "../snapshot.js";
import { type AskedIndex, type AskedKind, checkVectorSettings, readIndexRequest } from "./indexRequest.js";

export const createTableIndex: OperationBody<"createTableIndex"> = (context, request) => {
  return startBuild(context, request, readIndexRequest(request, "any"));
};

/** CreateTableScalarIndex: does the same for scalar and text indexes only. */
export const createTableScalarIndex: OperationBody<"createTableScalarIndex"> = (context, request) => {
  return startBuild(context, request, readIndexRequest(request, "scalar"));
};

async function startBuild(
  context: OperationContext,
  request: CreateTableIndexRequest,
  asked: AskedIndex,
): Promise<CreateTableIndexResponse> {
  const tell = rowProgress(request);
  const table = await openWritable(context, request);
  const open = await openVersion(table.table, table.latest);
  // The version is only missing if it is being removed, and then a newer one exists.
  const base = open ?? (await openVersion(table.table, (await openWritable(context, request)).latest));
  if (base === null) {
    throw new ConcurrentModificationError("other callers keep removing the versions to index; try again");
  }
  const fields = decodeSchema(base.file.manifest.fields, base.file.path);
  const field = resolveField(fields, asked.column);
  const kind = buildableKind(asked, field);
  const { column, replaces, isTrained } = asked;
  if (!isTrained && vectorKindOfName(kind.name) !== null) {
    throw new UnsupportedError(`train: an index of type ${kind.name} can't be made without its rows`);
  }
  const parameters = parametersFor(kind, asked, field);
  await kind.checkParameters?.(parameters);
  const definition: IndexDefinition = { column, kind, name: asked.name, replaces, parameters, isTrained };
  const plan = planReplacement(base.file, definition);
  const namedDefinition = { ...definition, name: plan.name };
  const description: JsonValue = {
    column: plan.column.path,
    indexType: kind.name,
    name: plan.name,
    ...(replaces && { replace: true }),
    ...(!isTrained && { train: false }),
    ...parameters,
  };
  const spec: JobSpec = {
    kind: "index",
    tableId: table.entry.id,
    table: table.table,
    key: JSON.stringify(description),
    parameters: description,
    unit: "rows",
    run: (control) => runBuild(table, namedDefinition, toldControl(control, tell)),
  };
  if (plan.replaced !== null && !replaces) {
    // The job that created the index may still run, or its process may have died before it recorded the
    // success.
    const resumed = await (await context.jobs.get()).resume(spec, request.signal);
    if (resumed === null) throw indexExists(plan.name);
    return { transactionId: resumed.jobId, jobId: resumed.jobId };
  }
  const { jobId } = await (await context.jobs.get()).start(spec, request.signal);
  return { transactionId: jobId, jobId };
}

/** Returns the settings of an index of a kind. */
function parametersFor(
  { name }: BuildableKind,
  asked: AskedIndex,
  field: FieldAtPath,
): IndexDefinition["parameters"] {
  if (name === "FTS") return asked.text;
  if (vectorKindOfName(name) === null) return asked.parameters;
  const parameters = Object.entries({ distanceType: distanceFor(asked, field), ...asked.vector });
  return Object.fromEntries(
    parameters.flatMap(([member, value]) => (value === undefined ? [] : [[member, value] as const])),
  );
}

/** Returns the distance of a vector index on a column. */
function distanceFor({ distance }: AskedIndex, { field }: FieldAtPath): string {
  const vectors = vectorTypeOf(field);
  return distance ?? (vectors?.isMulti ? "cosine" : defaultMetric(vectors?.item ?? "float32"));
}

/**
 * Returns the kind of index to build on a column.
 * @throws InvalidInputError for an unsuitable column; UnsupportedError for a kind that this release does not
 *   build
 */
function buildableKind(asked: AskedIndex, located: FieldAtPath): BuildableKind {
  const requestedKind = asked.kind ?? suitableKind(located);
  const { family, name } = requestedKind;
  const kind = family === "vector" ? null : kindOfName(name);
  if (family === "text") requireKind(located, name, (field) => textRefusal(name, field));
  if (family === "text" && located.field.type.kind === "json") {
    throw new UnsupportedError(`indexType: ${name} of JSON is not supported by this release`);
  }
  if (kind !== null) {
    requireKind(located, name, (field) => kind.refusal(field));
    return kind;
  }
  if (family === "vector") {
    requireKind(located, name, (field) => vectorRefusal(name, field));
    const vectors = vectorTypeOf(located.field);
    if (vectors !== null) {
      checkListDistance(asked, located, vectors);
      const settings = { ...asked, kind: requestedKind, distance: distanceFor(asked, located) };
      checkVectorSettings(settings, vectors.dimension, vectors.item === "uint8");
    }
    const buildable = vectorKindOfName(name);
    if (buildable !== null) return buildable;
  }
  throw new UnsupportedError(`indexType: building indexes of type ${name} is not supported by this release`);
}

/** @throws InvalidInputError for an index by another distance than cosine on a multivector column */
function checkListDistance({ distance }: AskedIndex, { path }: FieldAtPath, { isMulti }: VectorType): void {
  if (!isMulti || distance === null || distance === "cosine") return;
  throw new InvalidInputError(
    `distanceType: must be cosine for column ${path}, whose rows have several vectors, not ${distance}`,
  );
}

/** Returns the default kind: IVF_PQ for vectors, IVF_FLAT for uint8 vectors, otherwise BTREE. */
function suitableKind({ path, field }: FieldAtPath): AskedKind {
  for (const name of ["IVF_PQ", "IVF_FLAT"]) {
    if (vectorRefusal(name, field) === null) return { family: "vector", name };
  }
  if (kindOfName("BTREE")?.refusal(field) === null) return { family: "scalar", name: "BTREE" };
  throw new InvalidInputError(`indexType: is needed for column ${path}, which can't have a BTREE`);
}

async function runBuild(
  table: WritableTable,
  definition: IndexDefinition,
  control: JobControl,
): Promise<JsonValue> {
  const done = await resumeBuild(table.table, control.checkpoint, control.signal);
  if (done !== null) return done;
  let directory = "";
  const built = await buildIndex(table, definition, {
    signal: control.signal,
    progress: (rows, total) => control.progress(rows, total),
    async announce(name) {
      directory = name;
      await control.saveCheckpoint({ directory });
    },
    committing: (transactionId) => control.saveCheckpoint({ directory, transactionId }),
    hold: () => control.hold(),
  });
  return { ...built };
}
