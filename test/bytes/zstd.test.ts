import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeZstdFrame } from "../../src/bytes/zstd/decodeFrame.js";
import { encodeZstdFrame } from "../../src/bytes/zstd/encodeFrame.js";
import { zstdFrameBound } from "../../src/bytes/zstd/frame.js";
import { RUN_SEED } from "../support/effort.js";

const next = (state: { value: number }): number => {
  state.value = (Math.imul(state.value, 1664525) + 1013904223) >>> 0;
  return state.value >>> 24;
};

function wordsText(): Uint8Array {
  const state = { value: 7 };
  const words = ["alpha", "beta", "gamma", "delta", "epsilon"];
  const parts = Array.from({ length: 700 }, () => `${words[next(state) % 5]}${next(state) % 10} `);
  return new TextEncoder().encode(parts.join(""));
}

function skewedBytes(): Uint8Array {
  const state = { value: 7 };
  return Uint8Array.from({ length: 1500 }, () => Math.min(next(state), next(state), next(state)) >> 2);
}

/** Frames that the zstd command line tool made of the contents beside them. */
const FRAMES = {
  "matches and Huffman-coded literals": [
    wordsText(),
    "KLUv/WSyEk0jALLNIReQJ2kDoOx/wxgpC3F36St3yhR5Tu5mMaOvGaVh1ZR5n9nPklx4L77Om/kd09dDz6uO7rHV2euUUY+w" +
      "8oNlPB5xzHnb39dNeMOnc8zUOutmWndVxdrYx2xN18k6Vs3srpbumZq7E5GCKINheDkkoECQ8QECQqCgUAZZEgKBAIwjRRmG" +
      "kaIMAYIaqFLlW3scIgkqDiV5sGn6EmDQiByYN867m0IHB62cbblIhNtggEkVPkvEb7xhSECjDfJISqP/CoMsd8I6huN1SWir" +
      "g+bt1gANWQrKwS6P8lazmj8tZOuF0NEhp81q2yLiuT3bIlu6bIZoak2RhtPQbqukGNfIDDSNm05QofPvtpUxmTCUeLyxMqPT" +
      "bDQZjo+P5o0CJ+m0K7cvHw9DMpCRhtalxo2UZte/Ydf1XX6JrtOGgBTIuPIOnbl3NYYNhVKU/YBEyz4GlH4ycXurMBjAc2la" +
      "TZqJzZgBfrjBzj/HdDUD5ADR1bdRiJzVRh7AwqGb9v5mAOwrKno3BswHZx3Uok9Foojp+L+9/aGrDWwD38iq5aG4zEh5PJ/Y" +
      "pzD87bLjGDroVBSTTPTxyXBWoIKkKNkLp0UKHzIVoemjbPqjXuHXUm3hfmwnyMleRo8Dm0kSUZGBsVeTun6GmzJLXOqCr+52" +
      "HuYObPsOveQU9Men45WdL1kXoeXv+YajDGkULQMR1czb1P0IInUZ86lZdeLtxymWiKvrmjPLoA/qMs2i8YqRmwZvR34Gj1F5" +
      "wtZS0Jgpfu+vp559J+YQB5JNq2iuY2VcyQLSluf5KrAcoeMR94ztOLRXWuLVoG4iIOk0/9i1wJGJBz6v/X0apxBjYdswkfoQ" +
      "zx6EnNxScR76ENulUXhJUpNshuz/PS6HS3jIPEBzUHCjGgoYyEpDuogueEl7qN8GWzbhOQJt0YFJBWXdpGBzyMlODn+bKabD" +
      "ikVsfBJWJkuDRvuvyFbPsTAVtJMATQx2QOWO+/H7nymWL3Ip3EIuxEzmuBnLdM0CDp19Vf+uEd+MbgOGwgHTCGgVRebDIg1B" +
      "jw5ToiYHRj3IUNAg2dGMbJq7MdR9ohS30fLAZsYfYtVNi7UkcTVwqGLmTuCcKg/mDY3wNAlUaOsJchc1KvLyEf5GaaaN1e8l" +
      "MeLBTXMia8GydOQNdXgqUZgle04+WLFi4bua2SO+wWa0omp4KCa0eQ655YFC6+ekmMwrY0iOxH6up8B8cb/NsbTyzbzovQ1I" +
      "3/g8iJaggKEdsGag+ehpGCG1iLI3JSZwel2LVhIpqRFqipmTRbZM/zZJSOgVzPMqQ7qiRUlQkYERvLL7bA5MOM9QiE2Dp1el" +
      "Z3jZP8sij/iP6vJnvpGD5E5sVp0ZRJkBmZ0hgxkRDGbvR9dmNNFYQV8+yJT3WlEqkpjIa0ORTIOFDq5bU1bWfKF1fxUy/jVD" +
      "ybjGT5UZa9AFxogt9o4Z0h6fuvwjVpnEfHXhyAEwF3hrSmosU921qSwr4BtYl7sEIJm2/pmMVpF70AoPGqww",
  ],
  "long searches for matches": [
    wordsText(),
    "KLUv/WSyEh0eAJaRKRSQq9goXCNW5bi7dDtliuw9Vv2DEiwAIAAgAGaal5tPEUltqlgTGXHJo3EYCO6To7A4HIAmFAcDYzEA" +
      "kO5AIA4CwAA6GoNApPn5Q2mrH5ev3NapI6M7oxur7KzsmtsjMieJlexfqxhXJbn9Qqmtc/udzk3Pd9aEqkTMttQQqzyJ1Pci" +
      "H3vnAVOitEw3k6or3cxP2cq9u0uaq0dTkWhCNicx+7pTzQOBtqjB8Y1hz9GIwCDGnJV8ESAMS6AJCHFWopKkORuLR+4lZK3u" +
      "cZ3/zn9NveOkSjbBsIzk6/7ebOMDvx9rjC1F6XGcz0Tb1U7hc2yqMivuOXnaMb1AbIzCv1wwup2btgw8spELyn94USRN55lm" +
      "vIcWo6b4mBcP/Dgj0jGJtdXoW8QypJDZtbJ2/WDdki3/JO/DzTwfFruSfRzWeFcxYH+a4rawCnbnn39afPFnvE2rAPsIH6MI" +
      "SGecQTJq1AgB5JsnLQIVAFaR3j2pxOXKVW2WZHQwQxlg81AcNYzQKOkm3ew8Lrxdyo5NepWBENl3WZ5ubkC0EdxIZWh1vUNu" +
      "wTVyyPkqOwd9B+w5+BRgVAka5e5QH5qJgbqpAj+NuF39itXn1Xwjd3ckaQEpI2gDBuBDn3hEoVXSBDQKhO3Hy5f44O6QltEW" +
      "fpuOiRXR4YAn6TagwiKCuJFAglqil3rTglenK9KPBHk2Rix67hHPCozsmBckI2xsw0vqYRQ6arAlrDQWy+o4+YpO+RFrII6K" +
      "PtR2e5TFkiti6SD/+2UKLlRcvpUeqKChKJCko3DTRnRDA/l/gbUXwdzVf+rXQx7DO4uiUecdBX3vsJQ1A3HucVggBB0oSfbi" +
      "w9TvhH106Fu4tFvM8k2JuKfQNSreiB/QlWrtmktGS66BSCiM1uS8QwqiBQLRpd41ueHyDsG0+HMdbA7+Ql971Jq1KQy9GBdC" +
      "3K7hYJTwgJV5XgVdFbZc0pHLhYYKQ1iG5TLaVmol/GaaMz+kzP+sUIcLBhmMFjU0hvzywsqswP9LPU8kNzGjUJx/SFcH0nee" +
      "At2LGbPf8ATbYOlwCHRb3MrVGGWOL3jGFF/jTE5azUqboWneNiOQzE4tgTeiPTo9ZMmz2uwd019i0ET4rQ/MuvqfnUVG3MAd" +
      "vtAii2QT0ak6P0uiyQfF4p2r73KTalWFuUGG71YCA3ej7kaarnubDm9lKq5ptwlAHDgp0SeILE6E0YKGlDEwJqxVTkmys86G" +
      "TV2FVyZguuxyGjdMVUiLoi0W2zd66TH/ALyouA8uGEkTagDtDw8arDA=",
  ],
  "literals without matches": [
    skewedBytes(),
    "KLUv/WTcBI0gAMpdMBAWECjGzgcAAAA2Scu98/a7dRjDceSYdvgA/QD9AOqxq7WFrIkTbVWRNSt3+ZRVdGHg8ika9uH+PJTV" +
      "8FqaOQhIua9ELdPEb5mJZjvTIWOGkrLEJY1JfiMCpMXkDN6cft2GSgmKHOR3ICE5iILHw+AKJtjYYOGxlnvHyqjQ2CB/bCUs" +
      "ePXLfnMH3SltKimRJD2zeWSOk3jJwT8c286AiqHSXRihRcjy40HlYMncFgHOPe8TCnLibdqmmEOsiw6y8nni5HHQFvp83vp9" +
      "D0nFv8r5AEhc50ISTOSvoznSMdYyNeGk2CoSpAV21fx7NSmnOJHuZk5WNTdLu1bHUynW4bRLqaaKUuTZEUxSKjEjlzUn2WYM" +
      "kVI1CojZ29+cmTSBi2k1VlGWrmIjDHfTXzIpyklyuYaAdbAmuOER7Pi2x5CWy3wlK/FQzcikYYdC2sLsA09iTUCFT9BZU6n0" +
      "FHR/ePujhYdCCp7b4/drzvONHY2DDRqQwJepITRfYf7g00wMsDzLTSZ9aptWTtBN7rl9arqEL7ZDXkCrYPHFwkublMjJrDoO" +
      "aKStKQQy91TEm6450nKNgbLiu5ip6w5PprKNPyligx5JWxTNUWtJmZTmPQm0349eTi/eel+PZJCfeZTa5jtFEmAPTMR1KkeI" +
      "yo5RI/xl4AmpnpPTFeQdzXznpSnidRBleQ3EVmUnvJogSPurN7bUEVpKFZOSimMjOl1+9mCz9eUYo44m57MabmrLvWwDZ70q" +
      "o/qaZig3ACIkpSoeHTimNA49nRnQsawQNzkOF4sNjeN1SV2rFjkUTRvawfDowuSJ607PKiR9ZpQToqkKaEdD2GiWiBegEsOl" +
      "uxEelxoqNamkmQ+wQRzkRCQpmdeIBzg3qCoS8W2HVLGOMvp2I2HxLMBIqYVJ/nXUlZVpnOwjRRywRLwltRe0tKrWKJgrm8tG" +
      "hiMsjb0x+mzD/B+Xi0FEyfro8JmqdsCaDv25PpgUBw6sSRyO0TTrCCn4dLxRx7RII1XEB8mqBcI+7kS1ijxzrqC97siuG6jz" +
      "ksfgox8Mpj13ICZrz/MwFhiygq+tvu6w9apSCBZHq30EnDlZzsVWoBpLDEdl0u1IludPBW0kQOvmbEBxiFh2K+coAKUS0/jx" +
      "DRwmziMdJvaic4gJSwR7FSdjNKOjy69G6g2wwFh4afynIuxNIuNFoPSMpXlEsrrrsXSdzSUMhBL2P2rDhZEyRVPTknoVkySy" +
      "f4SrJ1AXxgKlii38QZjGW5NEau+jwwVg+GWVap1nOfkh080ngQOipEfWfClmcSzHQtkN0hbdKxA43Iu8HLJ+y8Lyw+2BLJEp" +
      "BStijy/Hi+cyHxvX9KZ119gEYpD9y0ez+txLELw610DLoypoLQXvc3ygADqgF7I=",
  ],
  "runs of one byte": [new Uint8Array(200_000), "KLUv/aRADQMAVAAAEAAAAQD7/znAAgNqCADE6XRw"],
  nothing: [new Uint8Array(0), "KLUv/SQAAQAAmenYUQ=="],
} as const;

const frameOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"));

describe("zstd frames", () => {
  for (const [name, [content, base64]] of Object.entries(FRAMES)) {
    it(`hold ${name}`, () => {
      const frame = frameOf(base64);
      const bound = zstdFrameBound(frame);
      expect(bound?.maximumSize).toBeGreaterThanOrEqual(content.length);
      expect([content.length, null]).toContain(bound?.contentSize);
      const output = new Uint8Array(content.length);
      expect(decodeZstdFrame(frame, output)).toBe(true);
      expect(Buffer.compare(output, content)).toBe(0);
    });

    it(`hold ${name}, and nothing more or less`, () => {
      const frame = frameOf(base64);
      expect(decodeZstdFrame(frame, new Uint8Array(content.length + 1))).toBe(false);
      if (content.length > 0) expect(decodeZstdFrame(frame, new Uint8Array(content.length - 1))).toBe(false);
      expect(zstdFrameBound(frame.subarray(0, frame.length - 1))).toBeNull();
    });
  }

  it("that ask for more room than the output has are refused without delay", () => {
    // 83,690 sequences in 17 bytes, each of 65,536 literals and a match of 65,539 bytes.
    const body = [0x00, 255, (83690 - 0x7f00) & 255, (83690 - 0x7f00) >> 8, 0x54, 35, 0, 52, 1];
    const header = (body.length << 3) | 5;
    const frame = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, 200, header, 0, 0, ...body]);
    expect(zstdFrameBound(frame)).not.toBeNull();
    expect(decodeZstdFrame(frame, new Uint8Array(200))).toBe(false);
  });

  it("with changed bytes are decoded or refused", () => {
    const frames = Object.values(FRAMES).map(([content, base64]) => ({ content, frame: frameOf(base64) }));
    const change = fc.record({ at: fc.nat(), value: fc.integer({ min: 1, max: 255 }) });
    fc.assert(
      fc.property(fc.nat(), fc.array(change, { minLength: 1, maxLength: 4 }), (which, changes) => {
        const { content, frame } = frames[which % frames.length];
        const damaged = frame.slice();
        for (const { at: offset, value } of changes) damaged[offset % damaged.length] ^= value;
        if (zstdFrameBound(damaged) === null) return;
        expect(typeof decodeZstdFrame(damaged, new Uint8Array(content.length))).toBe("boolean");
      }),
      { numRuns: 2000 },
    );
  });
});

