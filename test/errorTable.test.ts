/** Checks that pages and docstrings about errors agree with the code. */

import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import * as errors from "../src/errors.js";
import { openApiDocument } from "../src/rest/wire/openapi.js";
import { problemOf } from "../src/rest/wire/problem.js";
import { ROUTES } from "../src/rest/wire/routes.js";

interface Row {
  readonly name: string;
  readonly code: number;
  readonly status: number;
}

const EXPECTED: Row[] = Object.entries(errors.ERROR_TABLE).map(([type, { code, status }]) => ({
  name: `${type}Error`,
  code,
  status,
}));
const textOf = (path: string) => readFile(new URL(`../${path}`, import.meta.url), "utf8");

it("docs/recipes/errors.md lists every class with its code and status", async () => {
  const rows = (await textOf("docs/recipes/errors.md")).matchAll(/^\| `(\w+Error)` \| (\d+) \| (\d+) \|/gm);
  expect(Array.from(rows, ([, name, code, status]) => ({ name, code: +code, status: +status }))).toEqual(
    EXPECTED,
  );
});

it("the docstring of every class has its code and status", async () => {
  const source = (await textOf("src/errors.ts")).replaceAll(/\n \*(?!\/)/g, " ");
  const classes = source.matchAll(
    /\/\*\*((?:(?!\*\/).)*?)\*\/\s*export class (\w+Error) extends errorClass\(/gs,
  );
  const rows = Array.from(classes, ([, text, name]) => {
    const [, code, status] = /Code\s+(\d+),\s+HTTP\s+(\d+)\./.exec(text) ?? [];
    return { name, code: Number(code), status: Number(status) };
  });
  expect(rows).toEqual(EXPECTED);
});

it("an answer has the status and code of its error's class", () => {
  const context = { instance: "/", roots: [], inTheirWords: (text: string) => text };
  const rows = EXPECTED.map(({ name }) => {
    const Class = (errors as unknown as Record<string, new (message: string) => errors.NamespaceError>)[name];
    const { status, code } = problemOf(new Class("x"), context);
    return { name, code, status };
  });
  expect(rows).toEqual(EXPECTED);
});

it("the OpenAPI document lists every status of an error class", () => {
  const { paths } = openApiDocument(ROUTES, "") as {
    readonly paths: Record<string, Record<string, { readonly responses: object }>>;
  };
  const statuses = new Set(EXPECTED.map(({ status }) => String(status)));
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining([...statuses]));
  }
});
