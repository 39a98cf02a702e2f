/**
 * Tables and indexes of LanceDB releases: read, searched and changed here, then read by their release again.
 * Prints what each release reads after our changes.
 */

import { DirectoryNamespace } from "tiltyard";
import { afterAll, describe, expect, it } from "vitest";
import { compareTables, reference } from "../support/reference.js";
import { needRegistry } from "../support/registryProject.js";
import {
  type Answer,
  askReference,
  askRelease,
  installRelease,
  type Question,
  writeTables,
} from "../support/releases/releases.js";
import { makeTempDir } from "../support/tempDir.js";

const RELEASES = (
  process.env["LANCEDB_VERSIONS"] ??
  "0.14.1 0.16.0 0.18.2 0.19.1 0.21.3 0.22.0 0.24.1 0.26.2 0.27.2 0.30.0 0.33.0 0.37.1"
).split(" ");

/** Filters that an index on one of the columns may answer, or none. */
const FILTERS: readonly string[] = [
  "id >= 40 AND id < 60",
  "n = 50",
  "n > 200 AND n <= 500",
  "n IS NULL",
  "n IN (-97, 2, 53, 800)",
  "text = 'quick brown row 10'",
  "text IS NULL OR text = ''",
  "text >= 's' AND text < 'v'",
  "kind = 'fox'",
  "kind != 'fox' AND id < 100",
  "flag",
  "array_has_any(tags, ['dog', 'river'])",
  "array_has_all(tags, ['amber', 'violet'])",
];
const TYPE_FILTERS: readonly string[] = [
  "tiny > 50",
  "few_texts = 'quick'",
  "late_text IS NOT NULL",
  "p.a IS NULL",
  "p.s = 's21'",
  "stamp IS NULL",
  "w IS NULL",
];
const WORDS = ["quick", "violet amber", "row"];
const VECTORS = [3, 77, 270].map((seed) =>
  Array.from({ length: 8 }, (_, index) => ((seed * 31 + index * 17) % 100) / 100),
);

/** Minimum number of the ten nearest rows in common with the reference: codes make the rest a guess. */
const COMMON = 8;

const hasTexts = (name: string): boolean => name.startsWith("i_fts");
const hasVectors = (name: string): boolean => /^i_(ivf|hnsw)/.test(name);

function questionsOf(name: string): Question[] {
  const filters = name.startsWith("types") ? TYPE_FILTERS : FILTERS;
  const questions: Question[] = [{ count: null }, { rows: true }, ...filters.map((ids) => ({ ids }))];
  if (hasTexts(name)) questions.push(...WORDS.map((words) => ({ words })));
  if (hasVectors(name)) questions.push(...VECTORS.map((nearest) => ({ nearest, limit: 10 })));
  return questions;
}

/** Compares the answers of a release about a table with the reference's. */
function verdict(answers: readonly Answer[], expected: readonly Answer[]): string {
  let equal = 0;
  let first: string | null = null;
  for (const [index, answer] of answers.entries()) {
    const wanted = expected[index];
    if (!("answer" in wanted)) continue;
    if ("error" in answer) first ??= answer.error.split("\n")[0].slice(0, 90);
    else if (isAlike(answer.answer, wanted.answer)) equal++;
    else first ??= "other rows";
  }
  return first === null ? "all" : `${equal} of ${answers.length}: ${first}`;
}

/** Equal, or, as lists of the ten nearest, mostly the same. */
function isAlike(one: unknown, next: unknown): boolean {
  if (JSON.stringify(one) === JSON.stringify(next)) return true;
  if (!Array.isArray(one) || !Array.isArray(next) || one.length !== 10 || next.length !== 10) return false;
  const ids = new Set(next);
  return one.filter((id) => ids.has(id)).length >= COMMON;
}

const verdicts: string[][] = [];

const faultOf = (name: string, when: string, what: string, error: unknown): string => {
  const { name: kind, message } = error as Error;
  return `${name} ${when}, ${what}: ${kind}: ${message.split("\n")[0].slice(0, 300)}`;
};

