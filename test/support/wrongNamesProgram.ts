/** A program with one wrong column name, `cty`, for each option of a method that takes one. */

export const WRONG_NAMES_PROGRAM = `
import { DirectoryNamespace } from "tiltyard";

interface Order { id: bigint; city: string; price: number; vector: Float32Array }
const ns = new DirectoryNamespace({ root: "/nowhere" });
const orders = ns.table<Order>("orders");
const row = { id: 1, city: "", price: 1, vector: [1] };

await orders.create([{ ...row, cty: "" }]);
await orders.insert([{ ...row, cty: "" }]);
orders.scan({ columns: ["id", "cty"] });
orders.scan({ orderBy: ["city", "-cty"] });
orders.scan({ orderBy: { columnName: "cty" } });
orders.query().select(["id", "cty"]);
orders.query().orderBy("cty");
orders.query().matching("oak", { columns: ["cty"] });
orders.query().nearestTo([1], { vectorColumn: "cty" });
orders.search({ text: "oak", columns: ["id", "cty"] });
orders.search({ vector: [1], vectorColumn: "cty" });
orders.aggregate({ groupBy: ["city", "cty"], values: { n: "count(*)" } });
orders.aggregate({ values: { n: "count(*)", top: "max(cty)" } });
orders.aggregate({ groupBy: ["city"], values: { n: "count(*)" }, orderBy: ["cty"] });
orders.distinct(["city", "cty"]);
orders.distinct("city", { orderBy: ["cty"] });
await orders.take([0], ["id", "cty"]);
await orders.update({ values: { cty: "" } });
await orders.update({ valuesSql: { cty: "upper(city)" } });
await orders.mergeInsert("cty", []);
await orders.createIndex("cty");
orders.diff(1, 2, { on: ["cty"] });
await orders.mergeBranch("trial", { on: ["cty"] });
`;
