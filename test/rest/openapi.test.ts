/** The OpenAPI document, and a client in TypeScript that is generated from it. */

import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";
import { z } from "zod";
import { OPERATION_TEXTS, TAGS } from "../../src/rest/wire/operationTexts.js";
import type { Route } from "../../src/rest/wire/route.js";
import { ROUTES } from "../../src/rest/wire/routes.js";
import { refuseUnknownMembers } from "../../src/rest/wire/unknownMembers.js";
import { codeBlocks } from "../support/documents.js";
import { describe, expect, it } from "../support/fixtures.js";
import { get, startRestServer } from "../support/restServer.js";

/** Returns a form that refuses members that it does not know. Types contain themselves, so it stops there. */
function strict(schema: z.ZodType, depth = 0): z.ZodType {
  if (depth > 4) return schema;
  const inner = (each: unknown) => strict(each as z.ZodType, depth + 1);
  if (schema instanceof z.ZodObject) {
    const shape = Object.entries(schema.shape).map(([name, member]) => [name, inner(member)]);
    return z.strictObject(Object.fromEntries(shape) as z.ZodRawShape);
  }
  if (schema instanceof z.ZodArray) return z.array(inner(schema.element));
  if (schema instanceof z.ZodOptional) return inner(schema.unwrap()).optional();
  return schema;
}

const answerForm = ({ answer }: Route): z.ZodType | undefined =>
  answer === "nothing"
    ? undefined
    : answer === "rows"
      ? z.array(z.record(z.string(), z.unknown()))
      : answer instanceof z.ZodObject
        ? answer
        : "bare" in answer
          ? answer.bare
          : "events" in answer
            ? z.string()
            : answer.schema;

describe("the texts of operations", () => {
  it.each(
    ROUTES.map((route) => [route.operation, route] as const),
  )("%s has a group, a description and valid examples", (operation, route) => {
    const text = OPERATION_TEXTS[operation];
    if (text === undefined) throw new Error(`${operation} has no texts`);
    expect(Object.keys(TAGS)).toContain(text.tag);
    expect(text.description).toMatch(/^[A-Z].*\.$/);
    const { body } = route;
    if (body === "arrow") expect(Array.isArray(text.request)).toBe(true);
    else if (route.methods[0] === "GET") expect(text.request).toBeUndefined();
    else if (body instanceof z.ZodObject) {
      expect(body.safeParse(text.request).error).toBeUndefined();
      refuseUnknownMembers(operation, body, text.request);
    } else expect(body.schema.safeParse(text.request).error).toBeUndefined();
    const form = answerForm(route);
    if (form === undefined) expect(text.answer).toBeUndefined();
    else expect(strict(form).safeParse(text.answer).error).toBeUndefined();
  });

  it("the document has them, and both forms of rows", async ({ ns }) => {
    await using server = await startRestServer(ns);
    const { json } = await get(server, "/openapi.json");
    expect(json.tags.map(({ name }: { name: string }) => name)).toEqual(Object.keys(TAGS));
    const { query, insert } = {
      query: json.paths["/v1/table/{id}/query"].post,
      insert: json.paths["/v1/table/{id}/insert"].post,
    };
    expect(query.tags).toEqual(["Rows"]);
    expect(Object.keys(query.responses[200].content)).toEqual([
      "application/vnd.apache.arrow.file",
      "application/vnd.apache.arrow.stream",
      "application/json",
      "application/x-ndjson",
    ]);
    expect(Object.keys(insert.requestBody.content)).toEqual([
      "application/vnd.apache.arrow.stream",
      "application/json",
      "application/x-ndjson",
    ]);
    expect(insert.requestBody.content["application/x-ndjson"].example).toMatch(/^\{.*\}\n$/);
  });
});

describe("a generated client", () => {
  it("the program of docs/recipes/openapi.md compiles without a cast and works against a server", async ({
    ns,
  }) => {
    const program =
      codeBlocks("docs/recipes/openapi.md").find(({ language }) => language === "ts")?.text ?? "";
    expect(program).not.toMatch(/ as \w|\bany\b|@ts-/);
    await using server = await startRestServer(ns, { auth: { apiKeys: ["secret"] } });
    const { json } = await get(server, "/openapi.json", { "x-api-key": "secret" });
    const project = fileURLToPath(new URL("../../", import.meta.url));
    const directory = join(project, "build", `openapi-${process.pid}-${Date.now()}`);
    await mkdir(directory, { recursive: true });
    try {
      await writeFile(join(directory, "tables.ts"), astToString(await openapiTS(json)));
      const file = join(directory, "program.ts");
      await writeFile(file, program);
      const options: ts.CompilerOptions = {
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        target: ts.ScriptTarget.ES2023,
        module: ts.ModuleKind.NodeNext,
        moduleResolution: ts.ModuleResolutionKind.NodeNext,
        lib: ["lib.es2023.d.ts", "lib.dom.d.ts"],
        types: [],
        skipLibCheck: true,
      };
      const compiled = ts.createProgram([file], options);
      const messages = ts
        .getPreEmitDiagnostics(compiled)
        .map(({ messageText, start }) => `${start}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`);
      expect(messages).toEqual([]);
      compiled.emit();
      const { run } = (await import(pathToFileURL(join(directory, "program.js")).href)) as {
        run(url: string, key: string): Promise<unknown>;
      };
      expect(await run(server.url, "secret")).toEqual({
        inserted: 2,
        cheap: [{ id: 2, name: "elm", price: 3.5 }],
        count: 2,
        refused: "filtr: there is no such member; did you mean filter?",
      });
      expect(await ns.table("trees").countRows()).toBe(2);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }, 120_000);
});
