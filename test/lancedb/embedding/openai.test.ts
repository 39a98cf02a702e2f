/** Embeddings by the API of OpenAI, of a server in this process. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { OpenAIEmbeddingFunction } from "../../../src/lancedb/embedding/openai.js";
import { TransformersEmbeddingFunction } from "../../../src/lancedb/embedding/transformers.js";
import { variables } from "../../../src/lancedb/embedding/variables.js";

const requests: unknown[] = [];
const server = createServer(async (request, response) => {
  let text = "";
  for await (const piece of request) text += piece;
  const { input, model, encoding_format } = JSON.parse(text);
  requests.push({ input, model, key: request.headers.authorization });
  const inputs: string[] = [input].flat();
  const data = inputs.map((each, index) => {
    const floats = Float32Array.of(each.length, 0.5);
    const isText = encoding_format === "base64";
    return { index, embedding: isText ? Buffer.from(floats.buffer).toString("base64") : [...floats] };
  });
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ object: "list", model, data }));
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  vi.stubEnv("OPENAI_BASE_URL", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

afterAll(() => {
  vi.unstubAllEnvs();
  server.close();
});

describe("OpenAIEmbeddingFunction", () => {
  it("sends texts with the key of a variable, and returns their vectors", async () => {
    variables.set("key", "sk-secret");
    const embed = new OpenAIEmbeddingFunction({ apiKey: "$var:key", model: "text-embedding-3-small" });
    expect(await embed.computeSourceEmbeddings(["a", "bcd"])).toEqual([
      [1, 0.5],
      [3, 0.5],
    ]);
    expect([...(await embed.computeQueryEmbeddings("ab"))]).toEqual([2, 0.5]);
    expect(requests).toEqual([
      { input: ["a", "bcd"], model: "text-embedding-3-small", key: "Bearer sk-secret" },
      { input: "ab", model: "text-embedding-3-small", key: "Bearer sk-secret" },
    ]);
    expect([embed.ndims(), `${embed.embeddingDataType()}`]).toEqual([1536, "Float32"]);
    expect(JSON.stringify(embed)).not.toContain("sk-secret");
  });

  it("needs a key, and a model whose dimensions are known", () => {
    vi.stubEnv("OPENAI_API_KEY", "");
    expect(() => new OpenAIEmbeddingFunction()).toThrow("OpenAI API key is required");
    vi.stubEnv("OPENAI_API_KEY", "sk");
    expect(new OpenAIEmbeddingFunction().ndims()).toBe(1536);
    expect(() => new OpenAIEmbeddingFunction({ model: "none" }).ndims()).toThrow("none");
  });
});

describe("TransformersEmbeddingFunction", () => {
  const MODULE = "@huggingface/transformers";

  it("embeds by the mean of the last hidden states", async () => {
    const mask = { dims: [2, 1] };
    const pooled: unknown[] = [];
    const library = {
      AutoModel: {
        from_pretrained: async (name: string) =>
          Object.assign(
            async (inputs: { texts: string[] }) => ({ last_hidden_state: { of: inputs.texts, name } }),
            {
              config: { hidden_size: 2 },
            },
          ),
      },
      AutoTokenizer: {
        from_pretrained: async (name: string) => async (texts: string[], options: object) => ({
          texts,
          options,
          name,
          attention_mask: mask,
        }),
      },
      mean_pooling: (states: { of: string[] }, given: object) => {
        pooled.push(given);
        return { normalize: () => ({ tolist: () => states.of.map((text) => [text.length, 1]) }) };
      },
    };
    vi.doMock(MODULE, () => library);
    const embed = new TransformersEmbeddingFunction({ model: "small" });
    expect(() => embed.ndims()).toThrow("call init() first");
    await expect(embed.computeSourceEmbeddings(["a"])).rejects.toThrow("Please call init()");
    await embed.init();
    expect(embed.ndims()).toBe(2);
    expect(await embed.computeSourceEmbeddings(["a", "bc"])).toEqual([
      [1, 1],
      [2, 1],
    ]);
    expect(await embed.computeQueryEmbeddings("abc")).toEqual([3, 1]);
    expect(pooled).toEqual([mask, mask]);
    vi.doUnmock(MODULE);
  });
});
