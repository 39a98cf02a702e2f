import { tableFromArrays } from "apache-arrow";
import type { QueryPlanNode } from "tiltyard";
import { InvalidInputError, TableColumnNotFoundError } from "tiltyard";
import { beforeAll, expect, it } from "vitest";
import { sharedNamespace } from "../../support/fixtures.js";

const namespace = sharedNamespace();
const id = ["t"];
beforeAll(async () => {
  for (let fragment = 0; fragment < 3; fragment++) {
    const numbers = Float64Array.from({ length: 60_000 }, (_, row) => fragment * 60_000 + row);
    const rows = tableFromArrays({ n: numbers, m: numbers.map((n) => n % 1000), wide: numbers });
    await (fragment === 0 ? namespace.createTable({ id }, rows) : namespace.insertIntoTable({ id }, rows));
  }
});

const explain = (query: object): Promise<string> => namespace.explainTableQueryPlan({ id, query });

it("tell what is read, selected, sorted and returned", async () => {
  expect(await explain({})).toBe(
    ["Project: columns=[n, m, wide]", "  Scan: columns=[n, m, wide], fragments=3, rows=180000"].join("\n"),
  );
  const columns = { columnAliases: { n: "n", next: "n + 1" } };
  const orderBy = [{ columnName: "m", ascending: false }];
  expect(await explain({ columns, filter: "m > 3", orderBy, limit: 10, offset: 2 })).toBe(
    [
      "Project: columns=[n, next := n + 1]",
      "  Take: columns=[n]",
      "    FirstRows: keys=[m desc nulls last], skip=2, limit=10",
      "      Filter: condition=m > 3",
      "        Scan: columns=[m], fragments=3, rows=180000",
    ].join("\n"),
  );
  expect(await explain({ columns: ["wide"], filter: "m > 3", orderBy })).toBe(
    [
      "Project: columns=[wide]",
      "  Sort: keys=[m desc nulls last]",
      "    ReadSelected: columns=[wide, m]",
      "      Filter: condition=m > 3",
      "        Scan: columns=[m], fragments=3, rows=180000",
    ].join("\n"),
  );
});

it("measure a query that was run", async () => {
  const query = { columns: ["n", "wide"], filter: "m = 3", orderBy: [{ columnName: "n" }], limit: 5 };
  const plan: QueryPlanNode = JSON.parse(
    await namespace.analyzeTableQueryPlan({ id, ...query, format: "json" }),
  );
  const steps: QueryPlanNode[] = [];
  for (let step: QueryPlanNode | undefined = plan; step !== undefined; step = step.inputs[0])
    steps.push(step);
  expect(steps.map(({ operator, metrics }) => [operator, metrics?.rows])).toEqual([
    ["Project", undefined],
    ["Take", 5],
    ["FirstRows", 5],
    ["ReadSelected", 180],
    ["Filter", 180],
    ["Scan", 180_000],
  ]);
  for (const { metrics } of steps.slice(1)) expect(metrics?.milliseconds).toBeGreaterThanOrEqual(0);
  expect(steps.at(-1)?.metrics?.reads).toBeGreaterThan(0);
  expect(steps.at(-1)?.metrics?.bytesRead).toBeGreaterThan(10_000);
  const text = await namespace.analyzeTableQueryPlan({ id, ...query });
  expect(text).toMatch(
    /Scan: .*metrics=\[rows=180000, batches=\d+, bytes=\d+, reads=\d+, bytesRead=\d+, milliseconds=/,
  );
});

it("refuse what the query refuses", async () => {
  await expect(explain({ columns: ["nope"] })).rejects.toThrow(TableColumnNotFoundError);
  await expect(explain({ filter: "n +" })).rejects.toThrow(InvalidInputError);
  await expect(namespace.explainTableQueryPlan({ id, query: {}, format: "xml" as "text" })).rejects.toThrow(
    InvalidInputError,
  );
});