describe("written frames", () => {
  function roundTrip(content: Uint8Array): Uint8Array {
    const frame = encodeZstdFrame(content);
    const bound = zstdFrameBound(frame);
    expect(bound?.contentSize).toBe(content.length);
    expect(bound?.maximumSize).toBeGreaterThanOrEqual(content.length);
    const output = new Uint8Array(content.length);
    expect(decodeZstdFrame(frame, output)).toBe(true);
    expect(Buffer.compare(output, content)).toBe(0);
    return frame;
  }

  it("hold any content", () => {
    const seed = RUN_SEED;
    console.info(`zstd frames: seed ${seed}`);
    const contents = fc.record({
      length: fc.oneof(fc.integer({ min: 0, max: 700 }), fc.integer({ min: 0, max: 300_000 })),
      alphabet: fc.integer({ min: 1, max: 256 }),
      kind: fc.constantFrom("random", "skewed", "copies", "steps"),
      state: fc.nat(),
    });
    fc.assert(
      fc.property(contents, ({ length, alphabet, kind, state }) => {
        const random = { value: state };
        const bytes = new Uint8Array(length);
        for (let offset = 0; offset < length; offset++) {
          const value = next(random) % alphabet;
          if (kind === "random") bytes[offset] = value;
          else if (kind === "skewed") bytes[offset] = Math.min(value, next(random) % alphabet, next(random));
          else if (kind === "steps") bytes[offset] = (offset >> 3) * alphabet;
          else
            bytes[offset] = next(random) < 230 ? bytes[Math.max(0, offset - 1 - (next(random) % 50))] : value;
        }
        roundTrip(bytes);
      }),
      { numRuns: 120, seed },
    );
  });

  it("are about as small as those of the command line tool", () => {
    // `zstd -3` makes 1,132 bytes of it; a tenth more is allowed.
    expect(roundTrip(wordsText()).length).toBeLessThan(1132 * 1.1);
    expect(roundTrip(new Uint8Array(1_000_000).fill(7)).length).toBeLessThan(60);
    const random = { value: 3 };
    const noise = Uint8Array.from({ length: 200_000 }, () => next(random) ^ (next(random) << 1));
    expect(roundTrip(noise).length).toBeLessThan(noise.length + 32);
  });

  it("of bytes that match only by chance are no larger than their entropy", () => {
    const random = { value: 5 };
    const hex = Uint8Array.from({ length: 60_000 }, () =>
      "0123456789abcdef".charCodeAt((next(random) >>> 2) & 15),
    );
    expect(roundTrip(hex).length).toBeLessThan(30_000 * 1.03);
  });

  it("have matches beyond the preceding blocks, but not beyond the window", () => {
    const random = { value: 9 };
    const piece = Uint8Array.from({ length: 100_000 }, () => next(random) & 63);
    const content = new Uint8Array(3_000_000);
    for (const offset of [0, 700_000, 2_400_000]) content.set(piece, offset);
    expect(roundTrip(content).length).toBeLessThan(piece.length * 1.7);
  });
});
