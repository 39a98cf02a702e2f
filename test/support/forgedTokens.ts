import { createHmac, createPublicKey, type JsonWebKey } from "node:crypto";
import { decodeJwt, decodeProtectedHeader, importJWK, type JWK, type JWTPayload, SignJWT } from "jose";

const encode = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** Header, claims and signing input of a token. */
export function takeApart(token: string) {
  const header = decodeProtectedHeader(token) as Record<string, unknown>;
  const claims = decodeJwt(token);
  return { header, claims, signature: token.split(".")[2] };
}

/** Signs claims with a private key; `alg` and `kid` come from the key unless the header has others. */
export async function signAs(
  claims: JWTPayload,
  key: JWK,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { alg, kid } = key;
  return new SignJWT(claims)
    .setProtectedHeader({ alg, kid, typ: "at+jwt", ...header } as never)
    .sign(await importJWK(key, key.alg));
}

/** Changes claims or the header of a token and keeps its signature. */
export function tamper(
  token: string,
  changed: { readonly claims?: Record<string, unknown>; readonly header?: Record<string, unknown> },
): string {
  const { header, claims, signature } = takeApart(token);
  const parts = [
    encode({ ...header, ...changed.header }),
    encode({ ...claims, ...changed.claims }),
    signature,
  ];
  return parts.join(".");
}

/** Returns unsigned tokens with the claims, in each spelling of "none" that some library has accepted. */
export function unsigned(token: string): Record<string, string> {
  const { header, claims, signature } = takeApart(token);
  const forged: Record<string, string> = {};
  for (const alg of ["none", "None", "NONE", "nOnE", ""]) {
    const head = `${encode({ ...header, alg })}.${encode(claims)}`;
    forged[`alg "${alg}" and no signature`] = `${head}.`;
    forged[`alg "${alg}" and the old signature`] = `${head}.${signature}`;
  }
  forged["no alg"] = `${encode({ ...header, alg: undefined })}.${encode(claims)}.${signature}`;
  return forged;
}

/** Returns tokens with the claims that are signed by HMAC with each published form of the public key. */
export function signedByPublicKey(token: string, privateKey: JWK): Record<string, string> {
  const { kty, n, e, kid, alg, use } = privateKey;
  const jwk = { kty, n, e };
  const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
  const pem = key.export({ type: "spki", format: "pem" }).toString();
  const secrets: Record<string, string | Uint8Array> = {
    PEM: pem,
    "PEM without its last line break": pem.trimEnd(),
    "PKCS#1 PEM": key.export({ type: "pkcs1", format: "pem" }).toString(),
    DER: key.export({ type: "spki", format: "der" }),
    JWK: JSON.stringify({ kty, use, kid, alg, e, n }),
    "JWK of the key alone": JSON.stringify(jwk),
    modulus: Buffer.from(n ?? "", "base64url"),
    "modulus as text": n ?? "",
  };
  const { header, claims } = takeApart(token);
  const forged: Record<string, string> = {};
  for (const [form, secret] of Object.entries(secrets)) {
    for (const hmac of ["HS256", "HS512"]) {
      const head = `${encode({ ...header, alg: hmac })}.${encode(claims)}`;
      const mac = createHmac(hmac === "HS256" ? "sha256" : "sha512", secret)
        .update(head)
        .digest("base64url");
      forged[`${hmac} by the public key as ${form}`] = `${head}.${mac}`;
    }
  }
  return forged;
}

/** Texts that are not tokens. */
export const NO_TOKENS: Readonly<Record<string, string>> = {
  "an opaque text": "c2VjcmV0LXRleHQ",
  dots: "..",
  "two parts": "eyJhbGciOiJSUzI1NiJ9.e30",
  "four parts": "eyJhbGciOiJSUzI1NiJ9.e30.AA.AA",
  "five parts, as encrypted tokens have":
    "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA",
  "a header that is a list": `${encode([])}.${encode({})}.AA`,
  "a header that is null": `${encode("null")}.${encode({})}.AA`,
  "a header that is no JSON": `${encode("{")}.${encode({})}.AA`,
  "a header with a prototype": `${encode('{"__proto__":{"alg":"none"},"alg":"RS256"}')}.${encode({})}.AA`,
  "no base64url": "e30=.e30=.e30=",
  "no base64url at all": "%%%.***.###",
};
