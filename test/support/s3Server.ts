/**
 * An S3 server in this process: objects in memory, conditional puts, ranges, lists in pages and uploads in
 * parts. It checks signatures with code of its own.
 */

import { createHash, createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const CREDENTIALS = { accessKeyId: "key-of-tests", secretAccessKey: "secret/of+tests" };
export const BUCKET = "tables";

export interface StoredObject {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A request as the server got it. */
export interface SeenRequest {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
}

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: Buffer | string;
}

interface Upload {
  readonly key: string;
  readonly metadata: Record<string, string>;
  readonly parts: Map<number, Buffer>;
}

export interface S3ServerOptions {
  readonly region?: string;
  /** Keys of a page of a list. */
  readonly pageSize?: number;
  /** Drops metadata of objects, as some gateways do. */
  readonly forgetsMetadata?: boolean;
  /** Stores objects whatever the conditions say, as old servers do. */
  readonly ignoresConditions?: boolean;
  /** Lists directories after their last object is gone, as servers on file systems do. */
  readonly keepsDirectories?: boolean;
}

const hex = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex");
const md5 = (bytes: Buffer): string => createHash("md5").update(bytes).digest("hex");
const hmac = (key: Buffer | string, text: string): Buffer => createHmac("sha256", key).update(text).digest();
const escapeXml = (text: string): string => text.replace(/[<>&"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

export class S3Server implements AsyncDisposable {
  readonly objects = new Map<string, StoredObject>();
  readonly uploads = new Map<string, Upload>();
  /** Keys of all objects that were ever stored, if the server keeps directories. */
  readonly #pastKeys = new Set<string>();
  readonly requests: SeenRequest[] = [];
  /** Answers in place of the server; undefined: the server answers. */
  answerInstead: (request: SeenRequest) => Answer | undefined = () => undefined;
  /** Key pairs that the server accepts. */
  secrets = new Map([[CREDENTIALS.accessKeyId, CREDENTIALS.secretAccessKey]]);
  /** Token that requests must bring. */
  sessionToken: string | undefined;
  readonly #options: Required<S3ServerOptions>;
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  private constructor({
    region = "eu-central-1",
    pageSize = 1000,
    forgetsMetadata = false,
    ignoresConditions = false,
    keepsDirectories = false,
  }: S3ServerOptions) {
    this.#options = { region, pageSize, forgetsMetadata, ignoresConditions, keepsDirectories };
  }

  static async start(options: S3ServerOptions = {}): Promise<S3Server> {
    const server = new S3Server(options);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get region(): string {
    return this.#options.region;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
    } catch {
      return; // The client has left.
    }
    const body = Buffer.concat(chunks);
    const url = new URL(incoming.url ?? "", this.endpoint);
    const [bucket, ...rest] = url.pathname.slice(1).split("/");
    const key = decodeURIComponent(rest.join("/"));
    const { method = "", headers } = incoming;
    const request: SeenRequest = { method, key, query: url.searchParams, headers };
    this.requests.push(request);
    const answer =
      this.answerInstead(request) ??
      this.#refusal(incoming, url, bucket, body) ??
      this.#answer(request, body);
    const { status } = answer;
    response.writeHead(status, { date: new Date().toUTCString(), ...answer.headers });
    response.end(method === "HEAD" ? undefined : answer.body);
  }

  /** Checks the bucket and the signature. */
  #refusal({ method = "", headers }: IncomingMessage, url: URL, bucket: string, body: Buffer): Answer | null {
    const { authorization = "" } = headers;
    const scope =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d+)\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]+)$/;
    const [, accessKeyId, day, region, signedHeaders = "", signature] = scope.exec(authorization) ?? [];
    if (accessKeyId === undefined) return failure(403, "AccessDenied");
    if (region !== this.region) {
      return failure(400, "AuthorizationHeaderMalformed", `<Region>${this.region}</Region>`);
    }
    const secret = this.secrets.get(accessKeyId);
    if (secret === undefined) return failure(403, "InvalidAccessKeyId");
    if (headers["x-amz-security-token"] !== this.sessionToken) return failure(400, "ExpiredToken");
    const payload = String(headers["x-amz-content-sha256"]);
    if (payload !== hex(body)) return failure(400, "XAmzContentSHA256Mismatch");
    const search = [...url.searchParams].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).sort();
    const canonical = [
      method,
      url.pathname,
      search.join("&"),
      ...signedHeaders.split(";").map((name) => `${name}:${String(headers[name] ?? "").trim()}`),
      "",
      signedHeaders,
      payload,
    ].join("\n");
    const time = String(headers["x-amz-date"]);
    const text = `AWS4-HMAC-SHA256\n${time}\n${day}/${region}/s3/aws4_request\n${hex(canonical)}`;
    const signingKey = [day, region, "s3", "aws4_request"].reduce<Buffer | string>(hmac, `AWS4${secret}`);
    if (hmac(signingKey, text).toString("hex") !== signature) return failure(403, "SignatureDoesNotMatch");
    if (headers.range !== undefined && signedHeaders.includes("range")) return failure(400, "InvalidRequest");
    return bucket === BUCKET ? null : failure(404, "NoSuchBucket");
  }

  #answer(request: SeenRequest, body: Buffer): Answer {
    const { method, key, query } = request;
    if (key === "") return this.#list(query);
    if (method === "PUT" && query.has("partNumber")) return this.#putPart(query, body);
    if (method === "POST" && query.has("uploads")) return this.#startUpload(request);
    if (method === "POST") return this.#completeUpload(request, body);
    if (method === "DELETE" && query.has("uploadId")) return this.#abortUpload(query);
    if (method === "PUT") return this.#condition(request) ?? this.#store(request, body);
    if (method === "DELETE") {
      this.objects.delete(key);
      return { status: 204 };
    }
    return this.#read(request);
  }

  #condition({ key, headers }: SeenRequest): Answer | null {
    if (this.#options.ignoresConditions) return null;
    const object = this.objects.get(key);
    if (headers["if-none-match"] === "*" && object !== undefined) return failure(412, "PreconditionFailed");
    const wanted = headers["if-match"];
    if (wanted === undefined) return null;
    if (object === undefined) return failure(404, "NoSuchKey");
    return object.etag === wanted ? null : failure(412, "PreconditionFailed");
  }

  #store({ key, headers }: SeenRequest, bytes: Buffer): Answer {
    const etag = `"${md5(bytes)}"`;
    this.objects.set(key, { bytes, etag, metadata: this.#metadataOf(headers) });
    if (this.#options.keepsDirectories) this.#pastKeys.add(key);
    return { status: 200, headers: { etag } };
  }

  #metadataOf(headers: SeenRequest["headers"]): Record<string, string> {
    if (this.#options.forgetsMetadata) return {};
    const own = Object.entries(headers).filter(([name]) => name.startsWith("x-amz-meta-"));
    return Object.fromEntries(own) as Record<string, string>;
  }

  #read({ key, headers }: SeenRequest): Answer {
    const object = this.objects.get(key);
    if (object === undefined) return failure(404, "NoSuchKey");
    const { bytes, etag, metadata } = object;
    if (headers["if-match"] !== undefined && headers["if-match"] !== etag) {
      return failure(412, "PreconditionFailed");
    }
    const common = { etag, "last-modified": "Sat, 28 Nov 2026 10:00:00 GMT", ...metadata };
    const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? "") ?? [];
    if (first === "" && last === "") {
      return { status: 200, headers: { ...common, "content-length": String(bytes.length) }, body: bytes };
    }
    const start = first === "" ? Math.max(0, bytes.length - Number(last)) : Number(first);
    const end = first === "" || last === "" ? bytes.length : Math.min(bytes.length, Number(last) + 1);
    if (start >= end) return failure(416, "InvalidRange");
    const range = { "content-range": `bytes ${start}-${end - 1}/${bytes.length}` };
    return {
      status: 206,
      headers: { ...common, ...range, "content-length": String(end - start) },
      body: bytes.subarray(start, end),
    };
  }

  #list(query: URLSearchParams): Answer {
    const prefix = query.get("prefix") ?? "";
    const delimiter = query.get("delimiter") ?? "";
    const most = Math.min(this.#options.pageSize, Number(query.get("max-keys") ?? 1000));
    const after = query.get("continuation-token") ?? "";
    const found = new Set<string>();
    for (const key of [...this.#pastKeys, ...this.objects.keys()].sort()) {
      if (!key.startsWith(prefix)) continue;
      const cut = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
      if (cut >= 0) found.add(key.slice(0, cut + 1));
      else if (this.objects.has(key)) found.add(key);
    }
    const rest = [...found].filter((name) => name > after);
    const page = rest.slice(0, most);
    const encode = (name: string): string => encoded(name).replaceAll("%20", "+").replaceAll("%2F", "/");
    const entries = page.map((name) =>
      name.endsWith("/") && delimiter !== ""
        ? `<CommonPrefixes><Prefix>${encode(name)}</Prefix></CommonPrefixes>`
        : this.#listed(name, encode(name)),
    );
    const isCut = page.length < rest.length;
    const next = isCut
      ? `<NextContinuationToken>${escapeXml(page[page.length - 1])}</NextContinuationToken>`
      : "";
    return xml(
      "ListBucketResult",
      `<EncodingType>url</EncodingType><IsTruncated>${isCut}</IsTruncated>${next}${entries.join("")}`,
    );
  }

  #listed(key: string, encodedKey: string): string {
    const { bytes, etag } = this.objects.get(key) as StoredObject;
    return `<Contents><Key>${encodedKey}</Key><Size>${bytes.length}</Size><ETag>${escapeXml(etag)}</ETag></Contents>`;
  }

  #startUpload({ key, headers }: SeenRequest): Answer {
    const uploadId = randomUUID();
    this.uploads.set(uploadId, { key, metadata: this.#metadataOf(headers), parts: new Map() });
    return xml("InitiateMultipartUploadResult", `<UploadId>${uploadId}</UploadId>`);
  }

  #putPart(query: URLSearchParams, body: Buffer): Answer {
    const upload = this.uploads.get(query.get("uploadId") ?? "");
    if (upload === undefined) return failure(404, "NoSuchUpload");
    upload.parts.set(Number(query.get("partNumber")), body);
    return { status: 200, headers: { etag: `"${md5(body)}"` } };
  }

  #completeUpload(request: SeenRequest, body: Buffer): Answer {
    const id = request.query.get("uploadId") ?? "";
    const upload = this.uploads.get(id);
    if (upload === undefined) return failure(404, "NoSuchUpload");
    const refusal = this.#condition(request);
    if (refusal !== null) return refusal;
    const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(([, each]) =>
      Number(each),
    );
    const parts = numbers.map((number) => upload.parts.get(number));
    if (parts.some((part) => part === undefined)) return failure(400, "InvalidPart");
    const bytes = Buffer.concat(parts as Buffer[]);
    const etag = `"${md5(bytes)}-${parts.length}"`;
    this.objects.set(upload.key, { bytes, etag, metadata: upload.metadata });
    this.uploads.delete(id);
    return xml("CompleteMultipartUploadResult", `<ETag>${escapeXml(etag)}</ETag>`);
  }

  #abortUpload(query: URLSearchParams): Answer {
    return this.uploads.delete(query.get("uploadId") ?? "") ? { status: 204 } : failure(404, "NoSuchUpload");
  }
}

const xml = (name: string, content: string, status = 200): Answer => ({
  status,
  headers: { "content-type": "application/xml" },
  body: `<?xml version="1.0" encoding="UTF-8"?>\n<${name}>${content}</${name}>`,
});

/** Returns a failure as S3 reports it. */
export const failure = (status: number, code: string, more = ""): Answer =>
  xml("Error", `<Code>${code}</Code><Message>${code}</Message>${more}`, status);