describe.each(RELEASES)("LanceDB %s", (release) => {
  let root: string;
  let ns: DirectoryNamespace;

  afterAll(() => ns?.close());

  /** Notes each table whose rows, or whose answers, differ from the reference's. */
  async function compare(names: readonly string[], when: string, faults: string[]): Promise<void> {
    const questions = new Map(names.map((name) => [name, questionsOf(name)]));
    const answers = await askReference(root, Object.fromEntries(questions));
    for (const [name, asked] of questions) {
      for (const [index, question] of asked.entries()) {
        const wanted = answers[name][index];
        try {
          if ("error" in wanted) throw new Error(`the reference: ${wanted.error}`);
          if ("rows" in question) {
            const rows = await ns.table([name]).scan().toArrow();
            compareTables(await reference.readTable(root, name), rows);
            continue;
          }
          const ours = await answerHere(name, question);
          if (isAlike(ours, wanted.answer)) continue;
          throw new Error(
            `${JSON.stringify(ours).slice(0, 100)} is not ${JSON.stringify(wanted.answer).slice(0, 100)}`,
          );
        } catch (error) {
          faults.push(faultOf(name, when, JSON.stringify(question).slice(0, 60), error));
        }
      }
    }
  }

  async function answerHere(name: string, question: Question): Promise<unknown> {
    const table = ns.table([name]);
    const idsOf = (rows: readonly Record<string, unknown>[]) => rows.map(({ id }) => Number(id));
    if ("count" in question) return table.countRows(question.count ?? undefined);
    if ("ids" in question) {
      const rows = await table.scan({ filter: question.ids, columns: ["id"] }).toArray();
      return idsOf(rows).sort((a, b) => a - b);
    }
    if ("words" in question) {
      const fullTextQuery = { stringQuery: { query: question.words, columns: ["text"] } };
      const rows = await table.search({ fullTextQuery, columns: ["id"], limit: 1000 }).toArray();
      return idsOf(rows).sort((a, b) => a - b);
    }
    if ("nearest" in question) {
      const { nearest: vector, limit } = question;
      return idsOf(
        await table.search({ vector: [...vector], vectorColumn: "v", columns: ["id"], limit }).toArray(),
      );
    }
    return null;
  }

  /** Tables that the reference reads: some releases could write drafts of later versions. */
  async function readableOf(names: readonly string[]): Promise<string[]> {
    const answers = await askReference(
      root,
      Object.fromEntries(names.map((name) => [name, [{ rows: true }]])),
    );
    return names.filter((name) => "answer" in answers[name][0]);
  }

  /** Lets the release read tables; asks about each alone if the release dies of one. */
  async function readByRelease(project: string, names: readonly string[]): Promise<Map<string, string>> {
    const questions = Object.fromEntries(names.map((name) => [name, questionsOf(name)]));
    const expected = await askReference(root, questions);
    const all = await askRelease(project, root, questions).catch(() => null);
    const verdicts = new Map<string, string>();
    for (const name of names) {
      const answers =
        all?.[name] ??
        (await askRelease(project, root, { [name]: questions[name] }).then(
          (one) => one[name],
          () => [{ error: "its process ended" }],
        ));
      verdicts.set(name, verdict(answers, expected[name]));
    }
    return verdicts;
  }

  /** Deletes rows and adds them again, updates some, merges some. */
  async function change(name: string): Promise<void> {
    const table = ns.table([name]);
    const first = await table.scan({ filter: "id < 30" }).toArrow();
    await table.delete("id < 30");
    await table.insert(first);
    await ns.updateTable({ id: [name], updates: [["id", "id + 0"]], predicate: "id >= 100 AND id < 120" });
    const last = await table.scan({ filter: "id >= 270" }).toArrow();
    await table.delete("id >= 285");
    await ns.mergeInsertIntoTable(
      { id: [name], on: ["id"], whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
      last,
    );
    await table.delete("id % 10 = 7");
  }

  it("has its tables read, filtered, searched, changed and optimised as by the reference, and reads them", async (context) => {
    await needRegistry(context);
    const project = await installRelease(release);
    root = await makeTempDir();
    const outcome = await writeTables(project, root);
    ns = new DirectoryNamespace({ root, durability: "none" });
    const names = await readableOf(Object.keys(outcome).filter((name) => outcome[name] === null));
    const faults: string[] = [];
    const did = async (when: string, work: (name: string) => Promise<unknown>): Promise<void> => {
      for (const name of names) {
        await work(name).catch((error: unknown) => faults.push(faultOf(name, when, "the change", error)));
      }
      await compare(names, when, faults);
    };
    const before = await readByRelease(project, names);
    await compare(names, "as written", faults);
    await did("changed", change);
    await did("optimised", (name) => ns.table([name]).optimize());
    const after = await readByRelease(project, names);
    for (const name of names) verdicts.push([release, name, before.get(name) ?? "", after.get(name) ?? ""]);
    expect(faults).toEqual([]);
  });
});

afterAll(() => {
  console.info("release | table | what the release reads of it as written | what it reads after our changes");
  for (const row of verdicts) console.info(row.join(" | "));
});
