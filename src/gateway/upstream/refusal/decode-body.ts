/** Decodes the content codings of an upstream's error body, within a bound on the decoded size. */
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib';

const codingsMax = 3;

type Decoder = (input: Buffer, options: { maxOutputLength: number }) => Buffer;

/** RFC 9110 section 8.4.1.2: some senders of `deflate` omit the zlib wrapper. */
const inflateEither: Decoder = (input, options) => {
  try {
    return inflateSync(input, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw error;
    return inflateRawSync(input, options);
  }
};

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  br: brotliDecompressSync,
  deflate: inflateEither,
  zstd: zstdDecompressSync,
};

/** Undefined for unknown codings, damaged data and more than `bytesMax` bytes: a bomb stops at the bound. */
export const decodeBody = (body: Buffer, contentEncoding: string | undefined, bytesMax: number): Buffer | undefined => {
  const codings = (contentEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > codingsMax) return undefined;
  let decoded = body;
  for (const coding of codings.reverse()) {
    const decoder = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
    if (decoder === undefined) return undefined;
    try {
      decoded = decoder(decoded, { maxOutputLength: bytesMax });
    } catch {
      return undefined;
    }
  }
  return decoded.length > bytesMax ? undefined : decoded;
};
