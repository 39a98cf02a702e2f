/** Embedding functions: registry, variables, and the record of them in schemas, against LanceDB's. */

import { afterEach, describe, expect, it } from "vitest";
import * as arrow from "../../../src/lancedb/arrow.js";
import * as ours from "../../../src/lancedb/embedding/index.js";
import { nativeModule, outcomeOf, schemaText } from "../../support/nativeLancedb.js";

const native = nativeModule<typeof ours>("embedding/index");

type Library = typeof ours;

/** Makes a class over the base class of a library. */
function classOf({ EmbeddingFunction }: Library, name = "Mock") {
  const made = {
    [name]: class extends EmbeddingFunction<string> {
      readonly resolved: Record<string, unknown>;
      constructor(options: Record<string, unknown> = {}) {
        super();
        this.resolved = this.resolveVariables(options);
      }
      protected override getSensitiveKeys() {
        return ["secret"];
      }
      embeddingDataType() {
        return new arrow.Float32();
      }
      async computeSourceEmbeddings(data: string[]) {
        return data.map((text) => [text.length, 2, 3]);
      }
    },
  };
  return made[name];
}

afterEach(() => {
  for (const { getRegistry } of [ours, native]) getRegistry().reset();
});

/** Expects the same result, or sentence, from both libraries. */
function expectAlike(call: (library: Library) => unknown): void {
  expect(outcomeOf(() => call(ours))).toBe(outcomeOf(() => call(native)));
}

describe("options of functions", () => {
  it.each([
    {},
    { a: "$var:k", b: { c: "$var:k" }, d: ["$var:k"], e: 5 },
    { a: "$var:missing" },
    { a: "$var:missing:default" },
    { secret: "x" },
    { secret: "$var:k" },
  ])("%j are resolved as LanceDB resolves them", (options) => {
    expectAlike((library) => {
      library.getRegistry().setVar("k", "value");
      const made = new (classOf(library))(options);
      return [made.resolved, made.toJSON()];
    });
  });

  it("take defaults with colons, as LanceDB documents, and no value for a sensitive option", () => {
    const { resolved } = new (classOf(ours))({ a: "$var:missing:http://host:1", secret: undefined });
    expect(resolved.a).toBe("http://host:1");
  });

  it("refuse a variable with a colon", () => {
    expectAlike(({ getRegistry }) => getRegistry().setVar("a:b", "c"));
    expectAlike(({ getRegistry }) => getRegistry().getVar("nothing"));
  });
});

describe("fields of LanceSchema", () => {
  const { FixedSizeList, Field, Float32, Float64, Int32, Utf8 } = arrow;
  it.each([
    undefined,
    new Float64(),
    { dims: 5, datatype: new Float64() },
    { dims: 5, datatype: new Int32() },
    new Utf8(),
    new FixedSizeList(4, new Field("item", new Float32(), true)),
  ])("have the type of vectors that LanceDB's have: %s", (options) => {
    expectAlike((library) => {
      const made = new (classOf(library))();
      return `${made.vectorField(options)[0]}`;
    });
    expectAlike((library) => {
      const Sized = classOf(library);
      Sized.prototype.ndims = () => 3;
      return `${new Sized().vectorField(options)[0]}`;
    });
  });

  it("are in its schema, with the functions in its metadata", () => {
    expectAlike((library) => {
      const [first, second] = [new (classOf(library))({ a: 1 }), new (classOf(library))()];
      const schema = library.LanceSchema({
        id: new Int32(),
        text: first.sourceField(new Utf8()),
        vector: first.vectorField({ dims: 3, datatype: new Float32() }),
        title: second.sourceField({ datatype: new Utf8() }),
        other: second.vectorField(new FixedSizeList(2, new Field("item", new Float32(), true))),
      });
      return [schemaText(schema), [...schema.metadata]];
    });
    expectAlike(({ LanceSchema }) => [...LanceSchema({}).metadata]);
    expectAlike(({ LanceSchema }) => LanceSchema({ a: 5 as never }));
  });

  it("record each column that one function writes", () => {
    const made = new (classOf(ours))();
    const type = { dims: 3, datatype: new Float32() };
    const schema = ours.LanceSchema({
      text: made.sourceField(new Utf8()),
      a: made.vectorField(type),
      b: made.vectorField(type),
    });
    const entries = ours.parseEmbeddingMetadata(schema.metadata.get("embedding_functions") as string);
    expect(entries.map(({ sourceColumn, vectorColumn }) => [sourceColumn, vectorColumn])).toEqual([
      ["text", "a"],
      ["text", "b"],
    ]);
  });
});

