/** The OpenAPI document, derived from the table of routes. */

import { z } from "zod";
import { ERROR_TABLE } from "../../errors.js";
import { ARROW_FILE, ARROW_STREAM } from "./negotiation.js";
import { titleOf } from "./problem.js";
import type { Route } from "./route.js";

const JSON_MEDIA_TYPE = "application/json";
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

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
    security: [{ OAuth2Bearer: [] }, { ApiKeyAuth: [] }],
    paths,
    components: {
      securitySchemes: {
        OAuth2Bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        ApiKeyAuth: { type: "apiKey", in: "header", name: "x-api-key" },
      },
      schemas: { Problem: describedSchema(problem, "output", records), ...records },
      responses: {
        Problem: {
          description: "Problem",
          content: { [JSON_MEDIA_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } },
        },
      },
    },
  };
}

function describeOperation(route: Route, index: number, records: Record<string, unknown>): Described {
  const id = route.operation[0].toUpperCase() + route.operation.slice(1);
  const inQuery = index > 0 && route.body instanceof z.ZodObject && route.methods[index] === "GET";
  return {
    operationId: index === 0 ? id : `${id}By${route.methods[index]}`,
    summary: route.summary,
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

function requestBody({ body }: Route, records: Record<string, unknown>): Described {
  if (body === "arrow") {
    return { required: true, content: { [ARROW_STREAM]: { schema: { type: "string", format: "binary" } } } };
  }
  const isObject = body instanceof z.ZodObject;
  const schema = describedSchema(isObject ? body : body.schema, "input", records);
  const required = !isObject || (Array.isArray(schema.required) && schema.required.length > 0);
  return { required, content: { [JSON_MEDIA_TYPE]: { schema } } };
}

function answerContent({ answer }: Route, records: Record<string, unknown>): Described {
  if (answer === "nothing") return {};
  if (answer === "rows") {
    const rows = { schema: { type: "string", format: "binary" } };
    return { content: { [ARROW_FILE]: rows, [ARROW_STREAM]: rows } };
  }
  const schema = answer instanceof z.ZodObject ? answer : "bare" in answer ? answer.bare : answer.schema;
  return { content: { [JSON_MEDIA_TYPE]: { schema: describedSchema(schema, "output", records) } } };
}

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
