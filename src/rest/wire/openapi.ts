/** The OpenAPI document, derived from the table of routes. */

import { z } from "zod";
import { ERROR_TABLE } from "../../errors.js";
import { ARROW_FILE, ARROW_STREAM, EVENT_STREAM, JSON_LINES, JSON_TYPE } from "./mediaTypes.js";
import { OPERATION_TEXTS, TAGS } from "./operationTexts.js";
import { titleOf } from "./problem.js";
import type { Route } from "./route.js";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** A row in JSON. The types of its values are those that docs/http.md lists. */
const ROW: Described = {
  type: "object",
  description: "A row: values by the names of columns",
  additionalProperties: true,
};
const ROW_REFERENCE = { $ref: "#/components/schemas/Row" };
const BINARY = { type: "string", format: "binary" };

interface Described {
  readonly [member: string]: unknown;
}

/** HTTP statuses of the engine's errors. */
const ERROR_STATUSES = [...new Set(Object.values(ERROR_TABLE).map(({ status }) => status))].sort();

const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string(),
  error: z.string(),
  code: z.int().min(0),
});

/**
 * Returns the OpenAPI document.
 * @param basePath prefix of every path
 */
export function openApiDocument(routes: readonly Route[], basePath: string): Described {
  const paths: Record<string, Record<string, Described>> = {};
  const records: Record<string, unknown> = {};
  for (const route of routes) {
    for (const [index, method] of route.methods.entries()) {
      const path = (paths[route.path] ??= {});
      path[method.toLowerCase()] = describeOperation(route, index, records);
    }
  }
  return {
    openapi: "3.1.1",
    jsonSchemaDialect: DIALECT,
    info: { title: "Table Management REST Interface", version: "1" },
    servers: [{ url: basePath === "" ? "/" : basePath }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ OAuth2Bearer: [] }, { ApiKeyAuth: [] }],
    paths,
    components: {
      securitySchemes: {
        OAuth2Bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        ApiKeyAuth: { type: "apiKey", in: "header", name: "x-api-key" },
      },
      schemas: { Problem: describedSchema(problem, "output", records), Row: ROW, ...records },
      responses: {
        Problem: {
          description: "Problem",
          content: { [JSON_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } },
        },
      },
    },
  };
}

function describeOperation(route: Route, index: number, records: Record<string, unknown>): Described {
  const id = route.operation[0].toUpperCase() + route.operation.slice(1);
  const text = OPERATION_TEXTS[route.operation];
  const inQuery = index > 0 && route.body instanceof z.ZodObject && route.methods[index] === "GET";
  return {
    operationId: index === 0 ? id : `${id}By${route.methods[index]}`,
    summary: route.summary,
    ...(text === undefined ? {} : { description: text.description, tags: [text.tag] }),
    parameters: [
      ...pathParameters(route),
      ...queryParameters(
        inQuery ? route.query.extend((route.body as z.ZodObject).shape) : route.query,
        records,
      ).filter(({ name }) => !route.path.includes(`{${name}}`)),
    ],
    ...(route.methods[index] === "GET" ? {} : { requestBody: requestBody(route, records) }),
    responses: {
      [route.status]: { description: "Done", ...answerContent(route, records) },
      ...Object.fromEntries(
        ERROR_STATUSES.map((status) => [
          status,
          { $ref: "#/components/responses/Problem", description: titleOf(status) },
        ]),
      ),
      default: { $ref: "#/components/responses/Problem", description: "Any other error" },
    },
  };
}

function pathParameters({ path, object }: Route): Described[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const parameters: Described[] = names.map((name) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  if (object === "namespace" || object === "table") {
    const description = "Delimiter between the parts of the id. The delimiter alone is the root namespace";
    parameters.push({
      name: "delimiter",
      in: "query",
      description,
      schema: { type: "string", default: "$" },
    });
  }
  return parameters;
}

function queryParameters(query: z.ZodObject, records: Record<string, unknown>): Described[] {
  const { properties = {}, required = [] } = describedSchema(query, "input", records) as {
    properties?: Record<string, Described>;
    required?: string[];
  };
  // Members of bodies only.
  const { id: _id, identity: _identity, context: _context, ...members } = properties;
  return Object.entries(members).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
}

function requestBody({ operation, body }: Route, records: Record<string, unknown>): Described {
  const example = OPERATION_TEXTS[operation]?.request;
  if (body === "arrow") return { required: true, content: rowsContent([ARROW_STREAM], example) };
  const isObject = body instanceof z.ZodObject;
  const schema = describedSchema(isObject ? body : body.schema, "input", records);
  const required = !isObject || (Array.isArray(schema.required) && schema.required.length > 0);
  return { required, content: { [JSON_TYPE]: withExample({ schema }, example) } };
}

function answerContent({ operation, answer }: Route, records: Record<string, unknown>): Described {
  const example = OPERATION_TEXTS[operation]?.answer;
  if (answer === "nothing") return {};
  if (answer === "rows") return { content: rowsContent([ARROW_FILE, ARROW_STREAM], example) };
  if ("events" in answer) {
    const events = { schema: { type: "string" } };
    return { content: { [EVENT_STREAM]: withExample(events, example) } };
  }
  const schema = answer instanceof z.ZodObject ? answer : "bare" in answer ? answer.bare : answer.schema;
  const described = { schema: describedSchema(schema, "output", records) };
  return { content: { [JSON_TYPE]: withExample(described, example) } };
}

/** Returns the forms of rows: those of Arrow, an array, and one object a line. */
function rowsContent(arrowTypes: readonly string[], example: unknown): Described {
  const lines = Array.isArray(example)
    ? example.map((row) => `${JSON.stringify(row)}\n`).join("")
    : undefined;
  return {
    ...Object.fromEntries(arrowTypes.map((type) => [type, { schema: BINARY }])),
    [JSON_TYPE]: withExample({ schema: { type: "array", items: ROW_REFERENCE } }, example),
    [JSON_LINES]: withExample(
      { schema: { type: "string", description: "One object a line, as in the array" } },
      lines,
    ),
  };
}

const withExample = (described: Described, example: unknown): Described =>
  example === undefined ? described : { ...described, example };

/**
 * Returns the JSON schema of a form.
 * @param records receives named schemas, which the document contains once
 */
function describedSchema(
  schema: z.ZodType,
  io: "input" | "output",
  records: Record<string, unknown>,
): Described {
  const jsonSchema = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  const text = JSON.stringify(jsonSchema).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { $schema: _, $defs = {}, ...rest } = JSON.parse(text) as Described & { $defs?: object };
  Object.assign(records, $defs);
  return rest;
}