describe("the registry", () => {
  it("keeps classes by their names, or by aliases", () => {
    expectAlike((library) => {
      const { register, getRegistry } = library;
      const Mock = classOf(library);
      register()(Mock);
      register("alias")(Mock);
      const registry = getRegistry();
      const conf = { sourceColumn: "s", function: new (class extends Mock {})() };
      const created = registry.get("alias")?.create({ a: 1 }) as unknown as InstanceType<typeof Mock>;
      return [
        registry.length(),
        registry.get("none"),
        created.resolved,
        [...registry.getTableMetadata([conf])],
      ];
    });
    expectAlike(({ register }) => {
      const Mock = classOf(ours);
      register("twice")(Mock as never);
      register("twice")(Mock as never);
    });
  });

  it("creates functions that are initialized by a promise", async () => {
    class Initialized extends classOf(ours) {
      ready = false;
      override async init() {
        this.ready = true;
      }
    }
    ours.register("initialized")(Initialized);
    const made = ours.getRegistry().get<Initialized>("initialized")?.create();
    expect(made).toBeInstanceOf(Promise);
    expect((await made)?.ready).toBe(true);
    const json = '[{"name":"initialized","sourceColumn":"a","vectorColumn":"b"}]';
    const parsed = await ours.getRegistry().parseFunctions(new Map([["embedding_functions", json]]));
    expect(parsed.get("b")).toMatchObject({ sourceColumn: "a", function: { ready: true } });
  });

  it("has the functions of the package, and tells what they lack", async () => {
    const registry = ours.getRegistry();
    expect(registry.length()).toBe(2);
    registry.setVar("key", "sk");
    const openai = registry.get("openai")?.create({ apiKey: "$var:key", model: "text-embedding-3-large" });
    expect(openai?.ndims()).toBe(3072);
    expect(openai?.toJSON()).toEqual({ apiKey: "$var:key", model: "text-embedding-3-large" });
    expect(() => registry.get("openai")?.create({ apiKey: "sk" })).toThrow('The key "apiKey" is sensitive');
    await expect(registry.get("huggingface")?.create()).rejects.toThrow(
      "error loading @huggingface/transformers",
    );
  });

  it("refuses records of functions that are not there", async () => {
    const parse = ({ getRegistry }: Library, json: string) =>
      getRegistry()
        .parseFunctions(new Map([["embedding_functions", json]]))
        .then(
          () => "parsed",
          (error: Error) => error.message,
        );
    for (const json of [
      '[{"name":"none","sourceColumn":"s","vectorColumn":"v"}]',
      '[{"name":"openai","sourceColumn":"s"}]',
      '[{"name":"openai","vector_column":"s"}]',
    ]) {
      expect(await parse(ours, json)).toBe(await parse(native, json));
    }
    const mock = (library: Library) => library.register("mock")(classOf(library) as never);
    mock(ours);
    mock(native);
    const twice = JSON.stringify(Array(2).fill({ name: "mock", sourceColumn: "s", vectorColumn: "v" }));
    expect(await parse(ours, twice)).toBe(await parse(native, twice));
    for (const json of ["{}", "null", "[null]", "zz"]) expect(await parse(ours, json)).not.toBe("parsed");
  });
});

describe("TextEmbeddingFunction", () => {
  it("embeds queries and rows by one function", async () => {
    const calls: string[][] = [];
    class Texts extends ours.TextEmbeddingFunction {
      async generateEmbeddings(texts: string[]) {
        calls.push(texts);
        return texts.map(() => [1]);
      }
    }
    const made = new Texts();
    expect([await made.computeQueryEmbeddings("q"), await made.computeSourceEmbeddings(["a", "b"])]).toEqual([
      [1],
      [[1], [1]],
    ]);
    expect(calls).toEqual([["q"], ["a", "b"]]);
    expect([`${made.embeddingDataType()}`, `${made.sourceField()[0]}`]).toEqual(["Float32", "Utf8"]);
  });
});
